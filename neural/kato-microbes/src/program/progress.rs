//! Tells how a training goes, on standard error: a bar on a terminal, a line an epoch elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use kato_microbes::run::{EpochRecord, StepRecord, TrainingEvent};

use super::output::tell;

/// Tells how a training goes.
pub(crate) struct Progress<'a> {
    bar: ProgressBar,
    stop: &'a AtomicBool,
    has_told_stop: bool,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(n_steps: u64, stop: &'a AtomicBool) -> Self {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::new(n_steps)
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} steps  {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self {
            bar,
            stop,
            has_told_stop: false,
        }
    }

    /// Takes an event; `false` where the user wants to stop.
    pub(crate) fn on_event(&mut self, event: TrainingEvent<'_>) -> bool {
        match event {
            TrainingEvent::Step(record) => self.step(record),
            TrainingEvent::Epoch(record) => self.line(&epoch_line(record)),
            _ => {}
        }
        // Relaxed, as no other memory is published by the flag.
        let stops = self.stop.load(Ordering::Relaxed);
        if stops && !self.has_told_stop {
            self.has_told_stop = true;
            self.line("stopping: the run is being saved");
        }
        !stops
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn step(&self, record: &StepRecord) {
        self.bar.set_position(record.step);
        let left = HumanDuration(Duration::from_secs(record.left.as_secs()));
        self.bar
            .set_message(format!("loss {:.4}  {left} left", record.loss));
    }

    fn line(&self, line: &str) {
        if self.bar.is_hidden() {
            tell(line);
        } else {
            self.bar.println(line);
        }
    }
}

/// Returns an epoch in a line.
fn epoch_line(record: &EpochRecord) -> String {
    let validation = &record.validation;
    let figures = [
        ("r2", validation.r2),
        ("mae", validation.mae),
        ("accuracy", validation.accuracy),
        ("f1", validation.f1),
        ("counts", validation.counts),
    ];
    let figures: String = figures
        .iter()
        .filter_map(|(name, value)| value.map(|value| format!("  {name} {value:.4}")))
        .collect();
    format!(
        "epoch {:>3}  train {:.4}  validation {:.4}{figures}  norm {:.2}  {:.1} s{}",
        record.epoch + 1,
        record.train_loss,
        validation.loss,
        record.gradient_norm,
        record.train_s + record.judge_s,
        if record.is_best { "  best" } else { "" }
    )
}

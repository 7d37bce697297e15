//! Tells how a training goes, on standard error: a bar on a terminal, a line an epoch elsewhere.

use std::io::IsTerminal;
use std::mem::{Discriminant, discriminant};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use kato_poetry::metrics::Collapse;
use kato_poetry::run::{EpochRecord, StepRecord, TrainingEvent};

use super::output::tell;

/// Tells how a training goes.
pub(crate) struct Progress<'a> {
    bar: ProgressBar,
    stop: &'a AtomicBool,
    has_told_stop: bool,
    told: Option<Discriminant<Collapse>>,
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
            told: None,
        }
    }

    /// Takes an event; `false` where the user wants to stop.
    pub(crate) fn on_event(&mut self, event: TrainingEvent<'_>) -> bool {
        match event {
            TrainingEvent::Step(record) => self.step(record),
            TrainingEvent::Epoch(record) => self.line(&epoch_line(record)),
            // A collapse lasts for epochs, with other figures in each; it is told once.
            TrainingEvent::Collapse(collapse) if self.told != Some(discriminant(&collapse)) => {
                self.told = Some(discriminant(&collapse));
                self.line(&format!("warning: {collapse}"));
            }
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
        self.bar.set_message(format!(
            "loss {:.4}  {:.0} chunks/s  {} left",
            record.loss,
            record.chunks_per_s,
            HumanDuration(Duration::from_secs(record.left.as_secs()))
        ));
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
    format!(
        "epoch {:>3}  train {:.4}  validation {:.4}  cosine {:.4}  variance {:.2}  live units {:.0} %  norm {:.2}  {:.0} chunks/s{}",
        record.epoch + 1,
        record.train_loss,
        validation.loss,
        validation.cosine,
        validation.variance_ratio,
        validation.live_units * 100.0,
        record.gradient_norm,
        record.chunks_per_s,
        if record.is_best { "  best" } else { "" }
    )
}

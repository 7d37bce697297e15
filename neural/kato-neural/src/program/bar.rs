//! Tells how a training goes, on standard error: a bar on a terminal, lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::tell;
use crate::run::StepRecord;

/// Tells how a training goes.
#[derive(Debug)]
pub struct TrainingBar<'a> {
    bar: ProgressBar,
    /// What a speed counts, such as `tokens`.
    items: &'static str,
    stop: &'a AtomicBool,
    has_told_stop: bool,
}

impl<'a> TrainingBar<'a> {
    /// Begins to tell of a training of so many steps, which ends where `stop` is set.
    #[must_use]
    pub fn new(n_steps: u64, items: &'static str, stop: &'a AtomicBool) -> Self {
        let bar = if stderr().is_terminal() {
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
            items,
            stop,
            has_told_stop: false,
        }
    }

    /// Shows a step on the bar.
    pub fn step(&self, record: &StepRecord) {
        self.bar.set_position(record.step);
        // Whole seconds: fractions would flicker.
        let left = HumanDuration(Duration::from_secs(record.left.as_secs()));
        self.bar.set_message(format!(
            "loss {:.4}  {:.0} {}/s  {left} left",
            record.loss, record.items_per_s, self.items
        ));
    }

    /// Tells a line, above the bar where there is one.
    pub fn line(&self, line: &str) {
        if self.bar.is_hidden() {
            tell(line);
        } else {
            self.bar.println(line);
        }
    }

    /// Returns whether the training goes on; tells once that it does not.
    pub fn goes_on(&mut self) -> bool {
        // Relaxed, as no other memory is published by the flag.
        let stops = self.stop.load(Ordering::Relaxed);
        if stops && !self.has_told_stop {
            self.has_told_stop = true;
            self.line("stopping: the run is being saved");
        }
        !stops
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

//! The progress of an evaluation: a bar on a terminal that can draw one, a line every ten seconds
//! elsewhere.

use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use kato_evaluation::progress::{EvaluationPhase, EvaluationProgress};

use crate::notice::say;

/// Time between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// A reporter of progress on standard error; standard output stays free for the report.
#[derive(Debug)]
pub(crate) struct EvaluationReporter {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Bar(ProgressBar),
    Lines(Instant),
    Silent,
}

impl EvaluationReporter {
    /// Creates a reporter: a bar if standard error is a terminal that can draw one, lines otherwise,
    /// nothing if `silent`.
    #[must_use]
    pub(crate) fn new(silent: bool) -> Self {
        let style = ProgressStyle::with_template("{bar:20} {percent:>3} %  {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(0).with_style(style);
        let kind = match (silent, bar.is_hidden()) {
            (true, _) => Kind::Silent,
            (false, true) => Kind::Lines(Instant::now()),
            (false, false) => Kind::Bar(bar),
        };
        Self { kind }
    }

    /// Shows how far the evaluation is.
    pub(crate) fn show(&mut self, progress: &EvaluationProgress) {
        match &mut self.kind {
            Kind::Bar(bar) => {
                // A bar of length 0 would be shown as full.
                bar.set_length(progress.total.unwrap_or(progress.done).max(1));
                bar.set_position(progress.done);
                bar.set_message(in_words(progress));
            }
            Kind::Lines(last) if last.elapsed() >= LINE_INTERVAL => {
                *last = Instant::now();
                say(in_words(progress));
            }
            Kind::Lines(_) | Kind::Silent => {}
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Kind::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }
}

/// Describes the phase, its rate and the time left.
fn in_words(progress: &EvaluationProgress) -> String {
    let rate = progress.done as f64 / progress.elapsed.as_secs_f64().max(1e-3);
    let bytes = format!("{}/s", HumanBytes(rate as u64));
    // Progress is in bytes where documents are read and in questions where nodes are asked.
    let (what, rate) = match progress.phase {
        EvaluationPhase::Baseline => ("training the n-gram baseline", bytes),
        EvaluationPhase::Coverage => ("looking up held-out chunks", bytes),
        _ => (
            "predicting",
            format!("{} questions/s", HumanCount(rate as u64)),
        ),
    };
    let mut text = format!("{what}, {rate}");
    if let Some(left) = time_left(progress) {
        text += &format!(", {} left", HumanDuration(left));
    }
    text
}

/// Returns the time left at the pace so far; `None` while that is not known.
fn time_left(progress: &EvaluationProgress) -> Option<Duration> {
    let left = progress.total?.checked_sub(progress.done)?;
    // In the first second the pace says nothing yet.
    if progress.done == 0 || progress.elapsed < Duration::from_secs(1) {
        return None;
    }
    Duration::try_from_secs_f64(progress.elapsed.as_secs_f64() * left as f64 / progress.done as f64)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_told_with_rate_and_time_left() {
        let progress = progress_of(EvaluationPhase::Predictions, 250, Some(1000), 5);
        assert_eq!(
            in_words(&progress),
            "predicting, 50 questions/s, 15 seconds left"
        );
        let progress = progress_of(EvaluationPhase::Baseline, 4096, None, 2);
        assert_eq!(
            in_words(&progress),
            "training the n-gram baseline, 2.00 KiB/s"
        );
    }

    fn progress_of(
        phase: EvaluationPhase,
        done: u64,
        total: Option<u64>,
        seconds: u64,
    ) -> EvaluationProgress {
        EvaluationProgress::new(phase, done, total, Duration::from_secs(seconds))
    }
}

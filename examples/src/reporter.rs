//! Showing a run's events: a bar on a terminal, a line every ten seconds elsewhere.

use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration};
use kato_scheduler::{Progress, TrainingEvent};

use crate::meter::{Meter, Pace, WARM_UP};

/// Shows events on standard error; standard output stays free for results.
#[derive(Debug)]
pub struct Reporter {
    meter: Meter,
    /// The first progress of this session: where it began to read.
    first: Option<Progress>,
    is_stopping: bool,
}

impl Reporter {
    /// A bar if standard error is a terminal, lines otherwise, nothing if `silent`.
    #[must_use]
    pub fn new(silent: bool) -> Self {
        Self {
            meter: Meter::new(silent),
            first: None,
            is_stopping: false,
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &TrainingEvent) {
        match event {
            TrainingEvent::Progress(progress) => self.progress(progress),
            TrainingEvent::Stopping => {
                self.is_stopping = true;
                self.meter.say("stopping: committing what was learned");
            }
            TrainingEvent::Counting => self.meter.message("counting distinct patterns"),
            _ => {}
        }
    }

    /// Removes the bar.
    pub fn finish(&mut self) {
        self.meter.finish();
    }

    fn progress(&mut self, progress: &Progress) {
        let first = self.first.get_or_insert_with(|| progress.clone());
        let pace = pace(first, progress);
        let is_stopping = self.is_stopping;
        self.meter
            .update(progress.bytes_read, progress.total_bytes, || {
                facts(progress, pace, is_stopping)
            });
    }
}

/// Bytes of the corpus read in this session. Not from the run's start: a resumed run begins in the middle of the corpus.
fn pace(first: &Progress, now: &Progress) -> Pace {
    Pace {
        done: now.bytes_read.saturating_sub(first.bytes_read),
        elapsed: now.elapsed.saturating_sub(first.elapsed),
    }
}

/// Time until the corpus is read, at the pace of this session.
fn time_left(progress: &Progress, pace: Pace) -> Option<Duration> {
    pace.time_for(progress.total_bytes?.saturating_sub(progress.bytes_read))
}

/// What is worth knowing, the most important first.
fn facts(progress: &Progress, pace: Pace, is_stopping: bool) -> Vec<String> {
    let seconds = progress.elapsed.as_secs_f64().max(1e-3);
    let rate = |count: u64| count as f64 / seconds;
    let mut facts = Vec::new();
    if !is_stopping {
        facts.extend(time_left(progress, pace).map(|left| format!("{} left", HumanDuration(left))));
    }
    if progress.errors > 0 {
        facts.push(format!("{} errors", HumanCount(progress.errors)));
    }
    facts.push(format!("{} rows", HumanCount(progress.records)));
    let read = HumanBytes(progress.bytes_read);
    facts.push(match pace.megabytes() {
        Some(speed) => format!("{read} read at {speed}"),
        None => format!("{read} read"),
    });
    if progress.elapsed >= WARM_UP {
        facts.push(format!(
            "{:.2} M tokens/s",
            rate(progress.session_tokens) / 1e6
        ));
        let per_second = rate(progress.session_samples);
        let digits = usize::from(per_second < 10.0);
        facts.push(format!("{per_second:.digits$} samples/s"));
    }
    facts.push(format!("{} samples", HumanCount(progress.samples)));
    let levels: Vec<String> = progress
        .observations
        .iter()
        .map(|&count| HumanCount(count).to_string())
        .collect();
    facts.push(format!("patterns learned {}", levels.join(" / ")));
    facts
}

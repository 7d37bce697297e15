//! The progress of a run, event by event: a bar on a terminal, a line every ten seconds elsewhere,
//! or JSON for machines.

use std::time::Duration;

use clap::ValueEnum;
use indicatif::{HumanBytes, HumanCount, HumanDuration};
use kato_planner::Forecast;
use kato_scheduler::TrainingEvent;
use kato_scheduler::event::Progress;
use serde_json::{Value, json};

use crate::forecast::expected_time;
use crate::meter::{Meter, Pace, WARM_UP};
use crate::notice;
use crate::numbers::counted;

/// Shortest time between two lines of progress for machines.
const JSON_INTERVAL: Duration = Duration::from_secs(1);

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressMode {
    /// Not at all.
    Silent,
    /// A line every ten seconds.
    Summary,
    /// A bar on a terminal, lines elsewhere.
    Bar,
    /// As the bar, and a line for every commit.
    Detailed,
    /// An object a line; logs as well.
    Json,
}

/// A reporter of events on standard error; standard output stays free for results.
#[derive(Debug)]
pub(crate) struct Reporter {
    mode: ProgressMode,
    meter: Meter,
    /// The first progress of this session: where it began to read.
    first: Option<Progress>,
    last_json: Option<Duration>,
    is_stopping: bool,
    /// What was foretold of the run.
    forecast: Option<Forecast>,
    /// Whether machines have been told it.
    is_foretold: bool,
}

impl Reporter {
    /// Creates a reporter that shows events in this way.
    #[must_use]
    pub(crate) fn new(mode: ProgressMode) -> Self {
        Self {
            mode,
            meter: match mode {
                // JSON lines and a bar would mix on standard error.
                ProgressMode::Silent | ProgressMode::Json => Meter::new(true),
                ProgressMode::Summary => Meter::lines(),
                ProgressMode::Bar | ProgressMode::Detailed => Meter::new(false),
            },
            first: None,
            last_json: None,
            is_stopping: false,
            forecast: None,
            is_foretold: false,
        }
    }

    /// Shows beside the progress what was foretold of the run.
    #[must_use]
    pub(crate) fn with_forecast(mut self, forecast: Option<Forecast>) -> Self {
        self.forecast = forecast;
        self
    }

    /// Returns what tells notices also from another thread.
    pub(crate) fn voice(&self) -> impl Fn(&str) + Send + use<> {
        self.meter.voice()
    }

    /// Shows one event.
    pub(crate) fn show(&mut self, event: &TrainingEvent) {
        if self.mode == ProgressMode::Json {
            self.show_json(event);
            return;
        }
        match event {
            TrainingEvent::Progress(progress) => self.progress(progress),
            // The user was told when the signal came.
            TrainingEvent::Stopping => self.is_stopping = true,
            TrainingEvent::Counting => self.meter.message("counting distinct patterns"),
            TrainingEvent::Committed { documents } if self.mode == ProgressMode::Detailed => {
                let documents = HumanCount(*documents);
                self.meter
                    .say(&format!("committed up to document {documents}"));
            }
            TrainingEvent::WorkerDied {
                worker,
                document,
                message,
            } => {
                let over = document.as_ref().map(|id| format!(" over {id}"));
                let over = over.unwrap_or_default();
                self.meter.say(&format!(
                    "worker {worker} died{over}: {message}; its documents go to others"
                ));
            }
            TrainingEvent::Stalled(stall) => self.meter.say(&stall.to_string()),
            TrainingEvent::Notice { text } => self.meter.say(text),
            TrainingEvent::Slowed { resident, ceiling } => self.meter.say(&format!(
                "memory is {} of {}: going on slowly",
                HumanBytes(*resident),
                HumanBytes(*ceiling)
            )),
            _ => {}
        }
    }

    /// Writes an event for machines; of progress, at most one line for each interval. What was
    /// foretold stands before the first.
    fn show_json(&mut self, event: &TrainingEvent) {
        if matches!(event, TrainingEvent::Stopping) {
            // Machines were told when the signal came.
            return;
        }
        if let Some(forecast) = self.forecast.filter(|_| !self.is_foretold) {
            self.is_foretold = true;
            let mut value = serde_json::to_value(forecast).unwrap_or_default();
            value["event"] = "forecast".into();
            notice::emit(&value);
        }
        if let TrainingEvent::Progress(progress) = event {
            let is_due = self
                .last_json
                .is_none_or(|last| progress.elapsed >= last + JSON_INTERVAL);
            if !is_due {
                return;
            }
            self.last_json = Some(progress.elapsed);
        }
        notice::emit(&to_json(event));
    }

    /// Removes the bar.
    pub(crate) fn finish(&mut self) {
        self.meter.finish();
    }

    /// Shows progress beside the bar or as a line.
    fn progress(&mut self, progress: &Progress) {
        let first = self.first.get_or_insert_with(|| progress.clone());
        let pace = pace(first, progress);
        let (is_stopping, forecast) = (self.is_stopping, self.forecast);
        self.meter
            .update(progress.bytes_read, progress.total_bytes, || {
                let mut facts = facts(progress, pace, is_stopping);
                let expected = forecast.filter(|_| !is_stopping);
                if let Some(expected) = expected.as_ref().and_then(expected_time) {
                    // Beside the time that is left, which it is compared with.
                    let elapsed = progress.elapsed.as_secs_f64();
                    let text = format!("{elapsed:.0} s of {expected}");
                    facts.insert(facts.len().min(1), text);
                }
                facts
            });
    }
}

/// Returns the bytes of the corpus read since the first progress of this session, and the time.
///
/// Not from the run's start: a resumed run begins in the middle of the corpus.
fn pace(first: &Progress, now: &Progress) -> Pace {
    Pace {
        done: now.bytes_read.saturating_sub(first.bytes_read),
        elapsed: now.elapsed.saturating_sub(first.elapsed),
    }
}

/// Returns the time until the corpus is read, at the pace of this session.
fn time_left(progress: &Progress, pace: Pace) -> Option<Duration> {
    pace.time_for(progress.total_bytes?.saturating_sub(progress.bytes_read))
}

/// Returns what is worth knowing, the most important first.
fn facts(progress: &Progress, pace: Pace, is_stopping: bool) -> Vec<String> {
    let seconds = progress.elapsed.as_secs_f64().max(1e-3);
    let rate = |count: u64| count as f64 / seconds;
    let mut facts = Vec::new();
    // A run that stops does not read the rest of the corpus.
    if !is_stopping {
        facts.extend(time_left(progress, pace).map(|left| format!("{} left", HumanDuration(left))));
    }
    if progress.errors > 0 {
        facts.push(counted(progress.errors, "error"));
    }
    facts.push(counted(progress.records, "row"));
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
        let per_second = rate(progress.session_documents);
        // Without a digit behind the point a low rate would say little.
        let digits = usize::from(per_second < 10.0);
        facts.push(format!("{per_second:.digits$} documents/s"));
    }
    facts.push(counted(progress.documents, "document"));
    // In front, because facts that do not fit into the line are left out from the end.
    if let Some(waiting) = &progress.waiting {
        facts.insert(0, waiting.clone());
    }
    if progress.workers > 1 {
        facts.push(counted(progress.workers, "worker"));
    }
    let levels: Vec<String> = progress
        .learns
        .iter()
        .map(|&count| HumanCount(count).to_string())
        .collect();
    facts.push(format!("patterns learned {}", levels.join(" / ")));
    facts
}

/// Returns an event for machines: an object with the key `event`.
fn to_json(event: &TrainingEvent) -> Value {
    match event {
        TrainingEvent::Progress(progress) => {
            let seconds = progress.elapsed.as_secs_f64().max(1e-3);
            let mut value = serde_json::to_value(progress).expect("counts and texts have JSON");
            value["event"] = "progress".into();
            value["elapsed"] = progress.elapsed.as_secs_f64().into();
            value["documents_per_sec"] = (progress.session_documents as f64 / seconds).into();
            value
        }
        TrainingEvent::Committed { documents } => {
            json!({"event": "committed", "documents": documents})
        }
        TrainingEvent::WorkerDied {
            worker,
            document,
            message,
        } => {
            json!({"event": "worker_died", "worker": worker, "document": document, "message": message})
        }
        TrainingEvent::Stalled(stall) => {
            let stack: Vec<&str> = stall
                .stack
                .iter()
                .map(|frame| frame.what.as_str())
                .collect();
            let silence = stall.silence.as_secs_f64();
            json!({"event": "stalled", "worker": stall.worker, "silence": silence, "stack": stack})
        }
        TrainingEvent::Slowed { resident, ceiling } => {
            json!({"event": "slowed", "resident": resident, "ceiling": ceiling})
        }
        TrainingEvent::Notice { text } => json!({"event": "notice", "text": text}),
        TrainingEvent::Counting => json!({"event": "counting"}),
        // The enum is open: kinds of events that are not known here are not hidden.
        _ => json!({"event": "other"}),
    }
}

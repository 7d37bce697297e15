//! The answers of `kato history`, for people and for machines.

use anyhow::Result;
use kato_planner::history::record::Outcome;
use kato_planner::history::{
    Accuracy, Comparison, Corrections, HistoryRun, RunFilter, SimilarRun, TrainingHistory,
};
use kato_planner::recommend::span;
use kato_planner::{Correction, Forecaster, Interval};
use serde::Serialize;

use super::forecast::LeftOut;
use super::recording::machine_here;
use crate::inspect::View;
use crate::numbers::counted;

/// Runs side by side.
#[derive(Debug, Serialize)]
pub(crate) struct ComparisonView(pub(crate) Comparison);

impl View for ComparisonView {
    fn text(&self, _width: usize) -> String {
        self.0.to_string()
    }
}

/// One run, with all that is recorded of it.
#[derive(Debug, Serialize)]
pub(crate) struct RunsView(pub(crate) HistoryRun);

impl View for RunsView {
    fn text(&self, _width: usize) -> String {
        let run = &self.0;
        let mut text = format!("{}, {}\n", run.run_id, run.recorded);
        let outcome = &run.outcome;
        text += &format!(
            "{}{}\n",
            documents_and_time(outcome),
            if outcome.complete {
                ""
            } else {
                ", not complete"
            }
        );
        for (name, value) in known(run)
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
        {
            text += &format!("{name}: {value}\n");
        }
        for (level, size) in outcome.levels.iter().zip(&run.settings.chunk_sizes) {
            let patterns = match level.patterns {
                Some(patterns) => counted(patterns, "pattern"),
                None => "patterns unknown".to_owned(),
            };
            text += &format!(
                "{}: chunk size {size}, {}, {patterns}\n",
                level.node,
                counted(level.learns, "learn call")
            );
        }
        text
    }
}

/// Says how many documents a run learned, and in which time where that is known.
fn documents_and_time(outcome: &Outcome) -> String {
    let documents = counted(outcome.samples, "document");
    match outcome.seconds > 0.0 {
        true => format!("{documents} in {}", span(outcome.seconds / 3600.0)),
        false => format!("{documents} in a time that is not known"),
    }
}

/// Returns what may be known of a run, by name.
fn known(run: &HistoryRun) -> [(&'static str, Option<String>); 8] {
    let outcome = &run.outcome;
    [
        ("corpus", run.corpus.name.clone()),
        (
            "machine",
            run.machine
                .name
                .clone()
                .or_else(|| run.machine.tier.clone()),
        ),
        ("workers", run.settings.workers.map(|n| n.to_string())),
        ("backend", run.settings.backend.clone()),
        ("bytes", outcome.disk_bytes.map(|n| n.to_string())),
        (
            "peak memory",
            outcome
                .memory_bytes
                .map(|n| format!("{:.0} MB", n as f64 / 1e6)),
        ),
        (
            "foretold",
            run.estimate
                .as_ref()
                .and_then(|e| e.seconds)
                .map(|s| span(s.value / 3600.0)),
        ),
        (
            "notes",
            Some(run.notes.clone()).filter(|notes| !notes.is_empty()),
        ),
    ]
}

/// Runs with like settings.
#[derive(Debug, Serialize)]
pub(crate) struct SimilarView {
    /// The runs, most alike first.
    pub(crate) similar: Vec<SimilarRun>,
}

impl View for SimilarView {
    fn text(&self, _width: usize) -> String {
        if self.similar.is_empty() {
            return "no run has anything in common with that\n".to_owned();
        }
        let lines = self.similar.iter().map(|similar| {
            let outcome = &similar.run.outcome;
            format!(
                "{:.2}  {}  {}\n",
                similar.similarity,
                similar.run.run_id,
                documents_and_time(outcome)
            )
        });
        lines.collect()
    }
}

/// How good forecasts were, and what the next ones here are corrected by.
#[derive(Debug, Serialize)]
pub(crate) struct AccuracyView {
    #[serde(flatten)]
    accuracy: Accuracy,
    corrections: Vec<NextForecast>,
}

/// What the next forecast of a kind is corrected by.
#[derive(Debug, Serialize)]
struct NextForecast {
    made_by: Forecaster,
    backend: &'static str,
    #[serde(flatten)]
    corrections: Corrections,
}

impl AccuracyView {
    /// Looks at the runs that a filter keeps, and at all of this machine.
    ///
    /// # Errors
    ///
    /// When the history cannot be read.
    pub(crate) fn of(history: &TrainingHistory, filter: &RunFilter) -> Result<Self> {
        let here = machine_here();
        let mut corrections = Vec::new();
        for made_by in [Forecaster::Plan, Forecaster::Estimate] {
            for backend in ["embedded", "mongodb"] {
                let found = history.corrections(made_by, backend, &here, None)?;
                if found != Corrections::default() {
                    corrections.push(NextForecast {
                        made_by,
                        backend,
                        corrections: found,
                    });
                }
            }
        }
        Ok(Self {
            accuracy: history.accuracy(filter)?,
            corrections,
        })
    }
}

impl View for AccuracyView {
    fn text(&self, _width: usize) -> String {
        let mut text = self.accuracy.to_string();
        for next in &self.corrections {
            let of = &next.corrections;
            let told = [
                ("time", of.seconds),
                ("bytes", of.disk_bytes),
                ("memory", of.memory_bytes),
            ];
            let told = told.into_iter().filter_map(|(what, correction)| {
                let Correction { factor, runs, .. } = correction?;
                Some(format!("{what} by {factor:.2} ({runs})"))
            });
            let told: Vec<String> = told.collect();
            text += &format!(
                "the next {} of a run into {} here is multiplied, by so many runs: {}\n",
                next.made_by.as_str(),
                next.backend,
                told.join(", ")
            );
        }
        text
    }
}

/// The time of a run by what others took.
#[derive(Debug, Serialize)]
pub(crate) struct ForecastView {
    /// Seconds.
    pub(crate) seconds: Interval,
    /// Learn calls that the run is expected to make.
    pub(crate) learns: f64,
    /// Runs that the time follows from.
    pub(crate) runs: usize,
    /// Run that the learn calls of a sample are taken from, or the option that says them.
    pub(crate) learns_of: String,
    /// Errors of each run predicted from the others: mean, in per cent.
    pub(crate) leave_one_out_percent: Option<f64>,
    /// Runs that it does not follow from.
    pub(crate) left_out: LeftOut,
}

impl View for ForecastView {
    fn text(&self, _width: usize) -> String {
        let in_words = |seconds: f64| span(seconds / 3600.0);
        let Interval { value, low, high } = self.seconds;
        let mut text = format!(
            "{} ({} to {})\n",
            in_words(value),
            in_words(low),
            in_words(high)
        );
        text += &format!(
            "by {}; {} in all, as many a document as {} tells\n",
            counted(self.runs, "run"),
            counted(self.learns.round() as u64, "learn call"),
            self.learns_of
        );
        if let Some(percent) = self.leave_one_out_percent {
            text += &format!(
                "each of them, predicted from the others, is {percent:.1} % off on average\n"
            );
        }
        text + &self.left_out.text()
    }
}

/// What was imported.
#[derive(Debug, Serialize)]
pub(crate) struct Imported {
    /// The ids of the runs.
    pub(crate) imported: Vec<String>,
}

impl View for Imported {
    fn text(&self, _width: usize) -> String {
        format!("{} imported\n", counted(self.imported.len(), "run"))
    }
}

/// What was removed.
#[derive(Debug, Serialize)]
pub(crate) struct Removed {
    /// The id of the run.
    pub(crate) removed: String,
}

impl View for Removed {
    fn text(&self, _width: usize) -> String {
        format!("{} removed\n", self.removed)
    }
}

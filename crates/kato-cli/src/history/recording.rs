//! The record of a run that `kato train` has made, and the forecast by those before it.

use std::path::Path;

use anyhow::{Context, Result};
use kato_planner::Interval;
use kato_planner::history::record::{
    Corpus, Estimate, ForecastValue, LevelOutcome, Machine, NewRun, Outcome, RunSettings,
};
use kato_planner::history::{RunFilter, TrainingHistory};
use kato_planner::scaling::ScalingAnalyzer;
use kato_scheduler::TrainingReport;
use serde_json::Value;

use super::RunFacts;
use crate::forecast::Forecast;
use crate::machine;
use crate::writable::check_file;

/// A history that runs are recorded in.
#[derive(Debug)]
pub(crate) struct Recorder {
    history: TrainingHistory,
}

impl Recorder {
    /// Opens the history, or begins it.
    ///
    /// # Errors
    ///
    /// When the file is none of ours, or cannot be written.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        check_file("--history", path)?;
        let failed = || format!("--history {}", path.display());
        let mut history = TrainingHistory::open(path).with_context(failed)?;
        // Here and not when the run is done.
        history.check_writable().with_context(failed)?;
        Ok(Self { history })
    }

    /// Returns what complete runs with the same settings on the same machine foretell; `None` where
    /// there are fewer than three sizes of them, and where the run is too far from them.
    #[must_use]
    pub(crate) fn forecast(&self, facts: &RunFacts) -> Option<Forecast> {
        let bytes = facts.corpus_bytes.filter(|_| !facts.is_part)? as f64;
        let filter = RunFilter::default()
            .with_complete_only()
            .with_chunk_sizes(facts.chunk_sizes.iter().copied());
        let here = machine_here();
        let runs = self.history.runs(&filter).ok()?;
        let alike: Vec<_> = runs
            .into_iter()
            .filter(|run| run.machine == here && !run.settings.other.contains_key("part"))
            .filter(|run| run.settings.other.get("configuration") == Some(&facts.configuration))
            .filter(|run| run.settings.backend.as_deref() == Some(facts.backend))
            .filter(|run| run.settings.memory_bytes == Some(facts.memory_bytes))
            .collect();
        let by_size = |of: &dyn Fn(&Outcome) -> Option<f64>| {
            let points = alike.iter().filter_map(|run| {
                let value = of(&run.outcome).filter(|&value| value > 0.0)?;
                let size = run.corpus.bytes.filter(|&bytes| bytes > 0)?;
                Some((size as f64, value))
            });
            let scaling = ScalingAnalyzer::new().fit(points).ok()?;
            let foretold = scaling.predict(bytes).ok()?;
            Some(Interval::new(foretold.value, foretold.low, foretold.high))
        };
        Some(Forecast {
            seconds: by_size(&|outcome| Some(outcome.seconds))?,
            disk_bytes: by_size(&|outcome| outcome.disk_bytes.map(|bytes| bytes as f64)),
            memory_bytes: by_size(&|outcome| outcome.memory_bytes.map(|bytes| bytes as f64)),
        })
    }

    /// Records a run and returns its id.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(crate) fn record(
        &mut self,
        facts: &RunFacts,
        forecast: Option<&Forecast>,
        report: &TrainingReport,
        note: &str,
    ) -> Result<String> {
        let mut settings = RunSettings {
            workers: Some(report.n_workers as u64),
            memory_bytes: Some(facts.memory_bytes),
            backend: Some(facts.backend.into()),
            ..RunSettings::new(facts.chunk_sizes.iter().copied())
        };
        let mut set = |name: &str, value: Value| settings.other.insert(name.to_owned(), value);
        set("configuration", facts.configuration.clone());
        // A session that went on took the time of its own documents only, and foretells no whole run.
        if facts.is_part || report.session_documents < report.documents_processed {
            set("part", true.into());
        }
        let levels = report.levels.iter().map(|level| LevelOutcome {
            patterns: level.unique_patterns,
            ..LevelOutcome::new(level.node.as_str(), level.learns)
        });
        let outcome = Outcome {
            complete: report.complete,
            samples: report.documents_processed,
            tokens: Some(report.tokens),
            errors: report.errors,
            warnings: report.stalls + u64::from(report.worker_restarts),
            disk_bytes: report.disk_bytes,
            memory_bytes: kato_process::peak_bytes(),
            levels: levels.collect(),
            ..Outcome::new(report.total_time_seconds)
        };
        let run = NewRun {
            corpus: Corpus {
                fingerprint: Some(facts.fingerprint.clone()),
                bytes: facts.corpus_bytes,
                ..Corpus::new(facts.corpus.as_str())
            },
            machine: machine_here(),
            estimate: forecast.map(estimate),
            notes: note.to_owned(),
            ..NewRun::new(settings, outcome)
        };
        let path = self.history.path().display().to_string();
        let recorded = self.history.record(&run);
        recorded.with_context(|| format!("the run is trained, but not recorded in {path}"))
    }
}

/// Returns a forecast as it is recorded.
fn estimate(forecast: &Forecast) -> Estimate {
    let foretold = |interval: Interval| {
        ForecastValue::with_interval(interval.value, interval.low, interval.high)
    };
    Estimate {
        seconds: Some(foretold(forecast.seconds)),
        disk_bytes: forecast.disk_bytes.map(foretold),
        memory_bytes: forecast.memory_bytes.map(foretold),
    }
}

/// Returns this machine as it is recorded.
fn machine_here() -> Machine {
    let here = machine::Machine::here();
    Machine {
        name: here.processor,
        cores: Some(here.threads),
        memory_bytes: here.memory_bytes,
        ..Machine::default()
    }
}

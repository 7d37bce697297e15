//! The record of a run that `kato train` has made, and the forecast by those before it.

use std::path::Path;

use anyhow::{Context, Result};
use kato_planner::history::record::{
    LevelOutcome, Machine, NewRun, Outcome, RecordedCorpus, RunSettings,
};
use kato_planner::history::{NewForecast, RunFilter, TrainingHistory};
use kato_planner::scaling::ScalingAnalyzer;
use kato_planner::{Forecast, ForecastValue, Forecaster};
use kato_scheduler::TrainingReport;

use super::RunFacts;
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

    /// Returns what `kato plan` and `kato estimate` foretold of the run, else what complete runs with
    /// the same settings on the same machine foretell; `None` where neither tells anything.
    ///
    /// # Errors
    ///
    /// When the history cannot be read.
    pub(crate) fn forecast(&self, facts: &RunFacts) -> Result<Option<Forecast>> {
        let Some(bytes) = facts.corpus_bytes.filter(|_| !facts.is_part) else {
            return Ok(None);
        };
        let bytes = bytes as f64;
        let here = machine_here();
        let failed = || format!("--history {}", self.history.path().display());
        let kept = self
            .history
            .forecast(&settings(facts), &corpus(facts), &here);
        if let Some(kept) = kept.with_context(failed)? {
            return Ok(Some(kept));
        }
        let filter = RunFilter::default()
            .with_complete_only()
            .with_chunk_sizes(facts.chunk_sizes.iter().copied());
        let runs = self.history.runs(&filter).with_context(failed)?;
        let alike: Vec<_> = runs
            .into_iter()
            .filter(|run| run.machine == here && !run.settings.other.contains_key("part"))
            .filter(|run| run.settings.other.get("configuration") == Some(&facts.configuration))
            .filter(|run| run.settings.backend.as_deref() == Some(facts.backend))
            .filter(|run| run.settings.memory_bytes == Some(facts.memory_bytes))
            // Workers that are not known are any.
            .filter(|run| facts.workers.is_none() || run.settings.workers == facts.workers)
            // One that was not recorded is any as well.
            .filter(|run| {
                run.settings
                    .batch_size
                    .is_none_or(|it| facts.batch == Some(it))
            })
            .collect();
        let by_size = |of: &dyn Fn(&Outcome) -> Option<f64>| {
            let points = alike.iter().filter_map(|run| {
                let value = of(&run.outcome).filter(|&value| value > 0.0)?;
                let size = run.corpus.bytes.filter(|&bytes| bytes > 0)?;
                Some((size as f64, value))
            });
            let scaling = ScalingAnalyzer::new().fit(points).ok()?;
            let foretold = scaling.predict(bytes).ok()?;
            let (low, high) = (foretold.low, foretold.high);
            Some(ForecastValue::with_interval(foretold.value, low, high))
        };
        let seconds = by_size(&|outcome| Some(outcome.seconds));
        Ok(seconds.map(|seconds| Forecast {
            made_by: Some(Forecaster::History),
            seconds: Some(seconds),
            disk_bytes: by_size(&|outcome| outcome.disk_bytes.map(|bytes| bytes as f64)),
            memory_bytes: by_size(&|outcome| outcome.memory_bytes.map(|bytes| bytes as f64)),
            ..Forecast::default()
        }))
    }

    /// Corrects a forecast by the errors of those before it on this machine, keeps it for the run that
    /// it is of, and returns it. That of a part, or of a corpus whose size is not known, is not kept, as
    /// no run would find it.
    ///
    /// # Errors
    ///
    /// When the history cannot be read or written.
    pub(crate) fn foretell(&mut self, facts: &RunFacts, forecast: Forecast) -> Result<Forecast> {
        let machine = machine_here();
        let made_by = forecast.made_by.unwrap_or(Forecaster::History);
        let history = &self.history;
        let corrections = history.corrections(made_by, facts.backend, &machine, Some(&forecast))?;
        let forecast = corrections.apply(&forecast);
        if facts.corpus_bytes.is_some() && !facts.is_part {
            self.history.record_forecast(&NewForecast {
                settings: settings(facts),
                corpus: corpus(facts),
                machine,
                forecast,
            })?;
        }
        Ok(forecast)
    }

    /// Records a run, with its peak bytes of memory, and returns its id.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(crate) fn record(
        &mut self,
        facts: &RunFacts,
        forecast: Option<&Forecast>,
        report: &TrainingReport,
        memory_bytes: Option<u64>,
        note: &str,
    ) -> Result<String> {
        let mut settings = RunSettings {
            workers: Some(report.n_workers as u64),
            batch_size: facts.batch,
            ..settings(facts)
        };
        // A session that went on took the time of its own documents only: it foretells no whole run, and
        // tells nothing of what was foretold of one.
        let has_gone_on = report.session_documents < report.documents_processed;
        if facts.is_part || has_gone_on {
            settings.other.insert("part".to_owned(), true.into());
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
            memory_bytes,
            levels: levels.collect(),
            // Nor do all its documents have a rate: what earlier sessions took, nobody knows of one that was killed.
            ..Outcome::new(match has_gone_on {
                true => 0.0,
                false => report.total_time_seconds,
            })
        };
        let run = NewRun {
            corpus: corpus(facts),
            machine: machine_here(),
            estimate: forecast.filter(|_| !has_gone_on).copied(),
            notes: note.to_owned(),
            ..NewRun::new(settings, outcome)
        };
        let path = self.history.path().display().to_string();
        let recorded = self.history.record(&run);
        recorded.with_context(|| format!("the run is trained, but not recorded in {path}"))
    }
}

/// Returns the settings of a run as they are recorded, with the workers as far as they are known.
fn settings(facts: &RunFacts) -> RunSettings {
    let configuration = ("configuration".to_owned(), facts.configuration.clone());
    RunSettings {
        workers: facts.workers,
        memory_bytes: Some(facts.memory_bytes),
        backend: Some(facts.backend.into()),
        other: [configuration].into(),
        ..RunSettings::new(facts.chunk_sizes.iter().copied())
    }
}

/// Returns the corpus of a run as it is recorded.
fn corpus(facts: &RunFacts) -> RecordedCorpus {
    RecordedCorpus {
        fingerprint: Some(facts.fingerprint.clone()),
        bytes: facts.corpus_bytes,
        ..RecordedCorpus::new(facts.corpus.as_str())
    }
}

/// Returns this machine as it is recorded.
pub(crate) fn machine_here() -> Machine {
    let here = machine::Machine::here();
    Machine {
        name: here.processor,
        cores: Some(here.threads),
        memory_bytes: here.memory_bytes,
        ..Machine::default()
    }
}

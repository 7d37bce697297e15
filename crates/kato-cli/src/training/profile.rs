//! The profile of `kato train --profile`: it watches a run, says in the end what bounds it, and
//! writes reports.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use kato_loader::DECODE_STAGE;
use kato_probe::Probe;
use kato_profiler::experiment::{Elasticity, ExperimentOutcome, ThrottleExperiment};
use kato_profiler::{
    ProfileError, ProfilingEngine, ProfilingSummary, RunningProfile, SampleCounter,
};
use kato_scheduler::event::Progress;
use kato_scheduler::stages::STAGES;
use kato_scheduler::{TrainingEvent, TrainingReport, stages};
use serde_json::{Value, json};

use crate::training::seconds::seconds;
use crate::writable::check_replaceable;

/// Time that a run goes on before its verdict is put to the test.
const BEFORE_EXPERIMENT: Duration = Duration::from_secs(5);

/// Time for which the stage is slowed and left alone in turns.
///
/// Workers write what they have learned every few seconds, and a window must hold more than that.
const WINDOW: Duration = Duration::from_secs(6);
/// Pairs of windows, at full speed and slowed.
const PAIRS: usize = 5;
/// Time that the end of a run waits for the outcome of the experiment.
const PATIENCE: Duration = Duration::from_secs(1);

/// Watching a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Profiling")]
pub(crate) struct ProfileArgs {
    /// Watch where the time goes, and say in the end what bounds the run, why, and what to change.
    #[arg(long)]
    profile: bool,
    /// Write the profile to a file, in the form that its ending names: .html, .json, .csv or .prom
    /// (Prometheus). Can be given several times.
    #[arg(long, value_name = "FILE", requires = "profile")]
    report: Vec<ReportFile>,
    /// Seconds between two looks at the machine.
    #[arg(long, value_name = "SECONDS", default_value = "1", requires = "profile", value_parser = interval)]
    profile_interval: Duration,
    /// Put the verdict to the test: slow the stage that seems to bound the run, off and on for a
    /// minute, and see whether the run follows.
    #[arg(long, requires = "profile")]
    confirm: bool,
}

/// Parses the time between two looks.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = seconds(text)?;
    match (Duration::from_millis(10)..=Duration::from_hours(1)).contains(&interval) {
        true => Ok(interval),
        false => Err("give 0.01 to 3600 seconds".to_owned()),
    }
}

/// A file for a profile, with the form that its ending names.
#[derive(Debug, Clone)]
struct ReportFile {
    path: PathBuf,
    form: Form,
}

/// The forms of a report.
#[derive(Debug, Clone, Copy)]
enum Form {
    Html,
    Json,
    Csv,
    Prometheus,
}

impl FromStr for ReportFile {
    type Err = String;

    fn from_str(path: &str) -> Result<Self, Self::Err> {
        let path = PathBuf::from(path);
        let form = match path.extension().and_then(|ending| ending.to_str()) {
            Some("html") => Form::Html,
            Some("json") => Form::Json,
            Some("csv") => Form::Csv,
            Some("prom") => Form::Prometheus,
            _ => return Err("the name must end in .html, .json, .csv or .prom".to_owned()),
        };
        Ok(Self { path, form })
    }
}

impl ReportFile {
    /// Writes the profile to the file.
    fn write(
        &self,
        summary: &ProfilingSummary,
        running: &RunningProfile,
    ) -> Result<(), ProfileError> {
        match self.form {
            Form::Html => summary.export_html(&self.path),
            Form::Json => summary.export_json(&self.path),
            Form::Csv => summary.export_csv(&self.path),
            Form::Prometheus => running.export_prometheus(&self.path),
        }
    }
}

impl ProfileArgs {
    /// Returns the probe for everything that takes part in the run.
    #[must_use]
    pub(crate) fn probe(&self) -> Probe {
        match self.profile {
            true => Probe::on([DECODE_STAGE].into_iter().chain(STAGES)),
            // Marks cost next to nothing then, so they stay in the code.
            false => Probe::off(),
        }
    }

    /// Checks that the reports can be written in the end.
    ///
    /// # Errors
    ///
    /// When one cannot be.
    pub(crate) fn check(&self) -> Result<()> {
        let mut files = self.report.iter();
        files.try_for_each(|file| check_replaceable("--report", &file.path))
    }

    /// Begins to watch, if that was asked for.
    ///
    /// `place` is where the knowledge goes, a directory if it goes to a disk.
    ///
    /// # Errors
    ///
    /// When there can be no profile.
    pub(crate) fn start(&self, probe: &Probe, place: &Path) -> Result<Option<Profiling>> {
        if !self.profile {
            return Ok(None);
        }
        let running = ProfilingEngine::builder()
            .with_sampling_interval(self.profile_interval)
            .with_probe(probe.clone())
            .with_watch_path(place)
            .with_title(format!("Training into {}", place.display()))
            .build()?
            .start()?;
        let running = Arc::new(running);
        let experiment = match self.confirm {
            true => Some(Experiment::start(Arc::clone(&running), probe.clone())?),
            false => None,
        };
        Ok(Some(Profiling {
            counter: running.counter(),
            counted: (0, 0),
            running,
            experiment,
            reports: self.report.clone(),
        }))
    }
}

/// A run that is being watched.
#[derive(Debug)]
pub(crate) struct Profiling {
    running: Arc<RunningProfile>,
    counter: SampleCounter,
    /// Documents and tokens that the counter has.
    counted: (u64, u64),
    experiment: Option<Experiment>,
    reports: Vec<ReportFile>,
}

impl Profiling {
    /// Takes note of progress.
    pub(crate) fn note(&mut self, event: &TrainingEvent) {
        if let TrainingEvent::Progress(Progress {
            session_documents,
            session_tokens,
            ..
        }) = *event
        {
            self.count(session_documents, session_tokens);
        }
    }

    /// Raises the counter to these numbers of documents and tokens.
    fn count(&mut self, documents: u64, tokens: u64) {
        let (documents_before, tokens_before) = self.counted;
        // Progress has totals, and the counter takes what is new; it cannot go back.
        self.counter.add(
            documents.saturating_sub(documents_before),
            tokens.saturating_sub(tokens_before),
        );
        self.counted = (documents.max(documents_before), tokens.max(tokens_before));
    }

    /// Ends the watching and writes the reports; without a report of the run when it failed.
    ///
    /// # Errors
    ///
    /// When a report cannot be written.
    pub(crate) fn finish(mut self, report: Option<&TrainingReport>) -> Result<Profile> {
        if let Some(report) = report {
            // The report counts tokens over all sessions; those of this one follow from its rate.
            let tokens = report.tokens_per_sec * report.total_time_seconds;
            // Progress comes now and then, so the last documents are missing until here.
            self.count(report.session_documents, tokens.round() as u64);
        }
        let experiment = self.experiment.map(Experiment::finish);
        let summary = self.running.summary();
        for file in &self.reports {
            let written = file.write(&summary, &self.running);
            written.context("the run is safe; only its profile was not written")?;
        }
        Ok(Profile {
            summary,
            experiment,
            reports: self.reports,
        })
    }
}

/// The experiment on a thread of its own.
#[derive(Debug)]
struct Experiment {
    run_ended: Sender<()>,
    /// The outcome; `None` if it never began.
    found: Receiver<Option<Result<Elasticity, ProfileError>>>,
}

impl Experiment {
    /// Starts the thread, which waits before it begins with the experiment.
    fn start(running: Arc<RunningProfile>, probe: Probe) -> Result<Self> {
        let (run_ended, ended) = mpsc::channel();
        let (tell, found) = mpsc::channel();
        std::thread::Builder::new()
            .name("experiment".to_owned())
            .spawn(move || {
                // The channel closes when the run ends, and then there is nothing left to slow.
                let wait = ended.recv_timeout(BEFORE_EXPERIMENT);
                let result = (wait == Err(RecvTimeoutError::Timeout)).then(|| {
                    let verdict = running.summary().verdict;
                    // Parts and commits are few: the work of the run is its documents.
                    let experiment =
                        ThrottleExperiment::from_verdict(&verdict)?.with_items_of(stages::LEARN);
                    experiment.with_window(WINDOW).with_pairs(PAIRS).run(&probe)
                });
                // Whoever waited may have given up.
                let _ = tell.send(result);
            })
            .context("no thread for the experiment")?;
        Ok(Self { run_ended, found })
    }

    /// Returns the outcome; an error if the run was over before the experiment was.
    fn finish(self) -> Result<Elasticity> {
        // Wakes the thread if it still waits to begin. An experiment under way is left behind: it
        // may need another minute.
        drop(self.run_ended);
        match self.found.recv_timeout(PATIENCE) {
            Ok(Some(found)) => Ok(found?),
            Ok(None) | Err(_) => {
                let needed = BEFORE_EXPERIMENT + 2 * WINDOW * PAIRS as u32;
                bail!(
                    "the run was over before it was, which takes {} s: take more documents",
                    needed.as_secs()
                )
            }
        }
    }
}

/// The result of watching a run.
#[derive(Debug)]
pub(crate) struct Profile {
    summary: ProfilingSummary,
    experiment: Option<Result<Elasticity>>,
    reports: Vec<ReportFile>,
}

impl Profile {
    /// Returns the verdict and the experiment, for machines; the reports have the rest.
    ///
    /// # Errors
    ///
    /// When it has no JSON form, which would be a bug.
    pub(crate) fn to_json(&self) -> Result<Value> {
        let mut value = json!({
            "verdict": serde_json::to_value(&self.summary.verdict)?,
        });
        match &self.experiment {
            None => {}
            Some(Ok(found)) => value["experiment"] = serde_json::to_value(found)?,
            Some(Err(error)) => value["experiment"] = json!({"error": format!("{error:#}")}),
        }
        Ok(value)
    }

    /// Describes the verdict and the experiment.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        let verdict = &self.summary.verdict;
        let mut text = format!("\n{}\n", verdict.headline());
        for evidence in &verdict.evidence {
            text += &format!("  {}\n", evidence.text);
        }
        if !verdict.advice.is_empty() {
            text += &format!("{}\n", verdict.advice);
        }
        if let Some(gain) = &verdict.gain {
            let next = gain.next_stage.as_ref();
            let next = next.map(|stage| format!("; then stage \"{stage}\" bounds it"));
            let next = next.unwrap_or_default();
            text += &format!(
                "That makes it at most {:.1} times as fast{next}\n",
                gain.at_most
            );
        }
        match &self.experiment {
            None => {}
            Some(Ok(found)) => text += &experiment_text(found),
            Some(Err(error)) => text += &format!("The experiment says nothing: {error:#}\n"),
        }
        for file in &self.reports {
            text += &format!("profile in {}\n", file.path.display());
        }
        text
    }
}

/// Describes the outcome of an experiment.
fn experiment_text(found: &Elasticity) -> String {
    let outcome = match found.outcome {
        ExperimentOutcome::Confirmed => "it bounds the run",
        ExperimentOutcome::Refuted => "it does not bound the run",
        _ => "that does not settle it",
    };
    format!(
        "Experiment: with stage \"{}\" slowed by {:.0} %, elasticity {:.2} ({:.2} to {:.2}): {outcome}\n",
        found.stage,
        100.0 * found.slowed_by,
        found.elasticity,
        found.lower,
        found.upper
    )
}

//! The time of a run by recorded ones of one machine and kind of place.

use anyhow::{Context, Result, bail};
use kato_planner::history::record::RunSettings;
use kato_planner::history::{HistoryRun, RunFilter, TrainingHistory};
use kato_planner::{LearnCallModel, RecordedRun};
use serde::Serialize;

use super::recording::machine_here;
use super::views::ForecastView;
use crate::numbers::counted;

/// A run whose time is asked for.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) settings: RunSettings,
    pub(crate) samples: u64,
    /// Learn calls of a sample; `None` for those of the largest run with the same chunk sizes.
    pub(crate) learns_a_sample: Option<f64>,
    /// The run whose machine and kind of place count; `None` for this machine.
    pub(crate) like: Option<&'a str>,
}

/// Runs that a forecast leaves out, as their times say nothing of those that are asked for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct LeftOut {
    /// Of no known time, as those that were gone on with.
    time: usize,
    /// Of another machine.
    machine: usize,
    /// Of the machine, into another kind of place.
    backend: usize,
    /// Like those, with another number of workers.
    workers: usize,
}

impl LeftOut {
    /// Describes it; nothing where no run is left out.
    pub(crate) fn text(&self) -> String {
        let of = [
            (self.time, "whose time is not known"),
            (self.machine, "of another machine"),
            (self.backend, "into another kind of place"),
            (self.workers, "with another number of workers"),
        ];
        let told = of.into_iter().filter(|(runs, _)| *runs > 0);
        let told: Vec<String> = told
            .map(|(runs, which)| format!("{} {which}", counted(runs, "run")))
            .collect();
        match told.is_empty() {
            true => String::new(),
            false => format!("left out: {}\n", told.join(", ")),
        }
    }
}

/// Foretells the time of a run by the times of recorded ones.
///
/// # Errors
///
/// When the history cannot be read, and when too little in it is like the run.
pub(crate) fn forecast(history: &TrainingHistory, asked: &Asked<'_>) -> Result<ForecastView> {
    let settings = &asked.settings;
    let like = asked.like.map(|run| history.run(run)).transpose()?;
    let mut runs = history.runs(&RunFilter::default().with_complete_only())?;
    runs.retain(|run| run.outcome.learns() > 0 && run.outcome.samples > 0);
    let of_any_time = runs.len();
    runs.retain(|run| run.outcome.seconds > 0.0);
    let time = of_any_time - runs.len();
    let left_out = leave_out(&mut runs, like.as_ref(), settings)?;
    let left_out = LeftOut { time, ..left_out };
    let leaves_out = left_out != LeftOut::default();
    if runs.is_empty() && leaves_out {
        bail!(
            "no run tells the time of this one; {}",
            left_out.text().trim_end()
        );
    }
    let largest = largest(&runs, &settings.chunk_sizes);
    let of_largest = largest.map(|run| run.outcome.learns() as f64 / run.outcome.samples as f64);
    let learns_a_sample = asked.learns_a_sample.or(of_largest).with_context(|| {
        let which = if leaves_out { " that is not left out" } else { "" };
        format!(
            "no run{which} has these chunk sizes, so nothing tells how many learn calls a document makes: give --learns N"
        )
    })?;
    let recorded: Vec<RecordedRun> = runs.iter().map(taken).collect();
    let model = LearnCallModel::fit(&recorded)?;
    let batch = settings
        .batch_size
        .or_else(|| largest.and_then(|run| run.settings.batch_size));
    let samples = asked.samples as f64;
    let learns = learns_a_sample * samples;
    let errors = LearnCallModel::leave_one_out(&recorded);
    let mean = errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len().max(1) as f64;
    Ok(ForecastView {
        seconds: model.predict(samples, learns, batch.unwrap_or(1).max(1) as f64)?,
        learns,
        runs: model.n_runs(),
        learns_of: match (asked.learns_a_sample, largest) {
            (None, Some(run)) => run.run_id.clone(),
            _ => "--learns".to_owned(),
        },
        leave_one_out_percent: (!errors.is_empty()).then_some(100.0 * mean),
        left_out,
    })
}

/// Leaves out runs of other machines and into other kinds of place than those of a run, or than this machine and
/// the kind of place of its largest run with these chunk sizes, else of its newest one; and runs with another number
/// of workers, where one is asked for.
fn leave_out(
    runs: &mut Vec<HistoryRun>,
    like: Option<&HistoryRun>,
    asked: &RunSettings,
) -> Result<LeftOut> {
    let machine = like.map_or_else(machine_here, |run| run.machine.clone());
    let of_all = runs.len();
    runs.retain(|run| run.machine == machine);
    let of_machine = runs.len();
    if of_machine == 0 && of_all > 0 && like.is_none() {
        bail!("no run is of this machine: --like RUN foretells one of the machine of that run");
    }
    let like = like
        .or_else(|| largest(runs, &asked.chunk_sizes))
        .or(runs.first());
    let backend = like.and_then(|run| run.settings.backend.clone());
    runs.retain(|run| run.settings.backend == backend);
    let of_backend = runs.len();
    runs.retain(|run| asked.workers.is_none() || run.settings.workers == asked.workers);
    Ok(LeftOut {
        machine: of_all - of_machine,
        backend: of_machine - of_backend,
        workers: of_backend - runs.len(),
        ..LeftOut::default()
    })
}

/// Returns the run of most documents with these chunk sizes.
fn largest<'r>(runs: &'r [HistoryRun], chunk_sizes: &[u64]) -> Option<&'r HistoryRun> {
    let same = runs
        .iter()
        .filter(|run| run.settings.chunk_sizes == chunk_sizes);
    same.max_by_key(|run| run.outcome.samples)
}

/// Returns what a run took.
fn taken(run: &HistoryRun) -> RecordedRun {
    let outcome = &run.outcome;
    let batch_size = run.settings.batch_size.unwrap_or(1).max(1);
    RecordedRun::new(
        outcome.samples as f64,
        outcome.learns() as f64,
        outcome.seconds,
    )
    .with_batch_size(batch_size as f64)
}

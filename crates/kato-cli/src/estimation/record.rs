//! The record of a finished run, read from its knowledge base.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use kato_estimator::run_record::{FinishedRun, RunLevel};
use kato_estimator::{Calibration, EstimatedHierarchy};
use kato_scheduler::{Checkpoint, RunConfiguration};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};

use crate::backend::warn_of_recovery;
use crate::exit::bail_as;
use crate::notice::say;
use crate::numbers::counted;

/// Reads the record of the run that made a knowledge base.
///
/// # Errors
///
/// When there is none, it cannot be read, it was not made by `kato train`, or it has learned nothing.
pub(crate) fn run_record(kb: &Path) -> Result<FinishedRun> {
    let store = EmbeddedStore::open_read_only(kb)?;
    warn_of_recovery(&store);
    // Any program may keep a configuration of its own in a store.
    let foreign = || {
        format!(
            "{} does not tell how it was trained: train it with `kato train`",
            kb.display()
        )
    };
    let run = RunConfiguration::from_json(store.configuration()).with_context(foreign)?;
    let checkpoint = Checkpoint::from_json(&store.checkpoint())?.with_context(foreign)?;
    ensure!(
        checkpoint.counters.documents > 0,
        "{} has learned nothing yet",
        kb.display()
    );
    if !checkpoint.complete {
        say(format_args!(
            "{} was not trained to the end of its corpus: what is taken from it is that of {}",
            kb.display(),
            counted(checkpoint.counters.documents, "document")
        ));
    }
    let hierarchy = EstimatedHierarchy::from_config(&run.rules.learner)?;
    let mut record = FinishedRun::new(hierarchy, checkpoint.counters.documents);
    for node in KnowledgeBase::all(&store) {
        let statistics = node.statistics()?;
        let frequencies = statistics
            .histogram
            .iter()
            .map(|count| (count.frequency, count.patterns))
            .collect();
        record = record.with_level(RunLevel::new(frequencies));
    }
    Ok(record)
}

/// Calibrates from finished runs; of several, the largest counts and the others show the error.
///
/// # Errors
///
/// As `run_record`, and when they have other levels or rules.
pub(crate) fn from_runs(dirs: &[PathBuf]) -> Result<Calibration> {
    let records = dirs
        .iter()
        .map(|dir| run_record(dir))
        .collect::<Result<Vec<_>>>()?;
    Ok(match records.as_slice() {
        [record] => Calibration::from_run(record)?,
        records => {
            let first = records.first().context("name a run")?;
            if let Some(at) = records
                .iter()
                // Runs with other levels or rules learn other patterns: their errors would say
                // nothing of this one.
                .position(|record| record.hierarchy != first.hierarchy)
            {
                bail_as!(
                    Usage,
                    "{} and {} have other levels or rules: estimate from one of them",
                    // Records are in the order of the directories, of which there are at least two
                    // here.
                    dirs[0].display(),
                    dirs[at].display()
                );
            }
            Calibration::from_history(records, &first.hierarchy)?
        }
    })
}

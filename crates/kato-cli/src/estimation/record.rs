//! The record of a finished run, read from its knowledge base.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use kato_estimator::EstimatedHierarchy;
use kato_estimator::run_record::{RunLevel, RunRecord};
use kato_scheduler::{Checkpoint, RunConfiguration};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};

use crate::backend::warn_of_recovery;

/// Reads the record of the run that made a knowledge base.
///
/// # Errors
///
/// When there is none, it cannot be read, or it was not made by `kato train`.
pub(crate) fn run_record(kb: &Path) -> Result<RunRecord> {
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
    let hierarchy = EstimatedHierarchy::from_config(&run.rules.learner)?;
    let mut record = RunRecord::new(hierarchy, checkpoint.counters.documents);
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

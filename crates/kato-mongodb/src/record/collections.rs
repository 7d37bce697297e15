//! The names of a run's own database and of its collections.

/// The end of the names of all databases of runs, which hold collections of our own.
pub(crate) const RUN_SUFFIX: &str = "_kato_rs";
/// The one record of a run: what is committed, and who writes.
pub(crate) const RUN: &str = "run";
/// Parts of a checkpoint that is too large for the record.
pub(crate) const CHECKPOINT: &str = "checkpoint";
/// Staged batches.
pub(crate) const JOURNAL: &str = "journal";
/// Notes or journal entries of the bulks of the last commit.
pub(crate) const APPLIED: &str = "applied";
/// Ids of documents by number of their sample.
pub(crate) const DOCUMENTS: &str = "documents";
/// Vectors by node and name.
pub(crate) const VECTORS: &str = "vectors";

/// Returns the database of a run.
pub(crate) fn run_database(run: &str) -> String {
    format!("{run}{RUN_SUFFIX}")
}

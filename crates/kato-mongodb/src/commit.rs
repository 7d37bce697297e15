//! Commits: decided by one update of the run's record, then applied bulk by bulk.

mod apply;
mod bulk;
mod bulks;
mod commands;
mod commit_log;
mod document_change;
mod documents_and_vectors;
mod journal;
mod merge;
mod settings;
mod sizes;
mod symbol_sums;
mod transaction;

pub(crate) use self::commit_log::{CommitLog, CommitState, OpenScan};
pub(crate) use self::settings::CommitSettings;

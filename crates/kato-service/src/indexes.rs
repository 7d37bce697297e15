//! What became of the indexes beside the knowledge bases of nodes.

use std::path::PathBuf;
use std::time::Duration;

/// The work of one round of [`Service::write_indexes`](crate::Service::write_indexes).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexReport {
    /// The indexes that were written.
    pub written: Vec<WrittenIndex>,
    /// What was found wrong with those that there are since the last round, or with writing them.
    pub faults: Vec<IndexFault>,
}

/// An index that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenIndex {
    /// The id of its node.
    pub node_id: String,
    /// Patterns in it.
    pub patterns: u64,
    /// Its bytes on the disk.
    pub bytes: u64,
    /// Time that it took.
    pub elapsed: Duration,
    /// Whether the node is asked over it from now on, and has given back the memory of these patterns.
    pub is_in_use: bool,
}

/// An index that cannot be used or written. Nothing is lost: its node answers from memory, or, where it
/// does not fit there, once the next index is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the index of node {node_id:?} in {} is not used: {reason}", path.display())]
#[non_exhaustive]
pub struct IndexFault {
    /// The id of the node.
    pub node_id: String,
    /// The directory of its knowledge base.
    pub path: PathBuf,
    /// Why not, with all causes.
    pub reason: String,
}

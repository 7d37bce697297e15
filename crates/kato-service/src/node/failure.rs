//! Nodes of which an operation was left half-way: their memory may have what the journal lacks, so
//! they are loaded again from store and journal before anything else is done with them. Other nodes
//! are not concerned.

use super::LoadedNode;
use crate::error::StorageFailure;

/// An operation on a node that has begun. Dropped before it is [`done`](Self::done), as by a panic,
/// it makes the node be loaded again: a later fold would otherwise store what the journal does not
/// have.
#[derive(Debug)]
#[must_use = "the node is loaded again when it is dropped"]
pub(crate) struct OperationGuard<'a> {
    node: &'a LoadedNode,
    is_done: bool,
}

/// The failure of an operation that left memory and journal apart.
#[derive(Debug, thiserror::Error)]
#[error("an operation ended half-way, and what it changed is not in the journal")]
struct IncompleteOperation;

impl OperationGuard<'_> {
    /// Ends the watch: what memory has is in the journal's queue, or nothing was changed.
    pub(crate) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for OperationGuard<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.node.fail(StorageFailure::new(IncompleteOperation));
        }
    }
}

impl LoadedNode {
    /// Begins an operation, after which the node is loaded again unless it is said to be done. To
    /// be dropped before the node's gate, so that no fold comes between.
    pub(crate) const fn begin_operation(&self) -> OperationGuard<'_> {
        OperationGuard {
            node: self,
            is_done: false,
        }
    }

    /// Notes that memory may have what the journal lacks, and returns why first.
    pub(crate) fn fail(&self, failure: StorageFailure) -> StorageFailure {
        self.failure.get_or_init(|| failure).clone()
    }

    /// Returns why the node must be loaded again, if it must.
    pub(crate) fn failure(&self) -> Option<&StorageFailure> {
        self.failure.get()
    }
}

//! The watch over operations that change memory first and the journal after it.

use super::Journal;
use crate::error::StorageFailure;

/// An operation that has begun. Dropped before it is [`done`](Self::done), as by a panic, it ends
/// all writing: memory may then have what the journal lacks, and a later fold would store it
/// without its key.
#[derive(Debug)]
#[must_use = "it ends all writing when it is dropped"]
pub(crate) struct OperationGuard<'a> {
    journal: &'a Journal,
    is_done: bool,
}

/// The failure of an operation that left memory and journal apart.
#[derive(Debug, thiserror::Error)]
#[error("an operation ended half-way, and what it changed is not in the journal")]
struct IncompleteOperation;

impl<'a> OperationGuard<'a> {
    /// Begins an operation.
    pub(super) const fn new(journal: &'a Journal) -> Self {
        Self {
            journal,
            is_done: false,
        }
    }

    /// Ends the watch: what memory has is in the journal's queue, or nothing was changed.
    pub(crate) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for OperationGuard<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.journal.fail(StorageFailure::new(IncompleteOperation));
        }
    }
}

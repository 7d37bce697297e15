//! Counts of what a store sent.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of what a store sent, and of how often it had to try again, since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionFigures {
    /// Bulks of upserts that were applied.
    pub bulks: u64,
    /// Upserts in them.
    pub upserts: u64,
    /// Times that an operation was tried again, as the server did not answer or could not do it then.
    pub retries: u64,
    /// Bulks that a replay found applied already.
    pub replays: u64,
    /// Bytes of batches and bulks sent.
    pub bytes: u64,
}

/// Counts that all tasks add to.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) bulks: AtomicU64,
    pub(crate) upserts: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) replays: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

impl Counters {
    /// Adds to one of the counters.
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        // Counters order no other memory, and nobody decides by them.
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    /// Returns the counts; while tasks are at work they need not be of the same moment.
    pub(crate) fn read(&self) -> ConnectionFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConnectionFigures {
            bulks: read(&self.bulks),
            upserts: read(&self.upserts),
            retries: read(&self.retries),
            replays: read(&self.replays),
            bytes: read(&self.bytes),
        }
    }
}

//! The figures of a service, for monitoring.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::StorageFailure;
pub use crate::loss::DataLoss;

/// The figures of a service since it was opened, and its state.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Figures {
    /// Sessions that there are now.
    pub sessions: usize,
    /// Sessions created.
    pub sessions_created: u64,
    /// Sessions deleted by request.
    pub sessions_deleted: u64,
    /// Sessions removed because their time was over.
    pub sessions_expired: u64,
    /// Sessions removed to make room for others.
    pub sessions_evicted: u64,
    /// Observations taken in, those of sequences included.
    pub observations: u64,
    /// Patterns learned, new ones and repeated ones.
    pub learns: u64,
    /// Predictions computed, those of `cognition-data` included; what was ended or failed is none.
    pub predictions: u64,
    /// Requests answered from their idempotency key.
    pub replays: u64,
    /// Nodes known.
    pub nodes: usize,
    /// Nodes in memory.
    pub nodes_loaded: usize,
    /// Bytes of memory that the knowledge of the nodes in memory takes, about; what lies in their indexes
    /// on the disk is not counted.
    pub knowledge_bytes: usize,
    /// Learns that are in the journal and not in a store yet, of nodes in memory and of those that
    /// have left it since the service was opened.
    pub uncommitted_learns: u64,
    /// Folds of a node's lessons into its store.
    pub folds: u64,
    /// Indexes of nodes written: by [`write_indexes`](crate::Service::write_indexes), and before a node is
    /// opened that does not fit into memory without one.
    pub indexes_written: u64,
    /// [Faults](crate::indexes::IndexFault) that `write_indexes` returned.
    pub index_faults: u64,
    /// Records written to the journal.
    pub journal_records: u64,
    /// Bytes of these records.
    pub journal_bytes: u64,
    /// Flushes of the journal to the disk.
    pub journal_syncs: u64,
    /// Bytes at the end of the journal that opening cut off, because they were no whole write: of
    /// one that was broken off by a kill, or [lost](crate::Service::losses).
    pub journal_bytes_cut_off: u64,
    /// [Losses](crate::Service::losses) that are not mended.
    pub losses: usize,
    /// Mean time of a flush.
    pub journal_sync_mean: Duration,
    /// Bytes on the disk: the journal, and the stores of the nodes in memory.
    pub disk_bytes: u64,
    /// The cause of a failure of storage, if there is one. Once writing has ended, it stays.
    pub failure: Option<StorageFailure>,
}

/// The state of a service.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum ServiceHealth {
    /// Storage has not failed. What was lost is told by [`losses`](crate::Service::losses) alone.
    #[default]
    Healthy,
    /// The last round of [`maintain`](crate::Service::maintain) failed, as when the store of a node
    /// cannot be read or written. Writes go on, and what was not folded stays in the journal.
    Degraded(StorageFailure),
    /// The journal failed: no write is taken any more.
    Failed(StorageFailure),
}

/// The counters of a service.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sessions_created: Counter,
    pub(crate) sessions_deleted: Counter,
    pub(crate) sessions_expired: Counter,
    pub(crate) sessions_evicted: Counter,
    pub(crate) observations: Counter,
    pub(crate) learns: Counter,
    pub(crate) predictions: Counter,
    pub(crate) replays: Counter,
    pub(crate) index_faults: Counter,
}

/// A count that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        // Each counter stands alone: nothing is concluded from the order of two of them.
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

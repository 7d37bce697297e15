//! Counters of what a fetcher has done so far.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the fetcher was built, over all its clones and readers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchFigures {
    /// HTTP requests sent, redirects and repetitions included.
    pub requests: u64,
    /// Transfers that were begun again after a fault.
    pub retries: u64,
    /// Bytes of files received over the network.
    pub bytes_received: u64,
    /// Segments found in the cache.
    pub cache_hits: u64,
    /// Segments not found in the cache.
    pub cache_misses: u64,
    /// Bytes read from the cache: whole segments.
    pub cache_bytes: u64,
}

/// Counters behind [`FetchFigures`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) requests: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) bytes_received: AtomicU64,
    pub(crate) cache_hits: AtomicU64,
    pub(crate) cache_misses: AtomicU64,
    pub(crate) cache_bytes: AtomicU64,
}

/// Adds `n` to a counter.
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    // Counters are only read for show; no other memory depends on their order.
    counter.fetch_add(n, Ordering::Relaxed);
}

impl Counters {
    /// Returns the present counts. Those of work under way may disagree with one another.
    pub(crate) fn figures(&self) -> FetchFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FetchFigures {
            requests: read(&self.requests),
            retries: read(&self.retries),
            bytes_received: read(&self.bytes_received),
            cache_hits: read(&self.cache_hits),
            cache_misses: read(&self.cache_misses),
            cache_bytes: read(&self.cache_bytes),
        }
    }
}

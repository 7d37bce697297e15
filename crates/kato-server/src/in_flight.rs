//! The number of requests that are answered at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A bounded counter of the requests that are being answered, up to the last byte of their answers.
#[derive(Debug)]
pub(crate) struct InFlight {
    limit: usize,
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl InFlight {
    /// Creates a counter that admits so many requests at a time.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            now: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        })
    }

    /// Takes a permit, or returns `None` if all are taken.
    pub(crate) fn try_acquire(self: &Arc<Self>) -> Option<InFlightPermit> {
        // Counted first, and taken back by dropping the permit if that was one too many: two
        // requests can never share the last permit. Relaxed, because the counters order no other
        // memory.
        let before = self.now.fetch_add(1, Ordering::Relaxed);
        let permit = InFlightPermit(Arc::clone(self));
        if before >= self.limit {
            return None;
        }
        self.peak.fetch_max(before + 1, Ordering::Relaxed);
        Some(permit)
    }

    /// Returns the number of requests in flight.
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }

    /// Returns the most requests that were in flight at one time.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Returns the most requests that may be in flight.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }
}

/// A place among the requests in flight, returned when it is dropped.
#[derive(Debug)]
pub(crate) struct InFlightPermit(Arc<InFlight>);

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

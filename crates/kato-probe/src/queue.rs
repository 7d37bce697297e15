//! Counting of the items in a queue between two stages.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::reading::QueueReading;

/// Counter of the items in a queue, made by [`Probe::queue`](crate::Probe::queue). It costs next to nothing
/// when the probe is off.
#[derive(Debug, Clone, Default)]
pub struct QueueProbe(Option<Arc<QueueCounts>>);

#[derive(Debug)]
pub(crate) struct QueueCounts {
    capacity: u64,
    /// Items put in less items taken out; below 0 for moments, see [`read`](Self::read).
    len: AtomicI64,
}

impl QueueProbe {
    pub(crate) fn new(counts: Option<Arc<QueueCounts>>) -> Self {
        Self(counts)
    }

    /// Adds items that were put in.
    pub fn pushed(&self, items: u64) {
        self.add(i64::try_from(items).unwrap_or(i64::MAX));
    }

    /// Subtracts items that were taken out.
    pub fn popped(&self, items: u64) {
        self.add(-i64::try_from(items).unwrap_or(i64::MAX));
    }

    fn add(&self, items: i64) {
        if let Some(counts) = &self.0 {
            counts.len.fetch_add(items, Ordering::Relaxed);
        }
    }
}

impl QueueCounts {
    pub(crate) fn with_capacity(capacity: u64) -> Self {
        Self {
            capacity,
            len: AtomicI64::new(0),
        }
    }

    pub(crate) fn read(&self, name: &str) -> QueueReading {
        QueueReading {
            name: name.to_owned(),
            // Both sides count on their own, after the fact, so an item may be seen to leave before
            // it is seen to come.
            len: u64::try_from(self.len.load(Ordering::Relaxed)).unwrap_or(0),
            capacity: self.capacity,
        }
    }
}

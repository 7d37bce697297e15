//! How far the building of an index is, for those who wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far the building of an index is; clones share it.
///
/// Every pattern counts twice: when it is read, and when its lists are written.
#[derive(Debug, Clone, Default)]
pub struct BuildProgress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    done: AtomicU64,
    total: AtomicU64,
}

impl BuildProgress {
    /// Returns how much is done of the [total](Self::total), about.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    /// Returns how much there is to do; 0 until that is known.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }

    /// Begins a building of so many patterns.
    pub(super) fn begin(&self, n_patterns: u64) {
        let total = n_patterns.saturating_mul(2);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Adds so many patterns that were read, or whose lists were written.
    pub(super) fn add(&self, n_patterns: u64) {
        self.0.done.fetch_add(n_patterns, Ordering::Relaxed);
    }
}

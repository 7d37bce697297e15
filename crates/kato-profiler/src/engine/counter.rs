//! Counts what a run has done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::tracker::Counted;

/// A counter of what a run has done, for its rates; created by
/// [`RunningProfile::counter`](crate::RunningProfile::counter). Clones count into the same sums.
#[derive(Debug, Clone)]
pub struct SampleCounter(pub(super) Arc<Counts>);

impl SampleCounter {
    /// Adds samples and their tokens.
    pub fn add(&self, samples: u64, tokens: u64) {
        // Relaxed: the numbers are read as they are, and no other memory is published through them.
        self.0.is_used.store(true, Ordering::Relaxed);
        self.0.samples.fetch_add(samples, Ordering::Relaxed);
        self.0.tokens.fetch_add(tokens, Ordering::Relaxed);
    }
}

/// The sums of all clones of a counter.
#[derive(Debug, Default)]
pub(super) struct Counts {
    is_used: AtomicBool,
    samples: AtomicU64,
    tokens: AtomicU64,
}

impl Counts {
    /// Returns the sums; nothing was counted before the first call of [`SampleCounter::add`].
    pub(super) fn read(&self) -> Counted {
        // A run that does not count samples has none to report, which is not the same as zero.
        if !self.is_used.load(Ordering::Relaxed) {
            return Counted::default();
        }
        Counted {
            samples: Some(self.samples.load(Ordering::Relaxed)),
            tokens: Some(self.tokens.load(Ordering::Relaxed)),
        }
    }
}

//! Counts of what a run has done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::tracker::Counted;

/// Counts what a run has done, for its rates; made by [`RunningProfile::counter`](crate::RunningProfile::counter). Clones count into the same sums.
#[derive(Debug, Clone)]
pub struct SampleCounter(pub(super) Arc<Counts>);

impl SampleCounter {
    /// Adds samples and their tokens.
    pub fn add(&self, samples: u64, tokens: u64) {
        self.0.is_used.store(true, Ordering::Relaxed);
        self.0.samples.fetch_add(samples, Ordering::Relaxed);
        self.0.tokens.fetch_add(tokens, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    is_used: AtomicBool,
    samples: AtomicU64,
    tokens: AtomicU64,
}

impl Counts {
    pub(super) fn read(&self) -> Counted {
        if !self.is_used.load(Ordering::Relaxed) {
            return Counted::default();
        }
        Counted {
            samples: Some(self.samples.load(Ordering::Relaxed)),
            tokens: Some(self.tokens.load(Ordering::Relaxed)),
        }
    }
}

//! The threads that predictions over an index share.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads of one prediction at most.
const MAX_THREADS: usize = 1024;

/// Threads for the predictions over an index: one that is alone has all of them, several at a time have
/// equal shares, so that many questions at once start no more threads than there are cores.
#[derive(Debug, Clone)]
pub(super) struct Threads {
    n_threads: usize,
    /// Predictions that search at this moment, over this index and its clones.
    n_searching: Arc<AtomicUsize>,
}

/// The threads of a prediction that searches, as long as it does.
#[derive(Debug)]
pub(crate) struct ThreadShare<'a> {
    n_threads: usize,
    of: Option<&'a Threads>,
}

impl Default for Threads {
    fn default() -> Self {
        Self::new(NonZeroUsize::MIN)
    }
}

impl Threads {
    /// Creates the threads of an index that nobody searches yet.
    pub(super) fn new(n_threads: NonZeroUsize) -> Self {
        Self {
            n_threads: n_threads.get().min(MAX_THREADS),
            n_searching: Arc::default(),
        }
    }

    /// Returns the share of one more prediction.
    pub(super) fn share(&self) -> ThreadShare<'_> {
        // Relaxed, as no other memory is published by the number: answers do not depend on it.
        let n_searching = self.n_searching.fetch_add(1, Ordering::Relaxed) + 1;
        ThreadShare {
            n_threads: (self.n_threads / n_searching).max(1),
            of: Some(self),
        }
    }
}

impl ThreadShare<'_> {
    /// The thread that asks, where there is no index to share others of.
    pub(super) const ALONE: Self = Self {
        n_threads: 1,
        of: None,
    };

    /// Returns how many threads the prediction may take.
    pub(crate) const fn get(&self) -> usize {
        self.n_threads
    }
}

impl Drop for ThreadShare<'_> {
    fn drop(&mut self) {
        if let Some(threads) = self.of {
            threads.n_searching.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_at_a_time_share_the_threads() {
        let threads = Threads::new(NonZeroUsize::new(4).unwrap());
        let first = threads.share();
        let clone = threads.clone();
        let second = clone.share();
        assert_eq!((first.get(), second.get()), (4, 2));
        drop(first);
        assert_eq!(threads.share().get(), 2);
        drop(second);
        assert_eq!(threads.share().get(), 4);
        let crowd: Vec<_> = (0..9).map(|_| threads.share()).collect();
        assert_eq!(crowd[8].get(), 1);
    }
}

//! Keeps buffers for threads that work at the same time.

use std::sync::{Mutex, PoisonError};

/// Steps of work, about a nanosecond each on one thread, below which a second thread is not woken:
/// that alone takes some microseconds.
const MIN_WORK: usize = 1 << 15;
/// Products that a core adds up in such a step.
pub(crate) const PRODUCTS: usize = 32;

/// Returns how many pieces of this much work a thread takes at least. How work is divided changes no
/// bit of a result.
pub(crate) const fn at_least(work: usize) -> usize {
    // One more, as a piece may have no work at all.
    MIN_WORK / (work + 1) + 1
}

/// Buffers, of which every piece of work has one for itself.
#[derive(Debug, Default)]
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T: Default> Pool<T> {
    /// Begins without buffers.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Makes room in a buffer for each thread before they begin, so that which thread gets which
    /// buffer never decides whether one has to grow.
    pub(crate) fn prepare(&mut self, grow: impl FnMut(&mut T)) {
        // A panic elsewhere leaves buffers whole: they are overwritten before they are read.
        let buffers = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Never fewer: a smaller pool of threads may be followed by a larger one.
        let n = buffers.len().max(rayon::current_num_threads());
        buffers.resize_with(n, T::default);
        buffers.iter_mut().for_each(grow);
    }

    /// Runs `work` with a buffer that no other thread has.
    pub(crate) fn with(&self, work: impl FnOnce(&mut T)) {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The lock is not held while the buffer is used.
        let taken = lock().pop();
        // More threads than were prepared for: they work, and allocate once.
        let mut buffer = taken.unwrap_or_default();
        work(&mut buffer);
        lock().push(buffer);
    }
}

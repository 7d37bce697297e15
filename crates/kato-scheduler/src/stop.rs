//! The signal that asks a run to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that asks a run to commit what it has and end; clones share it.
///
/// Reading ends soon, also a read that waits, for a pipe or a network; a loader whose read was ended
/// cannot be read on, and another is built at its cursor. What workers were handed, by default up to three
/// batches each ([`batch_bytes`](crate::TrainingOptions::batch_bytes) of text, 512 KiB), is learned and
/// committed if that takes no longer than [`stop_grace`](crate::TrainingOptions::stop_grace), so a
/// corpus of a few megabytes may well be complete by then. What takes longer is left to the run that
/// resumes this one. Not cut short are a document that a worker is learning and a commit under way.
///
/// ```
/// use kato_scheduler::StopSignal;
///
/// let stop = StopSignal::default();
/// let handler = stop.clone();
/// handler.stop();
/// assert!(stop.is_stopped());
/// ```
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// Asks to stop. Safe to call from a signal handler's thread, any number of times.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns a guard that asks to stop when it is dropped: also when its owner returns early, panics, or
    /// is a future that is given up.
    ///
    /// ```
    /// use kato_scheduler::StopSignal;
    ///
    /// let stop = StopSignal::default();
    /// drop(stop.stop_on_drop());
    /// assert!(stop.is_stopped());
    /// ```
    #[must_use = "it stops the run at once when it is not kept"]
    pub fn stop_on_drop(&self) -> StopGuard {
        StopGuard(self.clone())
    }

    /// Returns whether someone asked to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        // No other memory is published by the flag, so its order does not matter.
        self.0.load(Ordering::Relaxed)
    }
}

/// A guard that asks a run to stop when it is dropped; made by [`StopSignal::stop_on_drop`].
#[derive(Debug)]
pub struct StopGuard(StopSignal);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.stop();
    }
}

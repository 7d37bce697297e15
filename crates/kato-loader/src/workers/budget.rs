//! How many bytes may have been decoded and wait to be fetched.

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Job;

/// Bytes for all jobs together. A job that is waited for gets one chunk in any case, so a small budget slows down and never
/// blocks.
pub(super) struct Budget {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// Number of the job whose records the consumer is waiting for.
    awaited: Option<u64>,
    is_closed: bool,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Waits for `bytes` on behalf of a job; false when its records are not wanted any more.
    pub(super) fn take(&self, job: &Job, bytes: usize) -> bool {
        let mut state = self.state();
        loop {
            if state.is_closed || job.is_cancelled() {
                return false;
            }
            let waiting = job.waiting.load(Ordering::Relaxed);
            let is_starving = state.awaited == Some(job.number) && waiting == 0;
            if is_starving || state.taken.saturating_add(bytes) <= self.limit {
                state.taken += bytes;
                job.waiting.fetch_add(bytes, Ordering::Relaxed);
                return true;
            }
            let _waiting = kato_probe::waiting(kato_probe::Wait::Downstream);
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that the consumer has nothing to do until this job delivers.
    pub(super) fn wait_for(&self, job: &Job) {
        self.state().awaited = Some(job.number);
        self.changed.notify_all();
    }

    /// Gives back what a fetched chunk took.
    pub(super) fn give_back(&self, job: &Job, bytes: usize) {
        let mut state = self.state();
        state.taken = state.taken.saturating_sub(bytes);
        job.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Gives back all that a cancelled job took.
    pub(super) fn forget(&self, job: &Job) {
        let mut state = self.state();
        state.taken = state
            .taken
            .saturating_sub(job.waiting.swap(0, Ordering::Relaxed));
        self.changed.notify_all();
    }

    /// Ends all waiting.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

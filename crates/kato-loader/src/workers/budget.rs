//! Limits how many bytes may be decoded and wait to be fetched.

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Job;

/// Bytes for all jobs together. A job that the consumer waits for gets one chunk in any case, so a
/// small budget slows decoding down and never blocks it.
pub(super) struct Budget {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

/// What the lock protects; all of it is plain numbers, which a panic cannot leave in a broken
/// state.
#[derive(Default)]
struct State {
    /// Bytes of all chunks that were decoded and not fetched.
    taken: usize,
    /// Number of the job whose records the consumer waits for, or waited for last.
    awaited: Option<u64>,
    is_closed: bool,
}

impl Budget {
    /// Creates a budget of `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Waits until `bytes` may be taken on behalf of a job; returns false when its records are not
    /// wanted any more.
    pub(super) fn acquire(&self, job: &Job, bytes: usize) -> bool {
        let mut state = self.state();
        loop {
            if state.is_closed || job.is_cancelled() {
                return false;
            }
            // `waiting` is only changed with the lock held, which orders it: `Relaxed` suffices.
            let waiting = job.waiting.load(Ordering::Relaxed);
            // The consumer waits for this very job and has nothing of it. Room is made by the
            // consumer alone, so refusing would be a deadlock. One chunk is enough to let it go on.
            let is_starving = state.awaited == Some(job.number) && waiting == 0;
            if is_starving || state.taken.saturating_add(bytes) <= self.limit {
                state.taken += bytes;
                job.waiting.fetch_add(bytes, Ordering::Relaxed);
                return true;
            }
            let _waiting = kato_probe::thread::waiting(kato_probe::Wait::Downstream);
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes that the consumer can do nothing until this job delivers.
    pub(super) fn wait_for(&self, job: &Job) {
        self.state().awaited = Some(job.number);
        // All are woken, since the job's own thread may be any of those that wait.
        self.changed.notify_all();
    }

    /// Gives back what a fetched chunk has taken.
    pub(super) fn release(&self, job: &Job, bytes: usize) {
        let mut state = self.state();
        state.taken = state.taken.saturating_sub(bytes);
        job.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Gives back everything that a cancelled job has taken.
    pub(super) fn release_all(&self, job: &Job) {
        // Under the lock, so that bytes taken at the same moment are either swapped out here or
        // refused in `acquire`, which sees the job cancelled.
        let mut state = self.state();
        state.taken = state
            .taken
            .saturating_sub(job.waiting.swap(0, Ordering::Relaxed));
        self.changed.notify_all();
    }

    /// Ends all waiting, for good: nothing can be taken any more.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Returns whether the loader is being dropped.
    pub(super) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Locks the state.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

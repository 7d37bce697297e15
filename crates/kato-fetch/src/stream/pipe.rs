//! Queue of bytes from a task to a thread, bounded by a budget.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::FetchError;

/// Queue of pieces between one task that puts and one thread that takes.
#[derive(Debug)]
pub(super) struct Pipe {
    state: Mutex<State>,
    /// Wakes the thread: a piece or the end has come.
    filled: Condvar,
    /// Wakes the task: a piece was taken.
    drained: Notify,
    budget: usize,
}

/// Content of the queue.
#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Bytes>,
    /// Sum of the lengths of `pieces`.
    bytes: usize,
    end: Option<End>,
}

/// End of the pieces.
#[derive(Debug)]
enum End {
    /// At the end of the file.
    Complete,
    /// By an error, which has not been returned yet.
    Failed(FetchError),
    /// By an error, which has been returned.
    Stopped,
}

impl Pipe {
    /// Creates an empty queue that holds `budget` bytes.
    pub(super) fn new(budget: usize) -> Self {
        Self {
            state: Mutex::default(),
            filled: Condvar::new(),
            drained: Notify::new(),
            budget,
        }
    }

    /// Hands a piece over, as soon as there is room. Pieces are not split, so the budget is
    /// exceeded by one at most.
    pub(super) async fn put(&self, piece: Bytes) {
        // An empty piece would be taken for the end.
        if piece.is_empty() {
            return;
        }
        loop {
            // `notify_one` is kept while nobody waits, so that a piece taken between the check and
            // the wait still wakes this task.
            let room = self.drained.notified();
            {
                let mut state = self.state();
                // A budget of nothing still lets one piece through at a time.
                if state.bytes < self.budget.max(1) {
                    state.bytes += piece.len();
                    state.pieces.push_back(piece);
                    self.filled.notify_one();
                    return;
                }
            }
            room.await;
        }
    }

    /// Says that nothing more will come. Only the first end counts.
    pub(super) fn end(&self, result: Result<(), FetchError>) {
        let mut state = self.state();
        if state.end.is_none() {
            state.end = Some(result.map_or_else(End::Failed, |()| End::Complete));
        }
        self.filled.notify_one();
    }

    /// Returns the next piece, waiting for it; `None` at the end.
    pub(super) fn take(&self) -> Result<Option<Bytes>, FetchError> {
        let mut state = self.state();
        loop {
            // Cancelling takes effect at once; any other failure after the bytes that came before
            // it.
            if matches!(state.end, Some(End::Failed(FetchError::Cancelled))) {
                return Err(FetchError::Cancelled);
            }
            if let Some(piece) = state.pieces.pop_front() {
                state.bytes -= piece.len();
                self.drained.notify_one();
                return Ok(Some(piece));
            }
            // Taken out, because the error can be returned only once. Each arm puts back what later
            // calls are to find.
            match state.end.take() {
                None => {}
                Some(End::Complete) => {
                    state.end = Some(End::Complete);
                    return Ok(None);
                }
                Some(End::Failed(error)) => {
                    state.end = Some(End::Stopped);
                    return Err(error);
                }
                Some(End::Stopped) => {
                    state.end = Some(End::Stopped);
                    return Err(FetchError::Stopped);
                }
            }
            state = self
                .filled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Locks the queue.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

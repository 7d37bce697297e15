//! Bytes from a task to a thread, up to a budget.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::FetchError;

#[derive(Debug)]
pub(super) struct Pipe {
    state: Mutex<State>,
    filled: Condvar,
    drained: Notify,
    budget: usize,
}

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    end: Option<End>,
}

#[derive(Debug)]
enum End {
    Complete,
    Failed(FetchError),
    /// The failure was told.
    Stopped,
}

impl Pipe {
    pub(super) fn new(budget: usize) -> Self {
        Self {
            state: Mutex::default(),
            filled: Condvar::new(),
            drained: Notify::new(),
            budget,
        }
    }

    /// Hands a piece over, once there is room: pieces are whole, so the budget is exceeded by one at most.
    pub(super) async fn put(&self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        loop {
            let room = self.drained.notified();
            {
                let mut state = self.state();
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

    /// Nothing more will come. Only the first end counts.
    pub(super) fn end(&self, result: Result<(), FetchError>) {
        let mut state = self.state();
        if state.end.is_none() {
            state.end = Some(result.map_or_else(End::Failed, |()| End::Complete));
        }
        self.filled.notify_one();
    }

    /// The next piece, waited for; none at the end.
    pub(super) fn take(&self) -> Result<Option<Bytes>, FetchError> {
        let mut state = self.state();
        loop {
            // Cancelling is heard at once; every other failure after what came before it.
            if matches!(state.end, Some(End::Failed(FetchError::Cancelled))) {
                return Err(FetchError::Cancelled);
            }
            if let Some(piece) = state.pieces.pop_front() {
                state.bytes -= piece.len();
                self.drained.notify_one();
                return Ok(Some(piece));
            }
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

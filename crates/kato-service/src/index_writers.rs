//! The writing of indexes that goes on, so that it can be ended; and what was found wrong with those
//! that there are.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kato_prediction::Cancel;

use crate::figures::Counter;
use crate::indexes::IndexFault;

/// Faults that are kept until somebody asks for them, at most.
const MAX_FAULTS: usize = 1000;

/// What all nodes share that have indexes.
#[derive(Debug, Default)]
pub(crate) struct IndexWriters {
    state: Mutex<State>,
    /// Held by the one that is written before a node is opened.
    opening: Mutex<()>,
    /// Indexes that were written.
    pub(crate) n_written: Counter,
}

#[derive(Debug, Default)]
struct State {
    /// Whether none may begin any more.
    is_stopped: bool,
    /// The flags of those that run, by number.
    running: HashMap<u64, Cancel>,
    next: u64,
    faults: Vec<IndexFault>,
}

/// The writing of one index, which has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct IndexWriting<'a> {
    writers: &'a IndexWriters,
    number: u64,
    cancel: Cancel,
    _turn: Option<MutexGuard<'a, ()>>,
}

impl IndexWriters {
    /// Begins to write the index of a node that is opened, once no other is written for that: any number of nodes may
    /// be asked for at once, and each writing takes its memory.
    pub(crate) fn begin_in_turn(&self) -> IndexWriting<'_> {
        let turn = self.opening.lock();
        self.begin_with(Some(turn.unwrap_or_else(PoisonError::into_inner)))
    }

    /// Begins to write an index. After [`stop`](Self::stop) it is cancelled from the beginning.
    pub(crate) fn begin(&self) -> IndexWriting<'_> {
        self.begin_with(None)
    }

    fn begin_with<'a>(&'a self, turn: Option<MutexGuard<'a, ()>>) -> IndexWriting<'a> {
        let cancel = Cancel::new();
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        // Under the lock, so that none comes between a stop and its look at those that run.
        if state.is_stopped {
            cancel.cancel();
        }
        state.running.insert(number, cancel.clone());
        IndexWriting {
            writers: self,
            number,
            cancel,
            _turn: turn,
        }
    }

    /// Ends all writing, for good, without waiting for it.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        state.running.values().for_each(Cancel::cancel);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Keeps a fault until somebody asks for it.
    pub(crate) fn report(&self, node_id: &str, path: &Path, error: &dyn Error) {
        let mut reason = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            // Writing to a string cannot fail.
            let _ = write!(reason, ": {error}");
            cause = error.source();
        }
        self.report_reason(node_id, path, reason);
    }

    /// Keeps a fault that has no error.
    pub(crate) fn report_reason(&self, node_id: &str, path: &Path, reason: impl Into<String>) {
        let mut state = self.lock();
        // Nobody may ever ask.
        if state.faults.len() < MAX_FAULTS {
            state.faults.push(IndexFault {
                node_id: node_id.to_owned(),
                path: PathBuf::from(path),
                reason: reason.into(),
            });
        }
    }

    /// Returns the faults that were not returned before.
    pub(crate) fn take_faults(&self) -> Vec<IndexFault> {
        std::mem::take(&mut self.lock().faults)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexWriting<'_> {
    /// Returns the flag that ends it.
    pub(crate) const fn cancel(&self) -> &Cancel {
        &self.cancel
    }
}

impl Drop for IndexWriting<'_> {
    fn drop(&mut self) {
        self.writers.lock().running.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn nodes_that_are_opened_at_once_have_their_indexes_written_one_after_the_other() {
        let writers = IndexWriters::default();
        let first = writers.begin_in_turn();
        // A round in the background waits for nobody.
        drop(writers.begin());
        let (begun, second) = channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let second = writers.begin_in_turn();
                begun.send(second.cancel().clone()).unwrap();
            });
            assert!(second.recv_timeout(Duration::from_millis(50)).is_err());
            // Who waits for a turn is stopped as well.
            writers.stop();
            drop(first);
            assert!(second.recv().unwrap().is_cancelled());
        });
    }
}

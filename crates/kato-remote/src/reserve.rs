//! How far work may have been sent that no commit holds yet: a number in a file, written before anything is sent.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kato_scheduler::TrainError;
use serde::{Deserialize, Serialize};

use crate::state::{read_file, replace_file};

/// Documents reserved at a time: each reservation waits for the disk, each crash has to ask about what was reserved.
const STEP: u64 = 128;

/// The file's content.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Content {
    /// No document from this number on was ever sent.
    end: u64,
}

/// The reservation of a run.
#[derive(Debug)]
pub(crate) struct Reservation {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// As the file says.
    end: u64,
    /// Behind the last document that this session sent; until it sends one, what sessions before may have sent.
    sent: u64,
}

impl Reservation {
    /// Reads what the sessions before have reserved.
    pub(crate) fn open(path: PathBuf) -> Result<Self, TrainError> {
        let Content { end } = read_file(&path)?.unwrap_or_default();
        let state = Mutex::new(State { end, sent: end });
        Ok(Self { path, state })
    }

    /// Documents before this number may have been sent.
    pub(crate) fn end(&self) -> u64 {
        self.state().end
    }

    /// Makes sure that documents up to a number are reserved before they are sent.
    pub(crate) fn extend(&self, sent: u64) -> Result<(), TrainError> {
        let mut state = self.state();
        state.sent = state.sent.max(sent);
        if sent <= state.end {
            return Ok(());
        }
        self.write(&mut state, sent.saturating_add(STEP))
    }

    /// Documents before this number are committed. Where that is all that was sent, nothing is reserved any more.
    pub(crate) fn committed(&self, n_documents: u64) -> Result<(), TrainError> {
        let mut state = self.state();
        if n_documents < state.sent || n_documents >= state.end {
            return Ok(());
        }
        self.write(&mut state, n_documents)
    }

    fn write(&self, state: &mut State, end: u64) -> Result<(), TrainError> {
        replace_file(&self.path, &Content { end })?;
        state.end = end;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Locks of runs, which their writers hold as well.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use kato_store::lock_file::LockFile;

use crate::RunsError;

/// The lock file of a knowledge base, as its file format has it.
pub(crate) const KNOWLEDGE_BASE_LOCK: &str = "LOCK";

/// A lock that keeps writers out as long as it lives; the operating system releases it when the
/// process ends, however it ends.
#[derive(Debug)]
pub(crate) enum Lock {
    /// That of a knowledge base, whose file stays.
    KnowledgeBase { _file: File },
    /// That of a server run's state, whose file goes with it.
    State { _file: LockFile },
}

impl Lock {
    /// Locks a knowledge base, or what is to become one.
    pub(crate) fn of_knowledge_base(dir: &Path) -> Result<Self, RunsError> {
        Self::hold(&dir.join(KNOWLEDGE_BASE_LOCK), dir)
    }

    /// Locks a file, which is made if need be; the error names `what` when somebody else holds it.
    pub(crate) fn hold(file: &Path, what: &Path) -> Result<Self, RunsError> {
        let handle = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(file)
            .map_err(RunsError::io("open", file))?;
        match handle.try_lock() {
            Ok(()) => Ok(Self::KnowledgeBase { _file: handle }),
            Err(TryLockError::WouldBlock) => Err(in_use(what)),
            Err(TryLockError::Error(source)) => Err(RunsError::io("lock", file)(source)),
        }
    }

    /// Locks the state of a run whose nodes are on a server.
    pub(crate) fn of_state(state: &Path) -> Result<Self, RunsError> {
        let path = state_lock(state);
        match LockFile::hold(&path).map_err(RunsError::io("lock", &path))? {
            Some(file) => Ok(Self::State { _file: file }),
            None => Err(in_use(state)),
        }
    }
}

/// Returns the error of a place that somebody else holds.
fn in_use(what: &Path) -> RunsError {
    RunsError::InUse {
        path: what.to_owned(),
        process: None,
    }
}

/// Returns whether somebody holds a lock. Looks by taking it for a moment, shared with others who
/// look.
pub(crate) fn is_held(file: &Path) -> bool {
    // Without the file, or without the right to open it, nobody can be said to hold it.
    let Ok(handle) = File::open(file) else {
        return false;
    };
    matches!(handle.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Returns the path of the lock file of a server run's state.
pub(crate) fn state_lock(state: &Path) -> PathBuf {
    state.with_added_extension("lock")
}

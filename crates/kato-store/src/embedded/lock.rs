//! The lock that keeps out a second writer.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::{Place, StoreError};

/// The file that is locked. It is never removed: a second writer could otherwise lock a new file of
/// the same name beside the first.
pub(super) const FILE: &str = "LOCK";

/// How long a lock that is held is waited for. A process that was killed keeps its lock until the
/// system has taken back its memory, and whoever starts it again must not be refused for that.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// The lock of the one writer of a directory; the operating system releases it when the process
/// ends, however it ends.
#[derive(Debug)]
pub(super) struct WriteLock {
    _file: File,
}

impl WriteLock {
    /// Returns whether a writer holds the lock of a directory now.
    pub(super) fn is_held(dir: &Path) -> bool {
        // Shared, so that two who ask at once are none to each other; a writer that begins meanwhile
        // waits longer than this takes.
        let file = File::open(dir.join(FILE));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Locks a directory, or fails if another writer still holds the lock after a second.
    pub(super) fn acquire(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| StoreError::io("open", &path, source))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Locked {
                        place: Place::from_path(dir),
                    });
                }
                Err(TryLockError::Error(source)) => {
                    return Err(StoreError::io("lock", &path, source));
                }
            }
        }
    }
}

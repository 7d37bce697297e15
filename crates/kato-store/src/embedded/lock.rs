//! The lock that keeps out a second writer.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::{Place, StoreError};

/// The file that is locked. It is never removed: a second writer could otherwise lock a new file of
/// the same name beside the first.
pub(super) const FILE: &str = "LOCK";

/// The lock of the one writer of a directory; the operating system releases it when the process
/// ends, however it ends.
#[derive(Debug)]
pub(super) struct WriteLock {
    _file: File,
}

impl WriteLock {
    /// Locks a directory, or fails at once if another writer holds the lock.
    pub(super) fn acquire(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| StoreError::io("open", &path, source))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
                place: Place::from_path(dir),
            }),
            Err(TryLockError::Error(source)) => Err(StoreError::io("lock", &path, source)),
        }
    }
}

//! The lock that keeps a second writer out.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::StoreError;

pub(super) const FILE: &str = "LOCK";

/// Held by the one writer of a directory; the operating system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct WriteLock {
    _file: File,
}

impl WriteLock {
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
                path: dir.to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(StoreError::io("lock", &path, source)),
        }
    }
}

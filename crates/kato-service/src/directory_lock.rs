//! The lock on the directory of a service: on the directory itself, as a lock file in it could be
//! deleted.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::ServiceError;

/// Name of the file that is locked where the system or the file system does not lock directories.
const LOCK_FILE: &str = "LOCK";

/// A lock that is held as long as the service has the directory open. The operating system releases
/// it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _locked: File,
}

impl DirectoryLock {
    /// Locks the directory.
    pub(crate) fn acquire(dir: &Path) -> Result<Self, ServiceError> {
        let in_use = || ServiceError::InUse {
            path: dir.to_owned(),
        };
        match File::open(dir).map(|file| (file.try_lock(), file)) {
            Ok((Ok(()), locked)) => return Ok(Self { _locked: locked }),
            Ok((Err(TryLockError::WouldBlock), _)) => return Err(in_use()),
            // Neither locked nor in use: directories cannot be opened or locked here, so a file in
            // it is.
            Ok((Err(TryLockError::Error(_)), _)) | Err(_) => {}
        }
        let path = dir.join(LOCK_FILE);
        let failed = ServiceError::io("lock", &path);
        // Not created anew: another process may hold the lock on it.
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _locked: file }),
            Err(TryLockError::WouldBlock) => Err(in_use()),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

//! The lock on a service's directory: that of the directory itself, which nobody can delete, beside the journal's lock file.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use crate::ServiceError;

/// The file that the journal's database locks. It makes it with the database, and wants it to be there ever after.
const JOURNAL_LOCK: &str = "lock";

/// Held as long as the service has the directory open; the operating system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    /// `None` where the system or the file system does not lock directories: then the journal's lock file alone keeps others out.
    _dir: Option<File>,
}

impl DirectoryLock {
    /// Locks the directory. As nobody else has it then, a lock file of the journal that is gone, as after a clean-up of files that
    /// look left over, is made anew.
    pub(crate) fn acquire(dir: &Path, journal: &Path) -> Result<Self, ServiceError> {
        let locked = match File::open(dir).map(|file| (file.try_lock(), file)) {
            Ok((Ok(()), file)) => Some(file),
            Ok((Err(TryLockError::WouldBlock), _)) => {
                return Err(ServiceError::InUse {
                    path: dir.to_owned(),
                });
            }
            Ok((Err(TryLockError::Error(_)), _)) | Err(_) => None,
        };
        if locked.is_some() && journal.is_dir() {
            restore(&journal.join(JOURNAL_LOCK))?;
        }
        Ok(Self { _dir: locked })
    }
}

/// Makes the file, if it is not there.
fn restore(path: &Path) -> Result<(), ServiceError> {
    match File::create_new(path) {
        Err(source) if source.kind() != ErrorKind::AlreadyExists => Err(ServiceError::Io {
            action: "make the lock file",
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

//! Operations on files and directories that may be repeated or have to be durable.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::ServiceError;

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), ServiceError> {
    // Windows cannot flush a directory and does not need to.
    if cfg!(unix) {
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(ServiceError::io("flush", dir))?;
    }
    Ok(())
}

/// Removes a file that may be gone already.
pub(crate) fn remove_file(path: &Path) -> Result<(), ServiceError> {
    unless_gone(fs::remove_file(path)).map_err(ServiceError::io("remove", path))
}

/// Removes a directory, with all that is in it, that may be gone already.
pub(crate) fn remove_dir(path: &Path) -> Result<(), ServiceError> {
    unless_gone(fs::remove_dir_all(path)).map_err(ServiceError::io("remove", path))
}

/// Takes what is gone already for removed.
fn unless_gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

//! Directories that are written beside others and get their names when they are whole.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::FileError;

/// The directory in which columns are written.
pub const BUILDING: &str = "building";

/// The file that a writer locks.
pub const LOCK: &str = "LOCK";

/// Locks a directory of directories for as long as the returned file lives; the directory is made if
/// there is none.
///
/// # Errors
///
/// [`FileError::Locked`] while somebody else holds it, and [`FileError::Io`].
pub fn lock(parent: impl AsRef<Path>) -> Result<File, FileError> {
    let parent = parent.as_ref();
    fs::create_dir_all(parent).map_err(FileError::io("create", parent))?;
    let path = parent.join(LOCK);
    let file = File::create(&path).map_err(FileError::io("create", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(FileError::Locked {
            path: parent.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(FileError::io("lock", &path)(source)),
    }
}

/// Makes an empty directory to write into; what a writer left behind that was cut off is removed.
///
/// # Errors
///
/// [`FileError::Io`].
pub fn begin(parent: impl AsRef<Path>) -> Result<PathBuf, FileError> {
    let parent = parent.as_ref();
    let dir = parent.join(BUILDING);
    remove(&dir)?;
    fs::create_dir(&dir).map_err(FileError::io("create", &dir))?;
    Ok(dir)
}

/// Gives a whole directory its name beside where it was written, and returns where it is then. One of
/// that name is removed, its `header` first, without which it is none.
///
/// # Errors
///
/// [`FileError::Io`].
pub fn publish(built: impl AsRef<Path>, name: &str, header: &str) -> Result<PathBuf, FileError> {
    let built = built.as_ref();
    sync(built)?;
    let dir = built.with_file_name(name);
    match fs::remove_file(dir.join(header)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(FileError::io("remove", &dir)(error));
        }
        _ => {}
    }
    remove(&dir)?;
    fs::rename(built, &dir).map_err(FileError::io("rename", &dir))?;
    if let Some(parent) = dir.parent() {
        sync(parent)?;
    }
    Ok(dir)
}

/// Removes a directory, if it is there.
///
/// # Errors
///
/// [`FileError::Io`].
pub fn remove(dir: impl AsRef<Path>) -> Result<(), FileError> {
    let dir = dir.as_ref();
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(FileError::io("remove", dir)(error))
        }
        _ => Ok(()),
    }
}

/// Removes directories beside each other: those of the names that are stale, and what a writer left behind
/// that was cut off. What cannot be removed, as on systems where somebody has it open, stays.
pub fn remove_stale(parent: impl AsRef<Path>, is_stale: impl Fn(&str) -> bool) {
    let parent = parent.as_ref();
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name
            .to_str()
            .is_some_and(|name| name == BUILDING || is_stale(name))
        {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// Makes creations, renames and removals in a directory durable.
///
/// # Errors
///
/// [`FileError::Io`].
pub fn sync(dir: impl AsRef<Path>) -> Result<(), FileError> {
    let dir = dir.as_ref();
    // Windows cannot flush a directory and does not need to.
    if cfg!(unix) {
        let synced = File::open(dir).and_then(|file| file.sync_all());
        synced.map_err(FileError::io("flush", dir))?;
    }
    Ok(())
}

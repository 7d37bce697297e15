//! Lock files that are there only as long as somebody holds them, on Unix.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A lock that keeps other processes out as long as it lives. The operating system releases it when
/// the process ends, however it ends; of one that was killed the empty file stays until the next
/// holder is done. Where the system is no Unix it stays in any case.
///
/// ```
/// use kato_store::lock_file::LockFile;
///
/// let place = tempfile::tempdir()?;
/// let path = place.path().join("run.lock");
/// let held = LockFile::hold(&path)?.expect("nobody else holds it");
/// assert!(LockFile::hold(&path)?.is_none());
/// drop(held);
/// assert!(!path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    _file: File,
}

impl LockFile {
    /// Makes and locks a file; `None` where somebody else holds it.
    ///
    /// # Errors
    ///
    /// When the file cannot be made or locked.
    pub fn hold(path: impl AsRef<Path>) -> io::Result<Option<Self>> {
        let path = path.as_ref();
        loop {
            let file = File::create(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Whoever held it may have removed it between the two: another could lock a new file of
            // this name.
            if is_at(&file, path)? {
                let path = path.to_owned();
                return Ok(Some(Self { path, _file: file }));
            }
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // While it is held. Without a way to tell a file from another of its name, it stays.
        if cfg!(unix) {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// Returns whether a path still leads to an open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match fs::metadata(path) {
        Ok(there) => Ok(id(there) == id(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

//! Copies of a service: what they have and lack, which directories are copies, and removing one.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::SystemTime;

use crate::ServiceError;
use crate::clock::Micros;
use crate::directory_lock::DirectoryLock;
use crate::files::{remove_dir, remove_file, sync_dir};
use crate::loss::DataLoss;

/// Name of the file that marks a copy as not finished. Who makes the copy has it locked.
pub(crate) const UNFINISHED: &str = "UNFINISHED";

/// Name of the file that marks a copy which nobody has opened as a service yet, and says when it was made.
pub(crate) const BACKUP: &str = "BACKUP";

/// What [`Service::backup`](crate::Service::backup) copied, and what it could not copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Knowledge bases in the copy, those included that are not whole.
    pub knowledge_bases: usize,
    /// Bytes that were copied; of the journal those of its keys and values.
    pub bytes: u64,
    /// What could not be copied, [`DataLoss::NotCopied`] each. The file `LOSSES` of the copy has it as
    /// well, so that whoever opens the copy is told.
    pub losses: Vec<DataLoss>,
    /// Names of files and directories among the knowledge bases that are none. They were passed
    /// over.
    pub foreign: Vec<String>,
}

/// The state of a directory that may be a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackupState {
    /// It is a whole copy, and no service was opened on it since.
    Whole,
    /// It is being made.
    BeingMade,
    /// Making or removing it was broken off. It is of no use.
    BrokenOff,
    /// It is something else, such as the directory of a service.
    Other,
}

impl BackupState {
    /// Returns the state of a directory.
    #[must_use]
    pub fn of(dir: impl AsRef<Path>) -> Self {
        let dir = dir.as_ref();
        match File::open(dir.join(UNFINISHED)) {
            Ok(mark) => match mark.try_lock() {
                Err(TryLockError::WouldBlock) => Self::BeingMade,
                _ => Self::BrokenOff,
            },
            Err(_) if dir.join(BACKUP).exists() => Self::Whole,
            Err(_) => Self::Other,
        }
    }
}

/// Returns when a copy was made, whatever the name of its directory is; `None` if the directory is
/// none, or nobody can tell.
///
/// ```
/// use kato_service::{Service, ServiceOptions, backups};
///
/// let dir = tempfile::tempdir()?;
/// let service = Service::open(dir.path().join("service"), ServiceOptions::default())?;
/// let (first, second) = (dir.path().join("b"), dir.path().join("a"));
/// service.backup(&first)?;
/// service.backup(&second)?;
/// assert!(backups::made_at(&first) < backups::made_at(&second));
/// assert_eq!(backups::made_at(dir.path()), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn made_at(dir: impl AsRef<Path>) -> Option<SystemTime> {
    let dir = dir.as_ref();
    let written = fs::read_to_string(dir.join(BACKUP));
    let micros = written.ok().and_then(|text| text.parse().ok());
    micros
        .map(|micros| Micros(micros).into())
        // One that was broken off has its mark alone.
        .or_else(|| modified(&dir.join(BACKUP)).or_else(|| modified(&dir.join(UNFINISHED))))
}

/// Returns when a file was written last.
fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// Removes a copy that is whole or was broken off, and nothing else.
///
/// Should it be broken off, what is left is no whole copy, and not taken for one.
///
/// # Errors
///
/// [`ServiceError::NotABackup`], [`ServiceError::InUse`], [`ServiceError::Io`].
pub fn remove(dir: impl AsRef<Path>) -> Result<(), ServiceError> {
    let dir = dir.as_ref();
    match BackupState::of(dir) {
        BackupState::Whole | BackupState::BrokenOff => {}
        BackupState::BeingMade | BackupState::Other => {
            return Err(ServiceError::NotABackup {
                path: dir.to_owned(),
            });
        }
    }
    // A service may be about to be opened on it.
    let _lock = DirectoryLock::acquire(dir)?;
    remove_marked(dir)
}

/// Removes a directory with all that is in it, the mark that it is not finished last.
pub(crate) fn remove_marked(dir: &Path) -> Result<(), ServiceError> {
    let mark = dir.join(UNFINISHED);
    if !mark.exists() {
        File::create(&mark)
            .and_then(|file| file.sync_all())
            .map_err(ServiceError::io("create", &mark))?;
        sync_dir(dir)?;
    }
    let listed = ServiceError::io("list", dir);
    for entry in fs::read_dir(dir).map_err(listed)? {
        let path = entry.map_err(listed)?.path();
        match path.is_dir() {
            true => remove_dir(&path)?,
            false if path != mark => remove_file(&path)?,
            false => {}
        }
    }
    // The mark is all that is left of it.
    remove_dir(dir)
}

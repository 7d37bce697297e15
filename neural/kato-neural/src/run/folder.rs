//! The folder of a run: its mark and its lock.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{RunError, read_json, write_json};

/// The file that says that a folder is a run. Written last, so that what was cut off is none.
const MARK: &str = "run.json";
/// The file that is locked.
const LOCK: &str = "lock";

#[derive(Serialize, Deserialize)]
struct Mark {
    program: String,
    layout: u32,
}

/// A run's folder that no other process trains in meanwhile.
///
/// ```
/// use kato_neural::run::RunFolder;
///
/// let at = tempfile::tempdir()?;
/// let path = at.path().join("run");
/// let folder = RunFolder::create(&path, "my-program")?;
/// // Its other files are written here, and the mark last.
/// folder.mark(1)?;
/// assert!(RunFolder::open(&path, "my-program", 1).is_err(), "it is in use");
/// drop(folder);
/// RunFolder::open(&path, "my-program", 1)?;
/// assert!(RunFolder::create(&path, "my-program").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    program: &'static str,
    /// Held, not read: the lock goes with it, also when the process is killed. None where another process
    /// holds it for this one.
    lock: Option<File>,
}

impl RunFolder {
    /// The file of the run's settings.
    pub const SETTINGS: &str = "settings.toml";
    /// The folder of what the run learns from.
    pub const PREPARED: &str = "prepared";
    /// The folder of its checkpoints.
    pub const CHECKPOINTS: &str = "checkpoints";
    /// The file of its epochs.
    pub const HISTORY: &str = "history.jsonl";
    /// The file of what came of it.
    pub const OUTCOME: &str = "outcome.json";

    /// Makes the folder of a new run, and locks it.
    ///
    /// # Errors
    ///
    /// When there is a run in it, or it cannot be written.
    pub fn create(path: &Path, program: &'static str) -> Result<Self, RunError> {
        fs::create_dir_all(path).map_err(RunError::file("create", path))?;
        let lock = lock(path)?;
        if path.join(MARK).exists() {
            return Err(RunError::Exists {
                path: path.to_owned(),
                program,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            program,
            lock: Some(lock),
        })
    }

    /// Says that the folder holds a run: its other files are there by now.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn mark(&self, layout: u32) -> Result<(), RunError> {
        let program = self.program.to_owned();
        write_json(&self.path.join(MARK), &Mark { program, layout })
    }

    /// Opens a run's folder to go on with it, and locks it.
    ///
    /// # Errors
    ///
    /// As for [`check`](Self::check), or another process trains it.
    pub fn open(path: &Path, program: &'static str, layout: u32) -> Result<Self, RunError> {
        Self::check(path, program, layout)?;
        Ok(Self {
            path: path.to_owned(),
            program,
            lock: Some(lock(path)?),
        })
    }

    /// Opens the folder of a run that another process has locked and trains together with this one, which
    /// is to write nothing there.
    ///
    /// # Errors
    ///
    /// As for [`check`](Self::check).
    pub fn open_beside(path: &Path, program: &'static str, layout: u32) -> Result<Self, RunError> {
        Self::check(path, program, layout)?;
        Ok(Self {
            path: path.to_owned(),
            program,
            lock: None,
        })
    }

    /// Checks that a folder holds a run of the program, of a layout up to `layout`, without a lock.
    ///
    /// # Errors
    ///
    /// When it holds none, one of another program or of a later version, or its mark is damaged.
    pub fn check(path: &Path, program: &'static str, layout: u32) -> Result<(), RunError> {
        let none = || RunError::None {
            path: path.to_owned(),
            program,
        };
        let mark = path.join(MARK);
        if !mark.exists() {
            return Err(none());
        }
        let mark: Mark = read_json(&mark)?;
        if mark.program != program {
            return Err(none());
        }
        if mark.layout > layout {
            return Err(RunError::Newer {
                path: path.to_owned(),
                layout: mark.layout,
            });
        }
        Ok(())
    }

    /// Returns the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for RunFolder {
    /// Unlocks at once: a program that this process is just starting may hold a copy of the file for
    /// a moment, and the lock with it.
    fn drop(&mut self) {
        // Closing the file does it as well, if later.
        drop(self.lock.as_ref().map(File::unlock));
    }
}

fn lock(folder: &Path) -> Result<File, RunError> {
    let path = folder.join(LOCK);
    let file = File::create(&path).map_err(RunError::file("write", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RunError::InUse {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(RunError::file("lock", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_lock_in_a_program_that_is_being_started_keeps_nobody_out() {
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path().join("run");
        let folder = RunFolder::create(&at, "test").unwrap();
        folder.mark(1).unwrap();
        // As a child has it between its start and its own program.
        let copy = folder.lock.as_ref().unwrap().try_clone().unwrap();
        assert!(RunFolder::open(&at, "test", 1).is_err(), "it is in use");
        drop(folder);
        assert!(RunFolder::open(&at, "test", 1).is_ok());
        drop(copy);
    }
}

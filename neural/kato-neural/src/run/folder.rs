//! The folder of a run: its mark and its lock.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::settings::{changes, refused};
use super::{RunError, RunSettings, read_json, write_json};

/// The file that says that a folder is a run. Written last, so that what was cut off is none.
const MARK: &str = "run.json";
/// The file that is locked.
const LOCK: &str = "lock";

#[derive(Serialize, Deserialize)]
struct Mark {
    program: String,
    layout: u32,
    /// Those that the run was begun with, as TOML, which gives back each number as it was. Runs of earlier builds do
    /// not say so.
    #[serde(default)]
    settings: Option<String>,
}

/// A run's folder that no other process trains in meanwhile.
///
/// ```
/// use kato_neural::run::{RunFolder, RunSettings};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Settings {
///     seed: u64,
///     workers: u64,
/// }
///
/// impl RunSettings for Settings {
///     fn may_change(&self, name: &str) -> bool {
///         name == "workers"
///     }
/// }
///
/// let at = tempfile::tempdir()?;
/// let path = at.path().join("run");
/// let folder = RunFolder::create(&path, "my-program")?;
/// let mut settings = Settings { seed: 42, workers: 1 };
/// settings.write(&folder.file(RunFolder::SETTINGS))?;
/// // Its other files are written here, and the mark last.
/// folder.mark(1, &settings)?;
/// assert!(RunFolder::open(&path, "my-program", 1).is_err(), "it is in use");
/// drop(folder);
/// RunFolder::open(&path, "my-program", 1)?;
/// assert!(RunFolder::create(&path, "my-program").is_err());
///
/// settings.workers = 4;
/// settings.write(&path.join(RunFolder::SETTINGS))?;
/// let kept: Settings = RunFolder::settings(&path, "my-program", 1)?;
/// assert_eq!(kept.workers, 4);
/// settings.seed = 43;
/// settings.write(&path.join(RunFolder::SETTINGS))?;
/// let other = RunFolder::settings::<Settings>(&path, "my-program", 1);
/// assert!(other.is_err_and(|error| error.to_string().contains("`seed` was 42 and is 43")));
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

    /// Says that the folder holds a run, begun with these settings: its other files are there by now.
    ///
    /// # Errors
    ///
    /// When a setting cannot be kept, or the file cannot be written.
    pub fn mark(&self, layout: u32, settings: &impl RunSettings) -> Result<(), RunError> {
        let path = self.path.join(MARK);
        let mark = Mark {
            program: self.program.to_owned(),
            layout,
            settings: Some(settings.to_toml().map_err(refused(&path))?),
        };
        write_json(&path, &mark)
    }

    /// Reads the settings of the run in a folder, without a lock. People may write to their file while and after it is
    /// trained.
    ///
    /// # Errors
    ///
    /// As for [`check`](Self::check), when the file cannot be read or understood, and [`RunError::Changed`] where one
    /// that [may not change](RunSettings::may_change) is another than the run was begun with. What runs of earlier
    /// builds were begun with, nobody knows: theirs are taken as they are.
    pub fn settings<S: RunSettings>(
        path: &Path,
        program: &'static str,
        layout: u32,
    ) -> Result<S, RunError> {
        let begun = marked(path, program, layout)?.settings;
        let file = path.join(Self::SETTINGS);
        let settings = S::read(&file)?;
        let Some(begun) = begun else {
            return Ok(settings);
        };
        let begun = S::from_toml(&begun).map_err(|reason| RunError::Damaged {
            path: path.join(MARK),
            reason,
        })?;
        let changes = changes(&begun, &settings).map_err(refused(&file))?;
        if changes.is_empty() {
            Ok(settings)
        } else {
            let path = file;
            Err(RunError::Changed { path, changes })
        }
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
        marked(path, program, layout).map(drop)
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

/// Reads the mark of a run of the program, of a layout up to `layout`.
fn marked(path: &Path, program: &'static str, layout: u32) -> Result<Mark, RunError> {
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
    Ok(mark)
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

    #[derive(Serialize, Deserialize)]
    struct Settings {
        rate: f64,
        schedule: Option<Schedule>,
        epochs: u64,
    }

    #[derive(Serialize, Deserialize)]
    struct Schedule {
        rate: f64,
    }

    impl RunSettings for Settings {
        fn may_change(&self, name: &str) -> bool {
            name == "epochs"
        }
    }

    const BEGUN: Settings = Settings {
        // A number that is another after JSON, read in haste.
        rate: 0.1 + 0.2,
        schedule: None,
        epochs: 3,
    };

    #[test]
    fn what_decides_a_run_stays_as_it_was_begun_and_the_rest_may_change() {
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path().join("run");
        let folder = RunFolder::create(&at, "test").unwrap();
        let file = folder.file(RunFolder::SETTINGS);
        BEGUN.write(&file).unwrap();
        folder.mark(1, &BEGUN).unwrap();
        let read = || RunFolder::settings::<Settings>(&at, "test", 1);
        assert!(read().is_ok());
        let epochs = Settings { epochs: 5, ..BEGUN };
        epochs.write(&file).unwrap();
        assert_eq!(read().unwrap().epochs, 5);

        let rate = 0.5;
        let other = Settings {
            rate,
            schedule: Some(Schedule { rate }),
            epochs: 7,
        };
        other.write(&file).unwrap();
        let error = read().map(drop).unwrap_err();
        assert_eq!(error.class(), kato_advice::ErrorClass::Conflict);
        let said = error.to_string();
        for word in [
            "settings.toml`",
            "`rate` was 0.30000000000000004 and is 0.5",
            "`schedule` was not set and is { rate = 0.5 }",
        ] {
            assert!(said.contains(word), "{said}");
        }
        assert!(!said.contains("epochs"), "{said}");

        // As earlier builds wrote it.
        fs::write(at.join(MARK), r#"{ "program": "test", "layout": 1 }"#).unwrap();
        assert!(read().is_ok());
        fs::write(
            at.join(MARK),
            r#"{ "program": "test", "layout": 1, "settings": "rate = 1" }"#,
        )
        .unwrap();
        let said = read().map(drop).unwrap_err().to_string();
        assert!(said.contains("run.json` is damaged"), "{said}");
    }

    #[test]
    fn a_copy_of_the_lock_in_a_program_that_is_being_started_keeps_nobody_out() {
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path().join("run");
        let folder = RunFolder::create(&at, "test").unwrap();
        folder.mark(1, &BEGUN).unwrap();
        // As a child has it between its start and its own program.
        let copy = folder.lock.as_ref().unwrap().try_clone().unwrap();
        assert!(RunFolder::open(&at, "test", 1).is_err(), "it is in use");
        drop(folder);
        assert!(RunFolder::open(&at, "test", 1).is_ok());
        drop(copy);
    }
}

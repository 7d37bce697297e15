//! The folder of a run: its files, its mark and its lock.

use std::fs::{File, TryLockError};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Run;
use crate::corpus::split_of;
use crate::error::PoetryError;
use crate::poem::Poem;
use crate::settings::Settings;
use crate::store::{read_json, write_json};

/// Version of the folder's layout.
const LAYOUT: u32 = 1;

/// The file that says that a folder is a run. Written last, so that what was cut off is none.
const MARK: &str = "run.json";

/// What the mark holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Mark {
    layout: u32,
}

impl Mark {
    /// Returns whether a folder holds a run.
    pub(super) fn is_in(folder: &Path) -> bool {
        folder.join(MARK).exists()
    }

    /// Says that a folder holds a run: its other files are there by now.
    pub(super) fn write(folder: &Path) -> Result<(), PoetryError> {
        write_json(&folder.join(MARK), &Self { layout: LAYOUT })
    }
}

/// Files of a run's folder, by name.
pub(crate) struct Files;

impl Files {
    pub(crate) const SETTINGS: &str = "settings.toml";
    pub(crate) const POEMS: &str = "poems.json";
    pub(crate) const PREPARED: &str = "prepared";
    pub(crate) const CHECKPOINTS: &str = "checkpoints";
    pub(crate) const HISTORY: &str = "history.jsonl";
    pub(crate) const OUTCOME: &str = "outcome.json";
    const LOCK: &str = "lock";
}

/// Checks that a folder holds a run of a layout that is known.
pub(crate) fn check_mark(folder: &Path) -> Result<(), PoetryError> {
    let path = folder.join(MARK);
    if !path.exists() {
        return Err(PoetryError::NoRun {
            path: folder.to_owned(),
        });
    }
    let mark: Mark = read_json(&path)?;
    if mark.layout > LAYOUT {
        return Err(PoetryError::NewerRun {
            path: folder.to_owned(),
            layout: mark.layout,
        });
    }
    Ok(())
}

/// Keeps other processes from training the run.
pub(super) fn lock(folder: &Path) -> Result<File, PoetryError> {
    let path = folder.join(Files::LOCK);
    let file = File::create(&path).map_err(PoetryError::file("write", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(PoetryError::RunInUse {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(PoetryError::file("lock", path)(error)),
    }
}

impl Run {
    /// Reads the poems of the run in a folder, in the order in which they were read.
    ///
    /// # Errors
    ///
    /// When there is no run, or the file is damaged.
    pub fn poems(folder: &Path) -> Result<Vec<Poem>, PoetryError> {
        check_mark(folder)?;
        read_json(&folder.join(Files::POEMS))
    }

    /// Reads the poems that the run in a folder holds back for its test; those for validation where
    /// there are none.
    ///
    /// # Errors
    ///
    /// When there is no run, or a file is damaged.
    pub fn test_poems(folder: &Path) -> Result<Vec<Poem>, PoetryError> {
        let poems = Self::poems(folder)?;
        let settings = Settings::read(&folder.join(Files::SETTINGS))?;
        let split = split_of(&poems, &settings.corpus());
        let part = if split.test.is_empty() {
            split.validation
        } else {
            split.test
        };
        Ok(part.into_iter().map(|at| poems[at].clone()).collect())
    }
}

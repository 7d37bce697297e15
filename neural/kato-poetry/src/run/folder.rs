//! The folder of a run: its files, and the poems in it.

use std::path::Path;

use kato_neural::run::{RunFolder, read_json};

use super::Run;
use crate::corpus::split_of;
use crate::error::PoetryError;
use crate::poem::Poem;
use crate::settings::Settings;

/// Whose runs they are.
pub(crate) const PROGRAM: &str = "kato-poetry";
/// Version of the folder's layout.
pub(crate) const LAYOUT: u32 = 1;

/// The file of a run's poems.
pub(super) const POEMS: &str = "poems.json";

/// Checks that a folder holds a run of a layout that is known.
pub(crate) fn check_mark(folder: &Path) -> Result<(), PoetryError> {
    Ok(RunFolder::check(folder, PROGRAM, LAYOUT)?)
}

impl Run {
    /// Reads the poems of the run in a folder, in the order in which they were read.
    ///
    /// # Errors
    ///
    /// When there is no run, or the file is damaged.
    pub fn poems(folder: &Path) -> Result<Vec<Poem>, PoetryError> {
        check_mark(folder)?;
        Ok(read_json(&folder.join(POEMS))?)
    }

    /// Reads the poems that the run in a folder holds back for its test; those for validation where
    /// there are none.
    ///
    /// # Errors
    ///
    /// When there is no run, or a file is damaged.
    pub fn test_poems(folder: &Path) -> Result<Vec<Poem>, PoetryError> {
        let poems = Self::poems(folder)?;
        let settings = Settings::of_run(folder)?;
        let split = split_of(&poems, &settings.corpus());
        let part = if split.test.is_empty() {
            split.validation
        } else {
            split.test
        };
        Ok(part.into_iter().map(|at| poems[at].clone()).collect())
    }
}

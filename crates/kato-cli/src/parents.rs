//! The directories above one that a command makes: they go, too, where it ends before it began.

use std::fs;
use std::path::{Path, PathBuf};

/// The directories above another one that were not there, the nearest first.
#[derive(Debug)]
pub(crate) struct MissingParents(Vec<PathBuf>);

impl MissingParents {
    /// Looks which directories are missing above another one.
    pub(crate) fn of(dir: &Path) -> Self {
        let above = dir.ancestors().skip(1);
        let named = above.take_while(|above| !above.as_os_str().is_empty());
        let missing = named.take_while(|above| !above.exists());
        Self(missing.map(Path::to_owned).collect())
    }

    /// Removes them as far as nothing is in them.
    pub(crate) fn remove(&self) {
        // What cannot be removed is somebody's by now, and so is what is above it.
        let _ = self.0.iter().try_for_each(fs::remove_dir);
    }
}

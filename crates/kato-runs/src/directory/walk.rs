//! Finding runs in a data directory.

use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kato_store::EmbeddedStore;

use crate::RunsError;
use crate::state_file::{is_state, is_taught};

/// The beginning and the end of the names of directories that are being made or removed.
const SCRATCH: (&str, &str) = (".kato-", ".partial");

/// Levels of sub-directories that are looked into, so that knowledge bases are found one level
/// deeper.
const LEVELS: usize = 1;

/// The content of a data directory.
#[derive(Debug, Default)]
pub(super) struct DirectoryContents {
    pub(super) knowledge_bases: Vec<PathBuf>,
    pub(super) state_files: Vec<PathBuf>,
    /// Directories that are being made or removed, or were when a process died.
    pub(super) scratch: Vec<PathBuf>,
}

impl DirectoryContents {
    /// Looks through a directory and its sub-directories.
    pub(super) fn in_directory(dir: &Path) -> Result<Self, RunsError> {
        let mut contents = Self::default();
        contents.walk(dir, LEVELS)?;
        Ok(contents)
    }

    /// Looks through a directory, and so many levels below it.
    fn walk(&mut self, dir: &Path, levels: usize) -> Result<(), RunsError> {
        let entries = match fs::read_dir(dir) {
            // A sub-directory that was deleted meanwhile, or belongs to somebody else, is no reason
            // to fail.
            Err(error)
                if levels < LEVELS
                    && matches!(
                        error.kind(),
                        ErrorKind::NotFound | ErrorKind::PermissionDenied
                    ) =>
            {
                return Ok(());
            }
            entries => entries.map_err(RunsError::io("list", dir))?,
        };
        for entry in entries {
            let entry = entry.map_err(RunsError::io("list", dir))?;
            self.sort_entry(&entry, levels)?;
        }
        Ok(())
    }

    /// Sorts one entry of a directory.
    fn sort_entry(&mut self, entry: &DirEntry, levels: usize) -> Result<(), RunsError> {
        let path = entry.path();
        // Links are not followed: one that leads upwards would have no end.
        let Ok(kind) = entry.file_type() else {
            return Ok(());
        };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() && name.starts_with(SCRATCH.0) && name.ends_with(SCRATCH.1) {
            self.scratch.push(path);
        } else if name.starts_with('.') || is_taught(&name) {
            // The store of what a server was taught has the form of a knowledge base, but is part
            // of the run whose state file lies beside it.
        } else if kind.is_file() && is_state(&name) {
            self.state_files.push(path);
        } else if kind.is_dir() && EmbeddedStore::exists(&path) {
            self.knowledge_bases.push(path);
        } else if kind.is_dir() && levels > 0 {
            self.walk(&path, levels - 1)?;
        }
        Ok(())
    }
}

/// Returns the path of a directory in `dir` in which something is made or removed, and which is no
/// run.
pub(super) fn scratch_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{}{name}{}", SCRATCH.0, SCRATCH.1))
}

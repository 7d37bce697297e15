//! Finding what is in a data directory.

use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kato_store::EmbeddedStore;

use crate::RunsError;
use crate::state_file::{is_state, is_taught};

/// How the names of directories begin and end that are being made or removed.
const SCRATCH: (&str, &str) = (".kato-", ".partial");

/// Levels of sub-directories that are looked into, so that knowledge bases are found one level deeper.
const LEVELS: usize = 1;

/// What is in a data directory.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) knowledge_bases: Vec<PathBuf>,
    pub(super) state_files: Vec<PathBuf>,
    /// What is being made or removed, or was when a process died.
    pub(super) scratch: Vec<PathBuf>,
}

impl Found {
    pub(super) fn in_directory(dir: &Path) -> Result<Self, RunsError> {
        let mut found = Self::default();
        found.walk(dir, LEVELS)?;
        Ok(found)
    }

    fn walk(&mut self, dir: &Path, levels: usize) -> Result<(), RunsError> {
        let entries = match fs::read_dir(dir) {
            // Deleted meanwhile, or none of ours: no reason to list nothing.
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
            self.look_at(&entry, levels)?;
        }
        Ok(())
    }

    fn look_at(&mut self, entry: &DirEntry, levels: usize) -> Result<(), RunsError> {
        let path = entry.path();
        // Not followed: a link that leads upwards would have no end.
        let Ok(kind) = entry.file_type() else {
            return Ok(());
        };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() && name.starts_with(SCRATCH.0) && name.ends_with(SCRATCH.1) {
            self.scratch.push(path);
        } else if name.starts_with('.') || is_taught(&name) {
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

/// The name of a directory in `dir` in which something is made or removed, which is no run.
pub(super) fn scratch_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{}{name}{}", SCRATCH.0, SCRATCH.1))
}

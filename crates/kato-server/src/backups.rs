//! The directory of backups: which it holds, how many there may be, and making room for the next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kato_service::ServiceError;
use kato_service::backups::{self, BackupState};

/// The settings of backups.
#[derive(Debug, Clone)]
pub(crate) struct BackupOptions {
    /// Directory below which each backup gets its own; `None` where none may be made.
    pub(crate) dir: Option<PathBuf>,
    /// The most that there may be.
    pub(crate) max: usize,
    /// Whether the oldest are removed where there are more.
    pub(crate) prunes: bool,
}

/// The backups in a directory, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Backups {
    pub(crate) whole: Vec<PathBuf>,
    pub(crate) broken_off: Vec<PathBuf>,
}

impl Default for BackupOptions {
    fn default() -> Self {
        Self {
            dir: None,
            max: 7,
            prunes: false,
        }
    }
}

impl Backups {
    /// Lists the backups in a directory, which may not be there yet. Other directories are not among
    /// them, nor are those that a server was started on.
    pub(crate) fn list(dir: &Path) -> io::Result<Self> {
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            entries => entries?,
        };
        let mut found = Self::default();
        for entry in entries {
            let path = entry?.path();
            match BackupState::of(&path) {
                BackupState::Whole => found.whole.push(path),
                BackupState::BrokenOff => found.broken_off.push(path),
                _ => {}
            }
        }
        // Not by name: a copy may have been given another one.
        let by_time = |path: &PathBuf| (backups::made_at(path), path.clone());
        found.whole.sort_by_cached_key(by_time);
        found.broken_off.sort_by_cached_key(by_time);
        Ok(found)
    }

    pub(crate) fn len(&self) -> usize {
        self.whole.len() + self.broken_off.len()
    }

    /// Returns the one to remove first.
    pub(crate) fn first_to_remove(&self) -> Option<&PathBuf> {
        self.broken_off.iter().chain(&self.whole).next()
    }

    /// Removes those that are of no use, and the oldest beyond so many, but never the one that was just
    /// made: the clock may have been set back since the others.
    pub(crate) fn prune(&self, max: usize, made: &Path) -> Result<(), ServiceError> {
        let surplus = self.whole.len().saturating_sub(max.max(1));
        let oldest = self.whole.iter().filter(|path| *path != made);
        let mut doomed = self.broken_off.iter().chain(oldest.take(surplus));
        doomed.try_for_each(backups::remove)
    }
}

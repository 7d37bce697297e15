//! Counts that lie in files, and what is damaged of them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use kato_columns::{CheckedBytes, DamageWatch};

use super::Head;
use crate::HeadError;

/// Columns of counts in files.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) damage: DamageWatch,
    pub(crate) columns: Vec<(PathBuf, CheckedBytes)>,
    /// Whether every name above the lowest level is that of a pattern of a level below.
    pub(crate) has_plain_names: bool,
}

impl Frozen {
    /// Reads all columns and compares them with their checksums.
    pub(crate) fn check(&self, is_cancelled: &dyn Fn() -> bool) -> Result<(), HeadError> {
        let damaged = |what: String| HeadError::Damaged { what };
        for (path, column) in &self.columns {
            let read = || {
                let mut file = File::open(path)?;
                column.check_all(|at, buffer| {
                    if is_cancelled() {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    file.seek(SeekFrom::Start(at))?;
                    file.read_exact(buffer)
                })
            };
            read().map_err(|error| damaged(format!("{}: {error}", path.display())))?;
        }
        match self.damage.what() {
            Some(what) => Err(damaged(what)),
            None => Ok(()),
        }
    }
}

impl Head {
    /// Asks questions whose answer is dropped where it goes back to damaged bytes: `None` then. They may
    /// be asked again, where bytes are changed meanwhile. Where the counts lie in memory this only asks.
    pub fn read_checked<T>(&self, mut ask: impl FnMut(&Self) -> T) -> Option<T> {
        match &self.frozen {
            None => Some(ask(self)),
            Some(frozen) => frozen.damage.read(|| ask(self)),
        }
    }

    /// Changes the head; `None` where that went back to damaged bytes, or to such as were changed meanwhile.
    pub(crate) fn read_checked_mut<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let damage = self.frozen.as_ref().map(|frozen| frozen.damage.clone());
        match damage {
            None => Some(change(self)),
            Some(damage) => damage.read_once(|| change(self)),
        }
    }

    /// Returns what is damaged of counts on the disk; `None` if nothing was found to be, or there are none.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        self.frozen.as_ref().and_then(|frozen| frozen.damage.what())
    }

    /// Returns whether the counts lie on the disk.
    #[must_use]
    pub const fn is_on_disk(&self) -> bool {
        self.frozen.is_some()
    }

    /// Returns whether every name above the lowest level is known to be that of a pattern of a level below.
    pub(crate) fn has_plain_names(&self) -> bool {
        // Lessons since may refer to what no level holds.
        let frozen = self.frozen.as_ref().filter(|_| self.missing.is_empty());
        frozen.is_some_and(|frozen| frozen.has_plain_names)
    }

    /// Reads all counts that lie on the disk and compares them with their checksums, for those who go on to
    /// learn and could not go back to what a store holds.
    ///
    /// # Errors
    ///
    /// [`HeadError::Damaged`], also when they cannot be read.
    pub fn check(&self) -> Result<(), HeadError> {
        let frozen = self.frozen.as_ref();
        frozen.map_or(Ok(()), |frozen| frozen.check(&|| false))
    }
}

//! The ledger of what was skipped: JSON Lines, each entry exactly once over crashes and resumes.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::TrainError;

/// An open ledger. Entries are flushed before the commit that counts them, and what a crash left behind the last commit
/// is cut off when the run resumes.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl Ledger {
    /// Opens the ledger of a run whose last commit counts `bytes` bytes of it.
    pub(crate) fn open(path: &Path, bytes: u64) -> Result<Self, TrainError> {
        let open = || {
            let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(path)?;
            file.set_len(bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = open().map_err(|source| TrainError::Ledger { path: path.to_owned(), source })?;
        Ok(Self { file, path: path.to_owned(), bytes })
    }

    /// Appends entries and waits until the disk holds them; returns the length of the ledger.
    pub(crate) fn append(&mut self, entries: &[impl Serialize]) -> Result<u64, TrainError> {
        if entries.is_empty() {
            return Ok(self.bytes);
        }
        let mut lines = Vec::new();
        for entry in entries {
            // Entries are plain data of this workspace; one that had no JSON form would be a bug, not an input.
            if serde_json::to_writer(&mut lines, entry).is_ok() {
                lines.push(b'\n');
            }
        }
        let written = self.file.write_all(&lines).and_then(|()| self.file.sync_data());
        written.map_err(|source| TrainError::Ledger { path: self.path.clone(), source })?;
        self.bytes += lines.len() as u64;
        Ok(self.bytes)
    }
}

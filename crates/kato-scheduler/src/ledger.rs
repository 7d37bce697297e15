//! The ledger of what was skipped: JSON Lines, each entry exactly once over crashes and resumes.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::TrainError;

/// An open ledger. Entries are flushed before the commit that counts them, and what a crash left
/// behind the last commit is cut off when the run resumes.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl Ledger {
    /// Opens the ledger of a run whose last commit counts `bytes` bytes of it, and cuts off what
    /// lies behind them. A file that is not there starts a ledger of its own, so that a run may go
    /// on after its ledger was moved away.
    pub(crate) fn open(path: &Path, bytes: u64) -> Result<Self, TrainError> {
        let failed = |source| TrainError::Ledger {
            path: path.to_owned(),
            source,
        };
        let mut file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let found = file.metadata().map_err(failed)?.len();
        // Shorter than the last commit counts, and not new: entries are lost, and going on would
        // hide it.
        if (1..bytes).contains(&found) {
            return Err(TrainError::LedgerCut {
                path: path.to_owned(),
                expected: bytes,
                found,
            });
        }
        let bytes = bytes.min(found);
        if found > bytes {
            // These entries were never committed: their documents are read again, and listed again if
            // they fail.
            file.set_len(bytes).map_err(failed)?;
        }
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        // A flush of the entries alone would not keep the name of a new file over a power cut.
        sync_parent(path).map_err(failed)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            bytes,
        })
    }

    /// Appends entries and waits until the disk holds them; returns the length of the ledger.
    pub(crate) fn append(&mut self, entries: &[impl Serialize]) -> Result<u64, TrainError> {
        if entries.is_empty() {
            return Ok(self.bytes);
        }
        let mut lines = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut lines, entry).map_err(|error| TrainError::Ledger {
                path: self.path.clone(),
                source: error.into(),
            })?;
            lines.push(b'\n');
        }
        let written = self
            .file
            .write_all(&lines)
            .and_then(|()| self.file.sync_data());
        written.map_err(|source| TrainError::Ledger {
            path: self.path.clone(),
            source,
        })?;
        self.bytes += lines.len() as u64;
        Ok(self.bytes)
    }
}

/// Makes a file's creation durable.
fn sync_parent(path: &Path) -> std::io::Result<()> {
    // Windows cannot flush a directory and does not need to.
    if cfg!(unix) {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

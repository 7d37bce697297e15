//! What was measured after each epoch, a line of JSON each.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{RunError, write_whole};

/// A record of an epoch that knows its number, from 0.
pub trait EpochNumber: Serialize + DeserializeOwned {
    /// Returns the epoch's number.
    fn epoch(&self) -> u64;
}

/// The file of a run's epochs.
#[derive(Debug)]
pub struct EpochHistory {
    path: PathBuf,
    file: File,
}

impl EpochHistory {
    /// Opens the file and forgets epochs from `next_epoch` on: they are trained again, because the
    /// run was cut off before they were saved.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written, or is damaged.
    pub fn open<T: EpochNumber>(path: &Path, next_epoch: u64) -> Result<Self, RunError> {
        let mut kept: Vec<T> = Self::read(path)?;
        kept.retain(|record| record.epoch() < next_epoch);
        write_whole(path, |out| {
            kept.iter().try_for_each(|record| write_line(out, record))
        })?;
        let file = OpenOptions::new().append(true).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(RunError::file("write", path))?,
        })
    }

    /// Reads the epochs of a run; none where there is no file yet. A last line that was cut off is
    /// passed over, as its epoch is not over.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or another line is damaged.
    pub fn read<T: EpochNumber>(path: &Path) -> Result<Vec<T>, RunError> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.map_err(RunError::file("read", path))?,
        };
        let mut records = Vec::new();
        let mut lines = text.lines().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            match serde_json::from_str(line) {
                Ok(record) => records.push(record),
                Err(_) if lines.peek().is_none() => {}
                Err(error) => {
                    return Err(RunError::Damaged {
                        path: path.to_owned(),
                        reason: format!("line {}: {error}", index + 1),
                    });
                }
            }
        }
        Ok(records)
    }

    /// Adds an epoch.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn push<T: EpochNumber>(&mut self, record: &T) -> Result<(), RunError> {
        write_line(&mut self.file, record).map_err(RunError::file("write", &self.path))
    }
}

/// Writes a record and its line break at once, so that a line is never half there for long.
fn write_line(out: &mut dyn Write, record: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    out.write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
    struct Epoch(u64);

    impl EpochNumber for Epoch {
        fn epoch(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn epochs_that_were_not_saved_are_forgotten_and_torn_lines_passed_over() -> Result<(), RunError>
    {
        let folder = tempfile::tempdir().map_err(RunError::file("create", "a folder"))?;
        let path = folder.path().join("history.jsonl");
        let mut history = EpochHistory::open::<Epoch>(&path, 0)?;
        for epoch in 0..3 {
            history.push(&Epoch(epoch))?;
        }
        drop(history);
        EpochHistory::open::<Epoch>(&path, 2)?;
        assert_eq!(EpochHistory::read::<Epoch>(&path)?, [Epoch(0), Epoch(1)]);
        fs::write(&path, "0\n1\n{\"to").map_err(RunError::file("write", &path))?;
        assert_eq!(EpochHistory::read::<Epoch>(&path)?.len(), 2);
        fs::write(&path, "0\nx\n1\n").map_err(RunError::file("write", &path))?;
        let error = EpochHistory::read::<Epoch>(&path).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        Ok(())
    }
}

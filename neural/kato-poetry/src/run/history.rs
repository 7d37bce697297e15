//! What was measured after each epoch, a line of JSON each.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::PoetryError;
use crate::metrics::Judgement;
use crate::store::write_whole;

/// An epoch of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EpochRecord {
    /// The epoch, from 0.
    pub epoch: u64,
    /// Steps of the run when it ended.
    pub step: u64,
    /// Mean training loss of its steps, with the penalty of the codes.
    pub train_loss: f64,
    /// What the model made of the validation chunks.
    pub validation: Judgement,
    /// Whether the validation loss was the best so far.
    pub is_best: bool,
    /// The learning rate of its last step.
    pub rate: f64,
    /// Mean norm of all gradients together, before the clip.
    pub gradient_norm: f64,
    /// Chunks a second while it trained.
    pub chunks_per_s: f64,
    /// Share of the training time that was spent waiting for batches.
    pub wait_share: f64,
    /// Seconds that it trained.
    pub train_s: f64,
    /// Seconds that its validation took.
    pub judge_s: f64,
    /// Seconds that it stood still for checkpoints, since the epoch before was judged.
    #[serde(default)]
    pub saving_s: f64,
}

/// The file of a run's epochs.
#[derive(Debug)]
pub(super) struct History {
    path: PathBuf,
    file: File,
    last: Option<EpochRecord>,
}

impl History {
    /// Opens the file and forgets epochs from `next_epoch` on: they are trained again, because the
    /// run was cut off before they were saved.
    pub(super) fn open(path: &Path, next_epoch: u64) -> Result<Self, PoetryError> {
        let kept: Vec<EpochRecord> = Self::read(path)?
            .into_iter()
            .filter(|record| record.epoch < next_epoch)
            .collect();
        write_whole(path, |out| {
            kept.iter().try_for_each(|record| write_line(out, record))
        })?;
        let file = OpenOptions::new().append(true).open(path);
        let file = file.map_err(PoetryError::file("write", path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            last: kept.last().copied(),
        })
    }

    /// Reads the epochs of a run; none where there is no file yet. A last line that was cut off is
    /// passed over, as its epoch is not over.
    pub(super) fn read(path: &Path) -> Result<Vec<EpochRecord>, PoetryError> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.map_err(PoetryError::file("read", path))?,
        };
        let mut records = Vec::new();
        let mut lines = text.lines().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            match serde_json::from_str(line) {
                Ok(record) => records.push(record),
                Err(_) if lines.peek().is_none() => {}
                Err(error) => {
                    let reason = format!("line {}: {error}", index + 1);
                    return Err(PoetryError::Damaged {
                        path: path.to_owned(),
                        reason,
                    });
                }
            }
        }
        Ok(records)
    }

    /// Returns the last epoch.
    pub(super) fn last(&self) -> Option<&EpochRecord> {
        self.last.as_ref()
    }

    /// Adds an epoch.
    pub(super) fn push(&mut self, record: &EpochRecord) -> Result<(), PoetryError> {
        let written = write_line(&mut self.file, record);
        self.last = Some(*record);
        written.map_err(PoetryError::file("write", &self.path))
    }
}

/// Writes a record and its line break at once, so that a line is never half there for long.
fn write_line(out: &mut dyn Write, record: &EpochRecord) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    out.write_all(&line)
}

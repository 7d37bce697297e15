//! Names of checkpoints in a run's folder: which there are, which is the newest.

use std::path::{Path, PathBuf};

use super::{CheckpointKind, TrainerCheckpoint};
use crate::Error;

/// A checkpoint's place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointPath {
    /// Its folder.
    pub path: PathBuf,
    /// Its series.
    pub kind: CheckpointKind,
    /// How many optimiser steps it is after.
    pub step: u64,
    /// Which writing of that step; a run that is taken up again writes some a second time.
    pub attempt: u64,
}

impl CheckpointPath {
    /// Names the checkpoint in `folder`.
    pub(crate) fn new(folder: &Path, kind: CheckpointKind, step: u64, attempt: u64) -> Self {
        let series = kind.series();
        // Padded, so that a listing by name is one by step.
        let path = folder.join(format!("{series}-{step:012}-{attempt}"));
        Self {
            path,
            kind,
            step,
            attempt,
        }
    }

    fn from_path(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let mut parts = name.split('-');
        let series = parts.next()?;
        let kind = [CheckpointKind::Step, CheckpointKind::Best]
            .into_iter()
            .find(|kind| kind.series() == series)?;
        let (step, attempt) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        // Anything else in the folder is the user's, and left alone.
        parts.next().is_none().then_some(Self {
            path,
            kind,
            step,
            attempt,
        })
    }
}

/// Lists a run's checkpoints, oldest first; unfinished ones are not among them.
///
/// # Errors
///
/// [`Error::File`] where the folder cannot be read; one that is missing has none.
pub fn checkpoints(folder: &Path) -> Result<Vec<CheckpointPath>, Error> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        // A folder that is not there yet holds no checkpoint, which is no error.
        entries => entries.map_err(Error::file("cannot list", folder))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::file("cannot list", folder))?.path();
        found.extend(CheckpointPath::from_path(path));
    }
    // Numbers and not names or times: clocks go back, and copies have new times.
    found.sort_by_key(|checkpoint| (checkpoint.step, checkpoint.attempt, checkpoint.kind));
    Ok(found)
}

/// The newest checkpoint that is whole, and those that are newer and are not.
#[derive(Debug)]
#[non_exhaustive]
pub struct Latest {
    /// What was read.
    pub checkpoint: TrainerCheckpoint,
    /// Its place.
    pub place: CheckpointPath,
    /// Why newer ones could not be taken.
    pub passed_over: Vec<Error>,
}

/// Reads the newest whole checkpoint of a series.
///
/// # Errors
///
/// [`Error::NoCheckpoint`] where there is none; [`Error::NoneWhole`] where none is whole; [`Error::Version`] of one
/// that a newer program wrote, as older ones are no substitute for it.
pub fn latest(folder: &Path, kind: CheckpointKind) -> Result<Latest, Error> {
    let mut passed_over = Vec::new();
    for place in checkpoints(folder)?
        .into_iter()
        .rev()
        .filter(|place| place.kind == kind)
    {
        match TrainerCheckpoint::open(&place.path) {
            Ok(checkpoint) => {
                return Ok(Latest {
                    checkpoint,
                    place,
                    passed_over,
                });
            }
            // An update of the program would read it: an older one is no substitute.
            Err(error @ Error::Version { .. }) => return Err(error),
            Err(error) => passed_over.push(error),
        }
    }
    let folder = folder.to_owned();
    Err(match passed_over.into_iter().next() {
        Some(newest) => Error::NoneWhole {
            folder,
            kind,
            source: Box::new(newest),
        },
        None => Error::NoCheckpoint { folder },
    })
}

/// Reads the best checkpoint, or the newest step where none was judged yet.
///
/// # Errors
///
/// As [`latest`]: where there is a best one and it is damaged, a step is no substitute.
pub fn best_or_latest(folder: &Path) -> Result<Latest, Error> {
    let has_best = checkpoints(folder)?
        .iter()
        .any(|place| place.kind == CheckpointKind::Best);
    let kind = match has_best {
        true => CheckpointKind::Best,
        false => CheckpointKind::Step,
    };
    latest(folder, kind)
}

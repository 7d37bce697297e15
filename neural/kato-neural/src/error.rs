//! What can go wrong, and what to do next.

use std::path::PathBuf;

use kato_advice::ErrorClass;

use crate::checkpoint::CheckpointKind;
use crate::collective::CollectiveError;

/// An error of training or of a checkpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A gradient is infinite or not a number, so that the step was not taken.
    #[error(
        "step {step}: the gradient of {parameter} is not finite; lower the learning rate, clip the \
         gradient, or go on from the checkpoint before with another seed"
    )]
    NotFinite {
        /// The optimiser step, from 0.
        step: u64,
        /// The first such parameter, by name.
        parameter: String,
    },
    /// A group of batches holds nothing to learn from.
    #[error("step {step}: the batches hold no valid position; leave empty sequences out")]
    EmptyStep {
        /// The optimiser step, from 0.
        step: u64,
    },
    /// A batch has to be cut, and cannot be.
    #[error(
        "step {step}: a batch of {n_tokens} tokens has to be cut, as it is more than is computed at \
         once or is shared by replicas, and the task cannot cut it; make smaller batches, raise \
         max_tokens_at_once, or write Task::part"
    )]
    Uncut {
        /// The optimiser step, from 0.
        step: u64,
        /// What the batch takes, padding included.
        n_tokens: usize,
    },
    /// Batch norm would have the statistics of parts of a step.
    #[error(
        "step {step}: the model has batch norm, whose statistics would be those of each of the step's \
         {n_parts} parts; make one batch a step, leave batch norm out, or allow it \
         (batch_norm_by_part)"
    )]
    BatchNorm {
        /// The optimiser step, from 0.
        step: u64,
        /// In how many parts the step would be computed.
        n_parts: usize,
    },
    /// Replicas could not talk, or are not at the same place.
    #[error("step {step}: the replicas' step failed")]
    Collective {
        /// The optimiser step, from 0.
        step: u64,
        /// Why.
        #[source]
        source: CollectiveError,
    },
    /// The source of batches failed.
    #[error("epoch {epoch}, batch {batch}: the batch could not be made")]
    Batch {
        /// The epoch, from 0.
        epoch: u64,
        /// The batch within the epoch, from 0.
        batch: u64,
        /// What the source says.
        #[source]
        source: BoxError,
    },
    /// A file could not be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A file of a checkpoint, or of weights, is not what was written.
    #[error("{} is damaged: {reason}; restore it from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A series has checkpoints, and none of them can be taken.
    #[error("no `{}-…` in {} is whole; {}", kind.series(), folder.display(), way_out(*kind))]
    NoneWhole {
        /// Where they are.
        folder: PathBuf,
        /// The series.
        kind: CheckpointKind,
        /// Why the newest one cannot be taken.
        source: Box<Self>,
    },
    /// A checkpoint is of a later version of this crate.
    #[error("{} has schema version {found}, and this program reads {known}; update it", path.display())]
    Version {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest that is read.
        known: u32,
    },
    /// A checkpoint belongs to another model or run.
    #[error("the checkpoint does not fit: {reason}; begin with the settings it was written with")]
    Mismatch {
        /// What differs.
        reason: String,
    },
    /// There is no checkpoint to go on from.
    #[error("no checkpoint in {}; train until one is saved there", folder.display())]
    NoCheckpoint {
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// The thread that writes checkpoints ended by a panic.
    #[error("the writer of checkpoints is gone; begin the run again from its last checkpoint")]
    WriterGone,
}

/// An error of a caller's own.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    /// Returns what a caller can do about the error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::File { source, .. } => ErrorClass::of_io(source.kind()),
            Self::NoneWhole { source, .. } => source.class(),
            Self::Version { .. } | Self::Mismatch { .. } => ErrorClass::Conflict,
            _ => ErrorClass::Other,
        }
    }

    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        // Only on failure is the text made; the path is copied in any case.
        let path = path.into();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}

/// Returns what can be done where no checkpoint of a series is whole.
const fn way_out(kind: CheckpointKind) -> &'static str {
    match kind {
        CheckpointKind::Step => "restore one from a copy, or train the run again in another folder",
        CheckpointKind::Best => {
            "restore one from a copy, or remove them: then the newest `step-…` is taken for the best"
        }
    }
}

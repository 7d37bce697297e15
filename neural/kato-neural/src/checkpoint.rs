//! Checkpoints: what a run needs to go on as if it had never stopped.

mod background;
mod folder;
mod manifest;
mod read;
mod snapshot;
mod write;

pub use background::{CheckpointWriter, WriterOptions, WriterStatistics};
pub use folder::{CheckpointPath, Latest, best_or_latest, checkpoints, latest};
pub use manifest::{SCHEMA_VERSION, TrainerProgress};
pub use read::{TrainerCheckpoint, read_weights};
pub use snapshot::{CheckpointKind, TrainerSnapshot};
pub use write::{write_checkpoint, write_weights};

pub(crate) use manifest::FileEntry;
pub(crate) use write::{Unfinished, write_files};

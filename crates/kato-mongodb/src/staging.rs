//! Staging: batches are written into the journal of a run before a commit names them.

mod blobs;
mod pattern_delta;
mod stage;
mod staged_batch;

pub(crate) use self::blobs::{Blobs, decode, encode};
pub(crate) use self::pattern_delta::{CompactSymbol, PatternDelta};
pub(crate) use self::stage::stage;
pub(crate) use self::staged_batch::{BatchSource, BlobKind, Staged, StagingArea, remove_blobs};

//! Trains a model on the chunks of a corpus, through the trainer of `kato-neural`.

mod judging;
mod source;
mod task;

pub use judging::{judge, nearest_accuracy};
pub(crate) use source::ChunkBatches;
pub(crate) use task::{COIN_STREAM, Reconstruction, TrainingBatch};

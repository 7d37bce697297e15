//! Between model and trainer: the task, its batches, its judgement.

mod judging;
mod objective;
mod source;
mod task;

pub use judging::{MicrobesJudgement, judge};
pub(crate) use judging::{distance_pairs, judge_with, outputs};
pub(crate) use objective::{BatchTruth, Objective};
pub(crate) use source::SampleBatches;
pub(crate) use task::{Learning, LearningBatch};

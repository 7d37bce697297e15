//! What was measured after each epoch.

use kato_neural::run::EpochNumber;
use serde::{Deserialize, Serialize};

use crate::metrics::Judgement;

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

impl EpochNumber for EpochRecord {
    fn epoch(&self) -> u64 {
        self.epoch
    }
}

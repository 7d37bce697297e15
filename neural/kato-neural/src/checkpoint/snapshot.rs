//! A run's whole state at one moment, shared with the run until either changes.

use std::collections::BTreeMap;

use burn::module::Module;

use super::TrainerProgress;
use crate::AdamOptions;
use crate::optimizer::{Adam, Moments};
use crate::parameters::{NamedTensor, collect};

/// Which series a checkpoint belongs to; each has its own policy of keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CheckpointKind {
    /// One of those that a run goes on from; the newest ones are kept.
    Step,
    /// The best so far; only the newest of them is kept.
    Best,
}

impl CheckpointKind {
    /// Returns what the names of its checkpoints begin with.
    pub(crate) const fn series(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Best => "best",
        }
    }
}

/// Weights, optimiser state and positions of a run.
///
/// Taking one copies no tensor: buffers are shared, and the next update of the weights writes into
/// new ones. So it costs microseconds, and memory for a second copy while it is being written.
#[derive(Debug, Clone)]
pub struct TrainerSnapshot {
    pub(crate) kind: CheckpointKind,
    pub(crate) progress: TrainerProgress,
    pub(crate) weights: Vec<NamedTensor>,
    pub(crate) moments: Vec<NamedTensor>,
    pub(crate) adam: AdamOptions,
    pub(crate) adam_steps: u64,
    pub(crate) notes: serde_json::Value,
}

impl TrainerSnapshot {
    /// Takes the state of a model and its optimiser at a position.
    #[must_use]
    pub fn new<M: Module>(model: &M, adam: &Adam, progress: TrainerProgress) -> Self {
        // Handles and no copies: the run's next step copies what it changes.
        Self::of(collect(model), adam, progress)
    }

    /// Takes some weights of a model, and the optimiser's state.
    pub(crate) fn of(weights: Vec<NamedTensor>, adam: &Adam, progress: TrainerProgress) -> Self {
        Self {
            kind: CheckpointKind::Step,
            progress,
            weights,
            moments: named(adam.moments()),
            adam: adam.options().clone(),
            adam_steps: adam.n_steps(),
            notes: serde_json::Value::Null,
        }
    }

    /// Replaces the optimiser's state, of which this process has a part alone.
    pub(crate) fn with_moments(mut self, moments: &BTreeMap<String, Moments>) -> Self {
        self.moments = named(moments);
        self
    }

    /// Adds what the program wants back with the checkpoint: the model's settings, say.
    #[must_use]
    pub fn with_notes(mut self, notes: serde_json::Value) -> Self {
        self.notes = notes;
        self
    }

    /// Puts the checkpoint into the series of the best.
    #[must_use]
    pub const fn as_best(mut self) -> Self {
        self.kind = CheckpointKind::Best;
        self
    }

    /// Where the run stood.
    #[must_use]
    pub const fn progress(&self) -> &TrainerProgress {
        &self.progress
    }
}

/// Names moments with PyTorch's words for them, for whoever looks into the file.
fn named(moments: &BTreeMap<String, Moments>) -> Vec<NamedTensor> {
    let named = moments.iter().flat_map(|(name, moments)| {
        [
            NamedTensor::flat(format!("{name}.exp_avg"), moments.first.clone()),
            NamedTensor::flat(format!("{name}.exp_avg_sq"), moments.second.clone()),
        ]
    });
    named.collect()
}

//! What a run through the epochs asks of its caller, and tells it.

use std::time::Duration;

use kato_gradient::stop::{EarlyStopState, StopVerdict};

use super::{StepPlace, StepReport, Task, Trainer};
use crate::BoxError;

/// Where batches come from. Their order is a function of the epoch alone, so that a run can begin
/// anywhere in it.
pub trait Batches {
    /// What one forward pass takes.
    type Batch;

    /// How many batches an epoch has.
    fn n_batches(&self, epoch: u64) -> u64;

    /// Makes the batches of an epoch from `first` on.
    fn batches(
        &mut self,
        epoch: u64,
        first: u64,
    ) -> Box<dyn Iterator<Item = Result<Self::Batch, BoxError>> + '_>;
}

/// Something that happened in a run.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum FitEvent<'a> {
    /// A step was taken.
    Step {
        /// What it did.
        report: &'a StepReport,
        /// Where in the run.
        place: StepPlace,
        /// How long it waited for its batches.
        waited: Duration,
        /// How long it computed.
        computed: Duration,
    },
    /// A snapshot was handed to the writer.
    Saved {
        /// After how many steps.
        step: u64,
        /// How long training stood still for it.
        stalled: Duration,
    },
    /// An epoch was judged.
    Judged {
        /// The epoch, from 0.
        epoch: u64,
        /// The mean over its steps of their loss.
        loss: f64,
        /// The metric, where there is one.
        metric: Option<f64>,
        /// Whether it is the best so far, in the sense of the early stop's settings.
        improved: bool,
    },
}

/// Who watches a run, judges its epochs and may end it.
pub trait Observer<T: Task> {
    /// Takes an event; `false` ends the run after a checkpoint, but to [`FitEvent::Saved`], where it is not looked at.
    fn on_event(&mut self, event: FitEvent<'_>) -> bool;

    /// Judges the model after an epoch, by the metric that the early stop and the best checkpoint go
    /// by; `None` where there is nothing to judge by. Of several replicas, the first one is asked for all.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from judging; the run ends with it.
    fn judge(&mut self, trainer: &Trainer<T>, epoch: u64) -> Result<Option<f64>, BoxError>;
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// All epochs were run.
    Complete,
    /// The metric reached its target or stopped to improve.
    EarlyStop(StopVerdict),
    /// The observer asked for it; the run can go on from its last checkpoint.
    Interrupted,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FitReport {
    /// Why.
    pub ending: Ending,
    /// After how many steps.
    pub n_steps: u64,
    /// What the early stop saw.
    pub early_stop: Option<EarlyStopState>,
}

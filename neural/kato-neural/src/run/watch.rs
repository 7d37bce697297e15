//! How far a training is, how fast it goes, and what each epoch took.

use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::train::{Ending, StepPlace, StepReport};

/// A step of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepRecord {
    /// Steps that are done.
    pub step: u64,
    /// Steps of the whole run.
    pub n_steps: u64,
    /// The epoch, from 0.
    pub epoch: u64,
    /// Its loss.
    pub loss: f64,
    /// Items a second since the process began to train, validation left out.
    pub items_per_s: f64,
    /// Time until the last step of the run at this rate, validation included.
    pub left: Duration,
}

/// What the steps of an epoch took that this process has trained.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct EpochSteps {
    /// Items that it was trained on.
    pub n_items: f64,
    /// The learning rate of its last step.
    pub rate: f64,
    /// Mean norm of all gradients together, before the clip.
    pub gradient_norm: f64,
    /// Seconds that it trained.
    pub train_s: f64,
    /// Share of them that was spent waiting for batches.
    pub wait_share: f64,
    /// Seconds that it stood still for checkpoints.
    pub saving_s: f64,
}

/// Counts the steps of a training and the time that they take.
#[derive(Debug)]
pub struct StepWatch {
    n_steps: u64,
    step: u64,
    begun: Instant,
    /// Steps that this process took, and their items.
    n_taken: u64,
    n_items: f64,
    judging: Duration,
    epoch: Sums,
}

/// Sums over the steps of an epoch.
#[derive(Debug, Default)]
struct Sums {
    n_steps: u64,
    n_items: f64,
    norm: f64,
    rate: f64,
    waited: Duration,
    computed: Duration,
    saving: Duration,
}

impl StepWatch {
    /// Begins to watch, from the step where the run stands to its last.
    #[must_use]
    pub fn new(steps: Range<u64>) -> Self {
        Self {
            n_steps: steps.end,
            // An epoch whose last step was the last before a stop is judged without another.
            step: steps.start,
            begun: Instant::now(),
            n_taken: 0,
            n_items: 0.0,
            judging: Duration::ZERO,
            epoch: Sums::default(),
        }
    }

    /// Returns the steps of the run that are done.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Counts a step of so many items, which waited and computed for so long.
    pub fn count(
        &mut self,
        report: &StepReport,
        place: StepPlace,
        n_items: f64,
        (waited, computed): (Duration, Duration),
    ) -> StepRecord {
        self.n_taken += 1;
        self.n_items += n_items;
        self.step = report.step + 1;
        self.epoch.n_steps += 1;
        self.epoch.n_items += n_items;
        self.epoch.norm += report.norm;
        self.epoch.rate = report.rate;
        self.epoch.waited += waited;
        self.epoch.computed += computed;
        let elapsed = self.begun.elapsed();
        let trained = elapsed.saturating_sub(self.judging).as_secs_f64().max(1e-9);
        let n_left = self.n_steps.saturating_sub(self.step) as f64;
        let left = elapsed.as_secs_f64() / self.n_taken as f64 * n_left;
        StepRecord {
            step: self.step,
            n_steps: self.n_steps,
            epoch: place.epoch,
            loss: report.loss,
            items_per_s: self.n_items / trained,
            // What no clock can show is too long in any case.
            left: Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX),
        }
    }

    /// Counts time in which training stood still for a checkpoint.
    pub fn count_saving(&mut self, time: Duration) {
        self.epoch.saving += time;
    }

    /// Counts time in which the model was judged.
    pub fn count_judging(&mut self, time: Duration) {
        self.judging += time;
    }

    /// Ends an epoch and returns what its steps took.
    pub fn end_epoch(&mut self) -> EpochSteps {
        let sums = std::mem::take(&mut self.epoch);
        // An epoch of no step took no time, and no share of it is none.
        let train_s = (sums.waited + sums.computed).as_secs_f64().max(1e-9);
        EpochSteps {
            n_items: sums.n_items,
            rate: sums.rate,
            gradient_norm: sums.norm / sums.n_steps.max(1) as f64,
            train_s,
            wait_share: sums.waited.as_secs_f64() / train_s,
            saving_s: sums.saving.as_secs_f64(),
        }
    }
}

/// Why a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RunEnding {
    /// All epochs were trained.
    Complete,
    /// What is judged did not improve for as many epochs as the patience has.
    NoImprovement,
    /// What is judged reached its target.
    ReachedTarget,
    /// Its caller stopped it; it can go on.
    Interrupted,
}

impl fmt::Display for RunEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complete => "all epochs are trained",
            Self::NoImprovement => "validation no longer gets better",
            Self::ReachedTarget => "validation reached its target",
            Self::Interrupted => "interrupted",
        })
    }
}

impl From<Ending> for RunEnding {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Interrupted => Self::Interrupted,
            Ending::EarlyStop(_) => Self::NoImprovement,
            Ending::Complete => Self::Complete,
        }
    }
}

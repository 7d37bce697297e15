//! Settings of a trainer and of a run through the epochs.

use kato_gradient::scaler::LossScalerSettings;
use kato_gradient::stop::EarlyStopSettings;

use crate::{AdamOptions, Precision};

/// Settings of [`Trainer`](super::Trainer).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TrainerOptions {
    /// Decides every draw of the run.
    pub seed: u64,
    /// The optimiser.
    pub adam: AdamOptions,
    /// The number format of products.
    pub precision: Precision,
    /// The loss scale, used in half precision alone.
    pub scaler: LossScalerSettings,
    /// The most tokens, padding included, that are computed at once; a batch of more is cut into parts
    /// with the same gradient. No bound unless set. The bits of a run depend on it, as sums have
    /// another order.
    pub max_tokens_at_once: Option<usize>,
    /// Whether a model with batch norm may be trained by parts or by several batches a step, without replicas.
    /// Its statistics are then those of each part, which is not what one batch would have.
    pub batch_norm_by_part: bool,
    /// Whether replicas divide weights and gradients of the task's [stacks](super::Task::stacks), and the optimiser's
    /// state of all parameters, each keeping and updating its share. The weights of a block are gathered where it is
    /// computed, once for each direction. Where each replica runs every stack once a step, the bits are those of replicas
    /// that do not; else sums have another order.
    pub sharded: bool,
}

impl TrainerOptions {
    /// Adam without decay or clip, in `f32`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            adam: AdamOptions::default(),
            // The one that is right everywhere; others have to be asked for.
            precision: Precision::F32,
            scaler: LossScalerSettings::default(),
            max_tokens_at_once: None,
            batch_norm_by_part: false,
            sharded: false,
        }
    }

    /// Sets the optimiser.
    #[must_use]
    pub fn with_adam(mut self, adam: AdamOptions) -> Self {
        self.adam = adam;
        self
    }

    /// Sets the number format of products.
    #[must_use]
    pub const fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Sets the loss scale of half precision.
    #[must_use]
    pub const fn with_scaler(mut self, scaler: LossScalerSettings) -> Self {
        self.scaler = scaler;
        self
    }

    /// Bounds what is computed at once, by
    /// [`BatchSizeFound::tokens`](kato_gradient::finder::BatchSizeFound::tokens), say.
    #[must_use]
    pub const fn with_max_tokens_at_once(mut self, n_tokens: usize) -> Self {
        self.max_tokens_at_once = Some(n_tokens);
        self
    }

    /// Lets replicas divide weights, gradients and the optimiser's state.
    #[must_use]
    pub const fn with_sharded(mut self, sharded: bool) -> Self {
        self.sharded = sharded;
        self
    }

    /// Lets batch norm have the statistics of each part.
    #[must_use]
    pub const fn with_batch_norm_by_part(mut self) -> Self {
        self.batch_norm_by_part = true;
        self
    }
}

/// Settings of [`Trainer::fit`](super::Trainer::fit).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FitOptions {
    /// How many epochs the run has in all, those before a resume included.
    pub n_epochs: u64,
    /// How many batches make a step, at least 1; the last step of an epoch has what is left.
    pub n_accumulated: usize,
    /// When to stop for want of improvement.
    pub early_stop: Option<EarlyStopSettings>,
    /// After how many steps to save; after each epoch and at the end it is done anyway.
    pub save_every: Option<u64>,
    /// Whether replicas that [divide](TrainerOptions::sharded) the state each write their share of a checkpoint, into a
    /// folder that all of them reach. Nobody has to hold the whole then, and training waits for the writing.
    pub sharded_checkpoints: bool,
}

impl FitOptions {
    /// One batch a step, no early stop, saved after each epoch.
    #[must_use]
    pub const fn new(n_epochs: u64) -> Self {
        Self {
            n_epochs,
            // A step a batch, which is what readers of a batch size expect.
            n_accumulated: 1,
            early_stop: None,
            // Epochs are saved anyway; within one it depends on how long a step takes.
            save_every: None,
            sharded_checkpoints: false,
        }
    }

    /// Lets each replica write its share of a checkpoint.
    #[must_use]
    pub const fn with_sharded_checkpoints(mut self, sharded: bool) -> Self {
        self.sharded_checkpoints = sharded;
        self
    }

    /// Makes a step of this many batches.
    #[must_use]
    pub const fn with_accumulated(mut self, n_accumulated: usize) -> Self {
        self.n_accumulated = n_accumulated;
        self
    }

    /// Stops where the metric does not improve.
    #[must_use]
    pub const fn with_early_stop(mut self, early_stop: EarlyStopSettings) -> Self {
        self.early_stop = Some(early_stop);
        self
    }

    /// Saves after this many steps.
    #[must_use]
    pub const fn with_save_every(mut self, n_steps: u64) -> Self {
        self.save_every = Some(n_steps);
        self
    }
}

/// Where in a run a step is; the learning rate is a function of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepPlace {
    /// Optimiser steps before this one.
    pub step: u64,
    /// Epochs before this one.
    pub epoch: u64,
    /// Steps of this epoch before this one.
    pub step_in_epoch: u64,
    /// Steps that this epoch has.
    pub steps_in_epoch: u64,
}

impl StepPlace {
    /// Epochs before this step, with the part of the one that runs.
    #[must_use]
    pub fn epochs(&self) -> f64 {
        // Divided by one where an epoch has no step, so that a schedule never sees NaN.
        self.epoch as f64 + self.step_in_epoch as f64 / self.steps_in_epoch.max(1) as f64
    }
}

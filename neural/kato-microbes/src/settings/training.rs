//! How the model is trained, and on which samples.

use kato_gradient::Goal;
use kato_gradient::schedule::{Schedule, ScheduleSettings, WarmupCosine};
use kato_neural::run::check_setting;
use kato_neural::{AttentionForm, Precision};
use serde::{Deserialize, Serialize};

use crate::error::MicrobesError;

/// How samples are parted. What is left is learned from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SampleSplitOptions {
    /// Share that chooses the best epoch; 0.15 by default.
    pub validation: f64,
    /// Share that the width of intervals is taken from, 0.2 by default. Pre-training holds it back as
    /// well, for what is trained upon it: intervals hold only where nothing was learned from these.
    pub calibration: f64,
    /// Share that nothing depends on, by which the result is judged; 0.15 by default.
    pub test: f64,
    /// Decides which sample goes where; 42 by default.
    pub seed: u64,
}

impl Default for SampleSplitOptions {
    fn default() -> Self {
        Self {
            validation: 0.15,
            calibration: 0.2,
            test: 0.15,
            seed: 42,
        }
    }
}

impl SampleSplitOptions {
    /// Checks the shares.
    ///
    /// # Errors
    ///
    /// When one is no share, none is for validation, or less than a fifth is left to learn from.
    pub fn check(&self) -> Result<(), MicrobesError> {
        for (name, share) in [
            ("split.validation", self.validation),
            ("split.calibration", self.calibration),
            ("split.test", self.test),
        ] {
            check_setting(
                (0.0..0.8).contains(&share),
                name,
                &share,
                "at least 0 and below 0.8",
            )?;
        }
        check_setting(self.validation != 0.0, "split.validation", &0, "above 0")?;
        let held = self.validation + self.calibration + self.test;
        check_setting(
            held <= 0.8 + 1e-9,
            "split.test",
            &self.test,
            "such that a fifth of the samples is left to learn from",
        )?;
        Ok(())
    }
}

/// The metric that chooses the best epoch and stops a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BestBy {
    /// The validation loss. The default.
    #[default]
    ValLoss,
    /// R² of numbers, or of distances while pre-training.
    R2,
    /// The mean absolute error of numbers.
    Mae,
    /// The share of classes that are right; of hidden nucleotides while pre-training.
    Accuracy,
    /// The F1 of the classes, weighted by their sizes.
    F1,
}

impl BestBy {
    /// Returns whether the metric is to fall or to rise.
    #[must_use]
    pub const fn goal(self) -> Goal {
        match self {
            Self::ValLoss | Self::Mae => Goal::Min,
            Self::R2 | Self::Accuracy | Self::F1 => Goal::Max,
        }
    }
}

/// What attention keeps of a sequence on its way back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AttentionKind {
    /// Nothing, or probabilities that stay in the processor's cache: memory is linear in the length. The default.
    #[default]
    Tiled,
    /// All probabilities.
    Plain,
}

impl From<AttentionKind> for AttentionForm {
    fn from(form: AttentionKind) -> Self {
        match form {
            AttentionKind::Tiled => Self::Tiled,
            AttentionKind::Plain => Self::Plain,
        }
    }
}

/// How the model is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MicrobesTrainingOptions {
    /// Epochs at most; 50 by default.
    pub epochs: u64,
    /// Samples of a batch; 8 by default. Pre-training compares the samples of a batch with each other.
    pub batch: usize,
    /// Batches of an optimiser step; 1 by default.
    pub accumulate: usize,
    /// The learning rate, whose positions are optimiser steps; without one, it rises to `rate` over
    /// a tenth of the run's steps and falls along a cosine until their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleSettings>,
    /// The highest rate where no schedule is given; 10⁻⁴ by default.
    pub rate: f64,
    /// Norm of all gradients together at most; 1 by default.
    pub clip: f64,
    /// Share of the weights that a step takes off, times the rate (AdamW); 0.01 by default.
    pub weight_decay: f64,
    /// Epochs without improvement after which training stops; 10 by default.
    pub patience: u32,
    /// The metric that chooses the best epoch.
    pub best: BestBy,
    /// Whether a pre-trained part stays as it is; it learns on by default.
    pub freeze: bool,
    /// The number format of matrix products: `f32`, the default, or `bf16`.
    pub precision: Precision,
    /// Decides the first weights, the order of samples, and all draws; 42 by default.
    pub seed: u64,
    /// Replicas of the model that take each step together; 1 by default. They share the
    /// sequences of a step, and pairs of samples count whoever encodes them; a step is that of one, but
    /// for the order in which numbers are added.
    pub replicas: usize,
    /// Whether the program runs replicas as processes, each with memory of its own; threads of one process by
    /// default. It changes no bit.
    pub processes: bool,
    /// Seconds without a word after which a replica that is a process counts as stopped, and ends the training; 600 by
    /// default. The first one is waited for up to a year.
    pub silence_s: u64,
    /// Whether replicas divide the weights of blocks, with their gradients, and the optimiser's state, each keeping its
    /// share alone; they do not by default.
    pub sharded: bool,
    /// Whether each replica writes its share into a checkpoint of divided weights; the first one writes all of them by
    /// default. Any number of replicas goes on from either.
    pub sharded_checkpoints: bool,
    /// Tokens of sequences that are encoded at once at most, padding included; no bound unless set. What
    /// does not fit is encoded part by part, with the same gradient and one forward pass more. With
    /// several replicas, the bound is each one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_at_once: Option<usize>,
    /// Whether each block is one operation; it is by default. Off, each of its operations is one of Burn's.
    pub fused: bool,
    /// Whether a block keeps its inputs alone and computes the rest anew on the way back; it does by default, and
    /// a fused one always. It changes no bit.
    pub recompute: bool,
    /// What attention of fused blocks keeps of a sequence on its way back. It changes no bit.
    pub attention: AttentionKind,
    /// Threads that make batches while training goes on; 1 by default, 0 for none. The batches are the
    /// same for any number.
    pub workers: usize,
    /// Batches that each of them keeps ready; 2 by default.
    pub prefetch: usize,
    /// Steps between checkpoints inside an epoch, 0, the default, for none; one is taken after every
    /// epoch.
    pub save_steps: u64,
}

impl Default for MicrobesTrainingOptions {
    fn default() -> Self {
        Self {
            epochs: 50,
            batch: 8,
            accumulate: 1,
            schedule: None,
            rate: 1e-4,
            clip: 1.0,
            weight_decay: 0.01,
            patience: 10,
            best: BestBy::default(),
            freeze: false,
            precision: Precision::F32,
            seed: 42,
            replicas: 1,
            processes: false,
            silence_s: 600,
            sharded: false,
            sharded_checkpoints: false,
            max_tokens_at_once: None,
            fused: true,
            recompute: true,
            attention: AttentionKind::default(),
            workers: 1,
            prefetch: 2,
            save_steps: 0,
        }
    }
}

impl MicrobesTrainingOptions {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// When one of them is out of its range.
    pub fn check(&self) -> Result<(), MicrobesError> {
        for (name, value, least, expected) in [
            // A sample alone has nobody to be compared with.
            ("training.batch", self.batch as u64, 2, "at least 2"),
            (
                "training.accumulate",
                self.accumulate as u64,
                1,
                "at least 1",
            ),
            ("training.patience", self.patience.into(), 1, "at least 1"),
            ("training.silence_s", self.silence_s, 1, "at least 1"),
        ] {
            check_setting(value >= least, name, &value, expected)?;
        }
        // As many steps can be counted.
        check_setting(
            (1..=1_000_000_000).contains(&self.epochs),
            "training.epochs",
            &self.epochs,
            "from 1 to 1,000,000,000",
        )?;
        let at_once = self.max_tokens_at_once.unwrap_or(1);
        for (name, value, range, expected) in [
            ("training.replicas", self.replicas, 1..=64, "from 1 to 64"),
            ("training.workers", self.workers, 0..=64, "from 0 to 64"),
            (
                "training.prefetch",
                self.prefetch,
                1..=1024,
                "from 1 to 1,024",
            ),
            (
                "training.max_tokens_at_once",
                at_once,
                1..=usize::MAX,
                "at least 1",
            ),
        ] {
            check_setting(range.contains(&value), name, &value, expected)?;
        }
        for (name, value) in [
            ("training.rate", self.rate),
            ("training.weight_decay", self.weight_decay),
        ] {
            check_setting(value.is_finite() && value >= 0.0, name, &value, "0 or more")?;
        }
        check_setting(
            self.clip.is_finite() && self.clip > 0.0,
            "training.clip",
            &self.clip,
            "above 0",
        )?;
        check_setting(
            self.sharded || !self.sharded_checkpoints,
            "training.sharded_checkpoints",
            &true,
            "false where the state is not divided (`training.sharded=true`)",
        )?;
        let expected =
            "true, or `training.fused=false` beside it: fused blocks keep their inputs alone";
        let fits = self.recompute || !self.fused;
        check_setting(fits, "training.recompute", &false, expected)?;
        // Half precision needs a loss scale, which nothing here would gain from.
        check_setting(
            self.precision != Precision::F16,
            "training.precision",
            &"f16",
            "`f32` or `bf16`",
        )?;
        self.schedule(1).map(drop)
    }

    /// Returns the learning rate of a run of so many optimiser steps.
    ///
    /// # Errors
    ///
    /// When the schedule's settings are impossible.
    pub fn schedule(&self, n_steps: u64) -> Result<Schedule, MicrobesError> {
        let settings = self.schedule.clone().unwrap_or_else(|| {
            let total = n_steps.max(2) as f64;
            WarmupCosine::new(self.rate, total)
                .with_warmup((total / 10.0).floor())
                .with_start_rate(self.rate / 100.0)
                .with_min_rate(self.rate / 100.0)
                .into()
        });
        Ok(Schedule::new(settings)?)
    }
}

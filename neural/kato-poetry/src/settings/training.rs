//! How the model is trained.

use kato_gradient::curriculum::Curriculum;
use kato_gradient::forcing::{Forcing, ForcingSettings};
use kato_gradient::schedule::{CosineRestarts, Schedule};
use kato_neural::Precision;
use kato_neural::run::check_setting;
use serde::{Deserialize, Serialize};

use crate::error::PoetryError;

/// How chunks are put into batches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Batching {
    /// Shuffled, whatever their lengths. The default.
    #[default]
    Shuffled,
    /// Shuffled among chunks of like length, so that little is padded.
    Bucketed,
    /// Of like length, as many as `max_tokens` and `max_chunks` allow: batches of short chunks have
    /// more of them. `batch` is not used.
    TokenBudget,
}

/// When something is written to the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Writing {
    /// By a thread of its own, while training goes on. The default.
    #[default]
    Background,
    /// While training waits.
    Blocking,
}

/// Threads that make batches at most: more have no batch to make.
const MAX_WORKERS: usize = 64;
/// Batches that each of them keeps ready at most: room for all of them is made at once.
const MAX_PREFETCH: usize = 1024;
/// Epochs at most: their steps can be counted, and nobody lives to see more.
const MAX_EPOCHS: u64 = 1_000_000_000;

/// How the model is trained. Positions of schedules are epochs: 0.5 is the middle of the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PoetryTrainingOptions {
    /// Epochs at most; 100 by default.
    pub epochs: u64,
    /// Chunks of a batch; 32 by default.
    pub batch: usize,
    /// How chunks are put into batches.
    pub batching: Batching,
    /// Tokens of a batch at most, padding included, where `batching` is `token-budget`; 4,096 by
    /// default.
    pub max_tokens: usize,
    /// Chunks of such a batch at most; 64 by default.
    pub max_chunks: usize,
    /// Batches whose gradients make up one step; 1 by default. Losses stay means over all of their
    /// tokens.
    pub accumulate: usize,
    /// Tokens that are computed at once at most, padding included; no bound by default. A larger batch
    /// is cut into parts whose gradients are added.
    pub max_tokens_at_once: Option<usize>,
    /// Whether batch norm may see parts of a step alone, where a step has several; an error by
    /// default, as the result is not that of one batch.
    pub batch_norm_by_part: bool,
    /// Threads that make batches ahead; 1 by default, and none with 0. The result is the same for any
    /// number.
    pub workers: usize,
    /// Batches that each of them keeps ready; 2 by default.
    pub prefetch: usize,
    /// The learning rate; by default cosines with restarts that begin at 2.5 · 10⁻⁴, the first 10
    /// epochs long.
    pub schedule: Schedule,
    /// How often the decoder gets the true word before, and not its own; half the time by default.
    pub forcing: Forcing,
    /// Phases from short chunks to long ones; none by default. Its phases decide the forcing, and
    /// have a factor for the rate.
    pub curriculum: Option<Curriculum>,
    /// Norm of all gradients together at most; 1 by default, and no bound with 0.
    pub clip: f64,
    /// The L2 penalty of Adam; 10⁻⁵ by default.
    pub weight_decay: f64,
    /// Epochs without a better validation loss after which training stops; 20 by default, and never
    /// with 0.
    pub patience: u32,
    /// What the validation loss has to fall by to be better; 10⁻⁵ by default.
    pub min_delta: f64,
    /// Validation cosine at which training stops; 0.95 by default.
    pub target_cosine: f64,
    /// The number format of matrix products: `f32`, the default, or `bf16`.
    pub precision: Precision,
    /// Seed of the first weights, of the order of batches and of all draws; 42 by default.
    pub seed: u64,
    /// Steps between checkpoints inside an epoch, 500 by default, 0 for none; one is taken after every
    /// epoch.
    pub save_steps: u64,
    /// When checkpoints are written.
    pub checkpoints: Writing,
    /// When the chunks that the run was made of are written, as arrays for other programs.
    pub artifacts: Writing,
}

impl Default for PoetryTrainingOptions {
    fn default() -> Self {
        let restarts = Schedule::new(CosineRestarts::new(2.5e-4, 10.0));
        let half = Forcing::new(ForcingSettings::Constant { ratio: 0.5 });
        Self {
            epochs: 100,
            batch: 32,
            batching: Batching::default(),
            max_tokens: 4096,
            max_chunks: 64,
            accumulate: 1,
            max_tokens_at_once: None,
            batch_norm_by_part: false,
            workers: 1,
            prefetch: 2,
            schedule: restarts.expect("the rates are positive, and a cycle is 10 epochs"),
            forcing: half.expect("one half is a share"),
            curriculum: None,
            clip: 1.0,
            weight_decay: 1e-5,
            patience: 20,
            min_delta: 1e-5,
            target_cosine: 0.95,
            precision: Precision::F32,
            seed: 42,
            save_steps: 500,
            checkpoints: Writing::default(),
            artifacts: Writing::default(),
        }
    }
}

impl PoetryTrainingOptions {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// When one of them is out of its range.
    pub fn check(&self) -> Result<(), PoetryError> {
        let at_least_one = [
            ("training.batch", self.batch as u64),
            ("training.max_tokens", self.max_tokens as u64),
            ("training.max_chunks", self.max_chunks as u64),
            ("training.accumulate", self.accumulate as u64),
        ];
        for (name, value) in at_least_one {
            check_setting(value > 0, name, &value, "at least 1")?;
        }
        check_setting(
            (1..=MAX_EPOCHS).contains(&self.epochs),
            "training.epochs",
            &self.epochs,
            "from 1 to 1,000,000,000",
        )?;
        check_setting(
            (1..=MAX_PREFETCH).contains(&self.prefetch),
            "training.prefetch",
            &self.prefetch,
            "from 1 to 1,024",
        )?;
        let not_negative = [
            ("training.weight_decay", self.weight_decay),
            ("training.min_delta", self.min_delta),
            ("training.clip", self.clip),
        ];
        for (name, value) in not_negative {
            check_setting(value.is_finite() && value >= 0.0, name, &value, "0 or more")?;
        }
        check_setting(
            self.workers <= MAX_WORKERS,
            "training.workers",
            &self.workers,
            "at most 64",
        )?;
        // Half precision needs a loss scale, which nothing here would gain from.
        check_setting(
            self.precision != Precision::F16,
            "training.precision",
            &"f16",
            "`f32` or `bf16`",
        )?;
        Ok(())
    }

    /// Returns what the position in a training, in epochs, asks of a step.
    #[must_use]
    pub fn at(&self, epoch: f64) -> StepOptions {
        let rate = self.schedule.rate(epoch);
        match &self.curriculum {
            None => StepOptions {
                rate,
                forcing: self.forcing.ratio(epoch),
                max_length: usize::MAX,
            },
            Some(curriculum) => {
                let stage = curriculum.at(epoch);
                StepOptions {
                    rate: rate * stage.rate_factor,
                    forcing: stage.forcing,
                    max_length: stage.max_length,
                }
            }
        }
    }
}

/// What a position in a training asks of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepOptions {
    /// The learning rate.
    pub rate: f64,
    /// Share of the time steps that get the true word before.
    pub forcing: f64,
    /// Tokens of a chunk that are used at most.
    pub max_length: usize,
}

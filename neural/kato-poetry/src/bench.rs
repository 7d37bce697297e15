//! Measures of speed: training steps on random chunks, and files of word vectors.

mod vectors;

use std::time::Instant;

use kato_gradient::forcing::{Forcing, ForcingSettings};
use kato_neural::burn::tensor::Device;
use kato_neural::run::processor_seconds;
use kato_neural::train::Trainer;
use serde::Serialize;

use crate::batch::Batch;
use crate::error::PoetryError;
use crate::run::trained;
use crate::settings::Settings;
use crate::training::TrainingBatch;
use crate::vectors::Normal;

pub use vectors::{VectorSpeed, cache_opening_ms, vector_speed};

/// Tokens of a chunk that is measured.
const N_TOKENS: usize = 50;

/// Steps before the clock starts, in which buffers are made.
const N_WARM: usize = 2;

/// How fast training steps are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrainingSpeed {
    /// Numbers of a vector.
    pub dims: usize,
    /// Steps that were measured.
    pub n_steps: usize,
    /// Chunks a second.
    pub chunks_per_s: f64,
    /// Chunks a second of processor time, all threads together; `None` where the system does not
    /// tell it.
    pub chunks_per_processor_s: Option<f64>,
    /// The loss of the last step, which tells that the same was computed.
    pub loss: f64,
}

/// Trains on one batch of random chunks of 50 tokens, `n_steps` times, and takes the time.
///
/// # Errors
///
/// When settings are impossible, or a step fails.
pub fn training_speed(
    settings: &Settings,
    dims: usize,
    n_steps: usize,
) -> Result<TrainingSpeed, PoetryError> {
    settings.check()?;
    // Words cost what the vocabulary is large, and here there is none.
    let device = Device::flex().autodiff();
    let (task, model, options) = trained(settings, dims, 1, &device);
    let mut trainer = Trainer::new(task, model, options)?;
    let n_rows = settings.training.batch;
    let mut normal = Normal::from_seed(settings.training.seed);
    let vectors = (0..n_rows * N_TOKENS * dims)
        .map(|_| 0.4 * normal.draw() as f32)
        .collect();
    let step = settings.training.at(0.0);
    let batch = TrainingBatch {
        batch: Batch {
            vectors,
            ids: vec![0; n_rows * N_TOKENS],
            lengths: vec![N_TOKENS; n_rows],
            n_steps: N_TOKENS,
            dims,
        },
        forcing: step.forcing,
    };
    let group = [batch];
    for _ in 0..N_WARM {
        trainer.step(step.rate, &group)?;
    }
    let (begun, processor) = (Instant::now(), processor_seconds());
    let mut loss = 0.0;
    for _ in 0..n_steps {
        loss = trainer.step(step.rate, &group)?.loss;
    }
    let n_chunks = (n_steps * n_rows) as f64;
    let processor = processor
        .zip(processor_seconds())
        .map(|(before, after)| after - before);
    Ok(TrainingSpeed {
        dims,
        n_steps,
        chunks_per_s: n_chunks / begun.elapsed().as_secs_f64(),
        chunks_per_processor_s: processor.filter(|s| *s > 0.0).map(|s| n_chunks / s),
        loss,
    })
}

/// Gives settings the share of true words that the decoder gets.
///
/// # Errors
///
/// When it is no share.
pub fn with_forcing(mut settings: Settings, ratio: f64) -> Result<Settings, PoetryError> {
    settings.training.forcing = Forcing::new(ForcingSettings::Constant { ratio })?;
    settings.training.curriculum = None;
    Ok(settings)
}

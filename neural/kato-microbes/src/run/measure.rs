//! What a run will take, measured on its first steps before anything is written.

use std::time::Instant;

use kato_neural::burn::module::Module;
use kato_neural::burn::tensor::Device;
use kato_neural::run::peak_bytes;
use kato_neural::train::{Batches as _, Trainer};
use serde::Serialize;

use super::{check, trained};
use crate::error::MicrobesError;
use crate::settings::Settings;
use crate::training::{Batches, Objective, judge_with};
use crate::work::Work;

/// Steps that are measured after one that is not, in which buffers are made.
const N_MEASURED: u32 = 3;

/// Samples that a judgement is measured on at most.
const N_JUDGED: usize = 16;

/// What a run will take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Measured {
    /// Trained numbers of the model.
    pub n_parameters: usize,
    /// Samples that are trained on.
    pub n_samples: usize,
    /// Optimiser steps of all epochs.
    pub n_steps: u64,
    /// Tokens of a batch's distinct sequences, the mean of those measured.
    pub n_tokens: u64,
    /// Seconds an optimiser step, the mean of three batches times the batches of a step.
    pub step_s: f64,
    /// Seconds of a judgement of all validation samples, extrapolated from some of them.
    pub judge_s: f64,
    /// Hours of all epochs, judgements included, if nothing stops the run early.
    pub hours: f64,
    /// The most memory of this process so far; `None` where the system does not tell.
    pub peak_bytes: Option<u64>,
    /// Bytes of a checkpoint: weights and two moments.
    pub checkpoint_bytes: u64,
}

/// Takes the first steps of a run and forgets them.
///
/// # Errors
///
/// When settings are impossible, there are too few samples, or a step fails.
pub fn measure(settings: &Settings, work: &Work) -> Result<Measured, MicrobesError> {
    let parts = check(settings, work, settings.training.freeze)?;
    let device = Device::flex().autodiff();
    let objective = Objective::new(work, &parts, &settings.loss);
    let (task, model, options) = trained(settings, work, objective.clone(), None, &device)?;
    let n_parameters = model.num_params();
    let mut trainer = Trainer::new(task, model, options)?;
    let mut batches = Batches::new(work, &parts.train, settings, objective.clone())?;
    let (n_batches, n_steps) = (batches.n_batches_an_epoch(), batches.n_steps_an_epoch());
    let n_steps = n_steps * settings.training.epochs;
    let rate = settings.training.schedule(n_steps)?.rate(0.0);
    let (mut seconds, mut n_tokens) = (0.0, 0);
    for index in 0..=N_MEASURED {
        let begun = Instant::now();
        // A short epoch is begun again: it is its steps' size that counts.
        let first = u64::from(index) % n_batches;
        let batch = batches.batches(0, first).next().and_then(Result::ok);
        let Some(batch) = batch else { continue };
        let tokens = batch.samples.n_tokens() as u64;
        trainer.step(rate, &[batch])?;
        if index > 0 {
            seconds += begun.elapsed().as_secs_f64();
            n_tokens += tokens;
        }
    }
    let step_s = seconds / f64::from(N_MEASURED) * settings.training.accumulate as f64;
    let some = &parts.validation[..parts.validation.len().min(N_JUDGED)];
    let begun = Instant::now();
    let _ = judge_with(&trainer.model().valid(), work, some, settings, &objective);
    let scale = parts.validation.len() as f64 / some.len().max(1) as f64;
    let judge_s = begun.elapsed().as_secs_f64() * scale;
    Ok(Measured {
        n_parameters,
        n_samples: parts.train.len(),
        n_steps,
        n_tokens: n_tokens / u64::from(N_MEASURED),
        step_s,
        judge_s,
        hours: (n_steps as f64 * step_s + settings.training.epochs as f64 * judge_s) / 3600.0,
        peak_bytes: peak_bytes(),
        checkpoint_bytes: 3 * 4 * n_parameters as u64,
    })
}

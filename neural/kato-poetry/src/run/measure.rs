//! What a run will take, measured on its first steps before anything is written.

use std::time::Instant;

use kato_neural::burn::module::Module;
use kato_neural::burn::tensor::Device;
use kato_neural::run::RunCost;
use kato_neural::train::{BatchSource, Trainer};
use serde::Serialize;

use super::trained;
use crate::corpus::Corpus;
use crate::error::PoetryError;
use crate::settings::Settings;
use crate::training::{ChunkBatches, judge};

/// Steps that are measured after one that is not, in which buffers are made.
const N_MEASURED: u32 = 3;

/// Chunks that a judgement is measured on at most.
const N_JUDGED: usize = 64;

/// What a run will take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PoetryCost {
    /// Chunks that are trained on.
    pub n_chunks: usize,
    /// What it costs, by the mean of three batches, times the batches of a step, and a judgement of some of
    /// the validation chunks.
    #[serde(flatten)]
    pub cost: RunCost,
}

/// Takes the first steps of a run and forgets them.
///
/// # Errors
///
/// When settings are impossible, or a step fails.
pub fn measure(settings: &Settings, corpus: &Corpus) -> Result<PoetryCost, PoetryError> {
    settings.check()?;
    let vectors = &corpus.vectors;
    let device = Device::flex().autodiff();
    let (task, model, options) = trained(settings, vectors.dims(), vectors.len(), &device);
    let mut trainer = Trainer::new(task, model, options)?;
    let training = &settings.training;
    let batches = ChunkBatches::new(corpus, settings)?;
    let n_batches = batches.n_batches();
    let plan = batches.plan(0);
    let rate = training.at(0.0).rate;
    // The largest batch first, without the clock: afterwards the peak of the memory is known.
    trainer.step(rate, &[batches.longest()])?;
    let begun = Instant::now();
    for index in 0..N_MEASURED {
        // A short epoch is begun again: it is its steps' size that counts.
        let index = u64::from(index) % n_batches;
        let items = plan.batch(index as usize).unwrap_or_default();
        let batch = batches.of_epoch(0, index, items);
        trainer.step(rate, &[batch])?;
    }
    let step_s = begun.elapsed().as_secs_f64() / f64::from(N_MEASURED) * training.accumulate as f64;
    let some = &corpus.validation[..corpus.validation.len().min(N_JUDGED)];
    let begun = Instant::now();
    let _ = judge(
        &trainer.model().valid(),
        some,
        &corpus.vectors,
        &settings.loss,
        &Device::flex(),
    );
    let scale = corpus.validation.len() as f64 / some.len().max(1) as f64;
    let judge_s = begun.elapsed().as_secs_f64() * scale;
    let mut n_parameters = settings.model.n_parameters(vectors.dims());
    if settings.loss.kind.needs_words() {
        n_parameters += (vectors.dims() + 1) * vectors.len();
    }
    let n_epochs = training.epochs;
    let n_steps = batches.n_steps_an_epoch() * n_epochs;
    Ok(PoetryCost {
        n_chunks: corpus.train.len(),
        cost: RunCost::new(n_parameters, (n_steps, n_epochs), (step_s, judge_s)),
    })
}

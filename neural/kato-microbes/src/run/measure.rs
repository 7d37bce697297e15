//! What a run will take, measured on its first steps before anything is written.

use std::sync::Arc;
use std::time::Instant;

use kato_neural::burn::module::Module;
use kato_neural::burn::tensor::Device;
use kato_neural::collective::Collective;
use kato_neural::run::RunCost;
use kato_neural::train::{BatchSource as _, Trainer};
use serde::Serialize;

use super::check;
use super::fit::trained;
use super::replicas::{joined, together};
use crate::error::MicrobesError;
use crate::model::Microformer;
use crate::settings::MicrobesSettings;
use crate::training::{Objective, SampleBatches, judge_with};
use crate::work::Work;

/// Steps that are measured after one that is not, in which buffers are made.
const N_MEASURED: u32 = 3;

/// Samples that a judgement is measured on at most.
const N_JUDGED: usize = 16;

/// What a run will take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MicrobesCost {
    /// Samples that are trained on.
    pub n_samples: usize,
    /// Tokens of a batch's distinct sequences, the mean of those measured.
    pub n_tokens: u64,
    /// What it costs, by the mean of three batches, times the batches of a step, and a judgement of
    /// some of the validation samples.
    #[serde(flatten)]
    pub cost: RunCost,
}

/// Takes the first steps of a run and forgets them.
///
/// # Errors
///
/// When settings are impossible, there are too few samples or all have one value, or a step fails.
pub fn measure(settings: &MicrobesSettings, work: &Work) -> Result<MicrobesCost, MicrobesError> {
    let parts = check(settings, work, settings.training.freeze)?;
    let objective = Objective::new(work, &parts, &settings.loss);
    let source = SampleBatches::new(work, &parts.train, settings, objective.clone())?;
    let n_epochs = settings.training.epochs;
    let n_steps = source.n_steps_an_epoch() * n_epochs;
    let rate = settings.training.schedule(n_steps)?.rate(0.0);
    let take = |collective| steps(settings, work, &source, rate, collective);
    let n_replicas = settings.training.replicas;
    let found = together(n_replicas, take, |collective| {
        take(Some(collective)).map(drop)
    })?;
    let (model, seconds, n_tokens) = found;
    let n_parameters = model.num_params();
    let step_s = seconds / f64::from(N_MEASURED) * settings.training.accumulate as f64;
    let some = &parts.validation[..parts.validation.len().min(N_JUDGED)];
    let begun = Instant::now();
    let _ = judge_with(&model, work, some, settings, &objective);
    let scale = parts.validation.len() as f64 / some.len().max(1) as f64;
    let judge_s = begun.elapsed().as_secs_f64() * scale;
    Ok(MicrobesCost {
        n_samples: parts.train.len(),
        n_tokens: n_tokens / u64::from(N_MEASURED),
        cost: RunCost::new(n_parameters, (n_steps, n_epochs), (step_s, judge_s)),
    })
}

/// Takes the steps that are measured; returns the model, their seconds and tokens.
fn steps(
    settings: &MicrobesSettings,
    work: &Work,
    source: &SampleBatches<'_>,
    rate: f64,
    collective: Option<Arc<dyn Collective>>,
) -> Result<(Microformer, f64, u64), MicrobesError> {
    let device = Device::flex().autodiff();
    let (task, model, options) =
        trained(settings, work, source.objective().clone(), None, &device)?;
    let mut trainer = joined(Trainer::new(task, model, options)?, collective)?;
    let plan = source.plan(0);
    let (mut seconds, mut n_tokens) = (0.0, 0);
    for index in 0..=N_MEASURED {
        let begun = Instant::now();
        // A short epoch is begun again: it is its steps' size that counts.
        let index_in_epoch = u64::from(index) % source.n_batches();
        let items = plan.batch(index_in_epoch as usize).unwrap_or_default();
        let batch = source.batch(0, index_in_epoch, items);
        let tokens = batch.samples.n_tokens() as u64;
        trainer.step(rate, &[batch])?;
        if index > 0 {
            seconds += begun.elapsed().as_secs_f64();
            n_tokens += tokens;
        }
    }
    Ok((trainer.into_model().valid(), seconds, n_tokens))
}

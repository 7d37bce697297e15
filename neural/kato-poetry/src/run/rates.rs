//! Tries learning rates on the first steps of a run, of which nothing is kept.

use kato_gradient::finder::{RangeTest, RangeTestSettings, test_rates};
use kato_neural::burn::tensor::Device;
use kato_neural::train::{BatchSource, Trainer};

use super::trained;
use crate::corpus::Corpus;
use crate::error::PoetryError;
use crate::settings::Settings;
use crate::training::ChunkBatches;

/// Trains a fresh model with rates that grow from step to step, and tells where the loss falls and
/// where it diverges.
///
/// # Errors
///
/// When settings are impossible, or a step fails for another reason than its rate.
pub fn find_rate(
    settings: &Settings,
    corpus: &Corpus,
    test: RangeTestSettings,
) -> Result<RangeTest, PoetryError> {
    settings.check()?;
    let vectors = &corpus.vectors;
    let device = Device::flex().autodiff();
    let (task, model, options) = trained(settings, vectors.dims(), vectors.len(), &device);
    let mut trainer = Trainer::new(task, model, options)?;
    let batches = ChunkBatches::new(corpus, settings)?;
    let n_batches = batches.n_batches();
    let mut place = 0;
    let step = |rate: f64| -> Result<f64, kato_neural::Error> {
        let (epoch, index) = (place / n_batches, place % n_batches);
        place += 1;
        let plan = batches.plan(epoch);
        let items = plan.batch(index as usize).unwrap_or_default();
        let batch = batches.of_epoch(epoch, index, items);
        match trainer.step(rate, &[batch]) {
            Ok(report) => Ok(report.loss),
            // What a rate that is far too high does.
            Err(kato_neural::Error::NotFinite { .. }) => Ok(f64::NAN),
            Err(error) => Err(error),
        }
    };
    Ok(test_rates(test, step)?)
}

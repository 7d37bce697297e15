//! Writes down what another program needs to take the same steps as a run.

use std::fs;
use std::path::Path;

use kato_neural::Pass;
use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::write_weights;
use kato_neural::run::RunError;
use kato_neural::train::{BatchSource, Trainer};

use super::{Run, corpus_of, fresh_model, trained};
use crate::corpus::Corpus;
use crate::error::PoetryError;
use crate::npy;
use crate::settings::Settings;
use crate::training::{COIN_STREAM, ChunkBatches};

impl Run {
    /// Writes the course of a run into a folder, which is made: the weights that it begins with, and
    /// what is drawn for every step. With the run's `prepared` folder this is all that another program
    /// needs to compute the same losses, but for the masks of dropout.
    ///
    /// With S batches that hold N chunks in all, each of them a step:
    ///
    /// | file | holds |
    /// |---|---|
    /// | `weights.safetensors` | the first weights, with PyTorch's names and shapes |
    /// | `order.npy` | N, `u4`: training chunks in the order in which they are taken |
    /// | `sizes.npy` | S, `u4`: chunks of each batch |
    /// | `coins.npy` | S × window, `u1`: 1 where the decoder gets the true word before |
    /// | `rates.npy` | S, `f4`: learning rates |
    /// | `losses.npy` | `n_losses`, `f4`: losses of the first steps, which are taken and forgotten |
    ///
    /// The run may be in training meanwhile. A curriculum's cut of long chunks is not written
    /// down, nor that a step has several batches.
    ///
    /// # Errors
    ///
    /// When there is no run, when a file is damaged, when a step fails, or when a file cannot be
    /// written.
    pub fn write_course(run: &Path, folder: &Path, n_losses: usize) -> Result<(), PoetryError> {
        let (settings, corpus) = corpus_of(run)?;
        fs::create_dir_all(folder).map_err(RunError::file("create", folder))?;
        let (dims, n_words) = (corpus.vectors.dims(), corpus.vectors.len());
        let model = fresh_model(&settings, dims, n_words, &Device::flex());
        write_weights(&model, &folder.join("weights.safetensors"))?;
        let batches = ChunkBatches::new(&corpus, &settings)?;
        let mut course = Course::default();
        for epoch in 0..settings.training.epochs {
            course.add_epoch(&settings, &batches, epoch);
        }
        course.write(folder, settings.chunks.window)?;
        let losses = first_losses(&settings, &corpus, &batches, n_losses)?;
        npy::write(&folder.join("losses.npy"), &[losses.len()], losses)
    }
}

/// Takes the first steps of a run, at most those of its first epoch, and returns their losses.
fn first_losses(
    settings: &Settings,
    corpus: &Corpus,
    batches: &ChunkBatches<'_>,
    n_losses: usize,
) -> Result<Vec<f32>, PoetryError> {
    let vectors = &corpus.vectors;
    let device = Device::flex().autodiff();
    let (task, model, options) = trained(settings, vectors.dims(), vectors.len(), &device);
    let mut trainer = Trainer::new(task, model, options)?;
    let plan = batches.plan(0);
    let n_batches = plan.n_batches() as f64;
    let mut losses = Vec::new();
    for (index, items) in plan.iter().enumerate().take(n_losses) {
        let batch = batches.of_epoch(0, index as u64, items);
        let rate = settings.training.at(index as f64 / n_batches).rate;
        losses.push(trainer.step(rate, &[batch])?.loss as f32);
    }
    Ok(losses)
}

/// What is drawn for the steps of a run, one after another.
#[derive(Default)]
struct Course {
    order: Vec<u32>,
    sizes: Vec<u32>,
    coins: Vec<u8>,
    rates: Vec<f32>,
}

impl Course {
    fn add_epoch(&mut self, settings: &Settings, batches: &ChunkBatches<'_>, epoch: u64) {
        let plan = batches.plan(epoch);
        let n_batches = plan.n_batches() as f64;
        for (index, items) in plan.iter().enumerate() {
            let at = settings
                .training
                .at(epoch as f64 + index as f64 / n_batches);
            let pass = Pass::training(settings.training.seed, self.sizes.len() as u64);
            let coins = pass.draws(COIN_STREAM);
            // A shorter batch takes the first of them.
            let coins = coins.coins(settings.chunks.window, at.forcing);
            self.coins.extend(coins.into_iter().map(u8::from));
            // A corpus has far fewer than 2³² chunks.
            self.order.extend(items.iter().map(|item| *item as u32));
            self.sizes.push(items.len() as u32);
            self.rates.push(at.rate as f32);
        }
    }

    fn write(self, folder: &Path, window: usize) -> Result<(), PoetryError> {
        let n_steps = self.sizes.len();
        npy::write(&folder.join("order.npy"), &[self.order.len()], self.order)?;
        npy::write(&folder.join("sizes.npy"), &[n_steps], self.sizes)?;
        npy::write(&folder.join("coins.npy"), &[n_steps, window], self.coins)?;
        npy::write(&folder.join("rates.npy"), &[n_steps], self.rates)
    }
}

//! What the trainer has to know of the autoencoder: its batches and its loss.

use kato_neural::Pass;
use kato_neural::burn::tensor::Device;
use kato_neural::layers::Feed;
use kato_neural::train::{Loss, Share, Task};

use crate::batch::Batch;
use crate::losses::{code_square_sum, loss_sum};
use crate::model::{Autoencoder, tensor_of};
use crate::settings::LossOptions;

/// Number of the draws that decide what the decoder is fed with.
const COIN_STREAM: u64 = 400;

/// A batch with what its place in the training asks for.
#[derive(Debug, Clone)]
pub(crate) struct TrainingBatch {
    pub(crate) batch: Batch,
    /// Share of the time steps that get the true word before.
    pub(crate) forcing: f64,
}

/// Rebuilding chunks: loss per token, and the penalty of the codes.
#[derive(Debug, Clone)]
pub(crate) struct Reconstruction {
    loss: LossOptions,
    device: Device,
}

impl Reconstruction {
    pub(crate) fn new(loss: LossOptions, device: Device) -> Self {
        Self { loss, device }
    }
}

impl Task for Reconstruction {
    type Model = Autoencoder;
    type Batch = TrainingBatch;

    fn weights(&self, batch: &TrainingBatch) -> Vec<f64> {
        vec![batch.batch.n_tokens() as f64, batch.batch.n_rows() as f64]
    }

    fn n_rows(&self, batch: &TrainingBatch) -> usize {
        batch.batch.n_rows()
    }

    fn loss(
        &self,
        model: &Autoencoder,
        batch: &TrainingBatch,
        share: &Share<'_>,
        pass: &Pass,
    ) -> Loss {
        let TrainingBatch { batch, forcing } = batch;
        let vectors = tensor_of(batch, &self.device);
        let codes = model.encode(vectors.clone(), &batch.lengths, pass);
        // One draw a time step for the whole batch, as the original's.
        let coins = pass.draws(COIN_STREAM).coins(batch.n_steps, *forcing);
        let feed = Feed::Sampled(&vectors, &coins);
        let rebuilt = model.decode(codes.clone(), &batch.lengths, feed, pass);
        let loss = share.of(0, loss_sum(rebuilt, vectors.clone(), batch, &self.loss));
        let penalty = share
            .of(1, code_square_sum(codes))
            .mul_scalar(self.loss.bottleneck_l2);
        Loss::new(loss + penalty)
    }
}

//! What the trainer has to know of the autoencoder: its batches and its loss.

use std::ops::Range;

use kato_neural::Pass;
use kato_neural::burn::tensor::{Device, Tensor};
use kato_neural::layers::Feed;
use kato_neural::train::{Loss, Share, Task};

use crate::batch::Batch;
use crate::losses::{code_entropy_sum, code_norm_sum, code_square_sum, loss_sums};
use crate::model::{Autoencoder, tensor_of};
use crate::settings::LossOptions;

/// Number of the draws that decide what the decoder is fed with.
pub(crate) const COIN_STREAM: u64 = 400;

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

impl Reconstruction {
    /// Returns the terms of the codes with their weights; a term of no weight is left out, and costs
    /// nothing.
    fn code_terms(&self, codes: &Tensor<2>) -> Vec<(f64, Tensor<1>)> {
        let LossOptions {
            bottleneck_l2,
            code_norm,
            code_entropy,
            ..
        } = self.loss;
        type Term = fn(Tensor<2>) -> Tensor<1>;
        let terms: [(f64, Term); 3] = [
            (bottleneck_l2, code_square_sum),
            (code_norm, code_norm_sum),
            (-code_entropy, code_entropy_sum),
        ];
        let used = terms.iter().filter(|(weight, _)| *weight != 0.0);
        used.map(|(weight, term)| (*weight, term(codes.clone())))
            .collect()
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

    fn sizes(&self, batch: &TrainingBatch) -> Vec<usize> {
        batch.batch.lengths.clone()
    }

    fn part(&self, batch: &TrainingBatch, rows: Range<usize>) -> Option<TrainingBatch> {
        Some(TrainingBatch {
            batch: batch.batch.part(rows),
            forcing: batch.forcing,
        })
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
        let (codes, seen) = model.read(vectors.clone(), &batch.lengths, pass);
        // One draw a time step for the whole batch, as the original's.
        let coins = pass.draws(COIN_STREAM).coins(batch.n_steps, *forcing);
        let feed = Feed::Sampled(&vectors, &coins);
        let lengths = &batch.lengths;
        let rebuilt = model.rebuilt(codes.clone(), seen.as_ref(), lengths, feed, pass);
        let logits = model.logits(rebuilt.clone(), pass);
        let sums = loss_sums(rebuilt, vectors.clone(), logits, batch, &self.loss);
        let mut loss = share.of(0, sums.tokens);
        if let Some(rows) = sums.rows {
            loss = loss + share.of(1, rows);
        }
        for (weight, sum) in self.code_terms(&codes) {
            loss = loss + share.of(1, sum).mul_scalar(weight);
        }
        Loss::new(loss)
    }
}

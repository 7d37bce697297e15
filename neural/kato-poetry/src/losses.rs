//! How far a rebuilt chunk is from its original, and what its code costs.

mod codes;
mod tokens;

use kato_neural::burn::tensor::{Tensor, TensorData};

use crate::batch::Batch;
use crate::settings::{LossKind, LossOptions};

pub use codes::{code_entropy_sum, code_norm_sum, code_square_sum};

/// What is added to the square of a length. The root has no slope at zero, where padding lies: without
/// it every gradient would be lost.
const TINY: f64 = 1e-12;

/// The loss of a batch as sums: sums over parts of a batch add up to that of the whole, so that
/// accumulation is exact. Padding counts nothing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LossSums {
    /// Sum over tokens, to be divided by [`Batch::n_tokens`].
    pub tokens: Tensor<1>,
    /// Sum over chunks, to be divided by [`Batch::n_rows`]; `None` where the loss has no such part.
    pub rows: Option<Tensor<1>>,
}

/// Returns the loss of a batch, from rebuilt and true vectors, `[batch, time, dims]`, and, where the
/// loss has to do with words, from their logits, `[batch, time, words]`.
///
/// With w for the share of the squared difference, of a token:
///
/// - `mse`: mean over the numbers of a vector of (x̂ − x)².
/// - `cosine`: (1 − w) · (1 − c) + w · mse, where c is the cosine, or tanh(temperature · cosine).
/// - `sequence-cosine`: (1 − w) · (1 − c) a chunk, of the mean vectors of its tokens, and w · mse a
///   token.
/// - `token`: −(1 − ε) · log p(word) − ε · mean of log p over all words, with ε for the smoothing
///   (Szegedy et al., "Rethinking the Inception architecture", 2016).
/// - `hybrid`: the weighted mean of `token` and `cosine`.
///
/// # Panics
///
/// When shapes do not fit, or a loss of words has no logits: mistakes of the caller.
#[must_use]
pub fn loss_sums(
    rebuilt: Tensor<3>,
    targets: Tensor<3>,
    logits: Option<Tensor<3>>,
    batch: &Batch,
    options: &LossOptions,
) -> LossSums {
    let shape = [batch.n_rows(), batch.n_steps, 1];
    let mask = Tensor::<3>::from_data(TensorData::new(batch.mask(), shape), &targets.device());
    let guessed = |logits: Option<Tensor<3>>| {
        let logits = logits.expect("a loss of words is computed from logits");
        tokens::cross_entropies(logits, batch, options.smoothing)
    };
    let per_token = match options.kind {
        LossKind::Mse => squares(rebuilt, targets),
        LossKind::Cosine => cosine_losses(rebuilt, targets, options),
        LossKind::SequenceCosine => return sequence_sums(rebuilt, targets, mask, batch, options),
        LossKind::Token => guessed(logits),
        LossKind::Hybrid => {
            let (token, cosine) = options.hybrid_weights();
            guessed(logits).mul_scalar(token)
                + cosine_losses(rebuilt, targets, options).mul_scalar(cosine)
        }
    };
    LossSums {
        tokens: (per_token * mask).sum(),
        rows: None,
    }
}

/// Returns the mean squared difference of each token, `[batch, time, 1]`.
fn squares(rebuilt: Tensor<3>, targets: Tensor<3>) -> Tensor<3> {
    (rebuilt - targets).square().mean_dim(2)
}

/// Returns 1 − cosine of each token, or what stands in its place, `[batch, time, 1]`.
fn distances(rebuilt: Tensor<3>, targets: Tensor<3>, options: &LossOptions) -> Tensor<3> {
    let length = |vectors: Tensor<3>| vectors.square().sum_dim(2).add_scalar(TINY).sqrt();
    let scale = length(rebuilt.clone()) * length(targets.clone());
    let cosine = (rebuilt * targets).sum_dim(2) / scale;
    let likeness = match options.temperature {
        Some(temperature) => cosine.mul_scalar(temperature).tanh(),
        None => cosine,
    };
    likeness.neg().add_scalar(1.0)
}

/// Returns the cosine loss of each token, `[batch, time, 1]`.
fn cosine_losses(rebuilt: Tensor<3>, targets: Tensor<3>, options: &LossOptions) -> Tensor<3> {
    let distance = distances(rebuilt.clone(), targets.clone(), options);
    distance.mul_scalar(1.0 - options.mse_share)
        + squares(rebuilt, targets).mul_scalar(options.mse_share)
}

/// Returns the sums of the cosine loss between the mean vectors of chunks.
fn sequence_sums(
    rebuilt: Tensor<3>,
    targets: Tensor<3>,
    mask: Tensor<3>,
    batch: &Batch,
    options: &LossOptions,
) -> LossSums {
    // A chunk of no token has no mean; it adds nothing to the sum over tokens either.
    let shares = batch
        .lengths
        .iter()
        .map(|length| 1.0 / (*length).max(1) as f32);
    let shares = TensorData::new(shares.collect::<Vec<f32>>(), [batch.n_rows(), 1, 1]);
    let weights = mask.clone() * Tensor::<3>::from_data(shares, &targets.device());
    let mean = |vectors: Tensor<3>| (vectors * weights.clone()).sum_dim(1);
    let distance = distances(mean(rebuilt.clone()), mean(targets.clone()), options);
    let squares = (squares(rebuilt, targets) * mask).sum();
    LossSums {
        tokens: squares.mul_scalar(options.mse_share),
        rows: Some(distance.sum().mul_scalar(1.0 - options.mse_share)),
    }
}

#[cfg(test)]
mod tests;

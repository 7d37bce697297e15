//! What pre-training makes small: distances between samples, and masked letters.

use tch::{Kind, Reduction, Tensor};

use super::IGNORED;

/// Keeps the root's slope finite where two samples are one.
const TINY: f64 = 1e-12;

/// Mean squared difference of true distances and tanh(d / 10), with d the Euclidean distance of the
/// samples' vectors, over all pairs of different samples.
pub fn unifrac_loss(samples: &Tensor, distances: &Tensor) -> Tensor {
    let n = samples.size()[0];
    let samples = samples.to_kind(Kind::Float);
    let differences = samples.unsqueeze(0) - samples.unsqueeze(1);
    let squares = differences.square().sum_dim_intlist(2, false, Kind::Float);
    let near = ((squares + TINY).sqrt() / 10.0).tanh();
    // Each pair once, and no sample with itself.
    let pairs = Tensor::ones([n, n], (Kind::Float, samples.device())).triu(1);
    let n_pairs = (n * (n - 1) / 2).max(1) as f64;
    ((near - distances).square() * pairs).sum(Kind::Float) / n_pairs
}

/// Sum of the cross-entropies at masked positions of `logits`, `[rows, length, tokens]`.
pub fn masked_nucleotide_sum(logits: &Tensor, targets: &Tensor) -> Tensor {
    let n_tokens = logits.size()[2];
    let logits = logits.reshape([-1, n_tokens]).to_kind(Kind::Float);
    let targets = targets.reshape([-1]);
    logits.cross_entropy_loss(&targets, None::<Tensor>, Reduction::Sum, IGNORED, 0.0)
}

//! How far rebuilt chunks are from their originals, per token.

use tch::Tensor;

use super::Batch;

/// The distance of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LossKind {
    /// The mean squared difference over the numbers of a vector.
    Mse,
    /// 1 − cosine, mixed with the squared difference.
    Cosine,
}

/// What training makes small.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LossOptions {
    /// The distance of a token.
    pub kind: LossKind,
    /// Share of the squared difference in the cosine loss, 0.1 by default.
    pub mse_share: f64,
    /// Weight of the mean square of the codes, 0.001 by default.
    pub bottleneck_l2: f64,
}

impl Default for LossOptions {
    fn default() -> Self {
        Self {
            kind: LossKind::Cosine,
            mse_share: 0.1,
            bottleneck_l2: 1e-3,
        }
    }
}

impl LossOptions {
    /// Sets the distance of a token.
    #[must_use]
    pub const fn with_kind(mut self, kind: LossKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the weight of the mean square of the codes.
    #[must_use]
    pub const fn with_bottleneck_l2(mut self, weight: f64) -> Self {
        self.bottleneck_l2 = weight;
        self
    }
}

/// Added to the square of a length: the root has no slope at zero, where padding lies.
const TINY: f64 = 1e-12;

/// Computes the mean loss of a token of `rebuilt`, `[batch, time, width]`, and the penalty of `codes`.
pub fn loss(rebuilt: &Tensor, batch: &Batch, codes: &Tensor, options: &LossOptions) -> Tensor {
    // bf16 has too few bits for sums; double precision is for comparisons.
    let kind = batch.vectors.kind();
    let (rebuilt, targets) = (rebuilt.to_kind(kind), &batch.vectors);
    let squares = (&rebuilt - targets).square().mean_dim(2, false, kind);
    let per_token = match options.kind {
        LossKind::Mse => squares,
        LossKind::Cosine => {
            let sum = |products: Tensor| products.sum_dim_intlist(2, false, kind);
            let length = |vectors: &Tensor| (sum(vectors.square()) + TINY).sqrt();
            let cosine = sum(&rebuilt * targets) / (length(&rebuilt) * length(targets));
            (1.0 - cosine) * (1.0 - options.mse_share) + squares * options.mse_share
        }
    };
    let loss = (per_token * &batch.mask).sum(kind) / &batch.n_tokens;
    // The mean over rows of each row's mean is the mean over all: rows have one length.
    let penalty = codes.to_kind(kind).square().mean(kind);
    loss + penalty * options.bottleneck_l2
}

//! Rows of tokens to one vector, by attention of a learned query.

use tch::nn::{Init, Path};
use tch::{Kind, Tensor};

use super::block::LayerNorm;

/// Smaller than any score, and finite: a row of padding alone has no largest one.
const NOTHING: f64 = -1e30;

/// A mean over tokens, weighted by their likeness to a learned query, and normalised.
#[derive(Debug)]
pub(super) struct Pooling {
    query: Tensor,
    norm: LayerNorm,
}

impl Pooling {
    pub(super) fn new(place: &Path<'_>, width: i64) -> Self {
        let normal = Init::Randn {
            mean: 0.0,
            stdev: 0.02,
        };
        Self {
            query: place.var("query", &[width], normal),
            norm: LayerNorm::new(&(place / "norm"), width),
        }
    }

    /// Pools `[rows, length, width]` to `[rows, width]`; zero where `valid` says that nothing is there.
    pub(super) fn forward(&self, tokens: &Tensor, valid: &Tensor) -> Tensor {
        let scale = 1.0 / (self.query.size()[0] as f64).sqrt();
        let scores = tokens
            .to_kind(Kind::Float)
            .matmul(&self.query)
            .to_kind(Kind::Float)
            * scale;
        let scores = scores.masked_fill(&valid.logical_not(), NOTHING);
        let weights = scores.softmax(-1, Kind::Float).unsqueeze(1);
        let pooled = weights.matmul(tokens).squeeze_dim(1);
        let any = valid.any_dim(1, true).to_kind(Kind::Float);
        // After the norm, whose shift would make something of nothing.
        self.norm.forward(&pooled).to_kind(Kind::Float) * any
    }
}

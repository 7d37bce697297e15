//! Losses over all rows of a step together, such as over pairs of them.

use burn::tensor::Tensor;

use super::{Loss, Share};
use crate::Pass;

/// What encodes the rows of a step part by part, and judges all codes together.
///
/// The trainer encodes each part without keeping anything, takes the loss of all codes and its
/// gradient, and then encodes each part once more to go back through it. So the graph of one part
/// alone is alive, pairs of rows count wherever they are computed, on another replica too, and the
/// gradient is that of the whole. It costs one forward pass more. Where a replica has one part of the step,
/// it computes nothing twice.
///
/// Source: Gao et al., "Scaling deep contrastive learning batch size under memory limited setup", 2021.
pub trait Gather<M, B> {
    /// Encodes the rows of a part.
    fn encode(&self, model: &M, part: &B, share: &Share<'_>, pass: &Pass) -> Encoded;

    /// Computes the loss of the codes of all rows of the step's batches, `[rows, width]`, in their order.
    fn loss(
        &self,
        model: &M,
        group: &[B],
        codes: Tensor<2>,
        share: &Share<'_>,
        pass: &Pass,
    ) -> Loss;
}

/// What a part is encoded to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Encoded {
    /// One code a row, `[rows, width]`.
    pub codes: Tensor<2>,
    /// The part's own share of the loss, where each row has one: of masked tokens, say.
    pub loss: Option<Loss>,
}

impl Encoded {
    /// Codes without a loss of their own.
    #[must_use]
    pub const fn new(codes: Tensor<2>) -> Self {
        Self { codes, loss: None }
    }

    /// Adds the part's own share of the loss.
    #[must_use]
    pub fn with_loss(mut self, loss: Loss) -> Self {
        self.loss = Some(loss);
        self
    }
}

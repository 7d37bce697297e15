//! What a forward pass is told: whether it trains, its place in the run, its number format.

use burn::tensor::{DType, FloatDType, Tensor};
use kato_kernels::AttentionForm;

use crate::Draws;
use crate::draws::mix;

/// The number format of matrix products. Weights, states and sums are `f32` in every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// 24 bits of mantissa.
    #[default]
    F32,
    /// Factors of products rounded to bfloat16: 8 bits of mantissa, the range of `f32`.
    Bf16,
    /// Factors of products rounded to half precision: 11 bits of mantissa, at most 65,504. Needs
    /// a loss scale, as small gradients would become zero.
    F16,
}

impl Precision {
    /// Rounds what goes into a matrix product; the gradient is rounded on its way back as well.
    ///
    /// On a processor without instructions for the format the result is the same, and slower.
    #[must_use]
    pub fn round<const D: usize>(self, factor: Tensor<D>) -> Tensor<D> {
        let format = match self {
            Self::F32 => return factor,
            Self::Bf16 => FloatDType::BF16,
            Self::F16 => FloatDType::F16,
        };
        debug_assert_eq!(factor.dtype(), DType::F32, "masters are f32");
        // There and back: the product then sums in f32, as the instructions of a GPU do.
        factor.cast(format).cast(FloatDType::F32)
    }
}

/// One forward pass: training or evaluation, the seed and step of its draws, its precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    seed: u64,
    step: u64,
    first_row: u64,
    training: bool,
    fused: bool,
    recomputed: bool,
    attention: AttentionForm,
    precision: Precision,
}

impl Pass {
    /// A pass that trains: dropout drops, and batch norm uses the batch's own statistics.
    #[must_use]
    pub const fn training(seed: u64, step: u64) -> Self {
        Self {
            seed,
            step,
            // Whole unless told: a part says where it begins.
            first_row: 0,
            training: true,
            fused: true,
            recomputed: false,
            attention: AttentionForm::Tiled,
            precision: Precision::F32,
        }
    }

    /// A pass that judges: no dropout, running statistics, no draws.
    #[must_use]
    pub const fn evaluation() -> Self {
        Self {
            training: false,
            // Nothing is drawn, so that every evaluation is the same.
            ..Self::training(0, 0)
        }
    }

    /// Computes products in this format.
    #[must_use]
    pub const fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Says which row of the step's whole batch is the first here, for a batch that is computed in
    /// parts: rows then get the draws that they would have got in one.
    #[must_use]
    pub const fn with_first_row(mut self, first_row: u64) -> Self {
        self.first_row = first_row;
        self
    }

    /// Computes everything in Burn's own operations, as other back ends do.
    #[must_use]
    pub const fn with_plain_operations(mut self) -> Self {
        self.fused = false;
        self
    }

    /// Keeps inputs of transformer blocks alone and computes the rest anew on the way back, also where a block
    /// is computed in Burn's own operations; fused blocks always do. It takes the back end flex.
    #[must_use]
    pub const fn with_recomputed_blocks(mut self) -> Self {
        self.recomputed = true;
        self
    }

    /// Says what attention of fused transformer blocks keeps of a sequence on its way back.
    #[must_use]
    pub const fn with_attention(mut self, form: AttentionForm) -> Self {
        self.attention = form;
        self
    }

    /// Whether blocks in Burn's own operations keep their inputs alone.
    #[must_use]
    pub const fn recomputes_blocks(&self) -> bool {
        self.recomputed
    }

    /// What attention of fused transformer blocks keeps.
    #[must_use]
    pub const fn attention(&self) -> AttentionForm {
        self.attention
    }

    /// Whether whole sequences may be computed as one node.
    #[must_use]
    pub const fn is_fused(&self) -> bool {
        self.fused
    }

    /// Whether the pass trains.
    #[must_use]
    pub const fn is_training(&self) -> bool {
        self.training
    }

    /// The optimiser step that the pass belongs to, from 0.
    #[must_use]
    pub const fn step(&self) -> u64 {
        self.step
    }

    /// The number format of products.
    #[must_use]
    pub const fn precision(&self) -> Precision {
        self.precision
    }

    /// Which row of the step's whole batch is the first in this pass.
    #[must_use]
    pub const fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The draws of one use of chance, which the caller numbers.
    #[must_use]
    pub const fn draws(&self, stream: u64) -> Draws {
        Draws::new(self.seed, self.step, stream)
    }

    /// The draw of dropout at the places of one layer; `None` in a pass that judges.
    pub(crate) fn dropout(&self, stream: u64) -> Option<kato_kernels::Draw> {
        let mut draw = kato_kernels::Draw::new(mix(self.seed, stream), self.step);
        // Rows of a part are numbered as in the whole.
        draw.first_row = self.first_row;
        self.training.then_some(draw)
    }
}

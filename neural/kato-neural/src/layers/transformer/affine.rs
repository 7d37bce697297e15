//! Linear layers and norms with PyTorch's names and shapes.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::{Initializer, Pass, initialize::parameter};

/// A linear layer whose weight has a row an output, as PyTorch's has and the kernels want it.
#[derive(Module, Debug)]
pub struct Affine {
    /// `[outputs, inputs]`.
    pub weight: Param<Tensor<2>>,
    /// `[outputs]`.
    pub bias: Param<Tensor<1>>,
}

impl Affine {
    /// Creates a layer of Xavier-uniform weights and zero bias.
    #[must_use]
    pub fn new(n_in: usize, n_out: usize, initializer: &mut Initializer, device: &Device) -> Self {
        let weight = initializer.xavier_uniform(n_out, n_in, 1.0);
        Self {
            weight: parameter(weight, [n_out, n_in], device),
            bias: parameter(vec![0.0; n_out], [n_out], device),
        }
    }

    /// Applies the layer along the last axis, with factors in the pass's precision.
    #[must_use]
    pub fn forward(&self, rows: Tensor<3>, pass: &Pass) -> Tensor<3> {
        affine(rows, self.weight.val(), self.bias.val(), pass)
    }
}

/// Returns `x·Wᵀ + b` along the last axis.
pub(in crate::layers) fn affine(
    rows: Tensor<3>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    pass: &Pass,
) -> Tensor<3> {
    let ([batch, n_rows, n_in], [n_out, _]) = (rows.dims(), weight.dims());
    let precision = pass.precision();
    // One product of two matrices instead of one a sequence.
    let rows = precision.round(rows).reshape([batch * n_rows, n_in]);
    let sums = rows.matmul(precision.round(weight).transpose()) + bias.unsqueeze();
    sums.reshape([batch, n_rows, n_out])
}

/// Layer norm along the last axis: `(x − mean) / √(variance + 10⁻⁵) · weight + bias`.
///
/// Source: Ba, Kiros and Hinton, "Layer normalization", 2016.
#[derive(Module, Debug)]
pub struct RowNorm {
    /// `[width]`.
    pub weight: Param<Tensor<1>>,
    /// `[width]`.
    pub bias: Param<Tensor<1>>,
}

impl RowNorm {
    /// Creates a norm of weight 1 and bias 0.
    #[must_use]
    pub fn new(width: usize, device: &Device) -> Self {
        Self {
            weight: parameter(vec![1.0; width], [width], device),
            bias: parameter(vec![0.0; width], [width], device),
        }
    }

    /// Normalises rows.
    #[must_use]
    pub fn forward<const D: usize>(&self, rows: Tensor<D>) -> Tensor<D> {
        let centred = rows.clone() - rows.mean_dim(D - 1);
        // The biased variance, as PyTorch and the kernels have it.
        let variance = centred.clone().square().mean_dim(D - 1);
        let scaled = centred / variance.add_scalar(1e-5).sqrt();
        scaled * self.weight.val().unsqueeze() + self.bias.val().unsqueeze()
    }
}

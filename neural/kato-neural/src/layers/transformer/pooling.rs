//! Makes one row of many by a learned question.

use burn::module::{Module, Param};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Device, Tensor};

use super::valid::cover;
use super::{RowNorm, Valid};
use crate::{Initializer, initialize::parameter};

/// A weighted mean of a sequence's rows, weights by a learned query: `norm(Σ aᵢ·xᵢ)` with
/// `a = softmax(x·q / √width)` over the valid rows.
///
/// A sequence without a valid row gives zeros, and has no gradient.
#[derive(Module, Debug)]
pub struct AttentionPooling {
    /// `[width]`.
    pub query: Param<Tensor<1>>,
    /// Follows the mean.
    pub norm: RowNorm,
}

impl AttentionPooling {
    /// Creates a layer whose query is normal with deviation 0.02, so that it begins close to a mean.
    #[must_use]
    pub fn new(width: usize, initializer: &mut Initializer, device: &Device) -> Self {
        Self {
            query: parameter(initializer.normal(width, 0.02), [width], device),
            norm: RowNorm::new(width, device),
        }
    }

    /// Pools `[batch, rows, width]` to `[batch, width]`.
    ///
    /// # Panics
    ///
    /// Panics if the width is another, or `valid` describes other sequences.
    #[must_use]
    pub fn forward(&self, rows: Tensor<3>, valid: Valid<'_>) -> Tensor<2> {
        let [batch, n_rows, width] = rows.dims();
        let lengths = valid.lengths(batch, n_rows);
        // Nobody's row: there is nothing to ask.
        if n_rows == 0 {
            return Tensor::zeros([batch, width], &rows.device());
        }
        let padding = lengths
            .iter()
            .any(|&length| length < n_rows)
            .then(|| valid.padding(batch, n_rows, &rows.device()));
        // Nothing to cover, nothing to copy.
        let rows = match &padding {
            Some(padding) => cover(rows, padding.clone()),
            None => rows,
        };
        let weights = self.weights_of(rows.clone(), padding);
        let mean = weights.unsqueeze_dim::<3>(1).matmul(rows);
        let pooled = self.norm.forward(mean.reshape([batch, width]));
        // The norm makes its bias of zeros.
        let empty: Vec<bool> = lengths.iter().map(|&length| length == 0).collect();
        let empty = Tensor::<1, Bool>::from_bool(empty.as_slice(), &pooled.device());
        pooled.mask_fill(empty.unsqueeze_dim::<2>(1).expand([batch, width]), 0.0)
    }

    /// Says how much each row counts, `[batch, rows]`: the sum over a sequence is 1, or 0 where it
    /// has no valid row.
    ///
    /// # Panics
    ///
    /// As [`forward`](Self::forward).
    #[must_use]
    pub fn weights(&self, rows: Tensor<3>, valid: Valid<'_>) -> Tensor<2> {
        let [batch, n_rows, _] = rows.dims();
        let padding = valid.padding(batch, n_rows, &rows.device());
        self.weights_of(cover(rows, padding.clone()), Some(padding))
    }

    fn weights_of(&self, rows: Tensor<3>, padding: Option<Tensor<2, Bool>>) -> Tensor<2> {
        let [batch, n_rows, width] = rows.dims();
        let query = self.query.val().reshape([width, 1]);
        let scores = rows.reshape([batch * n_rows, width]).matmul(query);
        let scores = scores.mul_scalar(1.0 / (width as f64).sqrt());
        let scores = scores.reshape([batch, n_rows]);
        let Some(padding) = padding else {
            return softmax(scores, 1);
        };
        // Far below all others, and still a number where there are no others.
        softmax(scores.mask_fill(padding.clone(), -1e30), 1).mask_fill(padding, 0.0)
    }
}

//! A transformer block in Burn's own operations.

use burn::tensor::activation::{gelu, softmax};
use burn::tensor::{Bool, Device, Tensor};
use kato_kernels::Draw;

use super::TransformerLayer;
use super::affine::affine;
use super::valid;
use crate::Pass;
use crate::layers::dropout::sequence_mask;

/// A score that no softmax sees, and that stays a number where all scores are like it.
const HIDDEN: f32 = -1e30;

/// What all blocks of a pass share.
pub(super) struct Plain {
    pass: Pass,
    n_heads: usize,
    dropout: f64,
    draw: Option<Draw>,
    shape: [usize; 3],
    device: Device,
    /// `true` behind a sequence's end, `[batch, rows]`.
    padding: Tensor<2, Bool>,
}

impl Plain {
    /// Begins for a stack of so many heads, with its dropout and the stream of its draws.
    pub(super) fn new(
        (n_heads, dropout, stream): (usize, f64, u64),
        rows: &Tensor<3>,
        lengths: &[usize],
        pass: &Pass,
    ) -> Self {
        let (shape, device) = (rows.dims(), rows.device());
        Self {
            pass: *pass,
            n_heads,
            dropout,
            draw: pass.dropout(stream),
            shape,
            padding: valid::padding(lengths, shape[1], &device),
            device,
        }
    }

    /// Puts zeros behind the sequences' ends.
    pub(super) fn covered(&self, rows: Tensor<3>) -> Tensor<3> {
        valid::cover(rows, self.padding.clone())
    }

    /// Computes one block.
    pub(super) fn block(
        &self,
        layer: &TransformerLayer,
        number: u32,
        rows: Tensor<3>,
    ) -> Tensor<3> {
        // Norms lie inside of the branches: what is added to a row is never scaled down on its way.
        let attended = self.attention(layer, layer.norm1.forward(rows.clone()));
        let rows = rows + self.dropped(attended, number, 0);
        let active = gelu(
            layer
                .linear1
                .forward(layer.norm2.forward(rows.clone()), &self.pass),
        );
        let added = layer.linear2.forward(active, &self.pass);
        // A bias alone would make something of nothing.
        self.covered(rows + self.dropped(added, number, 1))
    }

    /// Lets the rows of each sequence look at one another.
    fn attention(&self, layer: &TransformerLayer, rows: Tensor<3>) -> Tensor<3> {
        let [batch, n_rows, width] = self.shape;
        let (n_heads, weights) = (self.n_heads, &layer.self_attn);
        let size = width / n_heads;
        let all = affine(
            rows,
            weights.in_proj_weight.val(),
            weights.in_proj_bias.val(),
            &self.pass,
        );
        let heads = |part: usize| {
            let part = all.clone().narrow(2, part * width, width);
            part.reshape([batch, n_rows, n_heads, size]).swap_dims(1, 2)
        };
        // Attention is f32 in every precision, as in the kernels.
        let scores = heads(0).matmul(heads(1).swap_dims(2, 3));
        let scores = scores.mul_scalar(1.0 / (size as f64).sqrt());
        // Keys are hidden and not queries: a row of padding may look, and is covered afterwards.
        let hidden = self.padding.clone().reshape([batch, 1, 1, n_rows]);
        let hidden = hidden.expand([batch, n_heads, n_rows, n_rows]);
        let context = softmax(scores.mask_fill(hidden, HIDDEN), 3).matmul(heads(2));
        let context = context.swap_dims(1, 2).reshape(self.shape);
        weights.out_proj.forward(context, &self.pass)
    }

    /// Drops some of what a branch adds: the same as the kernels do.
    fn dropped(&self, added: Tensor<3>, number: u32, branch: u64) -> Tensor<3> {
        let place = Draw::block(number, branch);
        match sequence_mask(self.draw, self.dropout, place, self.shape, &self.device) {
            Some(mask) => added * mask,
            None => added,
        }
    }
}

//! Holds the pieces that the branches of a block are made of.

use super::options::BlockOptions;
use super::sequence::Place;
use super::weights::Packed;
use crate::dropout::{Dropout, number};
use crate::panels::{Begin, Panels};
use crate::simd::{self, Kernel};
use crate::strips::{Rows, Strips};
use crate::weight_gradient::{Alone, Segment, WeightGradient};

/// Cuts a slice into parts of these lengths.
pub(super) fn split<const N: usize>(values: &mut [f32], lengths: [usize; N]) -> [&mut [f32]; N] {
    let mut rest = values;
    lengths.map(|length| {
        let (part, others) = std::mem::take(&mut rest).split_at_mut(length);
        rest = others;
        part
    })
}

/// Computes a linear layer of `n` rows.
pub(super) fn linear(packed: &Packed, x: &[f32], n: usize, strips: &mut Strips, y: &mut [f32]) {
    let rows = Rows {
        values: x,
        stride: packed.k,
        n_rows: n,
    };
    packed
        .forward
        .multiply(rows, strips, y, packed.n, Begin::Bias(&packed.bias));
}

/// Multiplies `n` rows of `width` values by panels back towards a layer's inputs.
pub(super) fn multiply(
    panels: &Panels,
    dy: &[f32],
    width: usize,
    n: usize,
    strips: &mut Strips,
    dx: &mut [f32],
) {
    let rows = Rows {
        values: dy,
        stride: width,
        n_rows: n,
    };
    panels.multiply(rows, strips, dx, panels.n_columns(), Begin::Zero);
}

/// Adds gradients of weights up.
pub(super) struct Gradients<'a> {
    pub(super) options: &'a BlockOptions,
    pub(super) rows: &'a [u32],
    pub(super) alone: &'a mut Alone,
}

impl Gradients<'_> {
    pub(super) fn add(
        &mut self,
        packed: &Packed,
        dy: &[f32],
        x: &[f32],
        weights: &mut [f32],
        bias: &mut [f32],
    ) {
        let product = WeightGradient {
            instructions: self.options.instructions,
            precision: self.options.precision,
            n: packed.n,
            k: packed.k,
            n_segments: 1,
        };
        let segment = Segment {
            dy,
            dy_stride: packed.n,
            x,
            x_stride: packed.k,
            rows: self.rows,
        };
        product.add(self.alone, &segment, weights, bias);
    }
}

/// Writes `x` plus what the branch gives, some of it dropped.
pub(super) fn add_branch(
    options: &BlockOptions,
    place: Place,
    dropout: Option<Dropout>,
    x: &[f32],
    branch: &[f32],
    out: &mut [f32],
) {
    let sequence = place.sequence;
    let kernel = Branch {
        width: options.width,
        dropout,
        sequence,
        x: Some(x),
        branch,
        out,
    };
    simd::run(options.instructions, kernel);
}

/// Writes the gradient of what the branch gave.
pub(super) fn drop_rows(
    options: &BlockOptions,
    place: Place,
    dropout: Option<Dropout>,
    dy: &[f32],
    out: &mut [f32],
) {
    let sequence = place.sequence;
    let kernel = Branch {
        width: options.width,
        dropout,
        sequence,
        x: None,
        branch: dy,
        out,
    };
    simd::run(options.instructions, kernel);
}

pub(super) struct Branch<'a> {
    pub(super) width: usize,
    pub(super) dropout: Option<Dropout>,
    pub(super) sequence: usize,
    pub(super) x: Option<&'a [f32]>,
    pub(super) branch: &'a [f32],
    pub(super) out: &'a mut [f32],
}

impl Kernel for Branch<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let out = self.out;
        out.copy_from_slice(self.branch);
        if let Some(dropout) = self.dropout {
            for (i, row) in out.chunks_exact_mut(self.width).enumerate() {
                // Numbered as in recurrent nets, so that sequences of a part are those of the whole.
                let mask = dropout.row(number(i, self.sequence));
                for (j, out) in row.iter_mut().enumerate() {
                    *out *= mask.factor(j);
                }
            }
        }
        if let Some(x) = self.x {
            for (out, x) in out.iter_mut().zip(x) {
                *out += x;
            }
        }
    }
}

pub(super) struct Add<'a> {
    pub(super) to: &'a mut [f32],
    pub(super) from: &'a [f32],
}

impl Kernel for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (to, from) in self.to.iter_mut().zip(self.from) {
            *to += from;
        }
    }
}

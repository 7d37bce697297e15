//! Multiplies by a block's weights in both directions, and adds their gradients up.

use super::weights::Packed;
use crate::instructions::Instructions;
use crate::panels::Panels;
use crate::precision::{Precision, pair};
use crate::rows::{RowPairs, Rows, grow, padded};
use crate::simd::{self, Begin, Kernel, Left, Right, Size, Target};

/// Computes a linear layer of some rows.
pub(super) fn linear(
    packed: &Packed,
    x: Rows<'_>,
    pairs: &mut RowPairs,
    (y, stride): (&mut [f32], usize),
) {
    let begin = Begin::Bias(&packed.bias);
    packed.forward.multiply(x, pairs, y, stride, begin);
}

/// Multiplies gradients of outputs by panels back towards a layer's inputs.
pub(super) fn back(
    panels: &Panels,
    dy: Rows<'_>,
    pairs: &mut RowPairs,
    (dx, stride): (&mut [f32], usize),
) {
    panels.multiply(dy, pairs, dx, stride, Begin::Zero);
}

/// Buffers of factors in bf16, two rows in a pair.
#[derive(Debug, Default)]
pub(super) struct Across {
    dy: Vec<u32>,
    x: Vec<u32>,
}

impl Across {
    /// Makes room for `n` rows of up to `width` values.
    pub(super) fn grow(&mut self, precision: Precision, n: usize, width: usize) {
        if precision == Precision::Bf16 {
            for buffer in [&mut self.dy, &mut self.x] {
                grow(buffer, n.div_ceil(2) * padded(width));
            }
        }
    }
}

/// Adds gradients of weights up.
pub(super) struct Gradients<'a> {
    pub(super) instructions: Instructions,
    pub(super) precision: Precision,
    pub(super) across: &'a mut Across,
    /// Tells whether sums begin here.
    pub(super) first: bool,
}

impl Gradients<'_> {
    /// Adds `dyᵀ · x` to the gradient of the weights, and the sum of `dy` to that of the bias.
    pub(super) fn add(
        &mut self,
        packed: &Packed,
        dy: Rows<'_>,
        x: Rows<'_>,
        weights: &mut [f32],
        bias: &mut [f32],
    ) {
        let (set, n, k) = (self.instructions, packed.n, packed.k);
        let mut size = Size {
            n_rows: n,
            n_columns: k,
            depth: dy.n_rows,
        };
        let begin = if self.first { Begin::Zero } else { Begin::Add };
        let mut target = Target {
            values: weights,
            stride: k,
            begin,
        };
        match self.precision {
            Precision::F32 => {
                // The transposed factor is read across its rows: padding keeps that out of one
                // cache set.
                let left = Left::columns(dy.values, dy.stride);
                let right = Right::rows(x.values, x.stride);
                simd::product_f32(set, size, left, right, &mut target);
            }
            Precision::Bf16 => {
                // Two rows are one step of the sum in bf16.
                size.depth = dy.n_rows.div_ceil(2);
                self.across.grow(self.precision, dy.n_rows, n.max(k));
                across(set, dy, n, &mut self.across.dy);
                across(set, x, k, &mut self.across.x);
                let left = Left::columns(&self.across.dy, padded(n));
                let right = Right::rows(&self.across.x, padded(k));
                simd::product_bf16(set, size, left, right, &mut target);
            }
        }
        // The bias is added to, and must begin with nothing.
        if self.first {
            bias.fill(0.0);
        }
        simd::run(
            set,
            Sums {
                rows: dy,
                sums: bias,
            },
        );
    }
}

/// Writes pairs of rows; a last row alone is paired with zeros.
fn across(set: Instructions, rows: Rows<'_>, width: usize, out: &mut [u32]) {
    let stride = padded(width);
    let kernel = AcrossRows {
        rows,
        width,
        out,
        stride,
    };
    simd::run(set, kernel);
}

struct AcrossRows<'a, 'b> {
    rows: Rows<'a>,
    width: usize,
    out: &'b mut [u32],
    stride: usize,
}

impl Kernel for AcrossRows<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (n, width) = (self.rows.n_rows, self.width);
        for i in 0..n.div_ceil(2) {
            let out = &mut self.out[i * self.stride..][..width];
            let first = self.rows.row(2 * i, width);
            if 2 * i + 1 == n {
                for (out, &first) in out.iter_mut().zip(first) {
                    *out = pair(first, 0.0);
                }
                continue;
            }
            let second = self.rows.row(2 * i + 1, width);
            for ((out, &first), &second) in out.iter_mut().zip(first).zip(second) {
                *out = pair(first, second);
            }
        }
    }
}

/// Adds rows up.
struct Sums<'a, 'b> {
    rows: Rows<'a>,
    sums: &'b mut [f32],
}

impl Kernel for Sums<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        /// Columns whose sums stay in registers.
        const PART: usize = 64;
        for (part, sums) in self.sums.chunks_mut(PART).enumerate() {
            let (column, n) = (part * PART, sums.len());
            let mut local = [0.0; PART];
            local[..n].copy_from_slice(sums);
            for i in 0..self.rows.n_rows {
                let row = &self.rows.row(i, column + n)[column..];
                if let Some(row) = row.first_chunk::<PART>() {
                    // Known length: the sums stay in registers over all rows.
                    for (sum, value) in local.iter_mut().zip(row) {
                        *sum += value;
                    }
                } else {
                    for (sum, value) in local.iter_mut().zip(row) {
                        *sum += value;
                    }
                }
            }
            sums.copy_from_slice(&local[..n]);
        }
    }
}

//! Holds the pieces that the branches of a block are made of.

use super::options::BlockOptions;
use super::sequence::Place;
use crate::dropout::{Dropout, number};
use crate::simd::{self, Kernel};

/// Cuts a slice into parts of these lengths.
pub(super) fn split<const N: usize>(values: &mut [f32], lengths: [usize; N]) -> [&mut [f32]; N] {
    let mut rest = values;
    lengths.map(|length| {
        let (part, others) = std::mem::take(&mut rest).split_at_mut(length);
        rest = others;
        part
    })
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
    let kernel = Branch {
        width: options.width,
        dropout,
        sequence: place.sequence,
        x: Some(x),
        branch,
        out,
        stride: options.width,
    };
    simd::run(options.instructions, kernel);
}

/// Writes the gradient of what the branch gave, rows `stride` apart.
pub(super) fn drop_rows(
    options: &BlockOptions,
    place: Place,
    dropout: Option<Dropout>,
    dy: &[f32],
    (out, stride): (&mut [f32], usize),
) {
    let kernel = Branch {
        width: options.width,
        dropout,
        sequence: place.sequence,
        x: None,
        branch: dy,
        out,
        stride,
    };
    simd::run(options.instructions, kernel);
}

struct Branch<'a> {
    width: usize,
    dropout: Option<Dropout>,
    sequence: usize,
    x: Option<&'a [f32]>,
    branch: &'a [f32],
    out: &'a mut [f32],
    stride: usize,
}

impl Kernel for Branch<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.width;
        let rows = self.branch.chunks_exact(n);
        for (i, (branch, out)) in rows.zip(self.out.chunks_mut(self.stride)).enumerate() {
            let out = &mut out[..n];
            // The masks follow on values that are in the nearest cache.
            out.copy_from_slice(branch);
            if let Some(dropout) = self.dropout {
                // Numbered as in recurrent nets: backward draws the same mask, and sequences of a
                // part have those of the whole.
                let mask = dropout.row(number(i, self.sequence));
                for (j, out) in out.iter_mut().enumerate() {
                    *out *= mask.factor(j);
                }
            }
            if let Some(x) = self.x {
                for (out, x) in out.iter_mut().zip(&x[i * n..][..n]) {
                    *out += x;
                }
            }
        }
    }
}

/// Adds values to others.
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

/// Multiplies values by others.
pub(super) struct Scale<'a> {
    pub(super) values: &'a mut [f32],
    pub(super) factors: &'a [f32],
}

impl Kernel for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (value, factor) in self.values.iter_mut().zip(self.factors) {
            *value *= factor;
        }
    }
}

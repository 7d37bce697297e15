//! Holds what a block's way forward leaves for its way back.

use super::super::matrix::Matrix;
use super::super::options::BlockOptions;
use super::kept_of;
use crate::activation;
use crate::recurrent::PassKind;
use crate::rows::{Buffer, grow};
use crate::simd;

/// Results of one block over one sequence.
#[derive(Debug, Default)]
pub(super) struct Tape {
    /// Normalised rows before attention and before the net.
    pub(super) normal: [Matrix; 2],
    pub(super) qkv: Matrix,
    /// Outputs of attention.
    pub(super) attended: Matrix,
    /// Units of the net: before their activation, for the way back its derivative; and after it.
    pub(super) up: Matrix,
    pub(super) active: Matrix,
    /// Rows between the two branches.
    pub(super) middle: Vec<f32>,
    /// Probabilities of all heads, where they are kept.
    pub(super) probabilities: Buffer<f32>,
}

impl Tape {
    /// Makes room for sequences of up to `n` rows.
    pub(super) fn grow(&mut self, options: &BlockOptions, n: usize) {
        let (d, f) = (options.width, options.n_hidden);
        let [normal_1, normal_2] = &mut self.normal;
        for matrix in [normal_1, normal_2, &mut self.attended] {
            matrix.grow(n, d);
        }
        self.qkv.grow(n, 3 * d);
        self.up.grow(n, f);
        self.active.grow(n, f);
        grow(&mut self.middle, n * d);
        // Fewer rows may keep more than all: every length up to `n` must find room.
        let kept = (0..=n).filter_map(|n| kept_of(options, n, d - d / options.n_heads));
        self.probabilities
            .grow(kept.map(|kept| kept.end).max().unwrap_or(0));
    }

    /// Applies the net's activation.
    pub(super) fn activate(&mut self, options: &BlockOptions, n: usize, pass: PassKind) {
        // What lies between rows goes along: that is cheaper than to stop at each end.
        let length = n * self.up.stride;
        let x = &mut self.up.values[..length];
        let y = &mut self.active.values[..length];
        if pass == PassKind::Training {
            simd::run(options.instructions, activation::GeluBoth { x, y });
        } else {
            simd::run(options.instructions, activation::Gelu { x, y });
        }
    }
}

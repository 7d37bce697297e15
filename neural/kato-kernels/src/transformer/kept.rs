//! Keeps what a forward pass computed for the way back, as far as an option allows.

use super::matrix::Matrix;
use super::options::BlockOptions;
use super::sequence::Place;
use crate::rows::{grow, padded};

/// What one sequence leaves: the results of the expensive products. The rest is cheap to compute
/// again.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// What it was computed from; nothing is kept where there is none.
    pub(super) key: Option<Key>,
    pub(super) qkv: Matrix,
    pub(super) attended: Matrix,
    pub(super) middle: Vec<f32>,
    pub(super) up: Matrix,
}

/// Tells one forward pass over a sequence from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    place: Place,
    print: u64,
}

impl Key {
    /// Makes the key of a sequence.
    pub(super) fn new(place: Place, x: &[f32]) -> Self {
        let print = fingerprint(x);
        Self { place, print }
    }
}

impl Kept {
    /// Returns how many sequences may be kept.
    pub(super) const fn limit(options: &BlockOptions, rows: usize) -> usize {
        let (d, f) = (options.width, options.n_hidden);
        let row = padded(3 * d) + padded(d) + d + padded(f);
        // One more, so that rows of no length divide nothing by zero.
        options.kept / (4 * (row * rows + 1))
    }

    /// Makes room for a sequence.
    pub(super) fn grow(&mut self, options: &BlockOptions, rows: usize) {
        let d = options.width;
        self.qkv.grow(rows, 3 * d);
        self.attended.grow(rows, d);
        grow(&mut self.middle, rows * d);
        self.up.grow(rows, options.n_hidden);
    }
}

/// Mixes all values into 64 bits: others have the same with a chance of 2⁻⁶⁴.
fn fingerprint(x: &[f32]) -> u64 {
    /// Odd, half of the bits set.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    // Four lines of numbers are multiplied side by side: one would wait for itself.
    let mut lanes = [1_u64, 2, 3, 4];
    for part in x.chunks(8) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            let bits = |i: usize| u64::from(part.get(i).map_or(0, |x| x.to_bits()));
            let both = bits(2 * j) | (bits(2 * j + 1) << 32);
            *lane = (lane.rotate_left(29) ^ both).wrapping_mul(FACTOR);
        }
    }
    let mix = |sum: u64, lane: u64| (sum.rotate_left(31) ^ lane).wrapping_mul(FACTOR);
    let sum = lanes.into_iter().fold(x.len() as u64, mix);
    sum ^ (sum >> 32)
}

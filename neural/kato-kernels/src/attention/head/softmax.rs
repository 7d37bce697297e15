//! Turns rows of scores into probabilities, forward and backward.

use crate::instructions::Instructions;
use crate::math::exp;
use crate::simd::{self, COLUMNS, Kernel};

/// Turns each row of scores, times a scale, into probabilities, and fills it up with zeros. A row
/// whose keys are all masked becomes zero.
pub(super) struct Softmax<'a> {
    pub(super) instructions: Instructions,
    pub(super) scores: &'a mut [f32],
    pub(super) stride: usize,
    pub(super) n_keys: usize,
    pub(super) scale: f32,
    pub(super) mask: Option<&'a [bool]>,
}

impl Kernel for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in self.scores.chunks_exact_mut(self.stride) {
            let row = &mut row[..self.n_keys.next_multiple_of(COLUMNS)];
            // Columns that fill up the panel take part as masked ones: the loops need no remainder.
            row[self.n_keys..].fill(f32::NEG_INFINITY);
            if let Some(mask) = self.mask {
                for (score, _) in row.iter_mut().zip(mask).filter(|(_, counts)| !**counts) {
                    *score = f32::NEG_INFINITY;
                }
            }
            softmax(self.instructions, row, self.scale);
        }
    }
}

/// Turns one row into probabilities.
#[inline(always)]
fn softmax(set: Instructions, row: &mut [f32], scale: f32) {
    // Whatever this is where a score is NaN, the sum becomes NaN, and every probability.
    let largest = simd::largest(set, row);
    for score in row.iter_mut() {
        // Differences first: they are exact where it matters, and no power overflows.
        let power = exp((*score - largest) * scale);
        // The power of −∞ would be e⁻⁸⁷ here, and NaN in a row that is masked all over.
        *score = if *score == f32::NEG_INFINITY {
            0.0
        } else {
            power
        };
    }
    let sum = simd::sum(set, [row]);
    // A row without keys: its probabilities are zero, and so are their gradients.
    let share = if sum == 0.0 { 0.0 } else { 1.0 / sum };
    for probability in row {
        *probability *= share;
    }
}

/// Turns gradients of probabilities into those of scores before their scale.
pub(super) struct SoftmaxBack<'a> {
    pub(super) instructions: Instructions,
    pub(super) probabilities: &'a [f32],
    pub(super) gradients: &'a mut [f32],
    pub(super) stride: usize,
    pub(super) n_keys: usize,
    pub(super) scale: f32,
}

impl Kernel for SoftmaxBack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.probabilities.chunks_exact(self.stride);
        for (p, d) in rows.zip(self.gradients.chunks_exact_mut(self.stride)) {
            // What lies behind these columns was never computed, and may be anything.
            let n = self.n_keys.next_multiple_of(COLUMNS);
            let (p, d) = (&p[..n], &mut d[..n]);
            backward(self.instructions, p, d, self.scale);
        }
    }
}

/// Goes back through one row.
#[inline(always)]
fn backward(set: Instructions, probabilities: &[f32], gradients: &mut [f32], scale: f32) {
    // Columns behind the last key have probability 0 and add nothing.
    let mean = simd::sum(set, [probabilities, gradients]);
    for (d, p) in gradients.iter_mut().zip(probabilities) {
        // The scale of the scores is applied here once, instead of to both their gradients.
        *d = p * scale * (*d - mean);
    }
}

//! Turns scores of 32 queries into probabilities, down the columns, forward and backward.

use crate::math::exp;
use crate::simd::{COLUMNS, Kernel};

/// Turns scores of each column into probabilities. A column whose keys are all masked becomes
/// zero.
pub(super) struct Softmax<'a> {
    pub(super) scores: &'a mut [f32],
    pub(super) mask: Option<&'a [bool]>,
}

impl Kernel for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (lanes, _) = self.scores.as_chunks_mut::<LANES>();
        if let Some(mask) = self.mask {
            let rows = lanes.chunks_exact_mut(COLUMNS / LANES).zip(mask);
            for (row, _) in rows.filter(|(_, counts)| !**counts) {
                row.fill([f32::NEG_INFINITY; LANES]);
            }
        }
        for part in 0..COLUMNS / LANES {
            softmax(lanes, part);
        }
    }
}

/// Columns whose sums stay in one register.
const LANES: usize = 16;

/// Turns the scores of one part of the columns into probabilities.
#[inline(always)]
fn softmax(lanes: &mut [[f32; LANES]], part: usize) {
    let step = COLUMNS / LANES;
    let mut largest = [f32::NEG_INFINITY; LANES];
    for row in lanes.iter().skip(part).step_by(step) {
        for j in 0..LANES {
            // A NaN must stay, so that it is seen.
            largest[j] = if row[j] <= largest[j] {
                largest[j]
            } else {
                row[j]
            };
        }
    }
    let mut sums = [0.0_f32; LANES];
    for row in lanes.iter_mut().skip(part).step_by(step) {
        for j in 0..LANES {
            let power = exp(row[j] - largest[j]);
            row[j] = if row[j] == f32::NEG_INFINITY {
                0.0
            } else {
                power
            };
            sums[j] += row[j];
        }
    }
    for sum in &mut sums {
        *sum = if *sum == 0.0 { 0.0 } else { 1.0 / *sum };
    }
    for row in lanes.iter_mut().skip(part).step_by(step) {
        for j in 0..LANES {
            row[j] *= sums[j];
        }
    }
}

/// Turns gradients of probabilities into those of scores.
pub(super) struct SoftmaxBack<'a> {
    pub(super) probabilities: &'a [f32],
    pub(super) gradients: &'a mut [f32],
}

impl Kernel for SoftmaxBack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (probabilities, _) = self.probabilities.as_chunks::<COLUMNS>();
        let (gradients, _) = self.gradients.as_chunks_mut::<COLUMNS>();
        let mut means = [0.0_f32; COLUMNS];
        for (p, d) in probabilities.iter().zip(gradients.iter()) {
            for j in 0..COLUMNS {
                means[j] = p[j].mul_add(d[j], means[j]);
            }
        }
        for (p, d) in probabilities.iter().zip(gradients) {
            for j in 0..COLUMNS {
                d[j] = p[j] * (d[j] - means[j]);
            }
        }
    }
}

//! Turns rows of scores into probabilities, forward and backward.

use crate::math::exp;
use crate::simd::{COLUMNS, Kernel};

/// Values that are worked on at a time: their sums stay in one register.
const LANES: usize = 16;

/// Turns each row of scores, times a scale, into probabilities, and fills it up with zeros. A row
/// whose keys are all masked becomes zero.
pub(super) struct Softmax<'a> {
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
            row[self.n_keys..].fill(f32::NEG_INFINITY);
            if let Some(mask) = self.mask {
                for (score, _) in row.iter_mut().zip(mask).filter(|(_, counts)| !**counts) {
                    *score = f32::NEG_INFINITY;
                }
            }
            let (lanes, _) = row.as_chunks_mut::<LANES>();
            softmax(lanes, self.scale);
        }
    }
}

/// Returns the larger value. A NaN must stay, so that it is seen.
#[inline(always)]
const fn larger(a: f32, b: f32) -> f32 {
    if b <= a { a } else { b }
}

/// Halves lanes again and again until one is left.
#[inline(always)]
fn fold(mut lanes: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> f32 {
    for half in [8, 4, 2, 1] {
        for j in 0..half {
            lanes[j] = f(lanes[j], lanes[j + half]);
        }
    }
    lanes[0]
}

/// Turns one row into probabilities.
#[inline(always)]
fn softmax(row: &mut [[f32; LANES]], scale: f32) {
    let mut largest = [f32::NEG_INFINITY; LANES];
    for lanes in row.iter() {
        for j in 0..LANES {
            largest[j] = larger(largest[j], lanes[j]);
        }
    }
    let largest = fold(largest, larger);
    let mut sums = [0.0_f32; LANES];
    for lanes in row.iter_mut() {
        for j in 0..LANES {
            let power = exp((lanes[j] - largest) * scale);
            lanes[j] = if lanes[j] == f32::NEG_INFINITY {
                0.0
            } else {
                power
            };
            sums[j] += lanes[j];
        }
    }
    let sum = fold(sums, |a, b| a + b);
    let share = if sum == 0.0 { 0.0 } else { 1.0 / sum };
    for lanes in row.iter_mut() {
        for value in lanes {
            *value *= share;
        }
    }
}

/// Turns gradients of probabilities into those of scores before their scale.
pub(super) struct SoftmaxBack<'a> {
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
            backward(p.as_chunks().0, d.as_chunks_mut().0, self.scale);
        }
    }
}

/// Goes back through one row.
#[inline(always)]
fn backward(probabilities: &[[f32; LANES]], gradients: &mut [[f32; LANES]], scale: f32) {
    let mut sums = [0.0_f32; LANES];
    for (p, d) in probabilities.iter().zip(gradients.iter()) {
        for j in 0..LANES {
            sums[j] = p[j].mul_add(d[j], sums[j]);
        }
    }
    let mean = fold(sums, |a, b| a + b);
    for (p, d) in probabilities.iter().zip(gradients) {
        for j in 0..LANES {
            d[j] = p[j] * scale * (d[j] - mean);
        }
    }
}

//! Lets one query look at one sequence's memory, forward and backward.

use super::Memory;
use crate::instructions::Instructions;
use crate::math::exp;
use crate::simd::{self, Kernel};

/// Memory of one sequence.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) keys: &'a [f32],
    pub(super) values: &'a [f32],
    pub(super) mask: Option<&'a [bool]>,
    pub(super) n_keys: usize,
}

impl<'a> Part<'a> {
    pub(super) fn of(memory: &Memory<'a>, row: usize, n: usize) -> Self {
        let (n_keys, own) = (memory.n_keys, memory.n_keys * n);
        Self {
            keys: &memory.keys[row * own..][..own],
            values: &memory.values[row * own..][..own],
            mask: memory.mask.map(|mask| &mask[row * n_keys..][..n_keys]),
            n_keys,
        }
    }

    fn counts(&self, key: usize) -> bool {
        self.mask.is_none_or(|mask| mask[key])
    }
}

/// One query to one sequence's memory.
pub(super) struct Look<'a> {
    pub(super) instructions: Instructions,
    pub(super) n_heads: usize,
    pub(super) memory: Part<'a>,
    pub(super) query: &'a [f32],
    pub(super) probabilities: &'a mut [f32],
    pub(super) context: &'a mut [f32],
}

impl Kernel for Look<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (n, n_keys) = (self.query.len(), self.memory.n_keys);
        let width = n / self.n_heads;
        let scale = 1.0 / (width as f32).sqrt();
        // Keys add to it one by one.
        self.context.fill(0.0);
        for head in 0..self.n_heads {
            let first = head * width;
            let query = &self.query[first..][..width];
            let scores = &mut self.probabilities[head * n_keys..][..n_keys];
            let mut largest = f32::NEG_INFINITY;
            for key in (0..n_keys).filter(|&key| self.memory.counts(key)) {
                let values = &self.memory.keys[key * n + first..][..width];
                scores[key] = scale * simd::sum(self.instructions, [query, values]);
                // A NaN must stay, so that it is seen.
                largest = if scores[key] <= largest {
                    largest
                } else {
                    scores[key]
                };
            }
            let mut total = 0.0;
            for (key, score) in scores.iter_mut().enumerate() {
                // A masked key was never scored: what stands there is an earlier pass's.
                *score = if self.memory.counts(key) {
                    exp(*score - largest)
                } else {
                    0.0
                };
                total += *score;
            }
            // No key counts: nothing is attended to.
            let share = if total == 0.0 { 0.0 } else { 1.0 / total };
            let context = &mut self.context[first..][..width];
            for (key, score) in scores.iter_mut().enumerate() {
                *score *= share;
                multiply_add(
                    context,
                    *score,
                    &self.memory.values[key * n + first..][..width],
                );
            }
        }
    }
}

/// The same backward: the query becomes its gradient.
pub(super) struct LookBack<'a> {
    pub(super) instructions: Instructions,
    pub(super) n_heads: usize,
    pub(super) memory: Part<'a>,
    pub(super) query: &'a mut [f32],
    pub(super) probabilities: &'a [f32],
    pub(super) d_context: &'a [f32],
    pub(super) d_scores: &'a mut [f32],
    pub(super) d_keys: &'a mut [f32],
    pub(super) d_values: &'a mut [f32],
}

impl Kernel for LookBack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (n, n_keys) = (self.query.len(), self.memory.n_keys);
        let width = n / self.n_heads;
        let scale = 1.0 / (width as f32).sqrt();
        for head in 0..self.n_heads {
            let first = head * width;
            let query = &mut self.query[first..][..width];
            let d_context = &self.d_context[first..][..width];
            let probabilities = &self.probabilities[head * n_keys..][..n_keys];
            let mut mean = 0.0_f32;
            for (key, &probability) in probabilities.iter().enumerate() {
                let values = &self.memory.values[key * n + first..][..width];
                self.d_scores[key] = simd::sum(self.instructions, [d_context, values]);
                mean = probability.mul_add(self.d_scores[key], mean);
                multiply_add(
                    &mut self.d_values[key * n + first..][..width],
                    probability,
                    d_context,
                );
            }
            for (key, &probability) in probabilities.iter().enumerate() {
                let d_score = scale * probability * (self.d_scores[key] - mean);
                self.d_scores[key] = d_score;
                multiply_add(&mut self.d_keys[key * n + first..][..width], d_score, query);
            }
            // The query was read for the last time, and its place takes its gradient.
            query.fill(0.0);
            for key in 0..n_keys {
                let keys = &self.memory.keys[key * n + first..][..width];
                multiply_add(query, self.d_scores[key], keys);
            }
        }
    }
}

/// Adds `factor` times `from` to `to`.
#[inline(always)]
fn multiply_add(to: &mut [f32], factor: f32, from: &[f32]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = factor.mul_add(from, *to);
    }
}

//! Computes one head of attention, some queries at a time, forward and backward.
//!
//! Scores are queries × keys, a row for each query, so that every product but those by transposed
//! keys and values reads its factors where they are.

mod layout;
mod softmax;

use std::ops::Range;

use crate::instructions::Instructions;
use crate::rows::{Buffer, padded};
use crate::simd::{self, Begin, COLUMNS, Left, ROWS, Right, Size, Target};
use layout::turned;
pub(crate) use layout::{Columns, ColumnsMut, Targets};
use softmax::{Softmax, SoftmaxBack};

/// Scores that are computed at a time, as long as that is 32 queries: 128 KiB.
const MAX_SCORES: usize = 1 << 15;

/// Queries, keys and values of one head of one sequence.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) instructions: Instructions,
    pub(crate) queries: Columns<'a>,
    pub(crate) keys: Columns<'a>,
    pub(crate) values: Columns<'a>,
    pub(crate) n_queries: usize,
    pub(crate) n_keys: usize,
    pub(crate) width: usize,
    /// Keys that count; all where there is none.
    pub(crate) mask: Option<&'a [bool]>,
}

/// Buffers of one head; they grow with the number of keys, not with its square.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Keys, or values, turned: panels of 32 of them.
    turned_keys: Buffer<f32>,
    turned_values: Buffer<f32>,
    /// Scores, then probabilities; and gradients of them.
    scores: Buffer<f32>,
    d_scores: Buffer<f32>,
}

/// Returns the values from a row of scores to the next.
pub(crate) const fn score_stride(n_keys: usize) -> usize {
    padded(n_keys.next_multiple_of(COLUMNS))
}

impl Head<'_> {
    fn scale(&self) -> f32 {
        // The scale is applied by the softmax: queries are then read where they are.
        1.0 / (self.width as f32).sqrt()
    }

    /// Returns the queries in blocks: a function of shapes alone, so that sums have one order.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        // Whole strips, and 32 queries at least: with fewer, keys would be read too often.
        let most = (MAX_SCORES / score_stride(self.n_keys) / ROWS * ROWS).max(COLUMNS);
        let n = self.n_queries;
        // Blocks of like length: a short last one would waste its passes over the keys.
        let length = n
            .div_ceil(n.div_ceil(most).max(1))
            .next_multiple_of(ROWS)
            .max(ROWS);
        (0..n)
            .step_by(length)
            .map(move |first| first..n.min(first + length))
    }

    /// Makes room for the scores of a block.
    fn grow(&self, work: &mut Work) {
        // Both at once, so that the way back after a way forward allocates nothing.
        let rows = self.blocks().map(|block| block.len()).max().unwrap_or(0);
        for buffer in [&mut work.scores, &mut work.d_scores] {
            buffer.grow(rows * score_stride(self.n_keys));
        }
    }

    /// Multiplies into a matrix whose rows are those of the left factor.
    fn product(
        &self,
        (n_rows, n_columns, depth): (usize, usize, usize),
        left: Left<'_, f32>,
        right: Right<'_, f32>,
        (values, stride): (&mut [f32], usize),
        begin: Begin<'_>,
    ) {
        let size = Size {
            n_rows,
            n_columns,
            depth,
        };
        let mut target = Target {
            values,
            stride,
            begin,
        };
        simd::product_f32(self.instructions, size, left, right, &mut target);
    }

    /// Computes outputs. With `kept`, it also leaves the probabilities there.
    pub(crate) fn forward(
        &self,
        work: &mut Work,
        mut kept: Option<&mut [f32]>,
        mut out: ColumnsMut<'_>,
    ) {
        turned(self.keys, self, &mut work.turned_keys);
        self.grow(work);
        let stride = score_stride(self.n_keys);
        for block in self.blocks() {
            // Probabilities are computed where they stay, and never copied.
            let scores = match &mut kept {
                Some(kept) => &mut kept[block.start * stride..],
                None => &mut *work.scores,
            };
            let scores = &mut scores[..block.len() * stride];
            self.probabilities(&work.turned_keys, &block, scores);
            self.product(
                (block.len(), self.width, self.n_keys),
                Left::rows(scores, stride),
                self.values.right(0),
                out.target(block.start),
                Begin::Zero,
            );
        }
    }

    /// Computes the probabilities of a block of queries.
    fn probabilities(&self, turned_keys: &[f32], block: &Range<usize>, scores: &mut [f32]) {
        let stride = score_stride(self.n_keys);
        // Columns behind the last key are computed too: they cost nothing and need no mask.
        let columns = self.n_keys.next_multiple_of(COLUMNS);
        self.product(
            (block.len(), columns, self.width),
            self.queries.left(block.start),
            Right::bands(turned_keys, self.width * COLUMNS),
            (scores, stride),
            Begin::Zero,
        );
        let kernel = Softmax {
            instructions: self.instructions,
            scores,
            stride,
            n_keys: self.n_keys,
            scale: self.scale(),
            mask: self.mask,
        };
        simd::run(self.instructions, kernel);
    }

    /// Computes gradients; `kept` has the probabilities, which are computed again where there are
    /// none.
    pub(crate) fn backward(
        &self,
        work: &mut Work,
        kept: Option<&[f32]>,
        d_out: Columns<'_>,
        mut to: Targets<'_>,
    ) {
        let (n, width, stride) = (self.n_keys, self.width, score_stride(self.n_keys));
        self.grow(work);
        // Scores are computed again, and only they need keys that are turned.
        if kept.is_none() {
            turned(self.keys, self, &mut work.turned_keys);
        }
        turned(self.values, self, &mut work.turned_values);
        for block in self.blocks() {
            let length = block.len() * stride;
            // What is kept was computed by the same calls, so its bits are those of a second time.
            let probabilities = match kept {
                Some(kept) => &kept[block.start * stride..][..length],
                None => {
                    let scores = &mut work.scores[..length];
                    self.probabilities(&work.turned_keys, &block, scores);
                    &*scores
                }
            };
            let begin = begin(&block);
            // The block's scores are still in the cache for the four products that follow.
            let d_scores = &mut work.d_scores[..length];
            // Gradients of values are probabilities, turned, times gradients of outputs.
            self.product(
                (n, width, block.len()),
                Left::columns(probabilities, stride),
                d_out.right(block.start),
                to.part(2).target(0),
                begin,
            );
            self.product(
                (block.len(), n.next_multiple_of(COLUMNS), width),
                d_out.left(block.start),
                Right::bands(&work.turned_values, width * COLUMNS),
                (d_scores, stride),
                Begin::Zero,
            );
            let kernel = SoftmaxBack {
                instructions: self.instructions,
                probabilities,
                gradients: d_scores,
                stride,
                n_keys: n,
                scale: self.scale(),
            };
            simd::run(self.instructions, kernel);
            self.scores_back(&block, d_scores, &mut to);
        }
    }

    /// Computes gradients of a block of queries, and adds what it gives to those of the keys.
    fn scores_back(&self, block: &Range<usize>, d_scores: &[f32], to: &mut Targets<'_>) {
        let (n, width, stride) = (self.n_keys, self.width, score_stride(self.n_keys));
        self.product(
            (block.len(), width, n),
            Left::rows(d_scores, stride),
            self.keys.right(0),
            to.part(0).target(block.start),
            Begin::Zero,
        );
        self.product(
            (n, width, block.len()),
            Left::columns(d_scores, stride),
            self.queries.right(block.start),
            to.part(1).target(0),
            begin(block),
        );
    }
}

/// Returns what gradients of keys and values begin with: the first block finds nothing there.
const fn begin(block: &Range<usize>) -> Begin<'static> {
    if block.start == 0 {
        Begin::Zero
    } else {
        Begin::Add
    }
}

//! Computes one head of attention, 32 queries at a time, forward and backward.
//!
//! Scores are kept as keys × 32 queries: the layout of a panel, so that the next product reads
//! them where they are, and the softmax runs down the columns, 32 at a time.

mod layout;
mod softmax;

use crate::instructions::Instructions;
use crate::precision::Precision;
use crate::simd::{self, COLUMNS, ROWS, Start, Tile};
use crate::strips::{Strips, grow};
pub(crate) use layout::{Columns, ColumnsMut, Targets};
use layout::{as_columns, as_rows, columns_in_strips, turn};
use softmax::{Softmax, SoftmaxBack};

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
    /// Keys, and values, in strips of 8 rows.
    key_rows: Strips,
    value_rows: Strips,
    /// Keys, and values, in strips of 8 columns.
    key_columns: Vec<f32>,
    value_columns: Vec<f32>,
    /// 32 queries, and gradients of outputs, as columns.
    queries: Vec<f32>,
    d_outputs: Vec<f32>,
    /// The same as rows of whole panels.
    query_rows: Vec<f32>,
    d_output_rows: Vec<f32>,
    /// Scores, then probabilities: keys × 32 queries; and gradients of them.
    scores: Vec<f32>,
    d_scores: Vec<f32>,
    /// Outputs, or gradients of queries: width × 32 queries.
    across: Vec<f32>,
    /// Gradients of keys and of values.
    d_keys: Vec<f32>,
    d_values: Vec<f32>,
    strip: Vec<f32>,
}

impl Head<'_> {
    fn scale(&self) -> f32 {
        1.0 / (self.width as f32).sqrt()
    }

    /// Computes outputs. With `kept`, it also stores the probabilities there, block by block.
    pub(crate) fn forward(
        &self,
        work: &mut Work,
        mut kept: Option<&mut [f32]>,
        mut out: ColumnsMut<'_>,
    ) {
        let (n, width) = (self.n_keys, self.width);
        work.key_rows.fill(
            self.instructions,
            Precision::F32,
            self.keys.rows(0, n),
            width,
        );
        columns_in_strips(self.values.rows(0, n), width, &mut work.value_columns);
        for (block, first) in (0..self.n_queries).step_by(COLUMNS).enumerate() {
            let used = COLUMNS.min(self.n_queries - first);
            self.probabilities(work, first, used);
            if let Some(kept) = &mut kept {
                let length = n * COLUMNS;
                kept[block * length..][..length].copy_from_slice(&work.scores[..length]);
            }
            grow(&mut work.across, width.next_multiple_of(ROWS) * COLUMNS);
            self.across(&work.value_columns, &work.scores, &mut work.across);
            turn(self, &mut work.across, 1.0, &mut out, (first, used));
        }
    }

    /// Computes the probabilities of `used` queries from `first` on, as keys × 32.
    fn probabilities(&self, work: &mut Work, first: usize, used: usize) {
        let rows = self.queries.rows(first, used);
        as_columns(
            self.instructions,
            rows,
            self.width,
            self.scale(),
            &mut work.queries,
        );
        grow(
            &mut work.scores,
            self.n_keys.next_multiple_of(ROWS) * COLUMNS,
        );
        self.down(&work.key_rows, &work.queries, &mut work.scores);
        let scores = &mut work.scores[..self.n_keys * COLUMNS];
        simd::run(
            self.instructions,
            Softmax {
                scores,
                mask: self.mask,
            },
        );
    }

    /// Multiplies rows in strips by 32 columns: keys × 32.
    fn down(&self, rows: &Strips, columns: &[f32], out: &mut [f32]) {
        for strip in 0..self.n_keys.div_ceil(ROWS) {
            let out = &mut out[strip * ROWS * COLUMNS..];
            let n_rows = ROWS.min(self.n_keys - strip * ROWS);
            let start = Start::Row(&[0.0; COLUMNS]);
            let tile = Tile {
                start,
                out,
                out_stride: COLUMNS,
                n_rows,
            };
            let panel = &columns[..self.width * COLUMNS];
            simd::tile_f32(
                self.instructions,
                rows.values(strip, self.width),
                panel,
                tile,
            );
        }
    }

    /// Multiplies columns in strips by scores: width × 32.
    fn across(&self, columns: &[f32], scores: &[f32], out: &mut [f32]) {
        let length = self.n_keys * ROWS;
        for strip in 0..self.width.div_ceil(ROWS) {
            let out = &mut out[strip * ROWS * COLUMNS..];
            let start = Start::Row(&[0.0; COLUMNS]);
            let tile = Tile {
                start,
                out,
                out_stride: COLUMNS,
                n_rows: ROWS,
            };
            let (strip, panel) = (&columns[strip * length..][..length], self.n_keys * COLUMNS);
            simd::tile_f32(self.instructions, strip, &scores[..panel], tile);
        }
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
        let (n, width) = (self.n_keys, self.width);
        let panels = width.next_multiple_of(COLUMNS);
        work.key_rows.fill(
            self.instructions,
            Precision::F32,
            self.keys.rows(0, n),
            width,
        );
        work.value_rows.fill(
            self.instructions,
            Precision::F32,
            self.values.rows(0, n),
            width,
        );
        columns_in_strips(self.keys.rows(0, n), width, &mut work.key_columns);
        for sums in [&mut work.d_keys, &mut work.d_values] {
            sums.clear();
            sums.resize(n.next_multiple_of(ROWS) * panels, 0.0);
        }
        for (block, first) in (0..self.n_queries).step_by(COLUMNS).enumerate() {
            let used = COLUMNS.min(self.n_queries - first);
            match kept {
                None => self.probabilities(work, first, used),
                Some(kept) => {
                    let rows = self.queries.rows(first, used);
                    as_columns(
                        self.instructions,
                        rows,
                        width,
                        self.scale(),
                        &mut work.queries,
                    );
                    grow(&mut work.scores, n.next_multiple_of(ROWS) * COLUMNS);
                    let length = n * COLUMNS;
                    work.scores[..length].copy_from_slice(&kept[block * length..][..length]);
                }
            }
            as_columns(
                self.instructions,
                d_out.rows(first, used),
                width,
                1.0,
                &mut work.d_outputs,
            );
            grow(&mut work.d_scores, n.next_multiple_of(ROWS) * COLUMNS);
            self.down(&work.value_rows, &work.d_outputs, &mut work.d_scores);
            as_rows(d_out.rows(first, used), width, &mut work.d_output_rows);
            self.add_up(
                &work.scores,
                &work.d_output_rows,
                &mut work.strip,
                &mut work.d_values,
            );
            let kernel = SoftmaxBack {
                probabilities: &work.scores[..n * COLUMNS],
                gradients: &mut work.d_scores[..n * COLUMNS],
            };
            simd::run(self.instructions, kernel);
            grow(&mut work.across, width.next_multiple_of(ROWS) * COLUMNS);
            self.across(&work.key_columns, &work.d_scores, &mut work.across);
            turn(
                self,
                &mut work.across,
                self.scale(),
                &mut to.part(0),
                (first, used),
            );
            as_rows(self.queries.rows(first, used), width, &mut work.query_rows);
            self.add_up(
                &work.d_scores,
                &work.query_rows,
                &mut work.strip,
                &mut work.d_keys,
            );
        }
        for key in 0..n {
            let from = &work.d_keys[key * panels..][..width];
            for (out, sum) in to.part(1).row(key, width).iter_mut().zip(from) {
                *out = sum * self.scale();
            }
            let from = &work.d_values[key * panels..][..width];
            to.part(2).row(key, width).copy_from_slice(from);
        }
    }

    /// Adds scores times rows of 32 queries to sums of every key.
    fn add_up(&self, scores: &[f32], rows: &[f32], strip: &mut Vec<f32>, sums: &mut [f32]) {
        let stride = self.width.next_multiple_of(COLUMNS);
        grow(strip, COLUMNS * ROWS);
        for first in (0..self.n_keys).step_by(ROWS) {
            let n_rows = ROWS.min(self.n_keys - first);
            // Rows behind the last key may hold anything: their sums are not computed.
            let row = |i: usize| &scores[(first + i.min(n_rows - 1)) * COLUMNS..][..COLUMNS];
            simd::transpose(self.instructions, &std::array::from_fn(row), strip, ROWS);
            for panel in 0..stride / COLUMNS {
                let out = &mut sums[first * stride + panel * COLUMNS..];
                let tile = Tile {
                    start: Start::Out,
                    out,
                    out_stride: stride,
                    n_rows,
                };
                let panel = &rows[panel * COLUMNS * COLUMNS..][..COLUMNS * COLUMNS];
                simd::tile_f32(self.instructions, &strip[..COLUMNS * ROWS], panel, tile);
            }
        }
    }
}

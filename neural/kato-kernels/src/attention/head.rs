//! Computes one head of attention, 32 queries at a time, forward and backward.
//!
//! Scores are kept as keys × 32 queries: the layout of a panel, so that the next product reads
//! them where they are, and the softmax runs down the columns, 32 at a time.

use crate::instructions::Instructions;
use crate::math::exp;
use crate::precision::Precision;
use crate::simd::{self, COLUMNS, Kernel, ROWS, Start, Tile};
use crate::strips::{Rows, Strips, grow};

/// Columns of a matrix that belong to a head: row `i` begins at `i · stride`.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) first: usize,
}

impl<'a> Columns<'a> {
    /// Returns the rows from `row` on.
    fn rows(&self, row: usize, n_rows: usize) -> Rows<'a> {
        let at = row * self.stride + self.first;
        Rows {
            values: self.values.get(at..).unwrap_or_default(),
            stride: self.stride,
            n_rows,
        }
    }
}

/// Columns that are written.
pub(crate) struct ColumnsMut<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) stride: usize,
    pub(crate) first: usize,
}

impl ColumnsMut<'_> {
    /// Returns `width` values of row `i`.
    fn row(&mut self, i: usize, width: usize) -> &mut [f32] {
        &mut self.values[i * self.stride + self.first..][..width]
    }
}

/// Where gradients of queries, keys and values go.
pub(crate) enum Targets<'a> {
    /// Into three matrices.
    Apart([ColumnsMut<'a>; 3]),
    /// Into one, each at its own columns.
    Together {
        values: &'a mut [f32],
        stride: usize,
        firsts: [usize; 3],
    },
}

impl Targets<'_> {
    /// Returns the columns of queries (0), keys (1) or values (2).
    fn part(&mut self, part: usize) -> ColumnsMut<'_> {
        match self {
            Self::Apart(parts) => {
                let ColumnsMut {
                    values,
                    stride,
                    first,
                } = &mut parts[part];
                ColumnsMut {
                    values,
                    stride: *stride,
                    first: *first,
                }
            }
            Self::Together {
                values,
                stride,
                firsts,
            } => ColumnsMut {
                values,
                stride: *stride,
                first: firsts[part],
            },
        }
    }
}

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

/// Writes columns in strips of 8, each with every row; those that a strip lacks are zero.
fn columns_in_strips(rows: Rows<'_>, width: usize, out: &mut Vec<f32>) {
    let length = rows.n_rows * ROWS;
    out.clear();
    out.resize(width.div_ceil(ROWS) * length, 0.0);
    for i in 0..rows.n_rows {
        for (strip, values) in rows.row(i, width).chunks(ROWS).enumerate() {
            out[strip * length + i * ROWS..][..values.len()].copy_from_slice(values);
        }
    }
}

/// Writes up to 32 rows as columns, times `scale`; columns that lack are zero.
fn as_columns(set: Instructions, rows: Rows<'_>, width: usize, scale: f32, out: &mut Vec<f32>) {
    out.clear();
    out.resize(width * COLUMNS, 0.0);
    let whole = rows.n_rows / ROWS * ROWS;
    for first in (0..whole).step_by(ROWS) {
        let eight = std::array::from_fn(|i| rows.row(first + i, width));
        simd::transpose(set, &eight, &mut out[first..], COLUMNS);
    }
    for i in whole..rows.n_rows {
        for (out, value) in out
            .iter_mut()
            .skip(i)
            .step_by(COLUMNS)
            .zip(rows.row(i, width))
        {
            *out = *value;
        }
    }
    simd::run(set, Scale { values: out, scale });
}

/// Multiplies all values by one.
struct Scale<'a> {
    values: &'a mut [f32],
    scale: f32,
}

impl Kernel for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for value in self.values {
            *value *= self.scale;
        }
    }
}

/// Writes up to 32 rows in panels of 32 columns; what lacks is zero.
fn as_rows(rows: Rows<'_>, width: usize, out: &mut Vec<f32>) {
    out.clear();
    out.resize(width.next_multiple_of(COLUMNS) * COLUMNS, 0.0);
    for i in 0..rows.n_rows {
        for (panel, values) in rows.row(i, width).chunks(COLUMNS).enumerate() {
            out[(panel * COLUMNS + i) * COLUMNS..][..values.len()].copy_from_slice(values);
        }
    }
}

/// Turns scores of each column into probabilities. A column whose keys are all masked becomes
/// zero.
struct Softmax<'a> {
    scores: &'a mut [f32],
    mask: Option<&'a [bool]>,
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
struct SoftmaxBack<'a> {
    probabilities: &'a [f32],
    gradients: &'a mut [f32],
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

/// Writes columns as rows of the output from row `first` on, the first `used` of them.
fn turn(
    head: &Head<'_>,
    across: &mut [f32],
    scale: f32,
    out: &mut ColumnsMut<'_>,
    (first, used): (usize, usize),
) {
    let width = head.width;
    simd::run(
        head.instructions,
        Scale {
            values: &mut across[..width * COLUMNS],
            scale,
        },
    );
    let whole = width / ROWS * ROWS;
    let at = first * out.stride + out.first;
    for column in (0..whole).step_by(ROWS) {
        let eight = std::array::from_fn(|i| &across[(column + i) * COLUMNS..][..used]);
        simd::transpose(
            head.instructions,
            &eight,
            &mut out.values[at + column..],
            out.stride,
        );
    }
    for column in whole..width {
        for i in 0..used {
            out.values[at + i * out.stride + column] = across[column * COLUMNS + i];
        }
    }
}

//! Packs the right factor of a product into panels of 32 columns, and multiplies by it.

use rayon::prelude::*;

use crate::instructions::Instructions;
use crate::precision::{Precision, pair};
use crate::simd::{self, COLUMNS, ROWS, Start, Tile};
use crate::strips::{Rows, Strips, grow};

/// Right factor of a product, packed: `depth` × `n_columns`, columns in panels of 32.
#[derive(Debug)]
pub(crate) struct Panels {
    instructions: Instructions,
    precision: Precision,
    values: Vec<f32>,
    pairs: Vec<u32>,
    depth: usize,
    n_columns: usize,
}

/// What a product begins its sums with.
#[derive(Clone, Copy)]
pub(crate) enum Begin<'a> {
    /// Nothing.
    Zero,
    /// This row, one value a column.
    Bias(&'a [f32]),
    /// What the output holds.
    Add,
}

impl Panels {
    /// Begins without weights.
    pub(crate) const fn new(instructions: Instructions, precision: Precision) -> Self {
        Self {
            instructions,
            precision,
            values: Vec::new(),
            pairs: Vec::new(),
            depth: 0,
            n_columns: 0,
        }
    }

    /// Returns the number of columns.
    pub(crate) const fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Packs the rows of `weights` (`n` × `k`) as columns: a product by it is `x · Wᵀ`.
    ///
    /// Column `j` is row `row(j)`.
    pub(crate) fn pack_rows(
        &mut self,
        weights: &[f32],
        n: usize,
        k: usize,
        row: impl Fn(usize) -> usize + Sync,
    ) {
        self.pack(k, n, |depth, column, n_columns, values| {
            for (j, value) in values[..n_columns].iter_mut().enumerate() {
                *value = weights[row(column + j) * k + depth];
            }
        });
    }

    /// Packs `weights` (`n` × `k`) as they are: a product by it is `y · W`.
    ///
    /// Depth `i` is row `row(i)`.
    pub(crate) fn pack_columns(
        &mut self,
        weights: &[f32],
        n: usize,
        k: usize,
        row: impl Fn(usize) -> usize + Sync,
    ) {
        self.pack(n, k, |depth, column, n_columns, values| {
            let from = &weights[row(depth) * k + column..][..n_columns];
            values[..n_columns].copy_from_slice(from);
        });
    }

    /// Packs what `read` writes into the row of one depth of one panel.
    fn pack(
        &mut self,
        depth: usize,
        n_columns: usize,
        read: impl Fn(usize, usize, usize, &mut [f32; COLUMNS]) + Sync,
    ) {
        (self.depth, self.n_columns) = (depth, n_columns);
        let n_panels = n_columns.div_ceil(COLUMNS);
        let width = |panel: usize| COLUMNS.min(n_columns - panel * COLUMNS);
        if depth == 0 {
            return;
        }
        match self.precision {
            Precision::F32 => {
                let length = depth * COLUMNS;
                grow(&mut self.values, n_panels * length);
                let panels = self.values[..n_panels * length].par_chunks_exact_mut(length);
                panels.enumerate().for_each(|(p, panel)| {
                    let (rows, _) = panel.as_chunks_mut::<COLUMNS>();
                    for (k, row) in rows.iter_mut().enumerate() {
                        row[width(p)..].fill(0.0);
                        read(k, p * COLUMNS, width(p), row);
                    }
                });
            }
            Precision::Bf16 => {
                let length = depth.div_ceil(2) * COLUMNS;
                grow(&mut self.pairs, n_panels * length);
                let panels = self.pairs[..n_panels * length].par_chunks_exact_mut(length);
                panels.enumerate().for_each(|(p, panel)| {
                    let mut two = [[0.0; COLUMNS]; 2];
                    for (k, row) in panel.chunks_exact_mut(COLUMNS).enumerate() {
                        read(2 * k, p * COLUMNS, width(p), &mut two[0]);
                        if 2 * k + 1 < depth {
                            read(2 * k + 1, p * COLUMNS, width(p), &mut two[1]);
                        } else {
                            two[1].fill(0.0);
                        }
                        for (j, out) in row.iter_mut().enumerate() {
                            *out = pair(two[0][j], two[1][j]);
                        }
                    }
                });
            }
        }
    }

    /// Multiplies rows by the panels: `out[i][j] = begin + Σ_k rows[i][k] · panel[k][j]`.
    ///
    /// Row `i` of `out` begins at `i · out_stride`. Each element is computed by one thread, in
    /// order of `k`.
    pub(crate) fn multiply(
        &self,
        rows: Rows<'_>,
        strips: &mut Strips,
        out: &mut [f32],
        out_stride: usize,
        begin: Begin<'_>,
    ) {
        if rows.n_rows == 0 {
            return;
        }
        strips.fill(self.instructions, self.precision, rows, self.depth);
        for column in (0..self.n_columns).step_by(COLUMNS) {
            let width = COLUMNS.min(self.n_columns - column);
            for first in (0..rows.n_rows).step_by(ROWS) {
                let n_rows = ROWS.min(rows.n_rows - first);
                let out = &mut out[first * out_stride + column..];
                if width == COLUMNS {
                    let start = match begin {
                        Begin::Zero => Start::Row(&[0.0; COLUMNS]),
                        Begin::Bias(bias) => {
                            Start::Row(bias[column..].first_chunk().expect("a whole panel"))
                        }
                        Begin::Add => Start::Out,
                    };
                    let tile = Tile {
                        start,
                        out,
                        out_stride,
                        n_rows,
                    };
                    self.tile(strips, first / ROWS, column / COLUMNS, tile);
                } else {
                    // The last panel is computed aside, as its zeros must not be written.
                    let mut aside = [0.0; ROWS * COLUMNS];
                    for (i, row) in aside.chunks_exact_mut(COLUMNS).take(n_rows).enumerate() {
                        match begin {
                            Begin::Zero => {}
                            Begin::Bias(bias) => {
                                row[..width].copy_from_slice(&bias[column..][..width])
                            }
                            Begin::Add => {
                                row[..width].copy_from_slice(&out[i * out_stride..][..width])
                            }
                        }
                    }
                    let tile = Tile {
                        start: Start::Out,
                        out: &mut aside,
                        out_stride: COLUMNS,
                        n_rows,
                    };
                    self.tile(strips, first / ROWS, column / COLUMNS, tile);
                    for (i, row) in aside.chunks_exact(COLUMNS).take(n_rows).enumerate() {
                        out[i * out_stride..][..width].copy_from_slice(&row[..width]);
                    }
                }
            }
        }
    }

    /// Computes one tile.
    fn tile(&self, strips: &Strips, strip: usize, panel: usize, tile: Tile<'_>) {
        match self.precision {
            Precision::F32 => {
                let length = self.depth * COLUMNS;
                let panel = &self.values[panel * length..][..length];
                simd::tile_f32(
                    self.instructions,
                    strips.values(strip, self.depth),
                    panel,
                    tile,
                );
            }
            Precision::Bf16 => {
                let length = self.depth.div_ceil(2) * COLUMNS;
                let panel = &self.pairs[panel * length..][..length];
                simd::tile_bf16(
                    self.instructions,
                    strips.pairs(strip, self.depth),
                    panel,
                    tile,
                );
            }
        }
    }
}

//! Packs the right factor of a product into panels of 32 columns, and multiplies by it.

use rayon::prelude::*;

use crate::instructions::Instructions;
use crate::pool::at_least;
use crate::precision::{Precision, pair};
use crate::rows::{Buffer, RowPairs, Rows};
use crate::simd::{self, Begin, COLUMNS, Left, Right, Size, Target};

/// Right factor of a product, packed: `depth` × `n_columns`, columns in panels of 32.
#[derive(Debug)]
pub(crate) struct Panels {
    instructions: Instructions,
    precision: Precision,
    values: Buffer<f32>,
    pairs: Buffer<u32>,
    depth: usize,
    n_columns: usize,
}

impl Panels {
    /// Begins without weights.
    pub(crate) const fn new(instructions: Instructions, precision: Precision) -> Self {
        Self {
            instructions,
            precision,
            values: Buffer::new(),
            pairs: Buffer::new(),
            depth: 0,
            n_columns: 0,
        }
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
        // The last panel is filled up with zeros, which a wide load may read.
        let n_panels = n_columns.div_ceil(COLUMNS);
        let width = |panel: usize| COLUMNS.min(n_columns - panel * COLUMNS);
        // Chunks of length 0 cannot be made, and there is nothing to pack.
        if depth == 0 {
            return;
        }
        match self.precision {
            Precision::F32 => {
                let length = depth * COLUMNS;
                self.values.grow(n_panels * length);
                let panels = &mut self.values[..n_panels * length];
                let panels = panels.par_chunks_exact_mut(length);
                let panels = panels.with_min_len(at_least(length));
                panels.enumerate().for_each(|(p, panel)| {
                    let (rows, _) = panel.as_chunks_mut::<COLUMNS>();
                    for (k, row) in rows.iter_mut().enumerate() {
                        // The buffer may hold another matrix's values there.
                        row[width(p)..].fill(0.0);
                        read(k, p * COLUMNS, width(p), row);
                    }
                });
            }
            Precision::Bf16 => {
                let length = depth.div_ceil(2) * COLUMNS;
                self.pairs.grow(n_panels * length);
                let panels = &mut self.pairs[..n_panels * length];
                let panels = panels.par_chunks_exact_mut(length);
                let panels = panels.with_min_len(at_least(length));
                panels.enumerate().for_each(|(p, panel)| {
                    let mut two = [[0.0; COLUMNS]; 2];
                    for (k, row) in panel.chunks_exact_mut(COLUMNS).enumerate() {
                        read(2 * k, p * COLUMNS, width(p), &mut two[0]);
                        if 2 * k + 1 < depth {
                            read(2 * k + 1, p * COLUMNS, width(p), &mut two[1]);
                        } else {
                            // The depth may be odd: zeros add nothing to a sum.
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
    /// order of `k`. `pairs` is a buffer.
    pub(crate) fn multiply(
        &self,
        rows: Rows<'_>,
        pairs: &mut RowPairs,
        out: &mut [f32],
        out_stride: usize,
        begin: Begin<'_>,
    ) {
        if rows.n_rows == 0 {
            return;
        }
        // Micro-kernels count pairs of depths in bf16.
        let depth = match self.precision {
            Precision::F32 => self.depth,
            Precision::Bf16 => self.depth.div_ceil(2),
        };
        let size = Size {
            n_rows: rows.n_rows,
            n_columns: self.n_columns,
            depth,
        };
        let mut target = Target {
            values: out,
            stride: out_stride,
            begin,
        };
        match self.precision {
            Precision::F32 => {
                let left = Left::rows(rows.values, rows.stride);
                let right = Right::bands(&self.values, depth * COLUMNS);
                simd::product_f32(self.instructions, size, left, right, &mut target);
            }
            Precision::Bf16 => {
                pairs.fill(self.instructions, rows, self.depth);
                let left = Left::rows(pairs.pairs(), depth);
                let right = Right::bands(&self.pairs, depth * COLUMNS);
                simd::product_bf16(self.instructions, size, left, right, &mut target);
            }
        }
    }
}

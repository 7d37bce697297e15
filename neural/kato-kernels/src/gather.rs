//! Gathers scattered rows into the layouts of the micro-kernels.

use crate::instructions::Instructions;
use crate::precision::pair;
use crate::simd::{self, Kernel};

/// Values between the end of a band and the beginning of the next one: without them all bands
/// would begin in the same lines of the cache and drive one another out.
pub(crate) const GAP: usize = 16;

/// Columns of scattered rows: row `i` begins at `i · stride`.
#[derive(Clone, Copy)]
pub(crate) struct Gather<'a> {
    pub(crate) from: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) rows: &'a [u32],
    pub(crate) column: usize,
    pub(crate) n_columns: usize,
}

impl<'a> Gather<'a> {
    /// Writes bands of `W` columns, each of them all rows, zeros behind the last column. A band
    /// has [`GAP`] values more than it needs.
    pub(crate) fn values<const W: usize>(self, instructions: Instructions, out: &mut [f32]) {
        simd::run(instructions, Values::<W> { gather: self, out });
    }

    /// Does the same in bf16, two rows in a pair; a last row alone is paired with zeros.
    pub(crate) fn pairs<const W: usize>(self, instructions: Instructions, out: &mut [u32]) {
        simd::run(instructions, Pairs::<W> { gather: self, out });
    }

    /// Returns the columns of one row.
    #[inline(always)]
    pub(crate) fn row(&self, row: u32) -> &'a [f32] {
        &self.from[row as usize * self.stride + self.column..][..self.n_columns]
    }
}

/// Returns the first `W` values, zeros behind them where there are fewer.
#[inline(always)]
fn padded<const W: usize>(values: &[f32]) -> [f32; W] {
    // A whole chunk is one copy of known length; only the last one of a row is filled up.
    values.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0.0; W];
        padded[..values.len()].copy_from_slice(values);
        padded
    })
}

struct Values<'a, 'b, const W: usize> {
    gather: Gather<'a>,
    out: &'b mut [f32],
}

impl<const W: usize> Kernel for Values<'_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Rows come first, bands second: each scattered row is read once, from end to end.
        let band = self.gather.rows.len() * W + GAP;
        for (i, &row) in self.gather.rows.iter().enumerate() {
            let row = self.gather.row(row).chunks(W);
            for (out, values) in self.out.chunks_exact_mut(band).zip(row) {
                out[i * W..][..W].copy_from_slice(&padded::<W>(values));
            }
        }
    }
}

struct Pairs<'a, 'b, const W: usize> {
    gather: Gather<'a>,
    out: &'b mut [u32],
}

impl<const W: usize> Kernel for Pairs<'_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let band = self.gather.rows.len().div_ceil(2) * W + GAP;
        for (i, rows) in self.gather.rows.chunks(2).enumerate() {
            let first = self.gather.row(rows[0]);
            // The number of rows may be odd: zeros add nothing to a sum.
            let second = rows.get(1).map_or(&[][..], |&row| self.gather.row(row));
            let mut second = second.chunks(W);
            for (out, values) in self.out.chunks_exact_mut(band).zip(first.chunks(W)) {
                let first = padded::<W>(values);
                let second = padded::<W>(second.next().unwrap_or_default());
                let out = &mut out[i * W..][..W];
                for j in 0..W {
                    out[j] = pair(first[j], second[j]);
                }
            }
        }
    }
}

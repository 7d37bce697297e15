//! Gathers columns of scattered rows into the layouts of the micro-kernels.

use crate::instructions::Instructions;
use crate::precision::pair;
use crate::simd::{self, Kernel};

/// Rows to gather from: row `i` begins at `i · stride`.
#[derive(Clone, Copy)]
pub(crate) struct Gather<'a> {
    pub(crate) from: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) rows: &'a [u32],
}

impl Gather<'_> {
    /// Writes `width` columns from `column` on of each row, `W` values a row, zeros behind them.
    pub(crate) fn values<const W: usize>(
        self,
        instructions: Instructions,
        column: usize,
        width: usize,
        out: &mut [f32],
    ) {
        simd::run(
            instructions,
            Values::<W> {
                gather: self,
                column,
                width,
                out,
            },
        );
    }

    /// Does the same in bf16, two rows in a pair; a last row alone is paired with zeros.
    pub(crate) fn pairs<const W: usize>(
        self,
        instructions: Instructions,
        column: usize,
        width: usize,
        out: &mut [u32],
    ) {
        simd::run(
            instructions,
            Pairs::<W> {
                gather: self,
                column,
                width,
                out,
            },
        );
    }

    /// Reads the columns of one row.
    #[inline(always)]
    fn read<const W: usize>(&self, row: u32, column: usize, width: usize) -> [f32; W] {
        let from = &self.from[row as usize * self.stride + column..];
        if width == W
            && let Some(whole) = from.first_chunk()
        {
            *whole
        } else {
            let mut values = [0.0; W];
            values[..width].copy_from_slice(&from[..width]);
            values
        }
    }
}

struct Values<'a, 'b, const W: usize> {
    gather: Gather<'a>,
    column: usize,
    width: usize,
    out: &'b mut [f32],
}

impl<const W: usize> Kernel for Values<'_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (out, _) = self.out.as_chunks_mut::<W>();
        for (out, &row) in out.iter_mut().zip(self.gather.rows) {
            *out = self.gather.read(row, self.column, self.width);
        }
    }
}

struct Pairs<'a, 'b, const W: usize> {
    gather: Gather<'a>,
    column: usize,
    width: usize,
    out: &'b mut [u32],
}

impl<const W: usize> Kernel for Pairs<'_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (out, _) = self.out.as_chunks_mut::<W>();
        for (out, rows) in out.iter_mut().zip(self.gather.rows.chunks(2)) {
            let first = self.gather.read::<W>(rows[0], self.column, self.width);
            let second = match rows.get(1) {
                Some(&row) => self.gather.read::<W>(row, self.column, self.width),
                None => [0.0; W],
            };
            for j in 0..W {
                out[j] = pair(first[j], second[j]);
            }
        }
    }
}

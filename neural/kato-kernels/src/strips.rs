//! Puts rows of the left factor of a product into strips of 8, as the micro-kernels read them.

use crate::instructions::Instructions;
use crate::precision::{Precision, pair};
use crate::simd::{self, Kernel, ROWS};

/// Rows of a matrix: row `i` begins at `i · stride`.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) n_rows: usize,
}

impl<'a> Rows<'a> {
    /// Returns row `i`, `depth` values of it.
    #[inline(always)]
    pub(crate) fn row(&self, i: usize, depth: usize) -> &'a [f32] {
        &self.values[i * self.stride..][..depth]
    }
}

/// Buffer of strips, kept from call to call. Rows that a strip lacks are zero.
#[derive(Debug, Default)]
pub(crate) struct Strips {
    values: Vec<f32>,
    pairs: Vec<u32>,
}

impl Strips {
    /// Fills the buffer with `rows`, of which `depth` values count.
    pub(crate) fn fill(
        &mut self,
        instructions: Instructions,
        precision: Precision,
        rows: Rows<'_>,
        depth: usize,
    ) {
        self.grow(precision, rows.n_rows, depth);
        match precision {
            Precision::F32 => {
                fill(instructions, rows, depth, &mut self.values);
            }
            Precision::Bf16 => {
                simd::run(
                    instructions,
                    FillPairs {
                        rows,
                        depth,
                        strips: &mut self.pairs,
                    },
                );
            }
        }
    }

    /// Makes room for rows of this depth.
    pub(crate) fn grow(&mut self, precision: Precision, n_rows: usize, depth: usize) {
        let n_strips = n_rows.div_ceil(ROWS);
        match precision {
            Precision::F32 => grow(&mut self.values, n_strips * depth * ROWS),
            Precision::Bf16 => grow(&mut self.pairs, n_strips * depth.div_ceil(2) * ROWS),
        }
    }

    /// Returns strip `i` in f32.
    pub(crate) fn values(&self, i: usize, depth: usize) -> &[f32] {
        &self.values[i * depth * ROWS..][..depth * ROWS]
    }

    /// Returns strip `i` in pairs of bf16.
    pub(crate) fn pairs(&self, i: usize, depth: usize) -> &[u32] {
        let length = depth.div_ceil(2) * ROWS;
        &self.pairs[i * length..][..length]
    }
}

/// Makes a buffer long enough; it never shrinks, so that later calls allocate nothing.
pub(crate) fn grow<T: Copy + Default>(buffer: &mut Vec<T>, length: usize) {
    if buffer.len() < length {
        buffer.resize(length, T::default());
    }
}

/// Writes rows as strips in f32.
fn fill(instructions: Instructions, rows: Rows<'_>, depth: usize, strips: &mut [f32]) {
    for (s, strip) in strips.chunks_exact_mut((depth * ROWS).max(1)).enumerate() {
        if s * ROWS >= rows.n_rows {
            break;
        }
        if (s + 1) * ROWS <= rows.n_rows {
            let eight = std::array::from_fn(|i| rows.row(s * ROWS + i, depth));
            simd::transpose(instructions, &eight, strip, ROWS);
            continue;
        }
        strip.fill(0.0);
        for i in 0..rows.n_rows - s * ROWS {
            let row = rows.row(s * ROWS + i, depth);
            for (at, &value) in strip.iter_mut().skip(i).step_by(ROWS).zip(row) {
                *at = value;
            }
        }
    }
}

struct FillPairs<'a> {
    rows: Rows<'a>,
    depth: usize,
    strips: &'a mut [u32],
}

impl Kernel for FillPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            rows,
            depth,
            strips,
        } = self;
        let length = depth.div_ceil(2) * ROWS;
        for (s, strip) in strips.chunks_exact_mut(length.max(1)).enumerate() {
            if s * ROWS >= rows.n_rows {
                break;
            }
            let n = ROWS.min(rows.n_rows - s * ROWS);
            if n < ROWS {
                strip.fill(0);
            }
            for i in 0..n {
                let row = rows.row(s * ROWS + i, depth);
                let (twos, last) = row.as_chunks::<2>();
                let places = strip.iter_mut().skip(i).step_by(ROWS);
                let one = last.first().map(|&value| [value, 0.0]);
                for (place, two) in places.zip(twos.iter().copied().chain(one)) {
                    *place = pair(two[0], two[1]);
                }
            }
        }
    }
}

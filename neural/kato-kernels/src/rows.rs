//! Holds rows of the left factor of a product, and rounds them to pairs of bf16.

use std::ops::{Deref, DerefMut};

use crate::instructions::Instructions;
use crate::precision::{Precision, pair};
use crate::simd::{self, Kernel};

/// Values of four bytes in a line of the cache.
const LINE: usize = 16;

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

/// Buffer of rows in bf16, two neighbours in a pair; kept from call to call. Products in f32 read
/// rows where they are and leave it empty.
#[derive(Debug, Default)]
pub(crate) struct RowPairs(Vec<u32>);

impl RowPairs {
    /// Rounds `rows`, of which `depth` values count; a row takes half as many pairs.
    pub(crate) fn fill(&mut self, instructions: Instructions, rows: Rows<'_>, depth: usize) {
        self.grow(Precision::Bf16, rows.n_rows, depth);
        let pairs = &mut self.0;
        simd::run(instructions, FillPairs { rows, depth, pairs });
    }

    /// Makes room for rows of this depth.
    pub(crate) fn grow(&mut self, precision: Precision, n_rows: usize, depth: usize) {
        // Products in f32 read rows in place and need no buffer.
        if precision == Precision::Bf16 {
            grow(&mut self.0, n_rows * depth.div_ceil(2));
        }
    }

    /// Returns the pairs, row behind row.
    pub(crate) fn pairs(&self) -> &[u32] {
        &self.0
    }
}

/// Makes a buffer long enough; it never shrinks, so that later calls allocate nothing.
pub(crate) fn grow<T: Copy + Default>(buffer: &mut Vec<T>, length: usize) {
    if buffer.len() < length {
        buffer.resize(length, T::default());
    }
}

/// Buffer that begins a line of the cache, so that a vector is read from one line and not from two:
/// an allocation alone begins in the middle of one.
#[derive(Debug, Default)]
pub(crate) struct Buffer<T> {
    values: Vec<T>,
    first: usize,
}

impl<T: Copy + Default> Buffer<T> {
    /// Begins empty.
    pub(crate) const fn new() -> Self {
        Self {
            values: Vec::new(),
            first: 0,
        }
    }

    /// Makes room for `length` values, as [`grow`] does; what it held may be lost.
    pub(crate) fn grow(&mut self, length: usize) {
        if self.len() < length {
            self.values.resize(length + LINE, T::default());
            // A vector that grew may have moved, so the place is looked for anew.
            self.first = self.values.as_ptr().align_offset(4 * LINE).min(LINE);
        }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[self.first..]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.first..]
    }
}

/// Returns a distance between rows of `n` values at which neighbouring rows lie in different sets
/// of the cache: an odd number of its lines. At a power of two a column would fill a few sets only.
pub(crate) const fn padded(n: usize) -> usize {
    let lines = n.div_ceil(LINE);
    (lines + 1 - lines % 2) * LINE
}

struct FillPairs<'a> {
    rows: Rows<'a>,
    depth: usize,
    pairs: &'a mut [u32],
}

impl Kernel for FillPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let length = self.depth.div_ceil(2);
        let out = self.pairs.chunks_exact_mut(length.max(1));
        for (i, out) in out.take(self.rows.n_rows).enumerate() {
            let (twos, last) = self.rows.row(i, self.depth).as_chunks::<2>();
            for (out, two) in out.iter_mut().zip(twos) {
                *out = pair(two[0], two[1]);
            }
            if let ([value], Some(out)) = (last, out.last_mut()) {
                // An odd depth: the weights are padded alike, so the pair adds one product.
                *out = pair(*value, 0.0);
            }
        }
    }
}

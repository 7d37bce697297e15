//! Holds rows that are further apart than they are wide.

use crate::rows::{Buffer, Rows, padded};

/// Matrix of a sequence. Its rows are as far apart as keeps columns in different sets of the cache;
/// what lies between means nothing.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    pub(super) values: Buffer<f32>,
    pub(super) stride: usize,
}

impl Matrix {
    /// Makes room for `n` rows.
    pub(super) fn grow(&mut self, n: usize, width: usize) {
        self.stride = padded(width);
        self.values.grow(n * self.stride);
    }

    /// Returns the first `n` rows.
    pub(super) fn rows(&self, n: usize) -> Rows<'_> {
        Rows {
            values: &self.values,
            stride: self.stride,
            n_rows: n,
        }
    }

    /// Returns the values and the way from a row to the next.
    pub(super) fn target(&mut self) -> (&mut [f32], usize) {
        (&mut self.values, self.stride)
    }
}

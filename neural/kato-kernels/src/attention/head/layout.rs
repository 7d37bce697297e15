//! Says where queries, keys and values of a head lie, and turns keys and values.

use super::Head;
use crate::rows::{Buffer, Rows};
use crate::simd::{self, COLUMNS, Left, ROWS, Right};

/// Columns of a matrix that belong to a head: row `i` begins at `i · stride`.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) first: usize,
}

impl<'a> Columns<'a> {
    /// Returns what lies from a row on.
    fn from(&self, row: usize) -> &'a [f32] {
        self.values
            // A sequence without rows has no first column either.
            .get(row * self.stride + self.first..)
            .unwrap_or_default()
    }

    /// Returns the rows from `row` on as a left factor.
    pub(super) fn left(&self, row: usize) -> Left<'a, f32> {
        Left::rows(self.from(row), self.stride)
    }

    /// Returns the rows from `row` on as a right factor.
    pub(super) fn right(&self, row: usize) -> Right<'a, f32> {
        Right::rows(self.from(row), self.stride)
    }
}

/// Columns that are written.
pub(crate) struct ColumnsMut<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) stride: usize,
    pub(crate) first: usize,
}

impl ColumnsMut<'_> {
    /// Returns what lies from a row on, and the way from a row to the next.
    pub(super) fn target(&mut self, row: usize) -> (&mut [f32], usize) {
        // Columns of other heads lie behind: a product writes no further than its width.
        let at = row * self.stride + self.first;
        (self.values.get_mut(at..).unwrap_or_default(), self.stride)
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
    pub(super) fn part(&mut self, part: usize) -> ColumnsMut<'_> {
        match self {
            Self::Apart(parts) => {
                // A shorter borrow: the three are written one after another.
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

/// Writes keys, or values, as columns in panels of 32; columns behind the last are zero.
pub(super) fn turned(from: Columns<'_>, head: &Head<'_>, out: &mut Buffer<f32>) {
    let (n, width) = (head.n_keys, head.width);
    let rows = Rows {
        values: from.from(0),
        stride: from.stride,
        n_rows: n,
    };
    let length = n.next_multiple_of(COLUMNS) * width;
    out.grow(length);
    // Eight rows of zeros stand for those that lack.
    // Sixty-four at a time, so that no width needs an allocation.
    let zeros = &[0.0; 64][..width.min(64)];
    for first in (0..n.next_multiple_of(COLUMNS)).step_by(ROWS) {
        let at = first / COLUMNS * COLUMNS * width + first % COLUMNS;
        let out = &mut out[at..length];
        // Most rows come in eights; only the last ones need zeros beside them.
        if first + ROWS <= n {
            let eight = std::array::from_fn(|i| rows.row(first + i, width));
            simd::transpose(head.instructions, &eight, out, COLUMNS);
            continue;
        }
        for column in (0..width).step_by(zeros.len()) {
            let used = zeros.len().min(width - column);
            let eight = std::array::from_fn(|i| {
                if first + i < n {
                    &rows.row(first + i, width)[column..][..used]
                } else {
                    &zeros[..used]
                }
            });
            simd::transpose(
                head.instructions,
                &eight,
                &mut out[column * COLUMNS..],
                COLUMNS,
            );
        }
    }
}

//! Puts rows and columns of a head where the micro-kernels read them, and back.

use super::Head;
use crate::instructions::Instructions;
use crate::simd::{self, COLUMNS, Kernel, ROWS};
use crate::strips::Rows;

/// Columns of a matrix that belong to a head: row `i` begins at `i · stride`.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) first: usize,
}

impl<'a> Columns<'a> {
    /// Returns the rows from `row` on.
    pub(super) fn rows(&self, row: usize, n_rows: usize) -> Rows<'a> {
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
    pub(super) fn row(&mut self, i: usize, width: usize) -> &mut [f32] {
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
    pub(super) fn part(&mut self, part: usize) -> ColumnsMut<'_> {
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

/// Writes columns in strips of 8, each with every row; those that a strip lacks are zero.
pub(super) fn columns_in_strips(rows: Rows<'_>, width: usize, out: &mut Vec<f32>) {
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
pub(super) fn as_columns(
    set: Instructions,
    rows: Rows<'_>,
    width: usize,
    scale: f32,
    out: &mut Vec<f32>,
) {
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
pub(super) fn as_rows(rows: Rows<'_>, width: usize, out: &mut Vec<f32>) {
    out.clear();
    out.resize(width.next_multiple_of(COLUMNS) * COLUMNS, 0.0);
    for i in 0..rows.n_rows {
        for (panel, values) in rows.row(i, width).chunks(COLUMNS).enumerate() {
            out[(panel * COLUMNS + i) * COLUMNS..][..values.len()].copy_from_slice(values);
        }
    }
}

/// Writes columns as rows of the output from row `first` on, the first `used` of them.
pub(super) fn turn(
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

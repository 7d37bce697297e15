//! Says where the factors and the result of a product lie.

use super::{COLUMNS, ROWS};

/// Left factor. Element (i, k) is at `(i / 8) · strip + (i % 8) · row + k · depth`.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a, T> {
    pub(super) values: &'a [T],
    pub(super) strip: usize,
    pub(super) row: usize,
    pub(super) depth: usize,
}

impl<'a, T> Left<'a, T> {
    /// Takes the rows of a matrix, `stride` apart.
    pub(crate) const fn rows(values: &'a [T], stride: usize) -> Self {
        Self {
            values,
            strip: ROWS * stride,
            row: stride,
            depth: 1,
        }
    }

    /// Takes the columns of a matrix whose rows are `stride` apart: the matrix transposed.
    pub(crate) const fn columns(values: &'a [T], stride: usize) -> Self {
        Self {
            values,
            strip: ROWS,
            row: 1,
            depth: stride,
        }
    }

    /// Takes strips of 8 rows, depth by depth, `band` apart.
    pub(crate) const fn bands(values: &'a [T], band: usize) -> Self {
        Self {
            values,
            strip: band,
            row: 1,
            depth: ROWS,
        }
    }
}

/// Right factor. Element (k, j) is at `(j / 32) · panel + j % 32 + k · depth`.
#[derive(Clone, Copy)]
pub(crate) struct Right<'a, T> {
    pub(super) values: &'a [T],
    pub(super) panel: usize,
    pub(super) depth: usize,
}

impl<'a, T> Right<'a, T> {
    /// Takes the rows of a matrix, `stride` apart.
    pub(crate) const fn rows(values: &'a [T], stride: usize) -> Self {
        Self {
            values,
            panel: COLUMNS,
            depth: stride,
        }
    }

    /// Takes panels of 32 columns, depth by depth, `band` apart.
    pub(crate) const fn bands(values: &'a [T], band: usize) -> Self {
        Self {
            values,
            panel: band,
            depth: COLUMNS,
        }
    }
}

/// What sums begin with.
#[derive(Clone, Copy)]
pub(crate) enum Begin<'a> {
    /// Nothing.
    Zero,
    /// This row, one value a column.
    Bias(&'a [f32]),
    /// What the output holds.
    Add,
}

/// Where a product goes: rows `stride` apart.
pub(crate) struct Target<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) stride: usize,
    pub(crate) begin: Begin<'a>,
}

/// Rows, columns and depth of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) n_rows: usize,
    pub(crate) n_columns: usize,
    pub(crate) depth: usize,
}

/// Returns the last place of a grid plus one.
const fn end(counts: [usize; 2], strides: [usize; 2]) -> usize {
    (counts[0] - 1) * strides[0] + (counts[1] - 1) * strides[1] + 1
}

/// Checks that factors have every place that a product of a depth of at least 1 reads.
fn check_factors<T>(size: Size, left: &Left<'_, T>, right: &Right<'_, T>) {
    let Size {
        n_rows,
        n_columns,
        depth,
    } = size;
    // Places grow with every index, so the last of each kind bounds all others.
    let (strips, last) = (n_rows.div_ceil(ROWS), (n_rows - 1) % ROWS);
    let strip = ROWS.min(n_rows) - 1;
    // The last strip may be shorter; the one before it is whole and may reach further.
    let before = (strips.max(2) - 2) * left.strip + strip * left.row;
    let at = ((strips - 1) * left.strip + last * left.row).max(before);
    assert!(
        at + (depth - 1) * left.depth < left.values.len(),
        "the left factor has its rows"
    );
    let (panels, last) = (n_columns.div_ceil(COLUMNS), (n_columns - 1) % COLUMNS);
    let before = (panels.max(2) - 2) * right.panel + COLUMNS.min(n_columns) - 1;
    let at = ((panels - 1) * right.panel + last).max(before);
    assert!(
        at + (depth - 1) * right.depth < right.values.len(),
        "the right factor has its columns"
    );
}

/// Checks that a product of at least one row and column lies inside factors and output.
///
/// # Panics
///
/// Panics where one of them is too short.
pub(super) fn check<T>(size: Size, left: &Left<'_, T>, right: &Right<'_, T>, target: &Target<'_>) {
    assert!(
        end([size.n_rows, size.n_columns], [target.stride, 1]) <= target.values.len(),
        "a product lies inside its output"
    );
    // Nothing is read of factors without depth, which may be empty then.
    if size.depth > 0 {
        check_factors(size, left, right);
    }
    if let Begin::Bias(bias) = target.begin {
        assert!(size.n_columns <= bias.len(), "a bias has a value a column");
    }
}

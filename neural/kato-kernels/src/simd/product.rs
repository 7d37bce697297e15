//! Multiplies matrices where they lie: neither factor needs a layout of its own.

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::plain;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{COLUMNS, ROWS};
use crate::instructions::{InstructionSet, Instructions};

/// Depths that are summed at a time: a panel of them (24 KiB) stays in the nearest cache while
/// strip after strip passes.
const CHUNK: usize = 192;

/// Left factor. Element (i, k) is at `(i / 8) · strip + (i % 8) · row + k · depth`.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a, T> {
    values: &'a [T],
    strip: usize,
    row: usize,
    depth: usize,
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
    values: &'a [T],
    panel: usize,
    depth: usize,
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
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) n_rows: usize,
    pub(crate) n_columns: usize,
    pub(crate) depth: usize,
}

/// Tiles of a product, one below the other: up to 32 columns, over some depths.
#[derive(Clone, Copy)]
pub(super) struct Tile<T> {
    /// First element of the left factor, and the ways from a strip, a row and a depth to the next.
    pub(super) left: *const T,
    pub(super) strip: usize,
    pub(super) row: usize,
    pub(super) left_depth: usize,
    pub(super) right: *const T,
    pub(super) right_depth: usize,
    /// What sums begin with, 0 apart for one row that all begin with; null for zeros.
    pub(super) start: *const f32,
    pub(super) start_stride: usize,
    pub(super) out: *mut f32,
    pub(super) out_stride: usize,
    pub(super) n_rows: usize,
    pub(super) width: usize,
    pub(super) depth: usize,
    /// Tells whether the tile 8 rows further down is whole and begins with what is in its place.
    pub(super) more: bool,
}

impl<T: Copy> Tile<T> {
    /// Returns tiles of up to 8 rows.
    #[inline(always)]
    pub(super) fn strips(self) -> impl Iterator<Item = Self> {
        let begun = std::ptr::eq(self.start, self.out);
        (0..self.n_rows).step_by(ROWS).map(move |first| Self {
            // Places are formed without a bound here, and used where the caller vouches for them.
            left: self.left.wrapping_add(first / ROWS * self.strip),
            start: if self.start.is_null() {
                self.start
            } else {
                self.start.wrapping_add(first * self.start_stride)
            },
            out: self.out.wrapping_add(first * self.out_stride),
            n_rows: ROWS.min(self.n_rows - first),
            more: begun && first + 2 * ROWS <= self.n_rows,
            ..self
        })
    }
}

/// Computes `out[i][j] = begin + Σ_k left[i][k] · right[k][j]` in f32.
///
/// Every sum runs over `k` in order with one rounding a step, so all instruction sets give the
/// same bits.
///
/// # Panics
///
/// Panics where a factor or the output is too short.
pub(crate) fn product_f32(
    set: Instructions,
    size: Size,
    left: Left<'_, f32>,
    right: Right<'_, f32>,
    target: &mut Target<'_>,
) {
    let tile: unsafe fn(Tile<f32>) = match set.set() {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Bf16 | InstructionSet::Avx512 => x86::tile_f32_avx512,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => x86::tile_f32_avx2,
        #[cfg(target_arch = "aarch64")]
        InstructionSet::Neon => neon::tile_f32,
        _ => plain::tile_f32,
    };
    // SAFETY: a value of `Instructions` exists only where the processor was seen to have them.
    unsafe { over_tiles(size, left, right, target, tile) }
}

/// Computes a product of pairs of bf16 with f32 sums.
///
/// An element of a factor is a pair of depths, the even one in the low half and the odd one in the
/// high half. The odd product is added first, then the even one, each with one rounding: what the
/// instruction of AVX-512-BF16 does.
///
/// # Panics
///
/// Panics where a factor or the output is too short.
pub(crate) fn product_bf16(
    set: Instructions,
    size: Size,
    left: Left<'_, u32>,
    right: Right<'_, u32>,
    target: &mut Target<'_>,
) {
    let tile: unsafe fn(Tile<u32>) = match set.set() {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Bf16 => x86::tile_bf16_avx512,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => x86::tile_pairs_avx512,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => x86::tile_pairs_avx2,
        _ => plain::tile_pairs,
    };
    // SAFETY: as in `product_f32`.
    unsafe { over_tiles(size, left, right, target, tile) }
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

/// Checks lengths, then computes tile after tile.
///
/// # Safety
///
/// The processor has the instructions of `tile`.
unsafe fn over_tiles<T: Copy>(
    size: Size,
    left: Left<'_, T>,
    right: Right<'_, T>,
    target: &mut Target<'_>,
    tile: unsafe fn(Tile<T>),
) {
    let Size {
        n_rows,
        n_columns,
        depth,
    } = size;
    if n_rows == 0 || n_columns == 0 {
        return;
    }
    let stride = target.stride;
    assert!(
        end([n_rows, n_columns], [stride, 1]) <= target.values.len(),
        "a product lies inside its output"
    );
    if depth > 0 {
        check_factors(size, &left, &right);
    }
    if let Begin::Bias(bias) = target.begin {
        assert!(n_columns <= bias.len(), "a bias has a value a column");
    }
    let n_chunks = depth.div_ceil(CHUNK).max(1);
    let chunk = depth.div_ceil(n_chunks);
    let (a, b, out) = (left.values, right.values, target.values.as_mut_ptr());
    for column in (0..n_columns).step_by(COLUMNS) {
        for c in 0..n_chunks {
            let first_depth = c * chunk;
            // Factors of depth 0 may be empty, and no place of theirs is read then.
            let place = a
                .get(first_depth * left.depth..)
                .map_or(a.as_ptr(), <[T]>::as_ptr);
            let at = (column / COLUMNS) * right.panel + first_depth * right.depth;
            let panel = b.get(at..).map_or(b.as_ptr(), <[T]>::as_ptr);
            // SAFETY: by the first assertion, this column lies inside.
            let out = unsafe { out.add(column) };
            let (start, start_stride) = match target.begin {
                _ if c > 0 => (out.cast_const(), stride),
                Begin::Add => (out.cast_const(), stride),
                Begin::Bias(bias) => (bias[column..].as_ptr(), 0),
                Begin::Zero => (std::ptr::null(), 0),
            };
            let tiles = Tile {
                left: place,
                strip: left.strip,
                row: left.row,
                left_depth: left.depth,
                right: panel,
                right_depth: right.depth,
                start,
                start_stride,
                out,
                out_stride: stride,
                n_rows,
                width: COLUMNS.min(n_columns - column),
                depth: chunk.min(depth - first_depth),
                more: false,
            };
            // SAFETY: the caller vouches for the instructions. The assertions keep every place
            // inside: `n_rows` rows and `width` columns of the factors and of the output, and of a
            // bias as many as there are columns.
            unsafe { tile(tiles) }
        }
    }
}

//! Multiplies matrices where they lie: neither factor needs a layout of its own.

use super::factors::{Begin, Left, Right, Size, Target, check};
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
        // Sums that begin with what the output holds are the ones worth fetching early.
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
    check(size, &left, &right, target);
    let stride = target.stride;
    // Chunks of like length; one without depth still writes what sums begin with.
    let n_chunks = depth.div_ceil(CHUNK).max(1);
    let chunk = depth.div_ceil(n_chunks);
    let (a, b, out) = (left.values, right.values, target.values.as_mut_ptr());
    for column in (0..n_columns).step_by(COLUMNS) {
        // Depths in order: each sum goes on from where the chunk before left it.
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
                Begin::Zero if c == 0 => (std::ptr::null(), 0),
                Begin::Bias(bias) if c == 0 => (bias[column..].as_ptr(), 0),
                // Later depths go on where earlier ones ended.
                _ => (out.cast_const(), stride),
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
                // Only the last panel is narrower, and only it is masked.
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

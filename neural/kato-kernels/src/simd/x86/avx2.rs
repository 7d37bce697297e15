//! Holds the micro-kernels of AVX2 with FMA.

use std::arch::x86_64::{
    __m256i, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_maskload_ps,
    _mm256_maskstore_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
};

use super::super::product::Tile;
use super::super::{COLUMNS, plain};

/// # Safety
///
/// The processor has the instructions, and the places are as the tile's fields say: `n_rows` rows
/// and `width` columns (1 to 32) of factors, start and output, over `depth` elements.
#[target_feature(enable = "avx2,fma")]
pub(in super::super) unsafe fn tile_f32_avx2(tiles: Tile<f32>) {
    for tile in tiles.strips() {
        // SAFETY: the caller vouches for the instructions and the places.
        unsafe {
            if tile.width == COLUMNS {
                whole(tile);
            } else {
                narrow(tile);
            }
        }
    }
}

/// Returns up to `most` rows and columns of a tile, from these on.
///
/// # Safety
///
/// The tile has row `row` and column `column`, as its fields say.
#[inline(always)]
unsafe fn part(tile: Tile<f32>, [row, column]: [usize; 2], most: [usize; 2]) -> Tile<f32> {
    Tile {
        left: tile.left.wrapping_add(row * tile.row),
        right: tile.right.wrapping_add(column),
        start: if tile.start.is_null() {
            tile.start
        } else {
            // SAFETY: a start has the rows and columns of the output.
            unsafe { tile.start.add(row * tile.start_stride + column) }
        },
        // SAFETY: the caller vouches for the place.
        out: unsafe { tile.out.add(row * tile.out_stride + column) },
        n_rows: most[0].min(tile.n_rows - row),
        width: most[1].min(tile.width - column),
        ..tile
    }
}

/// Computes up to 8 rows of 32 columns, three at a time: with their twelve sums, a vector of the panel and a value of
/// each row, all sixteen registers are used, and a vector that was read serves three sums.
///
/// # Safety
///
/// As [`tile_f32_avx2`].
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn whole(tile: Tile<f32>) {
    for first in (0..tile.n_rows).step_by(3) {
        // SAFETY: rows from `first` below `n_rows`, as the caller vouches for.
        unsafe {
            let part = part(tile, [first, 0], [3, COLUMNS]);
            match part.n_rows {
                1 => rows_whole::<1>(part),
                2 => rows_whole::<2>(part),
                _ => rows_whole::<3>(part),
            }
        }
    }
}

/// # Safety
///
/// As [`tile_f32_avx2`], with `R` rows and 32 columns.
#[target_feature(enable = "avx2,fma")]
unsafe fn rows_whole<const R: usize>(tile: Tile<f32>) {
    let mut sums = [[_mm256_setzero_ps(); 4]; R];
    // SAFETY: the caller vouches for rows below `R`, 32 columns and depths below `depth`.
    unsafe {
        if !tile.start.is_null() {
            for (i, sums) in sums.iter_mut().enumerate() {
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = _mm256_loadu_ps(tile.start.add(i * tile.start_stride + 8 * j));
                }
            }
        }
        let rows: [_; R] = std::array::from_fn(|i| tile.left.wrapping_add(i * tile.row));
        for k in 0..tile.depth {
            let b = tile.right.add(k * tile.right_depth);
            let a = rows.map(|row| _mm256_set1_ps(*row.add(k * tile.left_depth)));
            for j in 0..4 {
                let b = _mm256_loadu_ps(b.add(8 * j));
                for (sums, a) in sums.iter_mut().zip(a) {
                    sums[j] = _mm256_fmadd_ps(a, b, sums[j]);
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, &sum) in sums.iter().enumerate() {
                _mm256_storeu_ps(tile.out.add(i * tile.out_stride + 8 * j), sum);
            }
        }
    }
}

/// Computes up to 8 rows of fewer columns, 4 × 16 at a time.
///
/// # Safety
///
/// As [`tile_f32_avx2`].
#[target_feature(enable = "avx2,fma")]
unsafe fn narrow(tile: Tile<f32>) {
    for first in (0..tile.n_rows).step_by(4) {
        for column in (0..tile.width).step_by(16) {
            // SAFETY: rows from `first` below `n_rows` and columns from `column` below `width`, as
            // the caller vouches for.
            unsafe {
                let part = part(tile, [first, column], [4, 16]);
                match (part.n_rows, part.width == 16) {
                    (1, true) => rows_narrow::<1, true>(part),
                    (2, true) => rows_narrow::<2, true>(part),
                    (3, true) => rows_narrow::<3, true>(part),
                    (_, true) => rows_narrow::<4, true>(part),
                    (1, false) => rows_narrow::<1, false>(part),
                    (2, false) => rows_narrow::<2, false>(part),
                    (3, false) => rows_narrow::<3, false>(part),
                    (_, false) => rows_narrow::<4, false>(part),
                }
            }
        }
    }
}

/// Masks of 16 columns, of which the first `width` count, begin at `16 − width`.
static MASKS: [i32; 32] = {
    let mut masks = [0; 32];
    let mut i = 0;
    while i < 16 {
        masks[i] = -1;
        i += 1;
    }
    masks
};

/// # Safety
///
/// As [`tile_f32_avx2`], with `R` rows and up to 16 columns.
#[target_feature(enable = "avx2,fma")]
unsafe fn rows_narrow<const R: usize, const WHOLE: bool>(tile: Tile<f32>) {
    let mut sums = [[_mm256_setzero_ps(); 2]; R];
    // SAFETY: the caller vouches for rows below `R`, `width` columns and depths below `depth`; what
    // is masked is not touched. `width` is at most 16, and the masks have 32 values.
    unsafe {
        let masks = MASKS.as_ptr().add(16 - tile.width);
        let masks = [0, 8].map(|j| _mm256_loadu_si256(masks.add(j).cast::<__m256i>()));
        let read = |from: *const f32| {
            if WHOLE {
                [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))]
            } else {
                [
                    _mm256_maskload_ps(from, masks[0]),
                    _mm256_maskload_ps(from.wrapping_add(8), masks[1]),
                ]
            }
        };
        if !tile.start.is_null() {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = read(tile.start.add(i * tile.start_stride));
            }
        }
        for k in 0..tile.depth {
            let b = read(tile.right.add(k * tile.right_depth));
            let rows = tile.left.add(k * tile.left_depth);
            for (i, sum) in sums.iter_mut().enumerate() {
                let a = _mm256_set1_ps(*rows.add(i * tile.row));
                sum[0] = _mm256_fmadd_ps(a, b[0], sum[0]);
                sum[1] = _mm256_fmadd_ps(a, b[1], sum[1]);
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            let row = tile.out.add(i * tile.out_stride);
            if WHOLE {
                _mm256_storeu_ps(row, sum[0]);
                _mm256_storeu_ps(row.add(8), sum[1]);
            } else {
                _mm256_maskstore_ps(row, masks[0], sum[0]);
                _mm256_maskstore_ps(row.wrapping_add(8), masks[1], sum[1]);
            }
        }
    }
}

/// # Safety
///
/// As [`tile_f32_avx2`], with pairs of bf16 as elements of the factors.
#[target_feature(enable = "avx2,fma")]
pub(in super::super) unsafe fn tile_pairs_avx2(tile: Tile<u32>) {
    // SAFETY: passed on.
    unsafe { plain::tile(tile, plain::pairs) }
}

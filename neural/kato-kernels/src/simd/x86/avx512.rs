//! Holds the micro-kernels of AVX-512 and AVX-512-BF16.

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, __mmask16, _MM_HINT_T0, _mm_prefetch, _mm512_and_si512,
    _mm512_castps_si512, _mm512_castsi512_ps, _mm512_dpbf16_ps, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_set1_ps,
    _mm512_setzero_ps, _mm512_slli_epi32, _mm512_storeu_ps,
};
use std::mem::transmute;

use super::super::product::Tile;
use super::super::{COLUMNS, ROWS};

/// Calls a micro-kernel with its number of rows as a constant, so that its sums stay in registers,
/// and whether its 32 columns are whole, so that only others are masked.
macro_rules! by_rows {
    ($kernel:ident, $tiles:expr) => {
        // SAFETY: passed on from the caller, which vouches for pointers and instructions.
        unsafe {
            for tile in $tiles.strips() {
                match (tile.n_rows, tile.width == COLUMNS) {
                    (1, true) => $kernel::<1, true>(tile),
                    (2, true) => $kernel::<2, true>(tile),
                    (3, true) => $kernel::<3, true>(tile),
                    (4, true) => $kernel::<4, true>(tile),
                    (5, true) => $kernel::<5, true>(tile),
                    (6, true) => $kernel::<6, true>(tile),
                    (7, true) => $kernel::<7, true>(tile),
                    (_, true) => $kernel::<8, true>(tile),
                    (1, false) => $kernel::<1, false>(tile),
                    (2, false) => $kernel::<2, false>(tile),
                    (3, false) => $kernel::<3, false>(tile),
                    (4, false) => $kernel::<4, false>(tile),
                    (5, false) => $kernel::<5, false>(tile),
                    (6, false) => $kernel::<6, false>(tile),
                    (7, false) => $kernel::<7, false>(tile),
                    (_, false) => $kernel::<8, false>(tile),
                }
            }
        }
    };
}

/// Reads 32 values, or those below a width, which `masks` tell.
///
/// # Safety
///
/// They can be read.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn read<const WHOLE: bool>(from: *const f32, masks: [__mmask16; 2]) -> [__m512; 2] {
    // SAFETY: the caller vouches for what is read; a masked load touches nothing else, and the
    // address of what it does not touch is formed without a bound.
    unsafe {
        if WHOLE {
            [_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16))]
        } else {
            [
                _mm512_maskz_loadu_ps(masks[0], from),
                _mm512_maskz_loadu_ps(masks[1], from.wrapping_add(16)),
            ]
        }
    }
}

/// Returns the masks of two vectors for this many columns.
const fn masks(width: usize) -> [__mmask16; 2] {
    // In 64 bits, as a shift by 32 would not fit into 32.
    let bits = ((1_u64 << width) - 1) as u32;
    [bits as u16, (bits >> 16) as u16]
}

/// Reads what the sums of `R` rows begin with, and sends for what those of the next tile do.
///
/// # Safety
///
/// As the tile's fields say.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn begin<const R: usize, const WHOLE: bool, T>(tile: &Tile<T>) -> [[__m512; 2]; R] {
    let mut sums = [[_mm512_setzero_ps(); 2]; R];
    if tile.start.is_null() {
        return sums;
    }
    let masks = masks(tile.width);
    for (i, sum) in sums.iter_mut().enumerate() {
        // SAFETY: row `i` of the start can be read.
        *sum = unsafe { read::<WHOLE>(tile.start.add(i * tile.start_stride), masks) };
    }
    if tile.more {
        // Sums are read before anything hides their way from the cache: that is begun a tile ahead.
        for i in 0..R {
            let row = tile.out.wrapping_add((i + ROWS) * tile.out_stride);
            _mm_prefetch::<_MM_HINT_T0>(row.cast());
            _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(16).cast());
        }
    }
    sums
}

/// Writes the sums of `R` rows.
///
/// # Safety
///
/// As the tile's fields say.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn finish<const R: usize, const WHOLE: bool, T>(tile: &Tile<T>, sums: [[__m512; 2]; R]) {
    let masks = masks(tile.width);
    for (i, sum) in sums.into_iter().enumerate() {
        // SAFETY: row `i` of the output can be written, as far as the masks go.
        unsafe {
            let row = tile.out.add(i * tile.out_stride);
            if WHOLE {
                _mm512_storeu_ps(row, sum[0]);
                _mm512_storeu_ps(row.add(16), sum[1]);
            } else {
                _mm512_mask_storeu_ps(row, masks[0], sum[0]);
                _mm512_mask_storeu_ps(row.wrapping_add(16), masks[1], sum[1]);
            }
        }
    }
}

/// # Safety
///
/// The processor has the instructions, and the places are as the tile's fields say: `n_rows` rows
/// and `width` columns (1 to 32) of factors, start and output, over `depth` elements.
#[target_feature(enable = "avx512f")]
pub(in super::super) unsafe fn tile_f32_avx512(tiles: Tile<f32>) {
    by_rows!(rows_f32, tiles);
}

/// # Safety
///
/// As [`tile_f32_avx512`], with `R` rows.
#[target_feature(enable = "avx512f")]
unsafe fn rows_f32<const R: usize, const WHOLE: bool>(tile: Tile<f32>) {
    let masks = masks(tile.width);
    // SAFETY: the caller vouches for every place that is formed here: row `i < R` and depth
    // `k < depth` of the left factor, that depth of the right one.
    unsafe {
        let mut sums = begin::<R, WHOLE, _>(&tile);
        // A pointer a row: any layout of the left factor costs the same then.
        let rows: [_; R] = std::array::from_fn(|i| tile.left.wrapping_add(i * tile.row));
        for k in 0..tile.depth {
            let b = read::<WHOLE>(tile.right.add(k * tile.right_depth), masks);
            let at = k * tile.left_depth;
            for (sum, row) in sums.iter_mut().zip(rows) {
                // One value against 32 columns: sixteen sums in flight hide each other's latency.
                let a = _mm512_set1_ps(*row.add(at));
                sum[0] = _mm512_fmadd_ps(a, b[0], sum[0]);
                sum[1] = _mm512_fmadd_ps(a, b[1], sum[1]);
            }
        }
        finish::<R, WHOLE, _>(&tile, sums);
    }
}

/// # Safety
///
/// As [`tile_f32_avx512`], with pairs of bf16 as elements of the factors.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(in super::super) unsafe fn tile_bf16_avx512(tiles: Tile<u32>) {
    by_rows!(rows_bf16, tiles);
}

/// # Safety
///
/// As [`tile_bf16_avx512`], with `R` rows.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn rows_bf16<const R: usize, const WHOLE: bool>(tile: Tile<u32>) {
    let masks = masks(tile.width);
    // SAFETY: places as in `rows_f32`. A vector of 32 bf16 has the size and the bits of one
    // of 16 values, and every pattern of bits is a value of both.
    unsafe {
        let mut sums = begin::<R, WHOLE, _>(&tile);
        let rows: [_; R] = std::array::from_fn(|i| tile.left.wrapping_add(i * tile.row));
        for k in 0..tile.depth {
            let b = read::<WHOLE>(tile.right.add(k * tile.right_depth).cast(), masks);
            let b = b.map(|b| transmute::<__m512, __m512bh>(b));
            let at = k * tile.left_depth;
            for (sum, row) in sums.iter_mut().zip(rows) {
                let a = _mm512_set1_epi32((*row.add(at)).cast_signed());
                let a = transmute::<__m512i, __m512bh>(a);
                sum[0] = _mm512_dpbf16_ps(sum[0], a, b[0]);
                sum[1] = _mm512_dpbf16_ps(sum[1], a, b[1]);
            }
        }
        finish::<R, WHOLE, _>(&tile, sums);
    }
}

/// # Safety
///
/// As [`tile_f32_avx512`], with pairs of bf16 as elements of the factors.
#[target_feature(enable = "avx512f")]
pub(in super::super) unsafe fn tile_pairs_avx512(tiles: Tile<u32>) {
    by_rows!(rows_pairs, tiles);
}

/// # Safety
///
/// As [`tile_pairs_avx512`], with `R` rows.
#[target_feature(enable = "avx512f")]
unsafe fn rows_pairs<const R: usize, const WHOLE: bool>(tile: Tile<u32>) {
    let high = _mm512_set1_epi32(0xffff_0000_u32.cast_signed());
    let masks = masks(tile.width);
    // SAFETY: places as in `rows_f32`.
    unsafe {
        let mut sums = begin::<R, WHOLE, _>(&tile);
        let rows: [_; R] = std::array::from_fn(|i| tile.left.wrapping_add(i * tile.row));
        for k in 0..tile.depth {
            let b = read::<WHOLE>(tile.right.add(k * tile.right_depth).cast(), masks);
            let b = b.map(|b| _mm512_castps_si512(b));
            let odd = b.map(|b| _mm512_castsi512_ps(_mm512_and_si512(b, high)));
            let even = b.map(|b| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(b)));
            let at = k * tile.left_depth;
            for (sum, row) in sums.iter_mut().zip(rows) {
                let a = _mm512_set1_epi32((*row.add(at)).cast_signed());
                let a_odd = _mm512_castsi512_ps(_mm512_and_si512(a, high));
                let a_even = _mm512_castsi512_ps(_mm512_slli_epi32::<16>(a));
                for j in 0..2 {
                    // The products are exact, so the fused form rounds as the plain one.
                    sum[j] = _mm512_fmadd_ps(a_odd, odd[j], sum[j]);
                    sum[j] = _mm512_fmadd_ps(a_even, even[j], sum[j]);
                }
            }
        }
        finish::<R, WHOLE, _>(&tile, sums);
    }
}

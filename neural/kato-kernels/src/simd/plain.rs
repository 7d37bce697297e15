//! Computes tiles in plain Rust: what runs where there is nothing better, and the tests' oracle.

use super::COLUMNS;
use super::product::Tile;

/// Computes a tile; `term` adds the products of one element of each factor to a sum.
///
/// # Safety
///
/// As the tile's fields say: `n_rows` rows and `width` columns of both factors, over `depth`
/// elements, and of start and output, can be read or written.
#[inline(always)]
pub(super) unsafe fn tile<T: Copy>(tiles: Tile<T>, term: impl Fn(T, T, f32) -> f32) {
    let rows = tiles
        .strips()
        .flat_map(|tile| (0..tile.n_rows).map(move |i| (tile, i)));
    for (tile, i) in rows {
        let mut sums = [0.0; COLUMNS];
        let sums = &mut sums[..tile.width];
        // SAFETY: row `i`, columns below `width` and depths below `depth`, as the caller vouches.
        unsafe {
            if !tile.start.is_null() {
                let start = tile.start.add(i * tile.start_stride);
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = *start.add(j);
                }
            }
            for k in 0..tile.depth {
                let a = *tile.left.add(i * tile.row + k * tile.left_depth);
                let b = tile.right.add(k * tile.right_depth);
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = term(a, *b.add(j), *sum);
                }
            }
            let out = tile.out.add(i * tile.out_stride);
            for (j, &sum) in sums.iter().enumerate() {
                *out.add(j) = sum;
            }
        }
    }
}

/// Computes an f32 tile; a fused multiplication keeps the bits of the wide forms.
///
/// # Safety
///
/// As [`tile`].
pub(super) unsafe fn tile_f32(all: Tile<f32>) {
    // SAFETY: passed on.
    unsafe { tile(all, f32::mul_add) }
}

/// Adds the products of two pairs of bf16.
#[inline(always)]
pub(super) fn pairs(a: u32, b: u32, sum: f32) -> f32 {
    let high = |pair: u32| f32::from_bits(pair & 0xffff_0000);
    let low = |pair: u32| f32::from_bits(pair << 16);
    // A product of two bf16 is exact in f32, so this rounds as a fused one does.
    sum + high(a) * high(b) + low(a) * low(b)
}

/// Computes a tile of pairs of bf16.
///
/// # Safety
///
/// As [`tile`].
pub(super) unsafe fn tile_pairs(all: Tile<u32>) {
    // SAFETY: passed on.
    unsafe { tile(all, pairs) }
}

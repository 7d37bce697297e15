//! Holds the micro-kernel of AArch64: NEON.

use std::arch::aarch64::{vdupq_n_f32, vfmaq_f32, vld1q_f32, vst1q_f32};

use super::plain;
use super::product::Tile;

/// # Safety
///
/// The processor has NEON, and the places are as the tile's fields say: `n_rows` rows and
/// `width` columns (1 to 32) of factors, start and output, over `depth` elements.
#[target_feature(enable = "neon")]
pub(super) unsafe fn tile_f32(tiles: Tile<f32>) {
    // Thirty-two registers hold 4 rows × 16 columns with room for the factors.
    let halves = tiles
        .strips()
        .flat_map(|tile| [0, 4].map(|first| (tile, first)));
    for (tile, first) in halves.filter(|(tile, first)| *first < tile.n_rows) {
        for column in (0..tile.width).step_by(16) {
            // SAFETY: rows from `first` below `n_rows` and columns from `column` below `width`, as
            // the caller vouches for.
            unsafe {
                let part = Tile {
                    left: tile.left.wrapping_add(first * tile.row),
                    right: tile.right.wrapping_add(column),
                    start: if tile.start.is_null() {
                        tile.start
                    } else {
                        tile.start.add(first * tile.start_stride + column)
                    },
                    out: tile.out.add(first * tile.out_stride + column),
                    n_rows: 4.min(tile.n_rows - first),
                    width: 16.min(tile.width - column),
                    ..tile
                };
                match (part.width, part.n_rows) {
                    (16, 1) => rows_f32::<1>(part),
                    (16, 2) => rows_f32::<2>(part),
                    (16, 3) => rows_f32::<3>(part),
                    (16, _) => rows_f32::<4>(part),
                    // NEON has no masks: the last columns are computed one by one.
                    _ => plain::tile(part, f32::mul_add),
                }
            }
        }
    }
}

/// # Safety
///
/// As [`tile_f32`], with `R` rows and 16 columns.
#[target_feature(enable = "neon")]
unsafe fn rows_f32<const R: usize>(tile: Tile<f32>) {
    let mut sums = [[vdupq_n_f32(0.0); 4]; R];
    // SAFETY: the caller vouches for rows below `R`, 16 columns and depths below `depth`.
    unsafe {
        if !tile.start.is_null() {
            for (i, sum) in sums.iter_mut().enumerate() {
                for (j, sum) in sum.iter_mut().enumerate() {
                    *sum = vld1q_f32(tile.start.add(i * tile.start_stride + 4 * j));
                }
            }
        }
        for k in 0..tile.depth {
            let columns = tile.right.add(k * tile.right_depth);
            let b = [0, 4, 8, 12].map(|j| vld1q_f32(columns.add(j)));
            let rows = tile.left.add(k * tile.left_depth);
            for (i, sum) in sums.iter_mut().enumerate() {
                let a = vdupq_n_f32(*rows.add(i * tile.row));
                for (sum, b) in sum.iter_mut().zip(b) {
                    *sum = vfmaq_f32(*sum, a, b);
                }
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            for (j, &sum) in sum.iter().enumerate() {
                vst1q_f32(tile.out.add(i * tile.out_stride + 4 * j), sum);
            }
        }
    }
}

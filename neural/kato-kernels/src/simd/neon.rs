//! Holds the micro-kernel of AArch64: NEON.

use std::arch::aarch64::{vdupq_n_f32, vfmaq_f32, vld1q_f32, vst1q_f32};

use super::{COLUMNS, ROWS, Strides};

/// # Safety
///
/// `strip` has `8·n` and `panel` `32·n` readable values; `start` and `out` have `n_rows` (1 to 8)
/// rows of 32, readable and writable, at their strides.
#[target_feature(enable = "neon")]
pub(super) unsafe fn tile_f32(
    n_rows: usize,
    shape: Strides,
    strip: *const f32,
    panel: *const f32,
    start: *const f32,
    out: *mut f32,
) {
    // Thirty-two registers hold 4 rows × 16 columns with room for the factors.
    for first in (0..n_rows).step_by(4) {
        for column in [0, 16] {
            // SAFETY: rows `first..first + 4` below `n_rows` and columns below 32, as the caller
            // vouches for.
            unsafe {
                let strip = strip.add(first);
                let panel = panel.add(column);
                let start = start.add(first * shape.start_stride + column);
                let out = out.add(first * shape.out_stride + column);
                match n_rows - first {
                    1 => rows_f32::<1>(shape, strip, panel, start, out),
                    2 => rows_f32::<2>(shape, strip, panel, start, out),
                    3 => rows_f32::<3>(shape, strip, panel, start, out),
                    _ => rows_f32::<4>(shape, strip, panel, start, out),
                }
            }
        }
    }
}

/// # Safety
///
/// As [`tile_f32`], with `R` rows and 16 columns.
#[target_feature(enable = "neon")]
unsafe fn rows_f32<const R: usize>(
    shape: Strides,
    strip: *const f32,
    panel: *const f32,
    start: *const f32,
    out: *mut f32,
) {
    let mut sums = [[vdupq_n_f32(0.0); 4]; R];
    // SAFETY: the caller vouches for rows below `R`, 16 columns and depths below `n`.
    unsafe {
        for (i, sum) in sums.iter_mut().enumerate() {
            for (j, sum) in sum.iter_mut().enumerate() {
                *sum = vld1q_f32(start.add(i * shape.start_stride + 4 * j));
            }
        }
        for k in 0..shape.n {
            let columns = panel.add(k * COLUMNS);
            let b = [0, 4, 8, 12].map(|j| vld1q_f32(columns.add(j)));
            let rows = strip.add(k * ROWS);
            for (i, sum) in sums.iter_mut().enumerate() {
                let a = vdupq_n_f32(*rows.add(i));
                for (sum, b) in sum.iter_mut().zip(b) {
                    *sum = vfmaq_f32(*sum, a, b);
                }
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            for (j, &sum) in sum.iter().enumerate() {
                vst1q_f32(out.add(i * shape.out_stride + 4 * j), sum);
            }
        }
    }
}

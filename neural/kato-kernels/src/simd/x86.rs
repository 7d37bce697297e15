//! Holds what needs instructions of x86-64: AVX-512, AVX-512-BF16, and AVX2 with FMA.

mod avx2;
mod avx512;
mod reduce;

use std::arch::x86_64::{
    _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_shuffle_ps, _mm256_storeu_ps,
    _mm256_unpackhi_ps, _mm256_unpacklo_ps,
};

use super::{Kernel, ROWS};
pub(super) use avx2::{tile_f32_avx2, tile_pairs_avx2};
pub(super) use avx512::{tile_bf16_avx512, tile_f32_avx512, tile_pairs_avx512};
pub(super) use reduce::{largest_avx2, largest_avx512, sum_avx2, sum_avx512};

/// Runs a kernel compiled with AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
pub(super) fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Runs a kernel compiled with AVX2 and FMA.
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
pub(super) fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Writes a block of 8 × 8 as columns.
///
/// # Safety
///
/// Each row has 8 readable values, and `out` 8 writable ones at 0, `stride`, … 7 · `stride`.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn transpose(rows: [*const f32; ROWS], out: *mut f32, stride: usize) {
    // SAFETY: the caller vouches for 8 values behind each pointer.
    let r = rows.map(|row| unsafe { _mm256_loadu_ps(row) });
    // Pairs of rows, then fours, then halves change places.
    let low = [0, 2, 4, 6].map(|i| _mm256_unpacklo_ps(r[i], r[i + 1]));
    let high = [0, 2, 4, 6].map(|i| _mm256_unpackhi_ps(r[i], r[i + 1]));
    let fours = |first: usize| {
        [
            _mm256_shuffle_ps::<0x44>(low[first], low[first + 1]),
            _mm256_shuffle_ps::<0xee>(low[first], low[first + 1]),
            _mm256_shuffle_ps::<0x44>(high[first], high[first + 1]),
            _mm256_shuffle_ps::<0xee>(high[first], high[first + 1]),
        ]
    };
    let (above, below) = (fours(0), fours(2));
    for i in 0..4 {
        // SAFETY: the caller vouches for 8 values at each of these places.
        unsafe {
            let column = _mm256_permute2f128_ps::<0x20>(above[i], below[i]);
            _mm256_storeu_ps(out.add(i * stride), column);
            let column = _mm256_permute2f128_ps::<0x31>(above[i], below[i]);
            _mm256_storeu_ps(out.add((i + 4) * stride), column);
        }
    }
}

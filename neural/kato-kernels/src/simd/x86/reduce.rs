//! Sums and largest values along rows, with AVX-512 and with AVX2.

use std::arch::x86_64::{
    __m128, __m256, __m512, _mm_add_ps, _mm_cvtss_f32, _mm_max_ps, _mm_movehl_ps, _mm_shuffle_ps,
    _mm256_add_ps, _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_loadu_ps,
    _mm256_max_ps, _mm256_mul_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm512_add_ps,
    _mm512_castps512_ps256, _mm512_extractf32x8_ps, _mm512_fmadd_ps, _mm512_mask_loadu_ps,
    _mm512_maskz_loadu_ps, _mm512_max_ps, _mm512_mul_ps, _mm512_set1_ps, _mm512_setzero_ps,
};

use super::super::reduce::{LANES, common_length};

/// Halves 8 lanes until one is left, by two forms of one operation.
macro_rules! fold {
    ($wide:expr, $narrow:ident) => {{
        let wide: __m256 = $wide;
        let four: __m128 = $narrow(
            _mm256_castps256_ps128(wide),
            _mm256_extractf128_ps::<1>(wide),
        );
        let two = $narrow(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32($narrow(two, _mm_shuffle_ps::<1>(two, two)))
    }};
}

/// Sums products of `N` rows, element by element.
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
pub(in super::super) fn sum_avx512<const N: usize>(rows: [&[f32]; N]) -> f32 {
    let n = common_length(rows);
    let mut sums = _mm512_setzero_ps();
    for first in (0..n).step_by(LANES) {
        // Lanes behind the end read as zero, which changes no sum.
        let mask = 0xffff_u16 >> LANES.saturating_sub(n - first);
        // SAFETY: every row has `n` values, and the mask ends with the last.
        let at = |i: usize| unsafe { _mm512_maskz_loadu_ps(mask, rows[i].as_ptr().add(first)) };
        sums = match N {
            1 => _mm512_add_ps(sums, at(0)),
            2 => _mm512_fmadd_ps(at(0), at(1), sums),
            _ => _mm512_fmadd_ps(_mm512_mul_ps(at(0), at(1)), at(2), sums),
        };
    }
    let halves: (__m256, __m256) = (
        _mm512_castps512_ps256(sums),
        _mm512_extractf32x8_ps::<1>(sums),
    );
    fold!(_mm256_add_ps(halves.0, halves.1), _mm_add_ps)
}

/// Returns the largest value of a row.
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
pub(in super::super) fn largest_avx512(row: &[f32]) -> f32 {
    let least = _mm512_set1_ps(f32::NEG_INFINITY);
    let mut largest = least;
    for first in (0..row.len()).step_by(LANES) {
        let mask = 0xffff_u16 >> LANES.saturating_sub(row.len() - first);
        // SAFETY: the mask ends with the last value.
        // Lanes behind the end read as −∞, which is never the largest.
        let values: __m512 = unsafe { _mm512_mask_loadu_ps(least, mask, row.as_ptr().add(first)) };
        largest = _mm512_max_ps(largest, values);
    }
    let halves: (__m256, __m256) = (
        _mm512_castps512_ps256(largest),
        _mm512_extractf32x8_ps::<1>(largest),
    );
    fold!(_mm256_max_ps(halves.0, halves.1), _mm_max_ps)
}

/// Sums products of `N` rows, element by element.
#[target_feature(enable = "avx2,fma")]
pub(in super::super) fn sum_avx2<const N: usize>(rows: [&[f32]; N]) -> f32 {
    let n = common_length(rows);
    let mut sums = [_mm256_setzero_ps(); 2];
    for first in (0..n).step_by(LANES) {
        // Without masks, the last values are copied beside zeros.
        let parts = rows.map(|row| lanes(&row[first..n], 0.0));
        for (half, sum) in sums.iter_mut().enumerate() {
            // SAFETY: each part has 16 values.
            let at = |i: usize| unsafe { _mm256_loadu_ps(parts[i].as_ptr().add(8 * half)) };
            *sum = match N {
                1 => _mm256_add_ps(*sum, at(0)),
                2 => _mm256_fmadd_ps(at(0), at(1), *sum),
                _ => _mm256_fmadd_ps(_mm256_mul_ps(at(0), at(1)), at(2), *sum),
            };
        }
    }
    fold!(_mm256_add_ps(sums[0], sums[1]), _mm_add_ps)
}

/// Returns the largest value of a row.
#[target_feature(enable = "avx2,fma")]
pub(in super::super) fn largest_avx2(row: &[f32]) -> f32 {
    let mut largest = [_mm256_set1_ps(f32::NEG_INFINITY); 2];
    for first in (0..row.len()).step_by(LANES) {
        let part = lanes(&row[first..], f32::NEG_INFINITY);
        for (half, largest) in largest.iter_mut().enumerate() {
            // SAFETY: the part has 16 values.
            let values = unsafe { _mm256_loadu_ps(part.as_ptr().add(8 * half)) };
            *largest = _mm256_max_ps(*largest, values);
        }
    }
    fold!(_mm256_max_ps(largest[0], largest[1]), _mm_max_ps)
}

/// Returns the first 16 values, filled up where there are fewer.
#[inline(always)]
fn lanes(row: &[f32], with: f32) -> [f32; LANES] {
    row.first_chunk().copied().unwrap_or_else(|| {
        let mut lanes = [with; LANES];
        lanes[..row.len()].copy_from_slice(row);
        lanes
    })
}

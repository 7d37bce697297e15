//! Holds the micro-kernels of x86-64: AVX-512, AVX-512-BF16, and AVX2 with FMA.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_set1_ps,
    _mm256_setzero_ps, _mm256_shuffle_ps, _mm256_storeu_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    _mm512_and_si512, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_dpbf16_ps, _mm512_fmadd_ps,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_slli_epi32, _mm512_storeu_ps,
};
use std::mem::transmute;

use super::{COLUMNS, Kernel, ROWS, Strides};

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

/// Calls a micro-kernel with its number of rows as a constant, so that its sums stay in registers.
macro_rules! by_rows {
    ($kernel:ident, $n_rows:expr, $($argument:expr),*) => {
        // SAFETY: passed on from the caller, which vouches for pointers and instructions.
        unsafe {
            match $n_rows {
                1 => $kernel::<1>($($argument),*),
                2 => $kernel::<2>($($argument),*),
                3 => $kernel::<3>($($argument),*),
                4 => $kernel::<4>($($argument),*),
                5 => $kernel::<5>($($argument),*),
                6 => $kernel::<6>($($argument),*),
                7 => $kernel::<7>($($argument),*),
                _ => $kernel::<8>($($argument),*),
            }
        }
    };
}

/// # Safety
///
/// `strip` has `8·n` and `panel` `32·n` readable values; `start` and `out` have `n_rows` (1 to 8)
/// rows of 32, readable and writable, at their strides.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn tile_f32_avx512(
    n_rows: usize,
    shape: Strides,
    strip: *const f32,
    panel: *const f32,
    start: *const f32,
    out: *mut f32,
) {
    by_rows!(rows_f32_avx512, n_rows, shape, strip, panel, start, out);
}

/// # Safety
///
/// As [`tile_f32_avx512`], with `R` rows.
#[target_feature(enable = "avx512f")]
unsafe fn rows_f32_avx512<const R: usize>(
    shape: Strides,
    strip: *const f32,
    panel: *const f32,
    start: *const f32,
    out: *mut f32,
) {
    let mut sums = [[_mm512_setzero_ps(); 2]; R];
    // SAFETY: the caller vouches for every address that is formed here: row `i < R` of start and
    // out, depth `k < n` of strip and panel.
    unsafe {
        for (i, sum) in sums.iter_mut().enumerate() {
            let row = start.add(i * shape.start_stride);
            *sum = [_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(16))];
        }
        for k in 0..shape.n {
            let columns = panel.add(k * COLUMNS);
            let b = [_mm512_loadu_ps(columns), _mm512_loadu_ps(columns.add(16))];
            let rows = strip.add(k * ROWS);
            for (i, sum) in sums.iter_mut().enumerate() {
                let a = _mm512_set1_ps(*rows.add(i));
                sum[0] = _mm512_fmadd_ps(a, b[0], sum[0]);
                sum[1] = _mm512_fmadd_ps(a, b[1], sum[1]);
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            let row = out.add(i * shape.out_stride);
            _mm512_storeu_ps(row, sum[0]);
            _mm512_storeu_ps(row.add(16), sum[1]);
        }
    }
}

/// # Safety
///
/// As [`tile_f32_avx512`], with pairs of bf16 in strip and panel.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn tile_bf16_avx512(
    n_rows: usize,
    shape: Strides,
    strip: *const u32,
    panel: *const u32,
    start: *const f32,
    out: *mut f32,
) {
    by_rows!(rows_bf16_avx512, n_rows, shape, strip, panel, start, out);
}

/// # Safety
///
/// As [`tile_bf16_avx512`], with `R` rows.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn rows_bf16_avx512<const R: usize>(
    shape: Strides,
    strip: *const u32,
    panel: *const u32,
    start: *const f32,
    out: *mut f32,
) {
    let mut sums = [[_mm512_setzero_ps(); 2]; R];
    // SAFETY: addresses as in `rows_f32_avx512`. A vector of 32 bf16 has the size and the bits of
    // one of 16 pairs, and every pattern of bits is a value of both.
    unsafe {
        for (i, sum) in sums.iter_mut().enumerate() {
            let row = start.add(i * shape.start_stride);
            *sum = [_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(16))];
        }
        for k in 0..shape.n {
            let columns = panel.add(k * COLUMNS);
            let b = [
                transmute::<__m512i, __m512bh>(_mm512_loadu_si512(columns.cast())),
                transmute::<__m512i, __m512bh>(_mm512_loadu_si512(columns.add(16).cast())),
            ];
            let rows = strip.add(k * ROWS);
            for (i, sum) in sums.iter_mut().enumerate() {
                let a = _mm512_set1_epi32((*rows.add(i)).cast_signed());
                let a = transmute::<__m512i, __m512bh>(a);
                sum[0] = _mm512_dpbf16_ps(sum[0], a, b[0]);
                sum[1] = _mm512_dpbf16_ps(sum[1], a, b[1]);
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            let row = out.add(i * shape.out_stride);
            _mm512_storeu_ps(row, sum[0]);
            _mm512_storeu_ps(row.add(16), sum[1]);
        }
    }
}

/// # Safety
///
/// As [`tile_f32_avx512`], with pairs of bf16 in strip and panel.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn tile_pairs_avx512(
    n_rows: usize,
    shape: Strides,
    strip: *const u32,
    panel: *const u32,
    start: *const f32,
    out: *mut f32,
) {
    by_rows!(rows_pairs_avx512, n_rows, shape, strip, panel, start, out);
}

/// # Safety
///
/// As [`tile_pairs_avx512`], with `R` rows.
#[target_feature(enable = "avx512f")]
unsafe fn rows_pairs_avx512<const R: usize>(
    shape: Strides,
    strip: *const u32,
    panel: *const u32,
    start: *const f32,
    out: *mut f32,
) {
    let high = _mm512_set1_epi32(0xffff_0000_u32.cast_signed());
    let mut sums = [[_mm512_setzero_ps(); 2]; R];
    // SAFETY: addresses as in `rows_f32_avx512`.
    unsafe {
        for (i, sum) in sums.iter_mut().enumerate() {
            let row = start.add(i * shape.start_stride);
            *sum = [_mm512_loadu_ps(row), _mm512_loadu_ps(row.add(16))];
        }
        for k in 0..shape.n {
            let columns = panel.add(k * COLUMNS);
            let b = [
                _mm512_loadu_si512(columns.cast()),
                _mm512_loadu_si512(columns.add(16).cast()),
            ];
            let odd = b.map(|b| _mm512_castsi512_ps(_mm512_and_si512(b, high)));
            let even = b.map(|b| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(b)));
            let rows = strip.add(k * ROWS);
            for (i, sum) in sums.iter_mut().enumerate() {
                let a = _mm512_castps_si512(_mm512_set1_ps(f32::from_bits(*rows.add(i))));
                let a_odd = _mm512_castsi512_ps(_mm512_and_si512(a, high));
                let a_even = _mm512_castsi512_ps(_mm512_slli_epi32::<16>(a));
                for j in 0..2 {
                    // The products are exact, so the fused form rounds as the plain one.
                    sum[j] = _mm512_fmadd_ps(a_odd, odd[j], sum[j]);
                    sum[j] = _mm512_fmadd_ps(a_even, even[j], sum[j]);
                }
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            let row = out.add(i * shape.out_stride);
            _mm512_storeu_ps(row, sum[0]);
            _mm512_storeu_ps(row.add(16), sum[1]);
        }
    }
}

/// # Safety
///
/// As [`tile_f32_avx512`], on a processor with AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn tile_f32_avx2(
    n_rows: usize,
    shape: Strides,
    strip: *const f32,
    panel: *const f32,
    start: *const f32,
    out: *mut f32,
) {
    // Sixteen registers hold 4 rows × 16 columns: a tile is up to 2 × 2 of these.
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
                    1 => rows_f32_avx2::<1>(shape, strip, panel, start, out),
                    2 => rows_f32_avx2::<2>(shape, strip, panel, start, out),
                    3 => rows_f32_avx2::<3>(shape, strip, panel, start, out),
                    _ => rows_f32_avx2::<4>(shape, strip, panel, start, out),
                }
            }
        }
    }
}

/// # Safety
///
/// As [`tile_f32_avx2`], with `R` rows and 16 columns.
#[target_feature(enable = "avx2,fma")]
unsafe fn rows_f32_avx2<const R: usize>(
    shape: Strides,
    strip: *const f32,
    panel: *const f32,
    start: *const f32,
    out: *mut f32,
) {
    let mut sums = [[_mm256_setzero_ps(); 2]; R];
    // SAFETY: the caller vouches for rows below `R`, 16 columns and depths below `n`.
    unsafe {
        for (i, sum) in sums.iter_mut().enumerate() {
            let row = start.add(i * shape.start_stride);
            *sum = [_mm256_loadu_ps(row), _mm256_loadu_ps(row.add(8))];
        }
        for k in 0..shape.n {
            let columns = panel.add(k * COLUMNS);
            let b = [_mm256_loadu_ps(columns), _mm256_loadu_ps(columns.add(8))];
            let rows = strip.add(k * ROWS);
            for (i, sum) in sums.iter_mut().enumerate() {
                let a = _mm256_set1_ps(*rows.add(i));
                sum[0] = _mm256_fmadd_ps(a, b[0], sum[0]);
                sum[1] = _mm256_fmadd_ps(a, b[1], sum[1]);
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            let row = out.add(i * shape.out_stride);
            _mm256_storeu_ps(row, sum[0]);
            _mm256_storeu_ps(row.add(8), sum[1]);
        }
    }
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

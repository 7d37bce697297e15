//! Runs code with the instructions of the processor: the one module of the crate with `unsafe`.
#![expect(unsafe_code, reason = "instructions that not every processor has are")]

#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::instructions::{InstructionSet, Instructions};

/// Rows that a micro-kernel computes at most.
pub(crate) const ROWS: usize = 8;
/// Columns that a micro-kernel computes.
pub(crate) const COLUMNS: usize = 32;

/// Code that is compiled once for each instruction set.
///
/// Mark `run` `#[inline(always)]`: only what is inlined gets the wider instructions.
pub(crate) trait Kernel {
    /// What the code returns.
    type Output;
    /// Runs the code.
    fn run(self) -> Self::Output;
}

/// Runs a kernel in the form that was compiled for these instructions.
#[inline]
pub(crate) fn run<K: Kernel>(instructions: Instructions, kernel: K) -> K::Output {
    match instructions.set() {
        // SAFETY: a value of `Instructions` exists only where the processor was seen to have them.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Bf16 | InstructionSet::Avx512 => unsafe { x86::run_avx512(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => unsafe { x86::run_avx2(kernel) },
        _ => kernel.run(),
    }
}

/// Tile of a product: `n_rows` rows of up to 8, and 32 columns.
///
/// `start` is what the sums begin with, row by row `start_stride` apart (0 repeats one row), and
/// `out` is written row by row `out_stride` apart.
pub(crate) struct Tile<'a> {
    /// Values that the sums begin with.
    pub(crate) start: Start<'a>,
    /// Where the sums go.
    pub(crate) out: &'a mut [f32],
    /// Elements from a row of `out` to the next.
    pub(crate) out_stride: usize,
    /// Rows to compute, 1 to 8.
    pub(crate) n_rows: usize,
}

/// What the sums of a tile begin with.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// These 32 values in every row.
    Row(&'a [f32; COLUMNS]),
    /// What `out` holds.
    Out,
}

impl Tile<'_> {
    /// Checks what the micro-kernels take for granted, and returns pointer and stride of the start.
    fn checked(&mut self) -> (*const f32, usize, *mut f32) {
        assert!((1..=ROWS).contains(&self.n_rows), "a tile has 1 to 8 rows");
        let end = (self.n_rows - 1) * self.out_stride + COLUMNS;
        assert!(end <= self.out.len(), "a tile lies inside its output");
        let out = self.out.as_mut_ptr();
        match self.start {
            Start::Row(row) => (row.as_ptr(), 0, out),
            Start::Out => (out.cast_const(), self.out_stride, out),
        }
    }
}

/// Adds a strip times a panel to a tile, in f32: `out[i][j] = start[i][j] + Σ_k strip[k][i] · panel[k][j]`.
///
/// Every sum runs over `k` in order with one rounding a step, so all instruction sets give the
/// same bits.
///
/// # Panics
///
/// Panics where lengths do not fit: `panel` has 32 columns for each 8 rows of `strip`.
pub(crate) fn tile_f32(set: Instructions, strip: &[f32], panel: &[f32], mut tile: Tile<'_>) {
    let n = strip.len() / ROWS;
    assert_eq!(strip.len(), n * ROWS, "a strip has 8 rows");
    assert_eq!(panel.len(), n * COLUMNS, "strip and panel have one depth");
    let (start, start_stride, out) = tile.checked();
    let shape = Strides {
        n,
        start_stride,
        out_stride: tile.out_stride,
    };
    match set.set() {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Bf16 | InstructionSet::Avx512 => {
            // SAFETY: the processor has AVX-512 (see `run`). The asserts above and `checked` keep
            // every access inside: `n` depths of 8 and 32 values, `n_rows` rows of 32 columns.
            unsafe {
                x86::tile_f32_avx512(
                    tile.n_rows,
                    shape,
                    strip.as_ptr(),
                    panel.as_ptr(),
                    start,
                    out,
                )
            }
        }
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => {
            // SAFETY: the processor has AVX2 and FMA; accesses as above.
            unsafe {
                x86::tile_f32_avx2(
                    tile.n_rows,
                    shape,
                    strip.as_ptr(),
                    panel.as_ptr(),
                    start,
                    out,
                )
            }
        }
        #[cfg(target_arch = "aarch64")]
        InstructionSet::Neon => {
            // SAFETY: the processor has NEON; accesses as above.
            unsafe {
                neon::tile_f32(
                    tile.n_rows,
                    shape,
                    strip.as_ptr(),
                    panel.as_ptr(),
                    start,
                    out,
                )
            }
        }
        _ => plain::tile_f32(strip, panel, &mut tile),
    }
}

/// Adds a strip times a panel to a tile, bf16 factors and f32 sums.
///
/// `strip` holds for each pair of depths 8 pairs, `panel` 32 pairs; a pair is the even depth in
/// the low half and the odd one in the high half. The odd product is added first, then the even
/// one, each with one rounding: what the instruction of AVX-512-BF16 does.
///
/// # Panics
///
/// Panics where lengths do not fit, as [`tile_f32`] does.
pub(crate) fn tile_bf16(set: Instructions, strip: &[u32], panel: &[u32], mut tile: Tile<'_>) {
    let n = strip.len() / ROWS;
    assert_eq!(strip.len(), n * ROWS, "a strip has 8 rows");
    assert_eq!(panel.len(), n * COLUMNS, "strip and panel have one depth");
    let (start, start_stride, out) = tile.checked();
    let shape = Strides {
        n,
        start_stride,
        out_stride: tile.out_stride,
    };
    match set.set() {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Bf16 => {
            // SAFETY: the processor has AVX-512-BF16; accesses as in `tile_f32`, of 4-byte pairs.
            unsafe {
                x86::tile_bf16_avx512(
                    tile.n_rows,
                    shape,
                    strip.as_ptr(),
                    panel.as_ptr(),
                    start,
                    out,
                )
            }
        }
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => {
            // SAFETY: the processor has AVX-512; accesses as in `tile_f32`.
            unsafe {
                x86::tile_pairs_avx512(
                    tile.n_rows,
                    shape,
                    strip.as_ptr(),
                    panel.as_ptr(),
                    start,
                    out,
                )
            }
        }
        _ => run(
            set,
            plain::PairsTile {
                strip,
                panel,
                tile: &mut tile,
            },
        ),
    }
}

/// Writes eight rows as columns: `out[k · stride + i] = rows[i][k]`.
///
/// # Panics
///
/// Panics where rows differ in length, or the columns do not fit into `out`.
pub(crate) fn transpose(set: Instructions, rows: &[&[f32]; ROWS], out: &mut [f32], stride: usize) {
    let n = rows[0].len();
    if n == 0 {
        return;
    }
    assert!(
        rows.iter().all(|row| row.len() == n),
        "rows have one length"
    );
    assert!((n - 1) * stride + ROWS <= out.len(), "the columns fit");
    let whole = match set.set() {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Bf16 | InstructionSet::Avx512 | InstructionSet::Avx2 => {
            for k in (0..n / ROWS * ROWS).step_by(ROWS) {
                let block = rows.map(|row| row[k..].as_ptr());
                // SAFETY: the processor has AVX2, which every set here includes. Each row has 8
                // values from `k` on, and by the assertion above the last of the 8 columns ends
                // inside `out`.
                unsafe { x86::transpose(block, out[k * stride..].as_mut_ptr(), stride) };
            }
            n / ROWS * ROWS
        }
        _ => 0,
    };
    for k in whole..n {
        for (i, row) in rows.iter().enumerate() {
            out[k * stride + i] = row[k];
        }
    }
}

/// Depths and strides of a tile, as the micro-kernels take them.
#[derive(Clone, Copy)]
struct Strides {
    n: usize,
    start_stride: usize,
    out_stride: usize,
}

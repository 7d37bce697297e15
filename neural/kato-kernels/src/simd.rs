//! Runs code with the instructions of the processor: the one module of the crate with `unsafe`.
#![expect(unsafe_code, reason = "instructions that not every processor has are")]

mod factors;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;
mod product;
mod reduce;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::instructions::{InstructionSet, Instructions};
pub(crate) use factors::{Begin, Left, Right, Size, Target};
pub(crate) use product::{product_bf16, product_f32};
pub(crate) use reduce::{largest, sum};

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

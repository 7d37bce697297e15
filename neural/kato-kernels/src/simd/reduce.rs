//! Sums along rows and finds their largest values, in one order whatever the instructions.
//!
//! Sixteen sums run side by side and are then folded in halves. Loops over arrays of 16 are not
//! vectors by themselves, so these are written for each set.

#[cfg(target_arch = "x86_64")]
use super::x86;
#[cfg(target_arch = "x86_64")]
use crate::instructions::InstructionSet;
use crate::instructions::Instructions;

/// Sums that run side by side.
pub(super) const LANES: usize = 16;

/// Returns the length that rows have in common.
#[inline(always)]
pub(super) fn common_length<const N: usize>(rows: [&[f32]; N]) -> usize {
    let n = rows[0].len();
    assert!(
        // Checked once a row: the loops below read by pointer.
        rows.iter().all(|row| row.len() == n),
        "rows have one length"
    );
    n
}

/// Sums products of 1 to 3 rows, element by element.
///
/// # Panics
///
/// Panics where rows differ in length.
#[inline]
pub(crate) fn sum<const N: usize>(set: Instructions, rows: [&[f32]; N]) -> f32 {
    const { assert!(N >= 1 && N <= 3, "1 to 3 rows") };
    match set.set() {
        // SAFETY: a value of `Instructions` exists only where the processor was seen to have them.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Bf16 | InstructionSet::Avx512 => unsafe { x86::sum_avx512(rows) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => unsafe { x86::sum_avx2(rows) },
        _ => plain_sum(rows),
    }
}

/// Returns the largest value of a row; −∞ where it is empty. Where a value is NaN, anything.
#[inline]
pub(crate) fn largest(set: Instructions, row: &[f32]) -> f32 {
    match set.set() {
        // SAFETY: as in `sum`.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Bf16 | InstructionSet::Avx512 => unsafe { x86::largest_avx512(row) },
        // SAFETY: as in `sum`.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => unsafe { x86::largest_avx2(row) },
        _ => plain_largest(row),
    }
}

/// Halves lanes until one is left.
fn fold(mut lanes: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> f32 {
    for half in [8, 4, 2, 1] {
        for j in 0..half {
            lanes[j] = f(lanes[j], lanes[j + half]);
        }
    }
    lanes[0]
}

fn plain_sum<const N: usize>(rows: [&[f32]; N]) -> f32 {
    let n = common_length(rows);
    let mut lanes = [0.0_f32; LANES];
    for first in (0..n).step_by(LANES) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            // Zeros fill the last lanes up, as where these are masked.
            let at = |i: usize| rows[i].get(first + j).copied().unwrap_or(0.0);
            *lane = match N {
                1 => *lane + at(0),
                2 => at(0).mul_add(at(1), *lane),
                _ => (at(0) * at(1)).mul_add(at(2), *lane),
            };
        }
    }
    fold(lanes, |a, b| a + b)
}

fn plain_largest(row: &[f32]) -> f32 {
    // The second of two equal ones, as the instruction does it.
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for part in row.chunks(LANES) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            let value = part.get(j).copied().unwrap_or(f32::NEG_INFINITY);
            *lane = larger(*lane, value);
        }
    }
    fold(lanes, larger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    #[test]
    fn sums_and_largest_values_are_those_of_the_plain_form() {
        for n in [0, 1, 7, 15, 16, 17, 31, 64, 100] {
            let rows: [Vec<f32>; 3] = std::array::from_fn(|i| {
                let seed = i as u64 + 1;
                numbers(n, seed).iter().map(|&x| x as f32).collect()
            });
            let [a, b, c] = [0, 1, 2].map(|i| rows[i].as_slice());
            for set in Instructions::available() {
                let name = set.set().name();
                let found = [sum(set, [a]), sum(set, [a, b]), sum(set, [a, b, c])];
                let plain = [plain_sum([a]), plain_sum([a, b]), plain_sum([a, b, c])];
                assert_eq!(
                    found.map(f32::to_bits),
                    plain.map(f32::to_bits),
                    "{name} {n}"
                );
                let exact: f64 = a
                    .iter()
                    .zip(b)
                    .map(|(&a, &b)| f64::from(a) * f64::from(b))
                    .sum();
                assert!((f64::from(found[1]) - exact).abs() < 1e-5, "{name} {n}");
                let expected = a.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                assert_eq!(largest(set, a), expected, "{name} {n}");
            }
        }
    }
}

//! Uniform numbers that are neither 0 nor 1.

use kato_random::SplitMix64;

/// Draws a number uniform in 0 < x < 1, both ends left out: no survival of a power law is 0, and
/// the logarithm of 0 is no number.
pub(crate) fn open_unit(random: &mut SplitMix64) -> f64 {
    open_unit_from_bits(random.next_u64())
}

/// Maps 64 bits to 0 < x < 1.
fn open_unit_from_bits(bits: u64) -> f64 {
    // The half keeps out 0. It needs a bit more than the 53 that a double holds, so the largest
    // values are rounded, the very largest to 1.
    let rounded = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    rounded.min(1.0 - f64::EPSILON / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_and_follow_the_seed() {
        let mut random = SplitMix64::from_seed(3);
        let draws: Vec<f64> = (0..40_000).map(|_| open_unit(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / 40_000.0;
        let square = draws.iter().map(|x| x * x).sum::<f64>() / 40_000.0;
        assert!((mean - 0.5).abs() < 0.01 && (square - 1.0 / 3.0).abs() < 0.01);
    }

    #[test]
    fn neither_end_is_drawn() {
        for bits in [0, 1, u64::MAX - 4096, u64::MAX - 1, u64::MAX] {
            let drawn = open_unit_from_bits(bits);
            assert!(drawn > 0.0 && drawn < 1.0, "{bits}: {drawn}");
        }
    }
}

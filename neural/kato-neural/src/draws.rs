//! Random draws that are a function of a place: seed, step, layer, row.

use kato_random::SplitMix64;

/// Uniform numbers for one use of chance in one step of training.
///
/// Nothing is remembered between draws: what row `r` gets depends on seed, step, stream and `r`
/// alone. So a pass can be computed again, a run can be taken up at any step, and a batch that is
/// split into parts gets the draws that the whole would have got.
///
/// ```
/// use kato_neural::Draws;
///
/// let whole = Draws::new(42, 7, 1).keep_mask(0, 4, 3, 0.5);
/// let second_half = Draws::new(42, 7, 1).keep_mask(2, 2, 3, 0.5);
/// assert_eq!(whole[6..], second_half);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    key: u64,
}

impl Draws {
    /// Names the draws of `stream` (a layer, say) in `step` of the run that `seed` decides.
    #[must_use]
    pub const fn new(seed: u64, step: u64, stream: u64) -> Self {
        Self {
            key: mix(mix(mix(0x6b61_746f, seed), step), stream),
        }
    }

    /// Returns the generator of one row; equal rows have equal draws.
    #[must_use]
    pub const fn row(&self, row: u64) -> SplitMix64 {
        SplitMix64::from_seed(mix(self.key, row))
    }

    /// Returns the factors of dropout for rows from `first_row` on: 0 with `probability`, else
    /// 1 / (1 − `probability`), so that the mean stays 1.
    ///
    /// The probability is rounded to a multiple of 2⁻¹⁶, so that one draw serves four entries.
    #[must_use]
    pub fn keep_mask(
        &self,
        first_row: u64,
        n_rows: usize,
        n_per_row: usize,
        probability: f64,
    ) -> Vec<f32> {
        let threshold = (probability.clamp(0.0, 1.0) * 65_536.0).round() as u32;
        // A probability of 1 keeps nothing, so that the factor is never used.
        let factor = (65_536.0 / f64::from(65_536 - threshold.min(65_535))) as f32;
        let mut mask = Vec::with_capacity(n_rows * n_per_row);
        for row in 0..n_rows as u64 {
            let mut generator = self.row(first_row + row);
            let mut n_left = n_per_row;
            while n_left > 0 {
                let bits = generator.next_u64();
                let n_now = n_left.min(4);
                for lane in 0..n_now {
                    let draw = (bits >> (16 * lane)) as u32 & 0xffff;
                    mask.push(if draw < threshold { 0.0 } else { factor });
                }
                n_left -= n_now;
            }
        }
        mask
    }

    /// Returns `n` decisions, each `true` with `probability`: one for a time step of a whole batch,
    /// as scheduled sampling takes them.
    #[must_use]
    pub fn coins(&self, n: usize, probability: f64) -> Vec<bool> {
        let mut generator = self.row(0);
        (0..n).map(|_| unit(&mut generator) < probability).collect()
    }
}

/// Returns a number uniform in [0, 1) with 53 random bits.
pub(crate) const fn unit(generator: &mut SplitMix64) -> f64 {
    // The upper 53 bits fill a mantissa exactly.
    (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Joins a key and a number such that neighbours have nothing in common.
const fn mix(key: u64, number: u64) -> u64 {
    // Two rounds: after one, keys that differ by the generator's increment would meet.
    let mut first = SplitMix64::from_seed(key);
    let mut second = SplitMix64::from_seed(first.next_u64() ^ number);
    second.next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_probability_and_the_mean_stays_one() {
        let mask = Draws::new(1, 2, 3).keep_mask(0, 100, 1_001, 0.2);
        let dropped = mask.iter().filter(|&&factor| factor == 0.0).count() as f64;
        assert!(
            (dropped / mask.len() as f64 - 0.2).abs() < 0.005,
            "{dropped}"
        );
        let mean = mask.iter().map(|&factor| f64::from(factor)).sum::<f64>() / mask.len() as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn every_coordinate_changes_the_draws() {
        let base = Draws::new(1, 2, 3).keep_mask(0, 1, 64, 0.5);
        for other in [
            Draws::new(2, 2, 3),
            Draws::new(1, 3, 3),
            Draws::new(1, 2, 4),
        ] {
            assert_ne!(base, other.keep_mask(0, 1, 64, 0.5));
        }
        assert_ne!(base, Draws::new(1, 2, 3).keep_mask(1, 1, 64, 0.5));
    }

    #[test]
    fn extremes_keep_all_or_nothing() {
        let draws = Draws::new(9, 9, 9);
        assert!(
            draws
                .keep_mask(0, 2, 9, 0.0)
                .iter()
                .all(|&factor| factor == 1.0)
        );
        assert!(
            draws
                .keep_mask(0, 2, 9, 1.0)
                .iter()
                .all(|&factor| factor == 0.0)
        );
        assert_eq!(draws.coins(50, 0.0), vec![false; 50]);
        assert_eq!(draws.coins(50, 1.0), vec![true; 50]);
    }
}

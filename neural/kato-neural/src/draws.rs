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
/// let coins = Draws::new(42, 7, 1).coins(50, 0.5);
/// assert_eq!(coins, Draws::new(42, 7, 1).coins(50, 0.5));
/// assert_ne!(coins, Draws::new(42, 8, 1).coins(50, 0.5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    key: u64,
}

impl Draws {
    /// Names the draws of `stream` (a layer, say) in `step` of the run that `seed` decides.
    #[must_use]
    pub const fn new(seed: u64, step: u64, stream: u64) -> Self {
        // A constant of our own first, so that seed 0 is no special case.
        Self {
            key: mix(mix(mix(0x6b61_746f, seed), step), stream),
        }
    }

    /// Returns the generator of one row; equal rows have equal draws.
    #[must_use]
    pub const fn row(&self, row: u64) -> SplitMix64 {
        SplitMix64::from_seed(mix(self.key, row))
    }

    /// Returns `n` decisions, each `true` with `probability`: one for a time step of a whole batch,
    /// as scheduled sampling takes them.
    #[must_use]
    pub fn coins(&self, n: usize, probability: f64) -> Vec<bool> {
        // One row for all: a coin is for the whole batch, however it is cut.
        let mut generator = self.row(0);
        (0..n).map(|_| generator.unit() < probability).collect()
    }
}

/// Joins a key and a number such that neighbours have nothing in common.
pub(crate) const fn mix(key: u64, number: u64) -> u64 {
    // Two rounds: after one, keys that differ by the generator's increment would meet.
    let mut first = SplitMix64::from_seed(key);
    let mut second = SplitMix64::from_seed(first.next_u64() ^ number);
    second.next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_coordinate_changes_the_draws() {
        let first = |draws: Draws, row: u64| draws.row(row).next_u64();
        let base = first(Draws::new(1, 2, 3), 0);
        for other in [
            Draws::new(2, 2, 3),
            Draws::new(1, 3, 3),
            Draws::new(1, 2, 4),
        ] {
            assert_ne!(base, first(other, 0));
        }
        assert_ne!(base, first(Draws::new(1, 2, 3), 1));
    }

    #[test]
    fn extremes_are_all_or_nothing() {
        let draws = Draws::new(9, 9, 9);
        assert_eq!(draws.coins(50, 0.0), vec![false; 50]);
        assert_eq!(draws.coins(50, 1.0), vec![true; 50]);
    }
}

//! Chance by weights.

use kato_random::SplitMix64;

/// Returns a position in `weights`, each with the probability that is its share of the sum; 0 for
/// no weights.
pub(crate) fn weighted(random: &mut SplitMix64, weights: &[f64]) -> usize {
    let mut left = random.unit() * weights.iter().sum::<f64>();
    for (idx, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return idx;
        }
    }
    // Rounding can leave a little of the sum after the last weight.
    weights.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_probabilities() {
        let mut random = SplitMix64::from_seed(7);
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            counts[weighted(&mut random, &[1.0, 0.0, 3.0])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((2_300..2_700).contains(&counts[0]), "{counts:?}");
        assert_eq!(weighted(&mut random, &[]), 0);
    }
}

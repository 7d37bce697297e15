//! Absolute discounting: moves a share of every count to a lower-order estimate.

/// Returns the discount for a set of counts, from how many are 1 and how many are 2.
///
/// Formula: n₁ / (n₁ + 2 n₂) (Ney, Essen and Kneser 1994). Where that is 0 or 1 (no count of 1, or
/// none of 2), which would leave nothing to unseen or to single events, ½ takes its place.
pub(crate) fn discount(counts: impl Iterator<Item = u64>) -> f64 {
    let (mut ones, mut twos) = (0u64, 0u64);
    for count in counts {
        ones += u64::from(count == 1);
        twos += u64::from(count == 2);
    }
    if ones == 0 || twos == 0 {
        return 0.5;
    }
    ones as f64 / (ones + 2 * twos) as f64
}

/// The sums of what was counted after a context.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Followers {
    /// Sum of the counts.
    pub(crate) total: u64,
    /// Number of counts that are not 0.
    pub(crate) distinct: u64,
}

impl Followers {
    /// Returns the probability of an event that was counted `count` times, `lower` being its
    /// probability in a lower order.
    ///
    /// Formula: max(count − d, 0) / total + d · distinct / total · lower. Over all events the first
    /// terms sum to 1 − d · distinct / total, because every count that is not 0 is at least 1 > d;
    /// so the whole sums to 1 where `lower` does.
    pub(crate) fn probability(self, count: u64, discount: f64, lower: f64) -> f64 {
        // A context that occurred only at the end of sequences has no followers.
        if self.total == 0 {
            return lower;
        }
        let total = self.total as f64;
        let kept = (count as f64 - discount).max(0.0) / total;
        kept + discount * self.distinct as f64 / total * lower
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_discount_is_that_of_the_formula() {
        assert_eq!(discount([1, 1, 1, 2, 7].into_iter()), 0.6);
        assert_eq!(discount([1, 1].into_iter()), 0.5);
        assert_eq!(discount([2, 3].into_iter()), 0.5);
        assert_eq!(discount(std::iter::empty()), 0.5);
    }

    #[test]
    fn nothing_counted_leaves_the_lower_order() {
        assert_eq!(Followers::default().probability(0, 0.5, 0.25), 0.25);
    }
}

//! The choice of some patterns among all that a node was taught.

use kato_model::PatternName;

/// In the end one pattern is asked for so many learn calls of a node.
const SAMPLED: u64 = 40;

/// And so many patterns of a node at least.
const SAMPLED_LEAST: u64 = 64;

/// The patterns of a node that are asked for in the end.
#[derive(Debug)]
pub(super) struct Choice {
    repeated: Stride,
    once: Stride,
}

impl Choice {
    /// Chooses among patterns that were learned this often: all of them, or a share.
    pub(super) fn of<E>(
        frequencies: impl IntoIterator<Item = Result<u64, E>>,
        takes_all: bool,
    ) -> Result<Self, E> {
        let (mut learns, mut n_repeated, mut n_once) = (0, 0, 0);
        for frequency in frequencies {
            let frequency = frequency?;
            learns += frequency;
            match is_repeated(frequency) {
                true => n_repeated += 1,
                false => n_once += 1,
            }
        }
        let budget = match takes_all {
            true => u64::MAX,
            false => SAMPLED_LEAST.max(learns / SAMPLED),
        };
        // A lost frequency shows only where it is more than 1. The rest is for what was learned
        // once, of which the row may be lost.
        let repeated = n_repeated.min(budget - (budget / 4).min(n_once));
        let once = n_once.min(budget - repeated);
        Ok(Self {
            repeated: Stride::new(repeated, n_repeated),
            once: Stride::new(once, n_once),
        })
    }

    /// Returns whether the next pattern, which was learned this often, is one of them.
    pub(super) fn takes(&mut self, frequency: u64) -> bool {
        let stride = match is_repeated(frequency) {
            true => &mut self.repeated,
            false => &mut self.once,
        };
        stride.takes_next()
    }
}

const fn is_repeated(frequency: u64) -> bool {
    frequency > 1
}

/// The choice of so many of all, evenly spread.
#[derive(Debug)]
struct Stride {
    chosen: u64,
    all: u64,
    seen: u64,
}

impl Stride {
    const fn new(chosen: u64, all: u64) -> Self {
        Self {
            chosen,
            all,
            seen: 0,
        }
    }

    /// Returns whether the next one is chosen.
    fn takes_next(&mut self) -> bool {
        let share = |seen: u64| u128::from(seen) * u128::from(self.chosen) / u128::from(self.all);
        self.seen += 1;
        share(self.seen) > share(self.seen - 1)
    }
}

/// Returns so many of the names, evenly spread, the first and the last among them.
pub(super) fn spread(names: &[PatternName], n: usize) -> impl Iterator<Item = PatternName> + '_ {
    let n = n.min(names.len());
    (0..n).map(move |idx| names[idx * (names.len() - 1) / (n - 1).max(1)])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_share_is_taken_and_mostly_of_what_was_learned_more_than_once(
            frequencies in (0..60u64).prop_flat_map(|most| prop::collection::vec(0..=most, 0..600)),
            takes_all: bool,
        ) {
            let all = || frequencies.iter().copied();
            let mut choice = Choice::of(all().map(Ok::<_, ()>), takes_all).unwrap();
            let taken: Vec<u64> = all().filter(|n| choice.takes(*n)).collect();
            let budget = if takes_all { usize::MAX } else { (all().sum::<u64>() / 40).max(64) as usize };
            prop_assert_eq!(taken.len(), budget.min(frequencies.len()));
            let split = |frequencies: &[u64]| {
                let n_once = frequencies.iter().filter(|n| **n < 2).count();
                (n_once, frequencies.len() - n_once)
            };
            let ((once, repeated), (n_once, n_repeated)) = (split(&taken), split(&frequencies));
            prop_assert!(once >= n_once.min(budget / 4));
            prop_assert!(once <= budget / 4 || repeated == n_repeated);
        }
    }

    #[test]
    fn a_stride_takes_as_many_as_it_says_all_over() {
        for (chosen, all) in [(0, 5), (3, 10), (10, 10), (1, 100), (64, 1_000)] {
            let mut stride = Stride::new(chosen, all);
            let taken: Vec<u64> = (0..all).filter(|_| stride.takes_next()).collect();
            assert_eq!(taken.len() as u64, chosen);
            let widest = taken.windows(2).map(|two| two[1] - two[0]).max();
            assert!(widest.is_none_or(|widest| widest <= all.div_ceil(chosen)));
        }
    }

    #[test]
    fn what_is_spread_has_both_ends() {
        let names: Vec<PatternName> = (0..10)
            .map(|n| PatternName::of_events(&[[n.to_string()], ["x".to_owned()]]))
            .collect();
        for n in 2..=10 {
            let chosen: Vec<PatternName> = spread(&names, n).collect();
            assert_eq!(
                (chosen.len(), chosen[0], chosen[n - 1]),
                (n, names[0], names[9])
            );
        }
        assert_eq!(spread(&names, 1).collect::<Vec<_>>(), [names[0]]);
        assert_eq!(spread(&[], 4).count(), 0);
    }
}

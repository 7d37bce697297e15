//! Frequencies of frequencies: the number of patterns that were learned once, twice, and so on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Frequencies of frequencies: for every frequency, the number of patterns that have it.
///
/// ```
/// use kato_estimator::FrequencyCounts;
///
/// let counts: FrequencyCounts = [(1, 90), (2, 5)].into_iter().collect();
/// assert_eq!((counts.observations(), counts.distinct(), counts.singletons()), (100, 95, 90));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrequencyCounts(BTreeMap<u64, u64>);

impl FrequencyCounts {
    /// Returns the pairs of a frequency and its number of patterns, ascending by frequency.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + ExactSizeIterator {
        self.0.iter().map(|(&frequency, &n)| (frequency, n))
    }

    /// Returns the number of learn calls: the sum of all frequencies.
    #[must_use]
    pub fn observations(&self) -> u64 {
        // Saturating here and below, because counts may also be read from JSON.
        self.iter().fold(0, |sum: u64, (frequency, n)| {
            sum.saturating_add(frequency.saturating_mul(n))
        })
    }

    /// Returns the number of distinct patterns.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.iter().fold(0, |sum, (_, n)| sum.saturating_add(n))
    }

    /// Returns the number of patterns that were learned once.
    #[must_use]
    pub fn singletons(&self) -> u64 {
        self.0.get(&1).copied().unwrap_or(0)
    }

    /// Returns the number of patterns that were learned more than once.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.distinct() - self.singletons()
    }

    /// Returns the expected distinct patterns among a share of these learn calls, taken at random;
    /// `share` from 0 to 1.
    pub(crate) fn rarefied(&self, share: f64) -> f64 {
        // Each learn call is kept with this share, by itself: a pattern is missed when all of its
        // learn calls are.
        let missed = (1.0 - share.clamp(0.0, 1.0)).max(0.0);
        self.iter()
            .map(|(frequency, n)| n as f64 * (1.0 - missed.powf(frequency as f64)))
            .sum()
    }
}

impl FromIterator<(u64, u64)> for FrequencyCounts {
    /// Sums the numbers of equal frequencies and leaves out zeros.
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(pairs: I) -> Self {
        let mut counts = BTreeMap::new();
        for (frequency, n) in pairs {
            if frequency > 0 && n > 0 {
                let sum: &mut u64 = counts.entry(frequency).or_default();
                *sum = sum.saturating_add(n);
            }
        }
        Self(counts)
    }
}

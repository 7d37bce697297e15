//! Statistics of how often patterns were learned, from one pass over names and frequencies.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::RangeBounds;

use kato_model::PatternName;
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::contract::Scan;

/// Statistics of how often the patterns of a node were learned.
///
/// Serialises as a JSON object with these keys. The numbers of an empty node are zero, and what
/// needs a pattern to exist is `null`.
///
/// ```
/// use kato_store::statistics::FrequencyStatistics;
///
/// // Four patterns learned once, one seven times.
/// let statistics = FrequencyStatistics::from_histogram([(1, 4), (7, 1)]);
/// assert_eq!((statistics.patterns, statistics.learns), (5, 11));
/// assert_eq!((statistics.mean, statistics.median), (Some(2.2), Some(1.0)));
/// assert_eq!((statistics.ranges.freq_1, statistics.ranges.freq_6_10), (4, 1));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FrequencyStatistics {
    /// Distinct patterns.
    pub patterns: u64,
    /// Learn calls: the sum of the frequencies.
    #[serde(alias = "observations")]
    pub learns: u64,
    /// Learn calls a pattern.
    pub mean: Option<f64>,
    /// The frequency that half of the patterns do not exceed; between two, their mean.
    pub median: Option<f64>,
    /// Smallest frequency.
    pub min: Option<u64>,
    /// Largest frequency.
    pub max: Option<u64>,
    /// Patterns by range of frequency.
    pub ranges: FrequencyRanges,
    /// Every frequency that occurs, ascending. A list, because keys of JSON objects are text and
    /// sort as text.
    pub histogram: Vec<FrequencyCount>,
}

/// Number of patterns by range of frequency, bounds inclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FrequencyRanges {
    /// Learned once.
    pub freq_1: u64,
    /// Learned 2 to 5 times.
    pub freq_2_5: u64,
    /// Learned 6 to 10 times.
    pub freq_6_10: u64,
    /// Learned 11 to 50 times.
    pub freq_11_50: u64,
    /// Learned more than 50 times.
    pub freq_50_plus: u64,
}

/// One bar of a histogram of frequencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FrequencyCount {
    /// The frequency.
    pub frequency: u64,
    /// Patterns that have it.
    pub patterns: u64,
}

/// A pattern by name, with its frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PatternFrequency {
    /// The pattern.
    pub name: PatternName,
    /// Learn calls.
    pub frequency: u64,
}

impl FrequencyStatistics {
    /// Creates the statistics of patterns given as pairs of a frequency and the number of patterns
    /// that have it, in any order.
    ///
    /// Histograms of several nodes or knowledge bases may be chained: counts of one frequency are
    /// added.
    #[must_use]
    pub fn from_histogram(histogram: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        // A frequency that no pattern has must not become the smallest or largest one.
        for (frequency, patterns) in histogram.into_iter().filter(|&(_, patterns)| patterns > 0) {
            let count = counts.entry(frequency).or_default();
            *count = count.saturating_add(patterns);
        }
        let mut statistics = Self::default();
        for (&frequency, &patterns) in &counts {
            statistics.patterns = statistics.patterns.saturating_add(patterns);
            statistics.learns = statistics
                .learns
                .saturating_add(frequency.saturating_mul(patterns));
            statistics.ranges.count(frequency, patterns);
        }
        if statistics.patterns > 0 {
            statistics.mean = Some(statistics.learns as f64 / statistics.patterns as f64);
            statistics.median = median(&counts, statistics.patterns);
        }
        statistics.min = counts.keys().next().copied();
        statistics.max = counts.keys().next_back().copied();
        let bar = |(frequency, patterns)| FrequencyCount {
            frequency,
            patterns,
        };
        Self {
            histogram: counts.into_iter().map(bar).collect(),
            ..statistics
        }
    }
}

impl FrequencyRanges {
    /// Counts patterns of one frequency into their range.
    fn count(&mut self, frequency: u64, patterns: u64) {
        let range = match frequency {
            0..=1 => &mut self.freq_1,
            2..=5 => &mut self.freq_2_5,
            6..=10 => &mut self.freq_6_10,
            11..=50 => &mut self.freq_11_50,
            51.. => &mut self.freq_50_plus,
        };
        *range = range.saturating_add(patterns);
    }
}

/// Returns the median frequency.
fn median(counts: &BTreeMap<u64, u64>, patterns: u64) -> Option<f64> {
    // The frequency of the pattern at a position in ascending order.
    let at = |position: u64| {
        let mut before = 0_u64;
        let found = counts.iter().find(|&(_, &patterns)| {
            before = before.saturating_add(patterns);
            position < before
        });
        found.map(|(&frequency, _)| frequency as f64)
    };
    let (low, high) = (at((patterns - 1) / 2)?, at(patterns / 2)?);
    Some(low + (high - low) / 2.0)
}

type Frequencies<'a> = Scan<'a, (PatternName, u64)>;

/// Computes the statistics in one pass.
///
/// It takes memory for each frequency that occurs, which are few: `n` different ones need n²/2
/// observations.
pub(crate) fn statistics(frequencies: Frequencies<'_>) -> Result<FrequencyStatistics, StoreError> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for item in frequencies {
        *counts.entry(item?.1).or_default() += 1;
    }
    Ok(FrequencyStatistics::from_histogram(counts))
}

/// Returns the `n` most frequent patterns, most frequent first, ties by name.
///
/// It takes one pass and memory for `n` patterns.
pub(crate) fn top(
    frequencies: Frequencies<'_>,
    n: usize,
) -> Result<Vec<PatternFrequency>, StoreError> {
    // The heap's largest is the one to give up first: the rarest, of equals the one with the
    // largest name.
    let mut kept: BinaryHeap<(Reverse<u64>, PatternName)> = BinaryHeap::new();
    for item in frequencies {
        let (name, frequency) = item?;
        let candidate = (Reverse(frequency), name);
        if kept.len() < n {
            kept.push(candidate);
        } else if let Some(mut worst) = kept.peek_mut().filter(|worst| candidate < **worst) {
            *worst = candidate;
        }
    }
    let pattern = |(Reverse(frequency), name)| PatternFrequency { name, frequency };
    Ok(kept.into_sorted_vec().into_iter().map(pattern).collect())
}

/// Returns the first `limit` patterns, in name order, whose frequency lies in a range.
pub(crate) fn with_frequency(
    frequencies: Frequencies<'_>,
    range: &impl RangeBounds<u64>,
    limit: usize,
) -> Result<Vec<PatternFrequency>, StoreError> {
    // Errors pass the filter, and `collect` ends with the first of them.
    let matching = |item: &Result<(PatternName, u64), _>| match item {
        Ok((_, frequency)) => range.contains(frequency),
        Err(_) => true,
    };
    let pattern =
        |item: Result<_, _>| item.map(|(name, frequency)| PatternFrequency { name, frequency });
    frequencies
        .filter(matching)
        .take(limit)
        .map(pattern)
        .collect()
}

/// Returns the first `limit` patterns, in name order, whose names begin with some digits.
pub(crate) fn with_name_prefix(
    frequencies: Frequencies<'_>,
    digits: &str,
    limit: usize,
) -> Result<Vec<PatternFrequency>, StoreError> {
    // The first and the last name that can begin with the digits. What begins no name does not
    // parse, and then nothing matches.
    let bound = |fill: &str| {
        let missing = (2 * PatternName::BYTES).saturating_sub(digits.len());
        format!("{digits}{}", fill.repeat(missing)).parse::<PatternName>()
    };
    let (Ok(first), Ok(last)) = (bound("0"), bound("f")) else {
        return Ok(Vec::new());
    };
    // The scan is in name order, so it can end at the last name that fits; an error ends it as
    // well.
    let pattern =
        |item: Result<_, _>| item.map(|(name, frequency)| PatternFrequency { name, frequency });
    frequencies
        .skip_while(|item| item.as_ref().is_ok_and(|(name, _)| *name < first))
        .take_while(|item| item.as_ref().map_or(true, |(name, _)| *name <= last))
        .take(limit)
        .map(pattern)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(frequencies: &[u64]) -> Vec<(PatternName, u64)> {
        let name = |idx: usize| PatternName::of_events(&[[idx.to_string()]]);
        let mut named: Vec<_> = frequencies
            .iter()
            .enumerate()
            .map(|(idx, &f)| (name(idx), f))
            .collect();
        named.sort_unstable();
        named
    }

    fn scan(named: &[(PatternName, u64)]) -> Frequencies<'_> {
        Box::new(named.iter().copied().map(Ok))
    }

    #[test]
    fn an_empty_node_has_counts_of_zero_and_no_averages() {
        let json = serde_json::to_value(statistics(scan(&[])).unwrap()).unwrap();
        let ranges = serde_json::json!({"freq_1": 0, "freq_2_5": 0, "freq_6_10": 0, "freq_11_50": 0, "freq_50_plus": 0});
        assert_eq!(
            json,
            serde_json::json!({
                "patterns": 0, "learns": 0, "mean": null, "median": null, "min": null, "max": null,
                "ranges": ranges, "histogram": [],
            })
        );
    }

    #[test]
    fn ranges_include_their_bounds() {
        let ranges = FrequencyStatistics::from_histogram(
            [1, 2, 5, 6, 10, 11, 50, 51, u64::MAX].map(|f| (f, 1)),
        )
        .ranges;
        let expected = FrequencyRanges {
            freq_1: 1,
            freq_2_5: 2,
            freq_6_10: 2,
            freq_11_50: 2,
            freq_50_plus: 2,
        };
        assert_eq!(ranges, expected);
    }

    proptest! {
        #[test]
        fn statistics_are_those_of_the_sorted_list(frequencies in prop::collection::vec(1_u64..60, 1..80)) {
            let found = statistics(scan(&named(&frequencies))).unwrap();
            let mut sorted = frequencies.clone();
            sorted.sort_unstable();
            let n = sorted.len();
            let sum: u64 = sorted.iter().sum();
            prop_assert_eq!((found.patterns, found.learns), (n as u64, sum));
            prop_assert_eq!((found.min, found.max), (sorted.first().copied(), sorted.last().copied()));
            prop_assert_eq!(found.mean, Some(sum as f64 / n as f64));
            prop_assert_eq!(found.median, Some((sorted[(n - 1) / 2] + sorted[n / 2]) as f64 / 2.0));
            let bars: Vec<_> = sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect();
            let found_bars: Vec<_> = found.histogram.iter().map(|bar| (bar.frequency, bar.patterns)).collect();
            prop_assert_eq!(found_bars, bars);
        }

        #[test]
        fn top_and_range_agree_with_sorting_and_filtering(
            frequencies in prop::collection::vec(1_u64..6, 0..40),
            n in 0_usize..50,
            (low, high) in (0_u64..7, 0_u64..7),
        ) {
            let named = named(&frequencies);
            let mut sorted = named.clone();
            sorted.sort_by_key(|&(name, frequency)| (Reverse(frequency), name));
            sorted.truncate(n);
            let pairs = |found: Vec<PatternFrequency>| -> Vec<_> { found.iter().map(|p| (p.name, p.frequency)).collect() };
            prop_assert_eq!(pairs(top(scan(&named), n).unwrap()), sorted);
            let mut within: Vec<_> = named.iter().copied().filter(|(_, f)| (low..=high).contains(f)).collect();
            within.truncate(n);
            let digits = format!("{:02x}", n * 5 % 256);
            let digits = &digits[..n % 3];
            let mut prefixed = named.clone();
            prefixed.retain(|(name, _)| name.to_string().starts_with(digits));
            prefixed.truncate(n);
            prop_assert_eq!(pairs(with_name_prefix(scan(&named), digits, n).unwrap()), prefixed);
            prop_assert_eq!(pairs(with_frequency(scan(&named), &(low..=high), n).unwrap()), within);
        }
    }
}

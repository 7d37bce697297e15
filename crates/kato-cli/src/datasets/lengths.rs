//! The lengths of documents: exact quantiles, and a histogram for people.

use std::collections::BTreeMap;

use indicatif::HumanCount;
use serde::Serialize;

use crate::inspect::layout::bar;

/// Lengths of documents, in characters.
///
/// Every length that occurs is counted, so quantiles are exact. Memory: texts of k different
/// lengths have k²/2 characters at the least, so a terabyte has 1.4 million lengths at the most.
#[derive(Debug, Clone, Default)]
pub(super) struct LengthCounts(BTreeMap<u64, u64>);

/// The lengths of documents in figures, in characters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Lengths {
    /// The shortest.
    pub(crate) min: u64,
    /// At least half of the documents are not longer.
    pub(crate) median: u64,
    /// At least 95 % of the documents are not longer.
    pub(crate) p95: u64,
    /// The longest.
    pub(crate) max: u64,
    /// Arithmetic mean.
    pub(crate) mean: f64,
    /// Documents by ranges of length, none left out between the first and the last.
    pub(crate) histogram: Vec<LengthRange>,
}

/// Documents with lengths from `from` to `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct LengthRange {
    /// Shortest length.
    pub(crate) from: u64,
    /// Longest length.
    pub(crate) to: u64,
    /// Number of documents.
    pub(crate) documents: u64,
}

impl LengthCounts {
    /// Counts a document.
    pub(super) fn add(&mut self, characters: u64) {
        *self.0.entry(characters).or_default() += 1;
    }

    /// Returns the figures; `None` when no document was counted.
    #[must_use]
    pub(super) fn lengths(&self) -> Option<Lengths> {
        let (&min, _) = self.0.first_key_value()?;
        let (&max, _) = self.0.last_key_value()?;
        let documents: u64 = self.0.values().sum();
        let total: f64 = self
            .0
            .iter()
            .map(|(&length, &n)| length as f64 * n as f64)
            .sum();
        Some(Lengths {
            min,
            median: self.quantile(documents.div_ceil(2)),
            // The rank is 0.95 times the number of documents, rounded up.
            p95: self.quantile(documents - documents / 20),
            max,
            mean: total / documents as f64,
            histogram: self.histogram(min, max),
        })
    }

    /// Returns the length of the document with this rank, from 1, from short to long.
    fn quantile(&self, rank: u64) -> u64 {
        let mut behind = 0;
        let mut lengths = self.0.iter();
        let found = lengths.find(|(_, documents)| {
            behind += **documents;
            behind >= rank
        });
        found.map_or(0, |(length, _)| *length)
    }

    /// Counts documents by ranges, from the one that holds the shortest to the one that holds the
    /// longest.
    fn histogram(&self, min: u64, max: u64) -> Vec<LengthRange> {
        let mut ranges = Vec::new();
        let mut from = 0;
        for to in ends() {
            if to >= min {
                ranges.push(LengthRange {
                    from,
                    to,
                    documents: self
                        .0
                        .range(from..=to)
                        .map(|(_, documents)| documents)
                        .sum(),
                });
            }
            if to >= max {
                break;
            }
            // No overflow: the last end is the largest number, and no document is longer.
            from = to + 1;
        }
        ranges
    }
}

/// Returns the ends of ranges: 1, 2, 5, 10, 20, 50, … and the largest number.
fn ends() -> impl Iterator<Item = u64> {
    // All three multiples of 10¹⁸ fit into 64 bits; those of 10¹⁹ do not all.
    let powers = (0..19).map(|power| 10_u64.pow(power));
    let ends = powers.flat_map(|power| [1, 2, 5].map(|digit| digit * power));
    ends.chain([u64::MAX])
}

impl Lengths {
    /// Returns the lines about the lengths for people.
    pub(super) fn in_lines(&self, documents: u64, width: usize) -> String {
        let mut text = format!(
            "length in characters: median {}, mean {:.0}, 95 % up to {}, longest {}\n",
            HumanCount(self.median),
            self.mean,
            HumanCount(self.p95),
            HumanCount(self.max)
        );
        let labels: Vec<String> = self
            .histogram
            .iter()
            .map(|range| format!("{}-{}", HumanCount(range.from), HumanCount(range.to)))
            .collect();
        let column = labels.iter().map(String::len).max().unwrap_or(0);
        let most = self.histogram.iter().map(|range| range.documents).max();
        let room = width.saturating_sub(column + 12).clamp(8, 60);
        for (range, label) in self.histogram.iter().zip(labels) {
            let drawn = bar(
                range.documents as f64 / most.unwrap_or(1).max(1) as f64,
                room,
            );
            let share = 100.0 * range.documents as f64 / documents.max(1) as f64;
            text += &format!("  {label:>column$} {drawn:<room$} {share:>5.1} %\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(counted: impl IntoIterator<Item = u64>) -> Option<Lengths> {
        let mut counts = LengthCounts::default();
        counted.into_iter().for_each(|length| counts.add(length));
        counts.lengths()
    }

    #[test]
    fn quantiles_are_lengths_that_occur() {
        let found = lengths(1..=100).unwrap();
        assert_eq!(
            (found.min, found.median, found.p95, found.max),
            (1, 50, 95, 100)
        );
        assert_eq!(found.mean, 50.5);
        let one = lengths([7]).unwrap();
        assert_eq!((one.min, one.median, one.p95, one.max), (7, 7, 7, 7));
        assert!(lengths([]).is_none());
    }

    #[test]
    fn every_document_is_in_one_range_and_gaps_are_ranges_too() {
        let found = lengths([3, 4, 5, 60, u64::MAX]).unwrap();
        let ranges = &found.histogram;
        let bounds: Vec<_> = ranges.iter().map(|range| (range.from, range.to)).collect();
        assert_eq!(bounds[..4], [(3, 5), (6, 10), (11, 20), (21, 50)]);
        assert!(bounds.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
        assert_eq!(ranges.iter().map(|range| range.documents).sum::<u64>(), 5);
        let text = lengths([3, 4, 5, 60]).unwrap().in_lines(4, 40);
        assert!(text.contains("3-5 ████"), "{text}");
        assert!(
            text.lines().skip(1).all(|line| line.chars().count() <= 40),
            "{text}"
        );
    }
}

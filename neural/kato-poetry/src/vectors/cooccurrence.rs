//! Counts how often words stand near each other.

use crate::tokens::Special;

/// Words on each side at most.
pub(super) const MAX_WINDOW: usize = 10;

/// A multiple of all distances up to [`MAX_WINDOW`], so that weights are whole numbers and their sums
/// the same in any order.
const WEIGHT: u64 = 2520;

/// Pairs that are collected before they are counted: 64 MB of them.
const MAX_PENDING: usize = 4 << 20;

/// A pair of words, the first in the upper half, with its weight.
type Pair = (u64, u64);

/// Weights of all pairs of words that stand near each other, row after row; symmetric.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cooccurrence {
    /// Where each row begins, and where the last ends.
    pub(super) offsets: Vec<usize>,
    /// The second word of each pair, ascending in a row.
    pub(super) columns: Vec<u32>,
    /// The weight of each pair: the sum of 2,520 / distance over its occurrences.
    pub(super) weights: Vec<u64>,
}

impl Cooccurrence {
    /// Counts the pairs inside each sequence that are at most `window` words apart.
    ///
    /// Near ones count more, by 1 / distance. Source of the weights: Pennington, Socher and Manning,
    /// "GloVe: Global vectors for word representation", EMNLP 2014, section 4.2.
    ///
    /// Memory is that of the distinct pairs, and of some four million more.
    pub(super) fn count(sequences: &[&[u32]], n_words: usize, window: usize) -> Self {
        let mut counted: Vec<Pair> = Vec::new();
        let mut pending: Vec<Pair> = Vec::new();
        for sequence in sequences {
            for (at, word) in sequence.iter().enumerate() {
                let nearby = sequence[at + 1..]
                    .iter()
                    .take(window.min(MAX_WINDOW))
                    .zip(1..);
                for (other, distance) in nearby {
                    let weight = WEIGHT / distance;
                    pending.push((key(*word, *other), weight));
                    pending.push((key(*other, *word), weight));
                }
            }
            if pending.len() >= MAX_PENDING {
                merge(&mut counted, &mut pending);
            }
        }
        merge(&mut counted, &mut pending);
        Self::from_sorted(&counted, n_words)
    }

    /// Puts sorted pairs into rows.
    fn from_sorted(counted: &[Pair], n_words: usize) -> Self {
        let mut offsets = vec![0; n_words + 1];
        for (key, _) in counted {
            offsets[(key >> 32) as usize + 1] += 1;
        }
        for row in 0..n_words {
            offsets[row + 1] += offsets[row];
        }
        Self {
            offsets,
            // The lower half of the key, which is all of the second word.
            columns: counted
                .iter()
                .map(|(key, _)| (key & u64::from(u32::MAX)) as u32)
                .collect(),
            weights: counted.iter().map(|(_, weight)| *weight).collect(),
        }
    }

    /// Returns the number of words.
    pub(super) fn n_words(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the sum of each row's weights.
    pub(super) fn row_sums(&self) -> Vec<u64> {
        let rows = self.offsets.windows(2);
        rows.map(|ends| self.weights[ends[0]..ends[1]].iter().sum())
            .collect()
    }
}

/// Makes one number of a pair, which sorts by rows.
fn key(word: u32, other: u32) -> u64 {
    debug_assert!(word != Special::Pad.id(), "padding has no neighbours");
    u64::from(word) << 32 | u64::from(other)
}

/// Adds the pending pairs to the counted ones, which stay sorted and distinct.
fn merge(counted: &mut Vec<Pair>, pending: &mut Vec<Pair>) {
    pending.sort_unstable();
    let mut merged: Vec<Pair> = Vec::with_capacity(counted.len() + pending.len() / 4);
    let (mut old, mut new) = (counted.iter().peekable(), pending.iter().peekable());
    loop {
        let next = match (old.peek(), new.peek()) {
            (Some(a), Some(b)) if a.0 <= b.0 => old.next(),
            (_, Some(_)) => new.next(),
            (_, None) => old.next(),
        };
        let Some(&(key, weight)) = next else { break };
        match merged.last_mut() {
            Some(last) if last.0 == key => last.1 += weight,
            _ => merged.push((key, weight)),
        }
    }
    *counted = merged;
    pending.clear();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn near_words_count_by_their_distance() {
        let counted = Cooccurrence::count(&[&[1, 2, 1, 3]], 4, 2);
        let row = |word: usize| -> Vec<(u32, u64)> {
            let range = counted.offsets[word]..counted.offsets[word + 1];
            let columns = counted.columns[range.clone()].iter().copied();
            columns
                .zip(counted.weights[range].iter().copied())
                .collect()
        };
        assert_eq!(row(0), []);
        assert_eq!(row(1), [(1, 2520), (2, 5040), (3, 2520)]);
        assert_eq!(row(2), [(1, 5040), (3, 1260)]);
        assert_eq!(counted.row_sums(), [0, 10_080, 6300, 3780]);
    }

    proptest! {
        #[test]
        fn merged_counts_are_those_of_a_map(
            parts in prop::collection::vec(prop::collection::vec((0_u64..20, 1_u64..9), 0..30), 0..6),
        ) {
            let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
            let mut counted = Vec::new();
            for mut part in parts {
                for (key, weight) in &part {
                    *expected.entry(*key).or_default() += weight;
                }
                merge(&mut counted, &mut part);
            }
            prop_assert_eq!(counted, expected.into_iter().collect::<Vec<_>>());
        }
    }
}

//! Measures how much patterns of a node have in common: the Jaccard index of their children, over
//! pairs drawn by a seed.

use std::collections::BTreeMap;

use kato_model::PatternName;
use kato_random::SplitMix64;
use serde::{Deserialize, Serialize};

/// The similarity of the patterns of a node by what they are made of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Similarity {
    /// Mean, over the pairs that were compared, of the Jaccard index of their sets of children:
    /// common children / all children. 0: no pair has a child in common. Its complement is the
    /// diversity of the node.
    pub mean_jaccard: f64,
    /// Pairs that were compared: of different patterns, of which at least one has children.
    pub pairs: u64,
}

/// A sample of pairs of patterns, and the children of those that take part.
#[derive(Debug)]
pub(super) struct Sample {
    pairs: Vec<(usize, usize)>,
    children: BTreeMap<usize, Vec<PatternName>>,
}

impl Sample {
    /// Creates a sample of all pairs of `n` patterns if there are at most `most`, else of that many
    /// drawn with replacement.
    pub(super) fn draw(n: usize, most: usize, seed: u64) -> Self {
        let all = n.saturating_mul(n.saturating_sub(1)) / 2;
        let pairs: Vec<(usize, usize)> = if all <= most {
            (0..n).flat_map(|a| (0..a).map(move |b| (a, b))).collect()
        } else {
            // More pairs than none means that there are two patterns at least, so `n - 1` is not
            // zero.
            let mut random = SplitMix64::from_seed(seed);
            let pair = |_| {
                // The second is drawn from the others, so that every pair of different patterns is
                // equally likely.
                let (a, b) = (random.below(n), random.below(n - 1));
                (a, if b < a { b } else { b + 1 })
            };
            (0..most).map(pair).collect()
        };
        let positions = pairs.iter().flat_map(|&(a, b)| [a, b]);
        Self {
            children: positions.map(|position| (position, Vec::new())).collect(),
            pairs,
        }
    }

    /// Records the children of a pattern, if it takes part.
    pub(super) fn record(&mut self, position: usize, children: impl Iterator<Item = PatternName>) {
        if let Some(taken) = self.children.get_mut(&position) {
            // Sorted sets without repetition: the Jaccard index is one of sets, and they are
            // searched.
            *taken = children.collect();
            taken.sort_unstable();
            taken.dedup();
        }
    }

    /// Returns the mean over all pairs of which at least one has a child; `None` when there are no
    /// such pairs.
    pub(super) fn similarity(&self) -> Option<Similarity> {
        // Pairs are added in the order of the draw. Positions are ranks of names, so equal
        // knowledge gives the same sum to the last bit.
        let (mut sum, mut pairs) = (0.0, 0_u64);
        for (a, b) in &self.pairs {
            let (a, b) = (&self.children[a], &self.children[b]);
            let common = a
                .iter()
                .filter(|name| b.binary_search(name).is_ok())
                .count();
            let all = a.len() + b.len() - common;
            // The index of two empty sets is not defined, so such pairs are not counted.
            if all > 0 {
                sum += common as f64 / all as f64;
                pairs += 1;
            }
        }
        (pairs > 0).then(|| Similarity {
            mean_jaccard: sum / pairs as f64,
            pairs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_patterns_are_compared_in_all_pairs_and_many_in_some() {
        assert_eq!(Sample::draw(4, 6, 1).pairs.len(), 6);
        for n in [0, 1] {
            assert_eq!(Sample::draw(n, 6, 1).similarity(), None);
        }
        let drawn = Sample::draw(5, 6, 1).pairs;
        assert_eq!(drawn.len(), 6);
        assert!(drawn.iter().all(|&(a, b)| a != b && a < 5 && b < 5));
        assert_eq!(drawn, Sample::draw(5, 6, 1).pairs);
        assert_ne!(drawn, Sample::draw(5, 6, 2).pairs);
    }

    #[test]
    fn the_index_is_common_children_by_all_children() {
        let name = |n: u8| PatternName::from_bytes([n; PatternName::BYTES]);
        let mut sample = Sample::draw(3, 10, 0);
        sample.record(0, [2, 1, 1].map(name).into_iter());
        sample.record(1, [2, 3].map(name).into_iter());
        // 0 and 1 share one of three; 2 has no children.
        let found = sample.similarity().unwrap();
        assert_eq!((found.mean_jaccard, found.pairs), (1.0 / 3.0 / 3.0, 3));
    }
}

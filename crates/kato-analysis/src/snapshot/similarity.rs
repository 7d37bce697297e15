//! How much patterns of a node have in common: the Jaccard index of their children, over pairs drawn by a seed.

use std::collections::BTreeMap;

use kato_model::PatternName;
use serde::{Deserialize, Serialize};

/// How similar the patterns of a node are to each other by what they are made of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// Mean, over pairs of different patterns, of the Jaccard index of their sets of children: common children / all children.
    /// 0: no two have a child in common. Its complement is the diversity of the node.
    pub mean_jaccard: f64,
    /// Pairs that were compared.
    pub pairs: u64,
}

/// Pairs of patterns, and the children of those that take part.
#[derive(Debug)]
pub(super) struct Sample {
    pairs: Vec<(usize, usize)>,
    children: BTreeMap<usize, Vec<PatternName>>,
}

impl Sample {
    /// All pairs of `n` patterns if there are at most `most`, else that many drawn with replacement.
    pub(super) fn draw(n: usize, most: usize, seed: u64) -> Self {
        let all = n.saturating_mul(n.saturating_sub(1)) / 2;
        let pairs: Vec<(usize, usize)> = if all <= most {
            (0..n).flat_map(|a| (0..a).map(move |b| (a, b))).collect()
        } else {
            let mut random = SplitMix(seed);
            let pair = |_| {
                // Of the others, so that every pair of different patterns is equally likely.
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

    /// Takes the children of a pattern, if it takes part.
    pub(super) fn take(&mut self, position: usize, children: impl Iterator<Item = PatternName>) {
        if let Some(taken) = self.children.get_mut(&position) {
            *taken = children.collect();
            taken.sort_unstable();
            taken.dedup();
        }
    }

    /// The mean over all pairs of which at least one has a child; `None` when there are none.
    pub(super) fn similarity(&self) -> Option<Similarity> {
        let (mut sum, mut pairs) = (0.0, 0_u64);
        for (a, b) in &self.pairs {
            let (a, b) = (&self.children[a], &self.children[b]);
            let common = a
                .iter()
                .filter(|name| b.binary_search(name).is_ok())
                .count();
            let all = a.len() + b.len() - common;
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

/// SplitMix64: the same numbers everywhere, and enough for drawing pairs.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not zero; its bias is below n / 2⁶⁴.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
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
        sample.take(0, [2, 1, 1].map(name).into_iter());
        sample.take(1, [2, 3].map(name).into_iter());
        // 0 and 1 share one of three; 2 has no children.
        let found = sample.similarity().unwrap();
        assert_eq!((found.mean_jaccard, found.pairs), (1.0 / 3.0 / 3.0, 3));
    }
}

//! The best patterns of a search so far.

use std::cmp::Ordering;

use kato_model::{KatoGeneration, PatternName};

use crate::index::Spot;

/// Which of two patterns of equal score comes first.
///
/// Names and ranks have keys, of which the lesser one comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TieOrder {
    /// The earlier name.
    Ascending,
    /// The later name.
    Descending,
}

impl TieOrder {
    /// Returns the order of a generation.
    pub(crate) fn of(generation: KatoGeneration) -> Self {
        match generation.ties_descend() {
            false => Self::Ascending,
            true => Self::Descending,
        }
    }

    /// Returns the key of a name, or the name of a key.
    #[inline]
    pub(crate) fn name(self, name: &PatternName) -> PatternName {
        match self {
            Self::Ascending => *name,
            Self::Descending => {
                // Not `map`, which goes byte by byte.
                let mut bytes = *name.as_bytes();
                bytes.iter_mut().for_each(|byte| *byte = !*byte);
                PatternName::from_bytes(bytes)
            }
        }
    }

    /// Returns the key of a rank, which is in name order, or the rank of a key.
    #[inline]
    pub(crate) const fn rank(self, rank: u32) -> u32 {
        match self {
            Self::Ascending => rank,
            Self::Descending => !rank,
        }
    }

    /// Returns the key of a place in a page whose names ascend, or the place of a key.
    #[inline]
    pub(crate) const fn place(self, place: u16) -> u16 {
        match self {
            Self::Ascending => place,
            Self::Descending => !place,
        }
    }

    /// Returns the items of a list in name order, those first that come first.
    pub(crate) fn walk<T>(
        self,
        mut items: impl DoubleEndedIterator<Item = T>,
    ) -> impl Iterator<Item = T> {
        std::iter::from_fn(move || match self {
            Self::Ascending => items.next(),
            Self::Descending => items.next_back(),
        })
    }
}

/// A pattern with its score; better ones are *less*: by score descending, then by the key of the name.
///
/// Names are distinct within an index, so that equality needs no more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    pub(crate) score: f64,
    /// The [key](TieOrder::name) of its name.
    pub(crate) key: PatternName,
    pub(crate) spot: Spot,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then_with(|| self.by_key(other))
    }
}

impl Ranked {
    /// Compares by the key of the name.
    pub(crate) fn by_key(&self, other: &Self) -> Ordering {
        // The leading bytes as a number nearly always decide, and faster than all bytes.
        let leading = self.key.leading_u64().cmp(&other.key.leading_u64());
        leading.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

/// A collection that keeps the `limit` best of all patterns that are offered: the least, as better
/// ones are less.
///
/// The bar is raised once for many patterns, as raising it for each would cost more than comparing
/// a few too many.
#[derive(Debug)]
pub(crate) struct TopK<T = Ranked> {
    limit: usize,
    /// At least the `limit` best so far.
    kept: Vec<T>,
    /// The last of the `limit` best at the time when the bar was last raised.
    threshold: Option<T>,
}

impl TopK {
    /// Returns whether a pattern may be among the best, given the key of its name.
    ///
    /// The name is read only if the score leaves it open, as reading it mostly means waiting for memory.
    #[inline]
    pub(crate) fn accepts(&self, score: f64, key: impl FnOnce() -> PatternName) -> bool {
        self.threshold.as_ref().is_none_or(|threshold| {
            let by_score = score.total_cmp(&threshold.score);
            by_score.is_gt() || (by_score.is_eq() && key() < threshold.key)
        })
    }
}

impl<T: Ord + Copy> TopK<T> {
    /// Creates an empty collection of at most `limit` patterns.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Vec::new(),
            threshold: None,
        }
    }

    /// Returns the pattern that another one has to be better than; `None` as long as there is room.
    #[inline]
    pub(crate) fn threshold(&self) -> Option<&T> {
        self.threshold.as_ref()
    }

    /// Adds a pattern and raises the bar when enough have come together.
    pub(crate) fn push(&mut self, ranked: T) {
        self.kept.push(ranked);
        // The first time as soon as there are enough, since any bar is better than none; then after
        // a quarter more, so that each pattern pays for a constant share of the selection.
        let most = match self.threshold {
            None => self.limit,
            Some(_) => self.limit.saturating_add(self.limit / 4 + 16),
        };
        if self.kept.len() >= most {
            self.raise_threshold();
        }
    }

    /// Raises the bar as far as it goes and returns it; `None` as long as there is room.
    pub(crate) fn raised(&mut self) -> Option<&T> {
        if self.kept.len() >= self.limit {
            self.raise_threshold();
        }
        self.threshold()
    }

    /// Cuts the collection to the best and makes the last of them the bar.
    fn raise_threshold(&mut self) {
        // With a limit of 0 nothing is kept and there is no last one.
        if let Some(last) = self.limit.checked_sub(1) {
            let (_, threshold, _) = self.kept.select_nth_unstable(last);
            self.threshold = Some(*threshold);
        }
        self.kept.truncate(self.limit);
    }

    /// Returns the best, best first.
    pub(crate) fn into_sorted(mut self) -> Vec<T> {
        self.kept.sort_unstable();
        self.kept.truncate(self.limit);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_best_whatever_the_order() {
        let all: Vec<Ranked> = (0..1000u32)
            .map(|number| Ranked {
                score: f64::from(number * 7919 % 10),
                key: PatternName::of_events(&[[number.to_string()]]),
                spot: Spot::Base(number),
            })
            .collect();
        let mut sorted = all.clone();
        sorted.sort();
        for limit in [0, 1, 7, 301, 999, 1000, 2000, usize::MAX] {
            let mut top = TopK::new(limit);
            for ranked in &all {
                if top.accepts(ranked.score, || ranked.key) {
                    top.push(*ranked);
                }
            }
            assert!(top.into_sorted() == sorted[..limit.min(1000)], "{limit}");
        }
    }
}

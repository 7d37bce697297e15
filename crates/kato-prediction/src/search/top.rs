//! The best patterns so far.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use kato_model::PatternName;

use crate::index::Place;

/// A pattern with its score; better ones are *less*: by score descending, then by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    pub(crate) score: f64,
    pub(crate) name: PatternName,
    pub(crate) place: Place,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then_with(|| self.name.cmp(&other.name))
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

/// Keeps the `limit` best of all that are offered.
#[derive(Debug)]
pub(crate) struct Top {
    limit: usize,
    /// The worst one on top.
    heap: BinaryHeap<Ranked>,
}

impl Top {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            heap: BinaryHeap::new(),
        }
    }

    /// The pattern that a better one would replace; `None` as long as there is room.
    pub(crate) fn worst(&self) -> Option<&Ranked> {
        self.heap.peek().filter(|_| self.heap.len() >= self.limit)
    }

    /// Whether a pattern is among the best so far.
    pub(crate) fn accepts(&self, score: f64, name: &PatternName) -> bool {
        self.worst().is_none_or(|worst| {
            let by_score = score.total_cmp(&worst.score);
            by_score.is_gt() || (by_score.is_eq() && *name < worst.name)
        })
    }

    pub(crate) fn push(&mut self, ranked: Ranked) {
        self.heap.push(ranked);
        if self.heap.len() > self.limit {
            self.heap.pop();
        }
    }

    /// Best first.
    pub(crate) fn into_sorted(self) -> Vec<Ranked> {
        self.heap.into_sorted_vec()
    }
}

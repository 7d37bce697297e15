//! The patterns that hold what is looked for, as few of them as may be listed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::collect::Holder;

/// What one pattern holds of a target.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    pub(super) count: u64,
    pub(super) before: BTreeSet<u32>,
}

/// Returns the key to sort by: the most occurrences first, ties by level and name.
pub(super) fn rank<'a>(holder: &'a Holder, held: &Held) -> (Reverse<u64>, &'a Holder) {
    (Reverse(held.count), holder)
}

/// The patterns that hold a target.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Of which all is known.
    pub(super) whole: BTreeMap<Holder, Held>,
    /// Of which more may come.
    pub(super) open: BTreeMap<Holder, Held>,
    /// Patterns that hold it and are not kept.
    n_dropped: u64,
    n_open_dropped: u64,
}

impl Found {
    /// Returns how many patterns hold it, of which all is known.
    pub(super) fn n_whole(&self) -> u64 {
        self.n_dropped + self.whole.len() as u64
    }

    /// Drops open patterns but so many with the most occurrences; returns whether there were more.
    pub(super) fn drop_open(&mut self, most: usize) -> bool {
        let n_dropped = keep_best(&mut self.open, most);
        self.n_open_dropped += n_dropped;
        n_dropped > 0
    }

    /// Forgets what is open.
    pub(super) fn forget_open(&mut self) {
        self.open.clear();
        self.n_open_dropped = 0;
    }

    /// Notes that no more comes of what is open, and keeps so many patterns with the most occurrences.
    pub(super) fn settle(&mut self, most: usize) {
        self.whole.append(&mut self.open);
        self.n_dropped += std::mem::take(&mut self.n_open_dropped);
        self.n_dropped += keep_best(&mut self.whole, most);
    }
}

/// Keeps so many patterns with the most occurrences, and returns how many others there were.
fn keep_best(held: &mut BTreeMap<Holder, Held>, most: usize) -> u64 {
    let Some(n_dropped) = held.len().checked_sub(most).filter(|&n| n > 0) else {
        return 0;
    };
    let mut holders: Vec<(Holder, Held)> = std::mem::take(held).into_iter().collect();
    holders
        .sort_by(|(one, of_one), (other, of_other)| rank(one, of_one).cmp(&rank(other, of_other)));
    holders.truncate(most);
    *held = holders.into_iter().collect();
    n_dropped as u64
}

//! What others have to be better than: the worst of the patterns that a search keeps.

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};

use crate::frozen::Reader;
use crate::search::{Ranked, TieOrder};

/// A pattern that the search found; better ones are less.
#[derive(Debug, Clone, Copy)]
pub(in crate::search) struct FoundRank {
    pub(in crate::search) score: f64,
    /// The key of its rank.
    pub(in crate::search) key: u32,
}

impl Ord for FoundRank {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for FoundRank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FoundRank {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for FoundRank {}

/// The highest bar of several searches, each of a part of the ranks.
///
/// Where one part alone has as many patterns as are wanted, the worst of them is a bar for all.
#[derive(Debug)]
pub(super) struct SharedBar(Mutex<Option<FoundRank>>);

impl SharedBar {
    /// Begins with the bar of others.
    pub(super) const fn new(bar: Option<FoundRank>) -> Self {
        Self(Mutex::new(bar))
    }

    /// Raises the bar to that of one search, if that is higher, and returns the higher one.
    pub(super) fn raise(&self, own: Option<FoundRank>) -> Option<FoundRank> {
        // Valid whatever panicked, as it is replaced whole.
        let mut bar = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *bar = higher(*bar, own);
        *bar
    }
}

/// Returns the higher of two bars: better patterns are less.
pub(super) fn higher(a: Option<FoundRank>, b: Option<FoundRank>) -> Option<FoundRank> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

/// Returns the bar that a pattern of another index is: what is better here is less.
pub(super) fn bar_of(reader: &Reader<'_>, ties: TieOrder, worst: &Ranked) -> FoundRank {
    // Ranks are in name order: those below this one have earlier names.
    let n_before = reader.n_before(&ties.name(&worst.key));
    let score = worst.score;
    match (ties, n_before.checked_sub(1)) {
        (TieOrder::Ascending, _) => FoundRank {
            score,
            key: n_before,
        },
        // The last of the earlier names is no better, and all later ones are.
        (TieOrder::Descending, Some(last)) => FoundRank {
            score,
            key: ties.rank(last),
        },
        // All names are later, and better at the same score.
        (TieOrder::Descending, None) => FoundRank {
            score: score.next_down(),
            key: 0,
        },
    }
}

/// Returns whether a pattern with this bound may be among the best.
#[inline]
pub(super) fn can_rank(bar: Option<FoundRank>, upper: f64, key: u32) -> bool {
    bar.is_none_or(|bar| upper > bar.score || (upper == bar.score && key < bar.key))
}

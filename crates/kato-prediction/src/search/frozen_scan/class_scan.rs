//! The patterns of one class, in steps of those that the bounds allow the same.

use std::ops::Range;

use super::bar::FoundRank;
use super::lists::{Kind, Lists};
use super::seen::Seen;
use crate::bounds::{Bounds, PlaceBounds};
use crate::frozen::FrozenClass;
use crate::state::State;

/// Most steps of a class for one number of pairs. More end sooner among ties, but walk the same lists
/// more often.
const MAX_STEPS: usize = 24;

/// Overlaps without pairs that have a step of their own in patterns with signatures; the others share one.
const STEPS_ALONE: usize = 3;

/// The patterns of one class.
pub(super) struct ClassScan<'s> {
    pub(super) class: &'s FrozenClass,
    pub(super) bounds: Bounds,
    /// `None` where signatures are of no use.
    pub(super) places: Option<PlaceBounds>,
    pub(super) symbols: Lists<'s>,
    /// Looked up when first needed.
    pub(super) pairs: Option<Lists<'s>>,
    /// The part of the ranks that the lists are cut to.
    pub(super) ranks: Range<u32>,
}

/// The patterns of a class that have numbers of pairs and overlaps in ranges, by the lists.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// `None` for the patterns of all classes that share nothing with the state.
    pub(super) class: Option<usize>,
    /// The best score that the bounds allow them.
    pub(super) high: f64,
    pub(super) n_pairs: (usize, usize),
    pub(super) overlaps: (usize, usize),
}

impl<'s> ClassScan<'s> {
    /// Returns the best score of a pattern of a step that may hold what was seen of the state.
    #[inline]
    pub(super) fn upper_in(&mut self, step: Step, seen: Seen, state: &State<'_>) -> f64 {
        // Of more symbols or pairs it belongs to another step.
        let n_pairs = seen.n_pairs.min(step.n_pairs.1);
        let in_order = self
            .bounds
            .upper(seen.lcs(state).min(step.overlaps.1), n_pairs);
        match &mut self.places {
            Some(places) => places.upper(seen.places, n_pairs).min(in_order),
            None => f64::INFINITY,
        }
    }

    /// Returns the overlaps from which on a pattern of a step can rank: one that comes before the bar, and one
    /// behind it.
    pub(super) fn least_overlaps(&self, step: Step, bar: Option<FoundRank>) -> [usize; 2] {
        let Some(bar) = bar else {
            return [step.overlaps.0; 2];
        };
        let least = |reaches: &dyn Fn(f64) -> bool| {
            let mut overlaps = step.overlaps.0..=step.overlaps.1;
            let least = overlaps.find(|&o| reaches(self.bounds.upper(o, step.n_pairs.1)));
            least.unwrap_or(usize::MAX)
        };
        [
            least(&|upper| upper >= bar.score),
            least(&|upper| upper > bar.score),
        ]
    }

    /// Returns the best score of a pattern of which this was seen.
    #[inline]
    pub(super) fn upper(&mut self, seen: Seen, state: &State<'_>) -> f64 {
        let in_order = self.bounds.upper(seen.lcs(state), seen.n_pairs);
        match &mut self.places {
            Some(places) => places.upper(seen.places, seen.n_pairs).min(in_order),
            None => f64::INFINITY,
        }
    }

    pub(super) fn lists(&self, kind: Kind) -> &Lists<'s> {
        match (kind, &self.pairs) {
            (Kind::Pairs, Some(pairs)) => pairs,
            _ => &self.symbols,
        }
    }

    /// Appends the steps of the class, whose place in the scans is given.
    pub(super) fn push_steps(&self, class: usize, uses_pairs: bool, steps: &mut Vec<Step>) {
        let most_pairs = self.bounds.most_pairs();
        let mut push = |n_pairs: (usize, usize), overlaps: (usize, usize)| {
            steps.push(Step {
                class: Some(class),
                high: self.bounds.upper(overlaps.1, n_pairs.1),
                n_pairs,
                overlaps,
            });
        };
        if uses_pairs {
            // One step for all overlaps: their lists are the same, and a walk along them costs more
            // than what it finds. One for all that have several pairs, too: they are few, and no ties
            // end a walk along them.
            for n_pairs in [(1, 1), (2, most_pairs)] {
                // The positions of g pairs are those of at least g + 1 symbols; of a symbol that the state
                // repeats there may be more than the pattern has places.
                let most = self.bounds.most();
                let least = self.bounds.least_overlap(n_pairs.1, |_| true);
                let least = least.map(|least| least.max((n_pairs.0 + 1).min(most)));
                if let Some(least) = least.filter(|&least| least <= most && n_pairs.0 <= n_pairs.1)
                {
                    push(n_pairs, (least, most));
                }
            }
        }
        let n_pairs = if uses_pairs { 0 } else { most_pairs };
        // Where no pattern can be a prediction, there is none.
        let Some(least) = self.bounds.least_overlap(n_pairs, |_| true) else {
            return;
        };
        let overlaps: Vec<usize> = (least.max(1)..=self.bounds.most()).collect();
        let bound = |&overlap: &usize| self.bounds.upper(overlap, n_pairs);
        let groups: Vec<&[usize]> = overlaps.chunk_by(|a, b| bound(a) == bound(b)).collect();
        let (alone, rest) = match self.places {
            // Few patterns that are short share much.
            Some(_) => groups.split_at(groups.len().min(STEPS_ALONE)),
            None => (&*groups, &groups[..0]),
        };
        let alone = alone.chunks(alone.len().div_ceil(MAX_STEPS).max(1));
        for groups in alone.chain([rest]) {
            if let (Some(&[first, ..]), Some(&[.., last])) = (groups.first(), groups.last()) {
                push((n_pairs, n_pairs), (*first, *last));
            }
        }
    }
}

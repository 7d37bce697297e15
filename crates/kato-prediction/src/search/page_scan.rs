//! Searching one page: what is shared from postings first, patterns only where that promises enough.

use std::cell::Cell;
use std::cmp::Reverse;
use std::rc::Rc;

use kato_model::PatternName;

use super::tally::{Postings, Tally};
use super::{Top, offer};
use crate::bounds::Bounds;
use crate::candidate::Candidates;
use crate::page::Page;
use crate::state::State;

/// Looking at a pattern costs about as much as reading that many postings.
const PATTERN_COST: usize = 16;

/// The search for one state in one page.
#[derive(Debug)]
pub(super) struct PageScan<'a> {
    number: u16,
    page: &'a Page,
    bounds: Rc<Bounds>,
    /// Places of the state's symbols, the longest list first.
    symbols: Vec<Postings<'a>>,
    /// Places of the state's pairs of neighbours.
    pairs: Vec<Postings<'a>>,
    /// Where the names begin that are not before a name.
    tie_end: Cell<Option<(PatternName, usize)>>,
}

impl<'a> PageScan<'a> {
    pub(super) fn new(number: u16, page: &'a Page, state: &State<'_>, bounds: Rc<Bounds>) -> Self {
        let is_some = |(places, _): &Postings<'_>| !places.is_empty();
        let of_symbol = |postings: &'a crate::page::Postings| {
            let symbols = state.distinct.iter();
            symbols.map(|symbol| (postings.places(symbol.id), symbol.count as usize))
        };
        let mut symbols: Vec<Postings<'_>> = page
            .postings()
            .into_iter()
            .flat_map(of_symbol)
            .filter(is_some)
            .collect();
        symbols.sort_unstable_by_key(|(places, _)| Reverse(places.len()));
        let of_pair = |&(first, second, count)| {
            let parts = page.places_of_pair(first, second);
            parts.map(|places: &'a [u16]| (places, count))
        };
        let pairs = state.pairs.iter().flat_map(of_pair).filter(is_some);
        Self {
            number,
            page,
            bounds,
            symbols,
            pairs: pairs.collect(),
            tie_end: Cell::new(None),
        }
    }

    /// Offers the patterns that share a pair of neighbours with the state; of an open page all patterns.
    pub(super) fn offer_with_pairs(
        &self,
        tally: &mut Tally,
        candidates: &mut Candidates<'_>,
        top: &mut Top,
    ) {
        if self.page.postings().is_none() {
            for place in 0..self.page.len() {
                self.offer(place as u16, candidates, top);
            }
            return;
        }
        let most_pairs = self.pairs.iter().map(|(_, count)| count).sum();
        let Some(least) = (1..=most_pairs).find_map(|n_pairs| self.least_overlap(n_pairs, top))
        else {
            return;
        };
        tally.count_pairs(&self.pairs);
        // All lists tell the overlap exactly, some of them a bound of it, and none nothing.
        let affordable = tally.touched().len() * PATTERN_COST;
        let (left_out, n_left_out) = self.leave_out(least);
        let overlap_of_uncounted = if n_postings(&self.symbols) < affordable {
            tally.count_symbols_beside_pairs(&self.symbols);
            0
        } else if n_postings(&self.symbols[n_left_out..]) < affordable {
            tally.count_symbols_beside_pairs(&self.symbols[n_left_out..]);
            left_out
        } else {
            self.bounds.most()
        };
        let overlap = |place| tally.symbols(place).saturating_add(overlap_of_uncounted);
        let promising = tally
            .touched()
            .iter()
            .map(|&place| (tally.pairs(place), overlap(place), place));
        self.offer_best_first(promising, candidates, top);
        tally.clear();
    }

    /// Offers the patterns of a sealed page that share no pair of neighbours with the state.
    pub(super) fn offer_without_pairs(
        &self,
        tally: &mut Tally,
        candidates: &mut Candidates<'_>,
        top: &mut Top,
    ) {
        if self.page.postings().is_none() {
            return;
        }
        let Some(least) = self.least_overlap(0, top) else {
            return;
        };
        let most: usize = self.symbols.iter().map(|(_, count)| count).sum();
        if most < least {
            return;
        }
        let (left_out, n_left_out) = self.leave_out(least);
        let (left_out_lists, counted) = self.symbols.split_at(n_left_out);
        tally.count_symbols(counted);
        if n_postings(left_out_lists) < tally.touched().len() * PATTERN_COST {
            tally.count_more_symbols(left_out_lists);
        } else {
            tally.add_to_touched(left_out);
        }
        // Only to tell which patterns have been offered.
        tally.count_pairs(&self.pairs);
        let promising = tally
            .touched()
            .iter()
            .map(|&place| (tally.pairs(place), tally.symbols(place), place))
            .filter(|&(n_pairs, overlap, _)| n_pairs == 0 && overlap >= least);
        self.offer_best_first(promising, candidates, top);
        if least == 0 {
            self.offer_unmatched(tally, candidates, top);
        }
        tally.clear();
    }

    /// Offers the patterns that share nothing with the state, in name order.
    fn offer_unmatched(&self, tally: &Tally, candidates: &mut Candidates<'_>, top: &mut Top) {
        for place in (0..self.page.len()).map(|place| place as u16) {
            if tally.symbols(place) > 0 || tally.pairs(place) > 0 {
                continue;
            }
            if !self.may_enter(place, 0, 0, top) {
                return;
            }
            self.offer(place, candidates, top);
        }
    }

    /// Offers the patterns of these pairs, overlaps and places that may be among the best, most promising first, so that
    /// they raise the bar for the others.
    fn offer_best_first(
        &self,
        patterns: impl Iterator<Item = (usize, usize, u16)>,
        candidates: &mut Candidates<'_>,
        top: &mut Top,
    ) {
        let mut promising: Vec<_> = patterns
            .filter(|&(n_pairs, overlap, place)| self.may_enter(place, overlap, n_pairs, top))
            .collect();
        promising.sort_unstable_by_key(|&(n_pairs, overlap, place)| {
            (Reverse(n_pairs), Reverse(overlap), place)
        });
        for (n_pairs, overlap, place) in promising {
            if self.may_enter(place, overlap, n_pairs, top) {
                self.offer(place, candidates, top);
            }
        }
    }

    fn offer(&self, place: u16, candidates: &mut Candidates<'_>, top: &mut Top) {
        let common = candidates.load(self.page, place);
        if self.may_enter(place, common.symbols, common.pairs, top) {
            offer(self.number, self.page, place, candidates, top);
        }
    }

    /// The smallest overlap at which a pattern of the page with so many common pairs may get among the best.
    fn least_overlap(&self, n_pairs: usize, top: &Top) -> Option<usize> {
        let Some(worst) = top.worst() else {
            return self.bounds.least_overlap(n_pairs, |_| true);
        };
        // A tie is won by the earlier name.
        let may_tie = self
            .page
            .names()
            .first()
            .is_some_and(|name| *name < worst.name);
        self.bounds.least_overlap(n_pairs, |upper| {
            upper > worst.score || (may_tie && upper == worst.score)
        })
    }

    /// How many of the longest lists may be left out if patterns that are in no other list are not wanted, because they
    /// share fewer than `least` symbols; and how many symbols these lists stand for.
    fn leave_out(&self, least: usize) -> (usize, usize) {
        let mut left_out = 0;
        for (n_left_out, (_, count)) in self.symbols.iter().enumerate() {
            if left_out + count >= least {
                return (left_out, n_left_out);
            }
            left_out += count;
        }
        (left_out, self.symbols.len())
    }

    /// Whether a pattern may be among the best.
    fn may_enter(&self, place: u16, overlap: usize, n_pairs: usize, top: &Top) -> bool {
        let Some(worst) = top.worst() else {
            return true;
        };
        let upper = self.bounds.upper(overlap, n_pairs);
        upper > worst.score || (upper == worst.score && self.is_before(place, &worst.name))
    }

    /// Whether the name of a pattern is before another. Asked for the same name again and again, so sealed pages answer by
    /// place.
    fn is_before(&self, place: u16, name: &PatternName) -> bool {
        let names = self.page.names();
        if self.page.postings().is_none() {
            return names[usize::from(place)] < *name;
        }
        let end = match self.tie_end.get() {
            Some((of, end)) if of == *name => end,
            _ => names.partition_point(|held| held < name),
        };
        self.tie_end.set(Some((*name, end)));
        usize::from(place) < end
    }
}

fn n_postings(lists: &[Postings<'_>]) -> usize {
    lists.iter().map(|(places, _)| places.len()).sum()
}

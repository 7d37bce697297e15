//! The search in one page: postings first, and patterns only where these promise a
//! high enough score.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a page has at most 2¹⁶ patterns"
)]

use std::cell::{Cell, OnceCell};
use std::cmp::Reverse;
use std::rc::Rc;

use kato_model::PatternName;

use super::overlap_counters::{OverlapCounters, Postings};
use super::{TieOrder, TopK, offer};
use crate::bounds::Bounds;
use crate::cancel::Cancelled;
use crate::candidate::Candidates;
use crate::page::{Page, SymbolLists};
use crate::state::{State, StatePair};

/// Number of postings whose reading costs about as much as looking at a pattern.
const PATTERN_COST: usize = 16;

/// Number of patterns whose symbols are read ahead together, so that the processor waits for memory
/// once and not for each.
const READ_AHEAD: usize = 32;

/// Share of a page's patterns, as a divisor, below which looking for fewer
/// candidates is not worth it.
const FEW: usize = 32;

/// The search for one state in one page.
#[derive(Debug)]
pub(super) struct PageScan<'a> {
    number: u16,
    page: &'a Page,
    state: &'a State<'a>,
    bounds: Rc<Bounds>,
    /// Parallel to the state's distinct symbols.
    lists: Vec<Option<SymbolLists<'a>>>,
    /// Places of the state's symbols, the longest list first.
    symbols: Vec<Postings<'a>>,
    /// Places of the state's pairs of neighbours; computed when first needed.
    pairs: OnceCell<Vec<Postings<'a>>>,
    /// The key last compared with, and how many names of the page are before its name, or up to it where
    /// the later ones come first.
    tie_boundary: Cell<Option<(PatternName, usize)>>,
    progress: Cell<ScanProgress>,
    ties: TieOrder,
}

/// The patterns of a page that the first round has dealt with.
#[derive(Debug, Clone, Copy)]
enum ScanProgress {
    None,
    WithPairs,
    All,
}

impl<'a> PageScan<'a> {
    /// Looks up the postings of the state's symbols in a page.
    pub(super) fn new(
        number: u16,
        page: &'a Page,
        state: &'a State<'a>,
        bounds: Rc<Bounds>,
        ties: TieOrder,
    ) -> Self {
        let lists: Vec<Option<SymbolLists<'_>>> = match page.postings() {
            None => Vec::new(),
            Some(postings) => {
                let symbols = state.distinct.iter();
                symbols.map(|symbol| postings.lists(symbol.id)).collect()
            }
        };
        let mut symbols: Vec<Postings<'_>> = lists
            .iter()
            .zip(&state.distinct)
            .filter_map(|(lists, symbol)| Some((lists.as_ref()?.places, symbol.count as usize)))
            .collect();
        // The longest first, because `skippable_lists` saves most by leaving out the longest.
        symbols.sort_unstable_by_key(|(places, _)| Reverse(places.len()));
        Self {
            number,
            page,
            state,
            bounds,
            lists,
            symbols,
            pairs: OnceCell::new(),
            tie_boundary: Cell::new(None),
            progress: Cell::new(ScanProgress::None),
            ties,
        }
    }

    /// Performs the first round: offers the patterns that share a pair of neighbours with
    /// the state, unless the bar is so high that the second round finds all that matter
    /// by fewer postings.
    ///
    /// Of an open page, which has no postings, all patterns are offered.
    pub(super) fn scan_pairs(
        &self,
        counters: &mut OverlapCounters,
        candidates: &mut Candidates<'_>,
        top: &mut TopK,
    ) -> Result<(), Cancelled> {
        if self.page.postings().is_none() {
            for place in 0..self.page.len() {
                self.offer(place as u16, candidates, top)?;
            }
            self.progress.set(ScanProgress::All);
            return Ok(());
        }
        if top.threshold().is_some() {
            let Some(least) = self.least_overlap(self.state.n_pairs(), top) else {
                // The bar only rises.
                self.progress.set(ScanProgress::All);
                return Ok(());
            };
            let (_, n_left_out) = self.skippable_lists(least);
            let n_needed = n_postings(&self.symbols[n_left_out..]);
            let are_few = n_needed <= self.page.len() / FEW;
            // At overlap 0 the second round also offers patterns that share nothing, and a higher
            // bar ends that sooner.
            if least > 0 && (are_few || n_needed <= n_postings(self.pairs())) {
                return Ok(());
            }
        }
        self.offer_with_pairs(counters, candidates, top)?;
        self.progress.set(ScanProgress::WithPairs);
        Ok(())
    }

    /// Offers the patterns that share a pair of neighbours with the state.
    fn offer_with_pairs(
        &self,
        counters: &mut OverlapCounters,
        candidates: &mut Candidates<'_>,
        top: &mut TopK,
    ) -> Result<(), Cancelled> {
        // At most so many, as a pair with two lists is counted twice.
        let most_pairs = self.pairs().iter().map(|(_, count)| count).sum();
        let Some(least) = (1..=most_pairs).find_map(|n_pairs| self.least_overlap(n_pairs, top))
        else {
            return Ok(());
        };
        counters.count_pairs(self.pairs());
        // Reading all lists gives the closest bound of the overlap, leaving some out a looser one.
        // Where even that costs more than looking at the patterns, the largest overlap is assumed.
        let affordable = counters.touched().len() * PATTERN_COST;
        let (left_out, n_left_out) = self.skippable_lists(least);
        let overlap_of_uncounted = if n_postings(&self.symbols) < affordable {
            counters.count_symbols_beside_pairs(&self.symbols);
            0
        } else if n_postings(&self.symbols[n_left_out..]) < affordable {
            counters.count_symbols_beside_pairs(&self.symbols[n_left_out..]);
            left_out
        } else {
            self.bounds.most()
        };
        let overlap = |place| counters.symbols(place).saturating_add(overlap_of_uncounted);
        let touched = counters.touched().iter();
        let touched = touched.map(|&place| (counters.pairs(place), overlap(place), place));
        self.offer_best_first(touched, candidates, top)?;
        counters.clear();
        Ok(())
    }

    /// Performs the second round: offers the patterns that the first one left.
    pub(super) fn scan_remaining(
        &self,
        counters: &mut OverlapCounters,
        candidates: &mut Candidates<'_>,
        top: &mut TopK,
    ) -> Result<(), Cancelled> {
        let (most_pairs, offered_pairs) = match self.progress.get() {
            ScanProgress::All => return Ok(()),
            // Patterns that share a pair were offered in the first round; the others share none.
            ScanProgress::WithPairs => (0, self.pairs()),
            ScanProgress::None => (self.state.n_pairs(), &[][..]),
        };
        let Some(least) = self.least_overlap(most_pairs, top) else {
            return Ok(());
        };
        // Not even a pattern that is in every list shares enough symbols.
        let most: usize = self.symbols.iter().map(|(_, count)| count).sum();
        if most < least {
            return Ok(());
        }
        let (left_out, n_left_out) = self.skippable_lists(least);
        let (left_out_lists, counted) = self.symbols.split_at(n_left_out);
        counters.count_symbols(counted);
        // The lists left out only refine the counts of patterns already found; where reading them
        // costs more than looking at these, they are taken to hold every pattern.
        if n_postings(left_out_lists) < counters.touched().len() * PATTERN_COST {
            counters.count_more_symbols(left_out_lists);
        } else {
            counters.add_to_touched(left_out);
        }
        // After the symbols, so that places that only pairs touch take no part in the steps above.
        counters.count_pairs(offered_pairs);
        let touched = counters.touched().iter();
        let touched = touched
            .filter(|&&place| counters.pairs(place) == 0)
            .map(|&place| (most_pairs, counters.symbols(place), place));
        self.offer_best_first(touched, candidates, top)?;
        // Nothing was left out then, so places without a count share nothing at all.
        if least == 0 {
            self.offer_unmatched(counters, candidates, top)?;
        }
        counters.clear();
        Ok(())
    }

    /// Returns the places of the state's pairs of neighbours.
    fn pairs(&self) -> &[Postings<'a>] {
        self.pairs.get_or_init(|| {
            let of_pair = |pair: &StatePair| {
                let lists = self.lists.get(pair.first)?.as_ref()?;
                let first = self.state.distinct[pair.first].id;
                let parts = self.page.places_of_pair(lists, first, pair.second);
                Some(parts.map(|places| (places, pair.count)))
            };
            let pairs = self.state.pairs.iter().filter_map(of_pair).flatten();
            pairs.filter(|(places, _)| !places.is_empty()).collect()
        })
    }

    /// Offers the patterns that share nothing with the state, in name order.
    fn offer_unmatched(
        &self,
        counters: &OverlapCounters,
        candidates: &mut Candidates<'_>,
        top: &mut TopK,
    ) -> Result<(), Cancelled> {
        for place in self
            .ties
            .walk((0..self.page.len()).map(|place| place as u16))
        {
            if counters.symbols(place) > 0 || counters.pairs(place) > 0 {
                continue;
            }
            // All of these have one score and come in the order of ties, so no later one can rank either.
            if !self.can_rank(place, 0, 0, top) {
                return Ok(());
            }
            self.offer(place, candidates, top)?;
        }
        Ok(())
    }

    /// Offers patterns, given by pairs, overlap and place, that may be among the best.
    ///
    /// The most promising come first, so that they raise the bar for the others.
    fn offer_best_first(
        &self,
        patterns: impl Iterator<Item = (usize, usize, u16)>,
        candidates: &mut Candidates<'_>,
        top: &mut TopK,
    ) -> Result<(), Cancelled> {
        // The bar as least overlaps, since there are many more patterns than pairs.
        let least: Vec<usize> = (0..=self.bounds.most_pairs())
            .map(|n_pairs| self.least_overlap(n_pairs, top).unwrap_or(usize::MAX))
            .collect();
        let last = least.len() - 1;
        let mut promising: Vec<RankedPlace> = patterns
            .filter(|&(n_pairs, overlap, _)| overlap >= least[n_pairs.min(last)])
            .filter(|&(n_pairs, overlap, place)| self.can_rank(place, overlap, n_pairs, top))
            .map(|(n_pairs, overlap, place)| {
                RankedPlace::new(n_pairs, overlap, self.ties.place(place))
            })
            .collect();
        promising.sort_unstable();
        for group in promising.chunks(READ_AHEAD) {
            self.page
                .read_ahead(group.iter().map(|pattern| self.ties.place(pattern.key())));
            for pattern in group {
                let place = self.ties.place(pattern.key());
                // The bar may have risen since the patterns were sorted.
                if self.can_rank(place, pattern.overlap(), pattern.n_pairs(), top) {
                    self.offer(place, candidates, top)?;
                }
            }
        }
        Ok(())
    }

    /// Offers one pattern if it may be among the best.
    fn offer(
        &self,
        place: u16,
        candidates: &mut Candidates<'_>,
        top: &mut TopK,
    ) -> Result<(), Cancelled> {
        // Closer bounds from the pattern itself, still far cheaper than matching it.
        let common = self.page.common(place, self.state);
        if self.can_rank(place, common.symbols, common.pairs, top) {
            offer((self.number, self.page, place), common, candidates, top)?;
        }
        Ok(())
    }

    /// Finds the smallest overlap at which a pattern of the page with so many common pairs may get
    /// among the best; `None` if none does.
    fn least_overlap(&self, n_pairs: usize, top: &TopK) -> Option<usize> {
        let Some(threshold) = top.threshold() else {
            return self.bounds.least_overlap(n_pairs, |_| true);
        };
        // A sealed page has its names in order, so one end of it wins the most ties.
        let names = self.page.names();
        let end = match self.ties {
            TieOrder::Ascending => names.first(),
            TieOrder::Descending => names.last(),
        };
        let may_tie = end.is_some_and(|name| self.ties.name(name) < threshold.key);
        self.bounds.least_overlap(n_pairs, |upper| {
            upper > threshold.score || (may_tie && upper == threshold.score)
        })
    }

    /// Returns how many symbols the lists stand for that may be left out, and how many lists these
    /// are, counted from the longest.
    ///
    /// A pattern that is in no other list shares fewer than `least` symbols and is not wanted.
    fn skippable_lists(&self, least: usize) -> (usize, usize) {
        let mut left_out = 0;
        for (n_left_out, (_, count)) in self.symbols.iter().enumerate() {
            if left_out + count >= least {
                return (left_out, n_left_out);
            }
            left_out += count;
        }
        (left_out, self.symbols.len())
    }

    /// Returns whether a pattern with these bounds may be among the best.
    fn can_rank(&self, place: u16, overlap: usize, n_pairs: usize, top: &TopK) -> bool {
        let Some(threshold) = top.threshold() else {
            return true;
        };
        let upper = self.bounds.upper(overlap, n_pairs);
        upper > threshold.score
            || (upper == threshold.score && self.is_before(place, &threshold.key))
    }

    /// Returns whether a pattern comes before that of another key.
    fn is_before(&self, place: u16, key: &PatternName) -> bool {
        let names = self.page.names();
        if self.page.postings().is_none() {
            return self.ties.name(&names[usize::from(place)]) < *key;
        }
        // Called with one key again and again: by place no name of the page needs to be read.
        let end = match self.tie_boundary.get() {
            Some((of, end)) if of == *key => end,
            _ => {
                let name = self.ties.name(key);
                names.partition_point(|held| match self.ties {
                    TieOrder::Ascending => *held < name,
                    TieOrder::Descending => *held <= name,
                })
            }
        };
        self.tie_boundary.set(Some((*key, end)));
        (usize::from(place) < end) == (self.ties == TieOrder::Ascending)
    }
}

/// A place with what its pattern may share with the state, as one number, so that many are sorted
/// fast: more pairs are less, then more overlap, then places by their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankedPlace(u64);

impl RankedPlace {
    /// The largest count, which stands for all larger ones.
    const MOST: usize = u16::MAX as usize;

    fn new(n_pairs: usize, overlap: usize, key: u16) -> Self {
        let descending = |count: usize| (Self::MOST - count.min(Self::MOST)) as u64;
        Self(descending(n_pairs) << 32 | descending(overlap) << 16 | u64::from(key))
    }

    fn n_pairs(self) -> usize {
        Self::MOST - (self.0 >> 32) as usize
    }

    /// Returns the overlap; `usize::MAX` where it was cut, so that it stays an upper bound.
    fn overlap(self) -> usize {
        match Self::MOST - (self.0 >> 16) as usize % (Self::MOST + 1) {
            Self::MOST => usize::MAX,
            overlap => overlap,
        }
    }

    /// Returns the key of the place.
    fn key(self) -> u16 {
        self.0 as u16
    }
}

fn n_postings(lists: &[Postings<'_>]) -> usize {
    lists.iter().map(|(places, _)| places.len()).sum()
}

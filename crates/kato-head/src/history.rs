//! What a session has read, and what it says about what comes next.

mod recent;
mod totals;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::OnceLock;

use foldhash::fast::FixedState;

use self::recent::Recent;
use self::totals::RarityTotal;
use crate::symbols::SymbolId;

/// Stands for a symbol that the head does not know.
pub(crate) const UNKNOWN: u32 = u32::MAX - 1;

/// Longest context of the cache that a class of weights tells apart.
pub(crate) const MAX_CACHED: usize = 3;

/// Symbols after which the weight of a cached symbol has fallen to 1 / e in the recent cache.
const RECENT_REACH: f64 = 120.0;

/// Symbols that the recent cache holds; those before them would weigh less than 1 / 5,000.
const RECENT: usize = 1024;

/// The symbols that a session has read: the context of the n-grams, and the cache.
///
/// Created by [`Head::history`](crate::Head::history), and filled by
/// [`Head::read`](crate::Head::read). It keeps the latest symbols, as many as
/// [`HeadOptions::cache_window`](crate::HeadOptions::cache_window) says, and needs some 100 bytes
/// for each.
#[derive(Debug, Clone)]
pub struct History {
    window: usize,
    symbols: VecDeque<u32>,
    /// Of each symbol −log₂ of how frequent it was when it was read; 0 for unknown ones.
    rarities: VecDeque<f64>,
    /// Number of the first symbol that is kept, counted from 0.
    first: u64,
    /// Where each symbol occurs among those that are kept, from the oldest to the latest.
    places: HashMap<u32, VecDeque<Occurrence>, FixedState>,
    recent: Recent,
    rarity_total: RarityTotal,
}

impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        // Everything else follows from these.
        self.window == other.window
            && self.first == other.first
            && self.symbols == other.symbols
            && self.rarities == other.rarities
    }
}

/// The places that followed the last symbols of a history before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Followers {
    /// By how many of the last symbols, less 1: numbers of the symbols that followed them.
    places: [Vec<u64>; MAX_CACHED],
}

impl Followers {
    /// Returns the most symbols that were followed by something before; 0 if there are none.
    pub(crate) fn longest(&self) -> usize {
        let found = self.places.iter().take_while(|found| !found.is_empty());
        found.count()
    }

    /// Returns the numbers of the symbols that followed the last `length` ones, the oldest first.
    pub(crate) fn after(&self, length: usize) -> &[u64] {
        let place = length.checked_sub(1);
        place.map_or(&[], |place| &self.places[place][..])
    }
}

/// One occurrence of a symbol in a history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Occurrence {
    /// Its number, counted from 0.
    pub(crate) place: u64,
    /// −log₂ of how frequent the symbol was when it was read.
    pub(crate) rarity: f64,
}

/// How much an occurrence weighs in a part of the cache that holds all symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weighing {
    /// As much as the symbol is rare.
    Rarity,
    /// The same, and the less the longer ago.
    Recent,
}

/// What somebody says who weighs a few symbols.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cached {
    /// The symbols in ascending order, with their weights.
    pub(crate) weights: Vec<(u32, f64)>,
    /// Sum of the weights.
    pub(crate) total: f64,
}

impl Cached {
    /// Weighs symbols; the order in which they come is that of the sum, which must not depend on
    /// their numbers.
    pub(crate) fn of(weights: impl IntoIterator<Item = (u32, f64)>) -> Self {
        let mut weights: Vec<(u32, f64)> = weights.into_iter().collect();
        let total = weights.iter().map(|(_, weight)| weight).sum();
        // Stable, so that weights of one symbol are added in the order in which they came.
        weights.sort_by_key(|&(symbol, _)| symbol);
        weights.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                first.1 += later.1;
            }
            is_same
        });
        Self { weights, total }
    }

    /// Returns whether it says anything.
    pub(crate) fn is_answer(&self) -> bool {
        self.total > 0.0
    }

    /// Returns the weight of a symbol.
    pub(crate) fn weight(&self, symbol: u32) -> f64 {
        let place = self
            .weights
            .binary_search_by_key(&symbol, |&(other, _)| other);
        place.map_or(0.0, |place| self.weights[place].1)
    }
}

impl History {
    /// Creates an empty history that keeps this many symbols.
    pub(crate) fn new(window: usize) -> Self {
        Self {
            window,
            symbols: VecDeque::new(),
            rarities: VecDeque::new(),
            first: 0,
            places: HashMap::default(),
            recent: Recent::default(),
            rarity_total: RarityTotal::default(),
        }
    }

    /// Returns the number of symbols read, those that are no longer kept included.
    #[must_use]
    pub fn n_read(&self) -> u64 {
        self.first + self.symbols.len() as u64
    }

    /// Returns whether nothing was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n_read() == 0
    }

    /// Returns the number of symbols that are kept.
    pub(crate) fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Adds a symbol at the end; the oldest one is forgotten where there are too many.
    pub(crate) fn push(&mut self, symbol: Option<SymbolId>, rarity: f64) {
        let mut is_full = false;
        if self.symbols.len() >= self.window
            && let Some(oldest) = self.symbols.pop_front()
        {
            is_full = true;
            self.first += 1;
            self.rarities.pop_front();
            if let Some(places) = self.places.get_mut(&oldest) {
                places.pop_front();
                if places.is_empty() {
                    self.places.remove(&oldest);
                }
            }
        }
        let place = self.n_read();
        let symbol = symbol.map_or(UNKNOWN, |symbol| symbol.0);
        self.symbols.push_back(symbol);
        self.rarities.push_back(rarity);
        self.rarity_total.push(rarity, is_full);
        self.recent.push(symbol, self.symbols.len().min(RECENT));
        // Nothing can be said of symbols that have no number.
        if symbol != UNKNOWN {
            let occurrence = Occurrence { place, rarity };
            self.places.entry(symbol).or_default().push_back(occurrence);
        }
    }

    /// Returns the last symbols, at most `n`, the oldest first.
    pub(crate) fn last(&self, n: usize) -> Vec<u32> {
        let from = self.symbols.len().saturating_sub(n);
        self.symbols.range(from..).copied().collect()
    }

    /// Returns the symbol of a number, if it is kept.
    fn symbol(&self, place: u64) -> Option<u32> {
        let place = place.checked_sub(self.first)?;
        self.symbols.get(usize::try_from(place).ok()?).copied()
    }

    /// Returns the occurrences of a symbol.
    pub(crate) fn occurrences(&self, symbol: u32) -> impl DoubleEndedIterator<Item = &Occurrence> {
        self.places.get(&symbol).into_iter().flatten()
    }

    /// Returns the weight of an occurrence.
    pub(crate) fn weight(&self, weighing: Weighing, occurrence: &Occurrence) -> f64 {
        match weighing {
            Weighing::Rarity => occurrence.rarity,
            Weighing::Recent => {
                let age = usize::try_from(self.ago(occurrence.place));
                let fading = age.ok().and_then(|age| fading().get(age - 1));
                fading.map_or(0.0, |fading| occurrence.rarity * fading)
            }
        }
    }

    /// Returns the weight of all symbols.
    pub(crate) fn total(&self, weighing: Weighing) -> f64 {
        // By place: numbers of symbols depend on who was learned first, and the order of a sum
        // shows in its last bits.
        match weighing {
            Weighing::Rarity => self.rarity_total.get(&self.rarities),
            Weighing::Recent => {
                let latest = self.rarities.iter().rev().zip(fading());
                latest.map(|(rarity, fading)| rarity * fading).sum()
            }
        }
    }

    /// Prepares for symbols of these rarities that will be added one after the other: what is summed
    /// over the whole window is summed for all of them at once.
    pub(crate) fn look_ahead(&mut self, rarities: &[f64]) {
        self.rarity_total
            .look_ahead(&mut self.rarities, self.window, rarities);
    }

    /// Returns the distinct symbols of the recent cache, ascending; also those that weigh nothing.
    pub(crate) fn recent_symbols(&self) -> &[u32] {
        self.recent.symbols()
    }

    /// Returns Σ weight · factor over the symbols of the recent cache, the oldest first; factors are
    /// those of [`recent_symbols`](Self::recent_symbols).
    pub(crate) fn recent_product(&self, factors: &[f64]) -> f64 {
        let n = self.recent.len();
        let fading = fading()[..n].iter().rev();
        let rarities = self.rarities.range(self.rarities.len() - n..);
        let factors = self.recent.by_place(factors);
        let products = rarities.zip(fading).zip(factors);
        // What weighs nothing adds nothing.
        products.fold(0.0, |sum, ((rarity, fading), factor)| {
            sum + rarity * fading * factor
        })
    }

    /// Returns the weight of one symbol.
    pub(crate) fn weight_of(&self, weighing: Weighing, symbol: u32) -> f64 {
        let weights = self.occurrences(symbol);
        // Not `sum`, which is −0 for nothing.
        weights.fold(0.0, |sum, occurrence| {
            sum + self.weight(weighing, occurrence)
        })
    }

    /// Returns the weight of one symbol of which each occurrence weighs `by` times as much.
    pub(crate) fn weight_times(&self, weighing: Weighing, symbol: u32, by: f64) -> f64 {
        let occurrences = self.occurrences(symbol);
        occurrences.fold(0.0, |sum, occurrence| {
            sum + self.weight(weighing, occurrence) * by
        })
    }

    /// Calls a function with every symbol and its weight, in any order.
    pub(crate) fn each_weight(&self, weighing: Weighing, mut each: impl FnMut(u32, f64)) {
        for &symbol in self.places.keys() {
            each(symbol, self.weight_of(weighing, symbol));
        }
    }

    /// Finds what followed the last symbols earlier in the history, one of them, two and three.
    pub(crate) fn find_followers(&self, followers: &mut Followers) {
        followers.places.iter_mut().for_each(Vec::clear);
        let mut context = [UNKNOWN; MAX_CACHED];
        for (symbol, &held) in context.iter_mut().zip(self.symbols.iter().rev()) {
            *symbol = held;
        }
        let end = self.n_read();
        for occurrence in self.occurrences(context[0]) {
            let next = occurrence.place + 1;
            if next >= end {
                continue;
            }
            for (back, found) in followers.places.iter_mut().enumerate() {
                let place = occurrence.place.checked_sub(back as u64);
                let symbol = place.and_then(|place| self.symbol(place));
                // A context that begins before the history is none.
                if back >= self.symbols.len() || symbol != Some(context[back]) {
                    break;
                }
                found.push(next);
            }
        }
    }

    /// Returns the symbols at these numbers, each weighing as much as it is there.
    pub(crate) fn counted(&self, places: &[u64]) -> BTreeMap<u32, u32> {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for symbol in self.known(places) {
            *counts.entry(symbol).or_default() += 1;
        }
        counts
    }

    /// Returns the number of these places that hold a symbol that is known.
    pub(crate) fn n_known(&self, places: &[u64]) -> usize {
        self.known(places).count()
    }

    /// Returns the number of these places that hold a symbol.
    pub(crate) fn n_of(&self, places: &[u64], symbol: u32) -> usize {
        self.known(places).filter(|&other| other == symbol).count()
    }

    /// Returns how many different symbols these places hold, or that they are `most` or more.
    pub(crate) fn variety(&self, places: &[u64], most: usize) -> usize {
        let mut found = [UNKNOWN; 8];
        let found = &mut found[..most.min(8)];
        let mut n = 0;
        for symbol in self.known(places) {
            if n == found.len() {
                break;
            }
            if !found[..n].contains(&symbol) {
                found[n] = symbol;
                n += 1;
            }
        }
        n
    }

    /// Returns the symbols at these numbers, without those that are unknown.
    fn known(&self, places: &[u64]) -> impl Iterator<Item = u32> {
        let symbols = places.iter().filter_map(|&place| self.symbol(place));
        symbols.filter(|&symbol| symbol != UNKNOWN)
    }

    /// Returns how long ago the symbol of a number was read; 1 for the last one.
    pub(crate) fn ago(&self, place: u64) -> u64 {
        self.n_read() - place
    }

    /// Returns whether the symbol of a number is this one.
    pub(crate) fn is_symbol(&self, place: u64, symbol: u32) -> bool {
        self.symbol(place) == Some(symbol)
    }
}

/// Returns how much of a rarity is left in the recent cache after 1, 2, 3, … symbols.
fn fading() -> &'static [f64] {
    static FADING: OnceLock<Vec<f64>> = OnceLock::new();
    // Computed in software, so that it has the same bits on every platform.
    let after = |age| libm::exp(-(age as f64) / RECENT_REACH);
    FADING.get_or_init(|| (1..=RECENT).map(after).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn history(symbols: &[u32], window: usize) -> History {
        let mut history = History::new(window);
        for &symbol in symbols {
            history.push(Some(SymbolId(symbol)), 1.0 + f64::from(symbol));
        }
        history
    }

    fn followers(history: &History, length: usize) -> Vec<u64> {
        let mut followers = Followers::default();
        history.find_followers(&mut followers);
        followers.after(length).to_vec()
    }

    #[test]
    fn what_followed_before_is_found() {
        let history = history(&[1, 2, 3, 1, 2, 4, 9, 2, 5, 1, 2], 100);
        assert_eq!(followers(&history, 1), [2, 5, 8]);
        assert_eq!(followers(&history, 2), [2, 5]);
        assert!(followers(&history, 3).is_empty());
        assert_eq!(history.ago(2), 9);
        let pairs = history.counted(&followers(&history, 1));
        assert_eq!(pairs, BTreeMap::from([(3, 1), (4, 1), (5, 1)]));
        assert_eq!(history.variety(&[2, 5, 8, 2], 4), 3);
        assert_eq!(history.variety(&[2, 5, 8, 2], 2), 2);
    }

    #[test]
    fn an_unknown_symbol_is_nothing_and_keeps_its_place() {
        let mut history = history(&[1, 2], 100);
        history.push(None, 0.0);
        history.push(Some(SymbolId(1)), 1.0);
        assert_eq!(history.n_read(), 4);
        assert_eq!(history.n_of(&followers(&history, 1), 2), 1);
        history.push(None, 0.0);
        assert!(followers(&history, 1).is_empty());
        let mut weights = Vec::new();
        history.each_weight(Weighing::Rarity, |symbol, weight| {
            weights.push((symbol, weight))
        });
        weights.sort_by_key(|&(symbol, _)| symbol);
        assert_eq!(weights, [(1, 3.0), (2, 3.0)]);
    }

    proptest! {
        #[test]
        fn only_the_window_counts(
            symbols in prop::collection::vec(0..5u32, 0..60),
            window in 1..20usize,
        ) {
            let long = history(&symbols, window);
            let from = symbols.len().saturating_sub(window);
            let short = history(&symbols[from..], window);
            prop_assert_eq!(long.n_read(), symbols.len() as u64);
            for length in 1..=MAX_CACHED {
                let offset = from as u64;
                let shifted: Vec<u64> = followers(&short, length).iter().map(|place| place + offset).collect();
                prop_assert_eq!(followers(&long, length), shifted);
            }
            for weighing in [Weighing::Rarity, Weighing::Recent] {
                prop_assert_eq!(long.total(weighing), short.total(weighing));
                let mut sum = 0.0;
                long.each_weight(weighing, |symbol, weight| {
                    assert_eq!(weight, short.weight_of(weighing, symbol));
                    sum += weight;
                });
                prop_assert!((sum - long.total(weighing)).abs() < 1e-9);
            }
        }

        #[test]
        fn sums_are_those_of_the_definition(
            symbols in prop::collection::vec(0..60u32, 0..90),
            window in 1..50usize,
            ahead in 0..40usize,
        ) {
            let rarity = |symbol: u32| 1.0 / f64::from(symbol + 3);
            let mut history = History::new(window);
            for (idx, &symbol) in symbols.iter().enumerate() {
                // Sometimes of symbols that come, sometimes of others.
                if idx % 40 == 0 {
                    let from = if idx == 40 { 0 } else { idx };
                    let coming = symbols[from..].iter().take(ahead);
                    history.look_ahead(&coming.map(|&symbol| rarity(symbol)).collect::<Vec<_>>());
                }
                history.push(Some(SymbolId(symbol)), rarity(symbol));
                let kept = &symbols[(idx + 1).saturating_sub(window)..=idx];
                let total: f64 = kept.iter().map(|&symbol| rarity(symbol)).sum();
                prop_assert_eq!(history.total(Weighing::Rarity).to_bits(), total.to_bits());
                let mut distinct = kept.to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(history.recent_symbols(), &distinct);
                let factors: Vec<f64> = distinct.iter().map(|&symbol| 0.1 + f64::from(symbol)).collect();
                let weighed = kept.iter().rev().zip(fading()).map(|(&symbol, fading)| rarity(symbol) * fading * (0.1 + f64::from(symbol)));
                let terms: Vec<f64> = weighed.collect();
                let product = terms.iter().rev().fold(0.0, |sum, term| sum + term);
                prop_assert_eq!(history.recent_product(&factors), product);
            }
        }
    }
}

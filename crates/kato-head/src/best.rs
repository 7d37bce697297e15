//! The most probable symbols, found without the probabilities of all.

use std::cmp::Ordering;

use crate::NextDistribution;
use crate::history::UNKNOWN;
use crate::kneser_ney::Order;
use crate::options::{EXPERTS, Expert, N_EXPERTS};
use crate::symbols::{SymbolId, Symbols};
use crate::trie::NgramCounts;

/// The most probable of the symbols that were offered, the most probable first; equal ones by their text.
#[derive(Debug)]
pub(crate) struct Best<'h> {
    n: usize,
    symbols: &'h Symbols,
    best: Vec<(SymbolId, f64)>,
}

impl<'h> Best<'h> {
    pub(crate) fn new(n: usize, symbols: &'h Symbols) -> Self {
        Self {
            n,
            symbols,
            best: Vec::with_capacity(n.min(symbols.len()) + 1),
        }
    }

    /// Returns whether a probability is below those of as many as are looked for.
    #[inline]
    pub(crate) fn is_below(&self, probability: f64) -> bool {
        self.best.len() >= self.n && self.best.last().is_none_or(|(_, last)| *last > probability)
    }

    /// Offers a symbol, each once.
    #[inline]
    pub(crate) fn offer(&mut self, symbol: SymbolId, probability: f64) {
        // Most are not among the best so far, which is seen by looking at the last of those.
        if self.is_below(probability) {
            return;
        }
        let text = self.symbols.text(symbol);
        // Numbers depend on who was learned first, and answers must not.
        let place = self.best.partition_point(|&(known, other)| {
            other > probability || (other == probability && self.symbols.text(known) < text)
        });
        self.best.insert(place, (symbol, probability));
        self.best.truncate(self.n);
    }

    pub(crate) fn into_vec(self) -> Vec<(SymbolId, f64)> {
        self.best
    }
}

/// What experts of the cache, or the one outside, say of a symbol.
struct Said {
    symbol: u32,
    /// By expert.
    shares: [Option<f64>; N_EXPERTS],
}

impl NextDistribution<'_> {
    /// Returns the `n` most probable symbols, those of [`distribution`](Self::distribution) and its
    /// [`top`](crate::Distribution::top), to the last bit. Symbols of which only the frequency is known are
    /// looked at until they cannot be among the best, so this is quicker where many questions are asked; the
    /// first call after something was learned sorts all symbols.
    #[must_use]
    pub fn top(&self, n: usize) -> Vec<(SymbolId, f64)> {
        let symbols = self.head.symbols();
        let mut best = Best::new(n, symbols);
        let (trie, model) = (self.head.trie(), &self.position.kneser_ney);
        let said = self.said();
        let followed = model.followed(trie);
        let root = model.orders.first().filter(|order| order.length == 0);
        let of_root = |symbol: u32| {
            // Of symbols that nobody counted there is nothing.
            let id = root.and_then(|_| trie.follower(0, crate::trie::ROOT, symbol));
            id.map(|id| trie.ngram(1, id, symbol))
        };
        let ngrams = self.position.weights[Expert::Ngrams.place()];
        let mut named = Vec::new();
        let mut next: Vec<usize> = vec![0; followed.len()];
        let mut next_said = 0;
        loop {
            let heads = followed.iter().zip(&next);
            let heads = heads.filter_map(|((_, all), &at)| Some(all.get(at)?.symbol));
            let of_cache = said.get(next_said).map(|said| said.symbol);
            let Some(symbol) = heads.chain(of_cache).min() else {
                break;
            };
            let mut probability = model.uniform;
            let mut add = |orders: &[Order], ngram: NgramCounts| {
                for order in orders {
                    let count = order.value(ngram);
                    if count > 0 {
                        probability += order.term(count);
                    }
                }
            };
            // In the order of a distribution: shorter contexts first.
            if let (Some(root), Some(ngram)) = (root, of_root(symbol)) {
                add(std::slice::from_ref(root), ngram);
            }
            for ((orders, all), at) in followed.iter().zip(&mut next) {
                if let Some(ngram) = all.get(*at).filter(|ngram| ngram.symbol == symbol) {
                    add(orders, *ngram);
                    *at += 1;
                }
            }
            probability *= ngrams;
            if of_cache == Some(symbol) {
                for expert in EXPERTS.map(Expert::place) {
                    if let Some(share) = said[next_said].shares[expert] {
                        probability += self.position.weights[expert] * share;
                    }
                }
                next_said += 1;
            }
            named.push(symbol);
            if (symbol as usize) < symbols.len() {
                best.offer(SymbolId(symbol), probability);
            }
        }
        // Of all others the frequency alone decides, so those that are as frequent or less cannot be better.
        let occurrences = root.is_none_or(|order| order.counts_occurrences);
        for &(symbol, count) in self.head.by_frequency(occurrences) {
            let mut probability = model.uniform;
            if let Some(root) = root.filter(|_| count > 0) {
                probability += root.term(count);
            }
            probability *= ngrams;
            if best.is_below(probability) {
                break;
            }
            if named.binary_search(&symbol).is_err() {
                best.offer(SymbolId(symbol), probability);
            }
        }
        best.into_vec()
    }

    /// Returns what the experts beside the n-grams name, by symbol.
    fn said(&self) -> Vec<Said> {
        let mut all: Vec<(u32, usize, f64)> = Vec::new();
        for expert in EXPERTS {
            self.position
                .each_share(self.history, expert, |symbol, share| {
                    if symbol != UNKNOWN {
                        all.push((symbol, expert.place(), share));
                    }
                });
        }
        all.sort_unstable_by_key(|&(symbol, expert, _)| (symbol, expert));
        let of_symbols = all.chunk_by(|one, other| one.0 == other.0);
        let said = of_symbols.map(|of_symbol| {
            let mut shares = [None; N_EXPERTS];
            for &(_, expert, share) in of_symbol {
                shares[expert] = Some(share);
            }
            Said {
                symbol: of_symbol[0].0,
                shares,
            }
        });
        said.collect()
    }
}

/// Sorts symbols by what an order without a context adds for their counts, the most first; equal ones by text.
pub(crate) fn sort_by_frequency(counts: &mut [(u32, u32)], order: &Order, symbols: &Symbols) {
    // A discount may be larger than what one more occurrence adds.
    let value = |count: u32| f64::from(count) - order.discount(count);
    counts.sort_by(|&(one, of_one), &(other, of_other)| {
        let by_value = value(of_other).total_cmp(&value(of_one));
        let text = |symbol: u32| symbols.text(SymbolId(symbol));
        match by_value {
            Ordering::Equal => text(one).cmp(&text(other)),
            decided => decided,
        }
    });
}

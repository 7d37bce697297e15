//! What the metrics of an ensemble need to know of symbols, looked up once for all survivors.

use crate::SymbolId;
use crate::collections::HashMap;
use crate::index::PatternIndex;
use crate::metrics;

/// What is known of a symbol.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownSymbol {
    /// Share of the node's patterns that hold it.
    pub(super) share: f64,
    /// Its [`entropy_term`](metrics::entropy_term) by that share.
    pub(super) entropy_term: f64,
    /// Its weight in [`tfidf_score`](metrics::tfidf_score).
    pub(super) rarity: f64,
}

/// A distinct symbol of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedSymbol {
    pub(super) id: SymbolId,
    /// Its occurrences in the list.
    pub(super) count: usize,
    pub(super) known: KnownSymbol,
}

/// The symbols of an ensemble.
#[derive(Debug)]
pub(super) struct KnownSymbols<'a> {
    index: &'a PatternIndex,
    /// The relevant ones.
    known: HashMap<SymbolId, KnownSymbol>,
}

/// Entropies of lists of symbols, and relative to all symbols of the node.
#[derive(Debug)]
pub(super) struct Entropies {
    n_symbols: usize,
    /// By length, those of lists that repeat nothing.
    of_distinct: Vec<Option<(f64, f64)>>,
}

impl<'a> KnownSymbols<'a> {
    /// Looks up the relevant symbols, which may be given several times.
    pub(super) fn new(index: &'a PatternIndex, relevant: impl Iterator<Item = SymbolId>) -> Self {
        let mut known = HashMap::default();
        for id in relevant {
            known.entry(id).or_insert_with(|| look_up(index, id, true));
        }
        Self { index, known }
    }

    pub(super) fn n_patterns(&self) -> usize {
        self.index.n_patterns()
    }

    /// Returns the probability of a symbol; 0 for what has none.
    pub(super) fn probability(&self, id: SymbolId) -> f64 {
        self.known.get(&id).map_or(0.0, |symbol| symbol.share)
    }

    /// Returns what is known of a symbol. Those that are not relevant are looked up each time, as few of
    /// them are met again.
    fn get(&self, id: SymbolId) -> KnownSymbol {
        let known = self.known.get(&id).copied();
        known.unwrap_or_else(|| look_up(self.index, id, false))
    }

    /// Replaces `out` by the distinct symbols of a list, ascending.
    pub(super) fn read_counted(&self, symbols: &[SymbolId], out: &mut Vec<CountedSymbol>) {
        out.clear();
        out.extend(symbols.iter().map(|&id| CountedSymbol {
            id,
            count: 1,
            known: self.get(id),
        }));
        out.sort_unstable_by_key(|symbol| symbol.id);
        out.dedup_by(|next, kept| {
            let is_same = next.id == kept.id;
            kept.count += usize::from(is_same);
            is_same
        });
    }
}

/// Looks up a symbol of the patterns.
fn look_up(index: &PatternIndex, id: SymbolId, is_relevant: bool) -> KnownSymbol {
    let (n_patterns, n_symbols) = (index.n_patterns(), index.n_symbols());
    let share = f64::from(index.symbol_table().n_patterns(id)) / n_patterns as f64;
    KnownSymbol {
        share,
        entropy_term: metrics::entropy_term(share, n_symbols),
        // TF-IDF takes a probability of its own for what has none.
        rarity: metrics::rarity(is_relevant.then_some(share), n_patterns),
    }
}

impl Entropies {
    pub(super) const fn new(n_symbols: usize) -> Self {
        Self {
            n_symbols,
            of_distinct: Vec::new(),
        }
    }

    /// Returns both entropies of a list.
    pub(super) fn of(&mut self, list: &[CountedSymbol]) -> (f64, f64) {
        let n_symbols = self.n_symbols;
        let computed = || {
            let counts = list.iter().map(|symbol| symbol.count);
            let relative = metrics::normalized_entropy(counts.clone(), n_symbols);
            (metrics::entropy(counts), relative)
        };
        // Most lists repeat nothing, and then only their length matters.
        if list.iter().any(|symbol| symbol.count > 1) {
            return computed();
        }
        if self.of_distinct.len() <= list.len() {
            self.of_distinct.resize(list.len() + 1, None);
        }
        *self.of_distinct[list.len()].get_or_insert_with(computed)
    }
}

//! What the metrics of an ensemble need to know of symbols, looked up once for all survivors.

use crate::SymbolId;
use crate::collections::HashMap;
use crate::index::PatternIndex;
use crate::metrics;

/// What is known of a symbol.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownSymbol {
    /// Whether it matches or is missing in some survivor: as in KATO, only then it has a probability.
    pub(super) is_relevant: bool,
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
pub(super) struct KnownSymbols {
    n_patterns: usize,
    known: HashMap<SymbolId, KnownSymbol>,
}

/// Entropies of lists of symbols, and relative to all symbols of the node.
#[derive(Debug)]
pub(super) struct Entropies {
    n_symbols: usize,
    /// By length, those of lists that repeat nothing.
    of_distinct: Vec<Option<(f64, f64)>>,
}

impl KnownSymbols {
    /// Looks up symbols, which may be given several times: the relevant ones, and others.
    pub(super) fn new(
        index: &PatternIndex,
        relevant: impl Iterator<Item = SymbolId>,
        others: impl Iterator<Item = SymbolId>,
    ) -> Self {
        let (n_patterns, n_symbols) = (index.n_patterns(), index.n_symbols());
        let look_up = |id: SymbolId, is_relevant: bool| {
            let holding = index.symbol_table().n_patterns(id);
            let share = f64::from(holding) / n_patterns as f64;
            KnownSymbol {
                is_relevant,
                share,
                entropy_term: metrics::entropy_term(share, n_symbols),
                // TF-IDF takes a probability of its own for what has none.
                rarity: metrics::rarity(is_relevant.then_some(share), n_patterns),
            }
        };
        let mut known = HashMap::default();
        let relevant = relevant.map(|id| (id, true));
        for (id, is_relevant) in relevant.chain(others.map(|id| (id, false))) {
            known.entry(id).or_insert_with(|| look_up(id, is_relevant));
        }
        Self { n_patterns, known }
    }

    pub(super) const fn n_patterns(&self) -> usize {
        self.n_patterns
    }

    /// Returns the probability of a symbol; 0 for what has none.
    pub(super) fn probability(&self, id: SymbolId) -> f64 {
        let relevant = self.known.get(&id).filter(|symbol| symbol.is_relevant);
        relevant.map_or(0.0, |symbol| symbol.share)
    }

    /// Replaces `out` by the distinct symbols of a list that were looked up, ascending.
    pub(super) fn read_counted(&self, symbols: &[SymbolId], out: &mut Vec<CountedSymbol>) {
        out.clear();
        out.extend(symbols.iter().filter_map(|&id| {
            let known = *self.known.get(&id)?;
            Some(CountedSymbol {
                id,
                count: 1,
                known,
            })
        }));
        out.sort_unstable_by_key(|symbol| symbol.id);
        out.dedup_by(|next, kept| {
            let is_same = next.id == kept.id;
            kept.count += usize::from(is_same);
            is_same
        });
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

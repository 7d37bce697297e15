//! Affinity weighting: symbols weighted by their affinity to one emotive.

use crate::SymbolId;
use crate::collections::HashMap;
use crate::index::PatternIndex;
use crate::metrics::{
    affinity_weight, weighted_confidence, weighted_evidence, weighted_similarity, weighted_snr,
};
use crate::prediction::WeightedMetrics;
use crate::state::State;

/// The weights of symbols by their affinity to one emotive. Symbols without an entry weigh 0.
#[derive(Debug)]
pub(crate) struct AffinityWeights<'a> {
    index: &'a PatternIndex,
    emotive: &'a str,
    weights: HashMap<SymbolId, f64>,
}

impl<'a> AffinityWeights<'a> {
    /// Computes the weights of the symbols of the state, and of no others, as KATO does.
    pub(crate) fn from_state(index: &'a PatternIndex, state: &State<'_>, emotive: &'a str) -> Self {
        Self::from_symbols(index, state.ids.iter().copied(), emotive)
    }

    /// Computes the weights of some symbols.
    pub(crate) fn from_symbols(
        index: &'a PatternIndex,
        symbols: impl Iterator<Item = SymbolId>,
        emotive: &'a str,
    ) -> Self {
        let weight = |symbol: SymbolId| {
            let frequency = index.symbol_table().count(symbol).frequency;
            affinity_weight(index.affinity_to(symbol, emotive), frequency)
        };
        Self {
            index,
            emotive,
            weights: symbols.map(|symbol| (symbol, weight(symbol))).collect(),
        }
    }

    /// Returns the weights of these symbols in place of others.
    pub(crate) fn with(&self, symbols: &[SymbolId]) -> Self {
        Self::from_symbols(self.index, symbols.iter().copied(), self.emotive)
    }

    /// Computes the weighted metrics of a prediction from its lists of symbols.
    pub(crate) fn metrics(
        &self,
        matches: &[SymbolId],
        state: &[SymbolId],
        present: &[SymbolId],
        pattern: &[SymbolId],
        extras: &[SymbolId],
    ) -> WeightedMetrics {
        let sum = |symbols: &[SymbolId]| -> f64 {
            let weights = symbols.iter().filter_map(|symbol| self.weights.get(symbol));
            weights.sum()
        };
        let (matches, pattern) = (sum(matches), sum(pattern));
        WeightedMetrics {
            similarity: weighted_similarity(matches, sum(state), pattern),
            evidence: Some(weighted_evidence(matches, pattern)),
            confidence: Some(weighted_confidence(matches, sum(present))),
            snr: Some(weighted_snr(matches, sum(extras))),
        }
    }
}

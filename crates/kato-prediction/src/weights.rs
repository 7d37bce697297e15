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
pub(crate) struct AffinityWeights(HashMap<SymbolId, f64>);

impl AffinityWeights {
    /// Computes the weights of the symbols of the state, and of no others, as in KATO 3.10.1.
    pub(crate) fn from_state(index: &PatternIndex, state: &State<'_>, emotive: &str) -> Self {
        Self::from_symbols(index, state.ids.iter().copied(), emotive)
    }

    /// Computes the weights of some symbols.
    pub(crate) fn from_symbols(
        index: &PatternIndex,
        symbols: impl Iterator<Item = SymbolId>,
        emotive: &str,
    ) -> Self {
        let weight = |symbol: SymbolId| {
            let frequency = index.symbol_table().count(symbol).frequency;
            affinity_weight(index.affinity_to(symbol, emotive), frequency)
        };
        Self(symbols.map(|symbol| (symbol, weight(symbol))).collect())
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
            symbols.iter().filter_map(|symbol| self.0.get(symbol)).sum()
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

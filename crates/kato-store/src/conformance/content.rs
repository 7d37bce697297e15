//! The content of a store's nodes, read in several ways and checked for agreement with itself.

use std::collections::BTreeMap;

use kato_model::{PatternName, Symbol, VectorName};

use super::visits::visited;
use crate::contract::{Scan, SymbolCounts, Totals};
use crate::{PatternStore, StoredPattern};

/// The content of one node of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeContent {
    /// Counts over learn calls.
    pub totals: Totals,
    /// All patterns in name order.
    pub patterns: Vec<StoredPattern>,
    /// All symbols with their counts.
    pub symbol_counts: Vec<(Symbol, SymbolCounts)>,
    /// All vectors in name order, the elements as their bits, so that equal means the same.
    pub vectors: Vec<(VectorName, Vec<u64>)>,
}

/// Reads the nodes of a store and checks that all ways of reading agree, and that names are
/// those of the content.
#[must_use]
pub fn content(store: &dyn PatternStore) -> Vec<NodeContent> {
    (0..store.nodes().len())
        .map(|node_idx| node_content(store, node_idx))
        .collect()
}

/// Compares two stores by the content of their nodes and the documents of the samples.
pub fn assert_same_content(found: &dyn PatternStore, expected: &dyn PatternStore, n_samples: u64) {
    for (node_idx, (found, expected)) in content(found)
        .into_iter()
        .zip(content(expected))
        .enumerate()
    {
        assert_eq!(found, expected, "node {node_idx}");
    }
    for document_idx in 0..=n_samples {
        let document =
            |store: &dyn PatternStore| store.document(document_idx).expect("documents can be read");
        assert_eq!(
            document(found),
            document(expected),
            "document of sample {document_idx}"
        );
    }
}

/// Reads one node and checks that all ways of reading agree.
fn node_content(store: &dyn PatternStore, node_idx: usize) -> NodeContent {
    let node = store.nodes()[node_idx].clone();
    let patterns = all(store.scan(node_idx));
    let symbol_counts = all(store.symbol_counts(node_idx));
    let totals = store.totals(node_idx).expect("totals can be read");

    assert!(
        patterns.is_sorted_by(|a, b| a.name < b.name),
        "{node}: a scan is in name order and has each name once"
    );
    let frequencies: Vec<_> = patterns
        .iter()
        .map(|pattern| (pattern.name, pattern.frequency))
        .collect();
    assert_eq!(
        all(store.scan_frequencies(node_idx)),
        frequencies,
        "{node}: scans agree"
    );
    assert_eq!(
        visited(store, node_idx),
        patterns,
        "{node}: a visit adds up to the scan"
    );
    let count = store
        .count_patterns(node_idx)
        .expect("patterns can be counted");
    assert_eq!(
        count,
        patterns.len() as u64,
        "{node}: the count is that of the scan"
    );
    assert_eq!(
        totals,
        derived_totals(&patterns),
        "{node}: totals follow from the patterns"
    );
    assert_eq!(
        symbol_counts,
        derived_symbol_counts(&patterns),
        "{node}: symbol counts follow from the patterns"
    );
    for pattern in &patterns {
        let found = store
            .pattern(node_idx, &pattern.name)
            .expect("patterns can be looked up");
        assert_eq!(
            found.as_ref(),
            Some(pattern),
            "{node}: a look-up gives what the scan gave"
        );
        let events = pattern.events();
        assert_eq!(
            PatternName::of_events(&events),
            pattern.name,
            "{node}: the name of {events:?}"
        );
    }
    let bits = |vector: Vec<f64>| vector.into_iter().map(f64::to_bits).collect();
    let vectors = all(store.vectors(node_idx)).into_iter();
    let vectors: Vec<_> = vectors.map(|(name, vector)| (name, bits(vector))).collect();
    assert!(
        vectors.is_sorted_by(|(a, _), (b, _)| a < b),
        "{node}: vectors are in name order, one a name"
    );
    NodeContent {
        totals,
        patterns,
        symbol_counts,
        vectors,
    }
}

/// Collects a scan that must not fail.
fn all<T>(scan: Result<Scan<'_, T>, crate::StoreError>) -> Vec<T> {
    let items: Result<Vec<T>, _> = scan.expect("a node can be scanned").collect();
    items.expect("a scan gives no errors")
}

/// Counts how often a pattern holds each of its symbols.
fn occurrences(pattern: &StoredPattern) -> BTreeMap<&Symbol, u64> {
    let mut counts = BTreeMap::new();
    for symbol in &pattern.symbols {
        *counts.entry(symbol).or_default() += 1;
    }
    counts
}

/// Computes the totals that follow from the patterns.
fn derived_totals(patterns: &[StoredPattern]) -> Totals {
    let mut totals = Totals::default();
    for pattern in patterns {
        totals.merge(Totals {
            learns: pattern.frequency,
            learned_symbols: pattern
                .frequency
                .saturating_mul(pattern.symbols.len() as u64),
            member_symbols: pattern
                .frequency
                .saturating_mul(occurrences(pattern).len() as u64),
        });
    }
    totals
}

/// Computes the symbol counts that follow from the patterns, in the order of the contract: text by
/// code points, then names.
fn derived_symbol_counts(patterns: &[StoredPattern]) -> Vec<(Symbol, SymbolCounts)> {
    let mut counted: BTreeMap<Symbol, SymbolCounts> = BTreeMap::new();
    for pattern in patterns {
        for (symbol, occurrences) in occurrences(pattern) {
            counted
                .entry(symbol.clone())
                .or_default()
                .merge(SymbolCounts {
                    frequency: pattern.frequency.saturating_mul(occurrences),
                    member_frequency: pattern.frequency,
                });
        }
    }
    counted.into_iter().collect()
}

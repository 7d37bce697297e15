//! All that a run leaves behind, for comparison.

use std::fs;
use std::path::Path;
use std::process::Output;

use kato_model::Symbol;
use kato_store::contract::{SymbolCounts, Totals};
use kato_store::{EmbeddedStore, KnowledgeBase, StoredPattern};
use serde_json::Value;

use crate::report::counters;

/// What a finished run leaves behind.
#[derive(PartialEq)]
pub(crate) struct Knowledge {
    nodes: Vec<Node>,
    /// What `--json` counts over all sessions.
    counters: Value,
    /// Lines of the ledger of skipped records, sorted.
    skipped: Vec<String>,
}

#[derive(PartialEq)]
struct Node {
    export: String,
    totals: Totals,
    /// With the first sighting, which exports do not show.
    patterns: Vec<StoredPattern>,
    symbols: Vec<(Symbol, SymbolCounts)>,
}

impl Knowledge {
    pub(crate) fn of(kb: &Path, output: &Output) -> Self {
        let store = EmbeddedStore::open_read_only(kb).unwrap();
        let node = |node: KnowledgeBase<'_>| {
            let mut export = Vec::new();
            node.export(&mut export).unwrap();
            Node {
                export: String::from_utf8(export).unwrap(),
                totals: node.totals().unwrap(),
                patterns: node.scan().unwrap().collect::<Result<_, _>>().unwrap(),
                symbols: node
                    .symbol_counts()
                    .unwrap()
                    .collect::<Result<_, _>>()
                    .unwrap(),
            }
        };
        let ledger = fs::read_to_string(kb.join("errors.jsonl")).unwrap();
        let mut skipped: Vec<String> = ledger.lines().map(str::to_owned).collect();
        skipped.sort();
        Self {
            nodes: KnowledgeBase::all(&store).map(node).collect(),
            counters: counters(output),
            skipped,
        }
    }

    pub(crate) fn samples(&self) -> u64 {
        self.counters["samples_processed"].as_u64().unwrap()
    }

    pub(crate) fn n_patterns(&self) -> usize {
        self.nodes.iter().map(|node| node.patterns.len()).sum()
    }

    pub(crate) fn counters(&self) -> &Value {
        &self.counters
    }

    pub(crate) fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Compares piece by piece, because whole knowledge bases are too long for a message.
    pub(crate) fn assert_equals(&self, expected: &Self) {
        assert_eq!(self.counters, expected.counters);
        assert_eq!(self.skipped, expected.skipped);
        for (node_idx, (found, expected)) in self.nodes.iter().zip(&expected.nodes).enumerate() {
            assert_eq!(found.totals, expected.totals, "node {node_idx}");
            let differing = found
                .export
                .lines()
                .zip(expected.export.lines())
                .find(|(a, b)| a != b);
            assert_eq!(differing, None, "node {node_idx}");
            assert!(
                *found == *expected,
                "node {node_idx} has other exports, first sightings or symbols"
            );
        }
        assert!(self == expected);
    }
}

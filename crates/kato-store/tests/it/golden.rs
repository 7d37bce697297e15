//! What the original server learned from 20 real samples: imported, counted, exported.

use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use kato_model::{AttributeLimits, PatternRecord};
use kato_store::conformance::{Fixture, assert_same_content};
use kato_store::contract::{SymbolCounts, Totals};
use kato_store::{KnowledgeBase, PatternStore};
use kato_test_data::training_20;
use serde_json::Value;

use crate::support::{Embedded, InMemory, always_merging};

const NODES: [&str; 3] = ["node0", "node1", "node2"];

fn lines(name: &str) -> impl BufRead {
    BufReader::new(GzDecoder::new(
        File::open(training_20(&format!("{name}.jsonl.gz"))).unwrap(),
    ))
}

fn imported<F: Fixture>(fixture: &F) -> F::Store {
    let store = fixture.create(&NODES, Value::Null, AttributeLimits::default());
    for node in NODES {
        KnowledgeBase::new(&store, node)
            .unwrap()
            .import(lines(node))
            .unwrap();
    }
    store
}

#[test]
fn totals_and_symbol_counts_are_those_of_the_original() {
    let embedded = Embedded::new(always_merging());
    let compacted = imported(&embedded);
    compacted.compact().unwrap();
    let stores: [Box<dyn PatternStore>; 3] = [
        Box::new(imported(&InMemory)),
        Box::new(imported(&embedded)),
        Box::new(compacted),
    ];
    for store in &stores {
        for node in KnowledgeBase::all(store.as_ref()) {
            let totals: Value = serde_json::from_reader(
                File::open(training_20(&format!("{}.totals.json", node.name()))).unwrap(),
            )
            .unwrap();
            let count = |key: &str| totals[key].as_u64().unwrap();
            let expected = Totals {
                learns: count("total_pattern_frequencies"),
                learned_symbols: count("total_symbol_frequencies"),
                member_symbols: count("total_symbols_in_patterns_frequencies"),
            };
            assert_eq!(node.totals().unwrap(), expected, "{}", node.name());

            let expected: Vec<(String, SymbolCounts)> = lines(&format!("{}.symbols", node.name()))
                .lines()
                .map(|line| {
                    let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
                    let count = |key: &str| line[key].as_u64().unwrap();
                    let counts = SymbolCounts {
                        frequency: count("frequency"),
                        member_frequency: count("pattern_member_frequency"),
                    };
                    (line["name"].as_str().unwrap().to_owned(), counts)
                })
                .collect();
            let found: Vec<_> = node
                .symbol_counts()
                .unwrap()
                .map(|item| {
                    item.map(|(symbol, counts)| (symbol.to_string(), counts))
                        .unwrap()
                })
                .collect();
            assert_eq!(found, expected, "{}", node.name());
        }
    }
}

#[test]
fn an_export_has_every_record_of_the_original_and_imports_to_itself() {
    let embedded = Embedded::default();
    let store = imported(&embedded);
    let copy = embedded.create(&NODES, Value::Null, AttributeLimits::default());
    for node in KnowledgeBase::all(&store) {
        let mut exported = Vec::new();
        node.export(&mut exported).unwrap();
        let mut expected: Vec<String> = lines(node.name())
            .lines()
            .map(|line| {
                PatternRecord::from_json(&line.unwrap())
                    .unwrap()
                    .to_json()
                    .unwrap()
            })
            .collect();
        expected.sort();
        assert_eq!(
            str::from_utf8(&exported)
                .unwrap()
                .lines()
                .collect::<Vec<_>>(),
            expected
        );

        let node = KnowledgeBase::at(&copy, node.node_idx()).unwrap();
        node.import(exported.as_slice()).unwrap();
        let mut again = Vec::new();
        node.export(&mut again).unwrap();
        assert_eq!(again, exported);
    }
    assert_same_content(&copy, &store, 0);
}

#[test]
fn statistics_of_the_original_run() {
    let store = imported(&InMemory);
    let node0 = KnowledgeBase::new(&store, "node0").unwrap();
    let statistics = node0.statistics().unwrap();
    assert_eq!((statistics.patterns, statistics.learns), (2003, 2023));
    assert_eq!(
        (statistics.min, statistics.max, statistics.median),
        (Some(1), Some(3), Some(1.0))
    );
    let bars: Vec<_> = statistics
        .histogram
        .iter()
        .map(|bar| (bar.frequency, bar.patterns))
        .collect();
    assert_eq!(bars, [(1, 1986), (2, 14), (3, 3)]);
    let json = serde_json::to_string(&statistics).unwrap();
    assert_eq!(
        serde_json::from_str::<kato_store::statistics::FrequencyStatistics>(&json).unwrap(),
        statistics
    );

    let top = node0.top(17).unwrap();
    assert!(top.is_sorted_by_key(|pattern| (std::cmp::Reverse(pattern.frequency), pattern.name)));
    assert_eq!(
        top.iter().map(|pattern| pattern.frequency).sum::<u64>(),
        3 * 3 + 14 * 2
    );
    let mut repeated = node0.with_frequency(2.., usize::MAX).unwrap();
    repeated.sort_by_key(|pattern| (std::cmp::Reverse(pattern.frequency), pattern.name));
    assert_eq!(repeated, top);
    assert_eq!(node0.with_frequency(1..=1, 5).unwrap().len(), 5);
    assert!(node0.with_frequency(4.., 5).unwrap().is_empty());
}

//! What a real KATO of October 2025 held after the original had trained it: the same calls leave
//! the same documents.

use kato_model::batch::BatchSymbol;
use kato_model::{Attributes, LearnBatch, Metadata, MetadataValue};
use kato_mongodb::Guard;
use kato_store::PatternStore;
use mongodb::bson::{Bson, Document};
use serde_json::{Value, json};

use crate::raw::Raw;
use crate::support::{builder, fresh_run, server};

const NODES: [&str; 3] = ["node0", "node1", "node2"];

fn lines(text: &str) -> impl Iterator<Item = Value> + '_ {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// Every request of the original that taught one of the patterns.
fn calls() -> impl Iterator<Item = Value> {
    lines(include_str!("../data/training-20/calls.jsonl"))
}

/// The patterns as they stood in KATO's database.
fn patterns() -> impl Iterator<Item = Value> {
    lines(include_str!("../data/training-20/patterns.jsonl"))
}

/// Counts a request: metadata is what came with any of its observations, as Python's `str` writes
/// it.
fn learn(batch: &mut LearnBatch, call: &Value) {
    let node_idx = NODES.iter().position(|node| call["node"] == *node).unwrap();
    let observations = call["observations"].as_array().unwrap();
    let mut metadata = Metadata::default();
    let mut symbols = Vec::new();
    for observation in observations {
        for symbol in observation["strings"].as_array().unwrap() {
            symbols.push(BatchSymbol::Literal(
                batch.literal(symbol.as_str().unwrap()),
            ));
        }
        for (key, value) in observation["metadata"].as_object().into_iter().flatten() {
            let value: MetadataValue = serde_json::from_value(value.clone()).unwrap();
            metadata.insert(key, &value, None);
        }
    }
    let name = call["learned"].as_str().unwrap();
    let name = name.strip_prefix("PTRN|").unwrap().parse().unwrap();
    let occurrence = batch.learn(node_idx, name, symbols);
    if !metadata.is_empty() {
        let attributes = Attributes {
            metadata,
            ..Attributes::default()
        };
        batch.attach(node_idx, occurrence, attributes);
    }
}

/// Whether every whole number is as small as KATO's driver makes it.
fn is_of_katos_types(document: &Document) -> bool {
    document.values().all(|value| match value {
        Bson::Document(document) => is_of_katos_types(document),
        Bson::String(_) | Bson::Int32(_) | Bson::Array(_) => true,
        _ => false,
    })
}

#[test]
fn the_originals_requests_leave_the_documents_that_they_left_in_kato() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    for guard in [Guard::Transaction, Guard::Journal] {
        let run = fresh_run();
        let store = builder(&uri, &run, guard)
            .create(&NODES, json!(null))
            .unwrap();
        // One by one, so that patterns are learned again by a later commit.
        for call in calls() {
            let mut batch = LearnBatch::new(NODES.len());
            learn(&mut batch, &call);
            let staged = store.stage(batch.seal()).unwrap();
            store.commit(vec![staged], json!(null)).unwrap();
        }
        let mut n_compared = 0;
        for node in NODES {
            let found = raw.all(&format!("{run}_{node}_kato"), "patterns_kb");
            assert!(found.iter().all(is_of_katos_types), "{found:?}");
            let found: Vec<Value> = found
                .into_iter()
                .map(|document| serde_json::to_value(document).unwrap())
                .collect();
            let expected = patterns().filter(|pattern| pattern["node"] == node);
            let expected: Vec<Value> = expected
                .map(|mut pattern| {
                    pattern.as_object_mut().unwrap().remove("node");
                    pattern
                })
                .collect();
            assert_eq!(found, expected, "{node}");
            n_compared += found.len();
        }
        assert_eq!(n_compared, 22);
    }
}

//! What the original's server learned from 20 real samples, in numbers.

use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use kato_evaluation::analysis::cleanup::References;
use kato_evaluation::analysis::{CleanupOptions, CleanupPlan, Snapshot, SnapshotOptions};
use kato_store::{KnowledgeBase, MemoryStore};
use kato_test_data::training_20;
use serde_json::Value;

use super::support::NODES;

fn lines(node: &str) -> impl BufRead {
    let file = File::open(training_20(&format!("{node}.jsonl.gz"))).unwrap();
    BufReader::new(GzDecoder::new(file))
}

fn learned() -> MemoryStore {
    let store = MemoryStore::new(&NODES, Value::Null);
    for node in NODES {
        let node = KnowledgeBase::new(&store, node).unwrap();
        node.import(lines(node.name())).unwrap();
    }
    store
}

#[test]
fn the_snapshot_of_twenty_samples() {
    let mut options = SnapshotOptions::default();
    options.top = 3;
    let snapshot = Snapshot::from_store(&learned(), &options).unwrap();
    insta::assert_json_snapshot!(rounded(serde_json::to_value(snapshot).unwrap()));
}

/// A snapshot and its fields had other names once, and people have files of them.
#[test]
fn snapshots_of_older_builds_are_read() {
    let snapshot = Snapshot::from_store(&learned(), &SnapshotOptions::default()).unwrap();
    let now = serde_json::to_string(&snapshot).unwrap();
    let then = now
        .replace(r#""learns":"#, r#""observations":"#)
        .replace(r#""learned_symbols":"#, r#""symbols":"#);
    assert_ne!(then, now);
    assert_eq!(Snapshot::from_json(&then).unwrap(), snapshot);
}

/// Sums of logarithms may differ in the last bits from one platform to another.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap();
            ((number * 1e9).round() / 1e9).into()
        }
        Value::Array(values) => values.into_iter().map(rounded).collect(),
        Value::Object(values) => values
            .into_iter()
            .map(|(key, value)| (key, rounded(value)))
            .collect(),
        other => other,
    }
}

#[test]
fn what_a_clean_up_of_twenty_samples_would_do() {
    let store = learned();
    let plan = |references| {
        let plan = CleanupPlan::new(&store, &CleanupOptions::new(2, references)).unwrap();
        plan.nodes().to_vec()
    };
    insta::assert_json_snapshot!("keep", plan(References::Keep));
    insta::assert_json_snapshot!("cascade", plan(References::Cascade));
}

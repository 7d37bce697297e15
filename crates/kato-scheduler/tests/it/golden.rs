//! Twenty real documents, trained with the original against its real server: every pattern, frequency
//! and symbol count.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use kato_learner::config::Recording;
use kato_learner::{HierarchicalConceptLearner, TextDocument};
use kato_loader::StreamingDatasetLoader;
use kato_model::PatternRecord;
use kato_scheduler::{RunConfiguration, train_parallel};
use kato_store::contract::{SymbolCounts, Totals};
use kato_store::{KnowledgeBase, MemoryStore, PatternStore};
use kato_test_data::training_20;
use serde_json::Value;

use crate::support::{Settings, embedded_store, exports};

fn lines(name: &str) -> impl Iterator<Item = Value> {
    let file = File::open(training_20(&format!("{name}.jsonl.gz"))).unwrap();
    BufReader::new(GzDecoder::new(file))
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// Title as the original names it, and text.
fn documents() -> impl Iterator<Item = (String, String)> {
    lines("samples").map(|document| {
        let title = format!("wikitext_sample_{}", document["id"]);
        (title, document["text"].as_str().unwrap().to_owned())
    })
}

fn learner() -> HierarchicalConceptLearner {
    HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_chunk_sizes([5, 7, 9])
        .with_recording(Recording {
            metadata: true,
            ..Recording::default()
        })
        .build()
        .unwrap()
}

/// The original's patterns as an export would show them.
fn expected_exports() -> Vec<String> {
    let export = |node| {
        let mut records: Vec<String> = lines(node)
            .map(|record| {
                PatternRecord::from_json(&record.to_string())
                    .unwrap()
                    .to_json()
                    .unwrap()
                    + "\n"
            })
            .collect();
        records.sort();
        records.concat()
    };
    ["node0", "node1", "node2"].map(export).into()
}

/// Compares patterns with their metadata, totals, and the counts of every symbol.
fn assert_golden(store: &dyn PatternStore) {
    assert_eq!(exports(store), expected_exports());
    for node in KnowledgeBase::all(store) {
        let totals = File::open(training_20(&format!("{}.totals.json", node.name()))).unwrap();
        let totals: Value = serde_json::from_reader(totals).unwrap();
        let count = |key: &str| totals[key].as_u64().unwrap();
        let totals = Totals {
            learns: count("total_pattern_frequencies"),
            learned_symbols: count("total_symbol_frequencies"),
            member_symbols: count("total_symbols_in_patterns_frequencies"),
        };
        assert_eq!(node.totals().unwrap(), totals, "{}", node.name());

        let counts: Vec<_> = lines(&format!("{}.symbols", node.name()))
            .map(|line| {
                let count = |key: &str| line[key].as_u64().unwrap();
                let counts = SymbolCounts {
                    frequency: count("frequency"),
                    member_frequency: count("pattern_member_frequency"),
                };
                (line["name"].as_str().unwrap().to_owned(), counts)
            })
            .collect();
        let found: Result<Vec<_>, _> = node.symbol_counts().unwrap().collect();
        let found = found
            .unwrap()
            .into_iter()
            .map(|(symbol, counts)| (symbol.to_string(), counts));
        assert_eq!(found.collect::<Vec<_>>(), counts, "{}", node.name());
    }
}

#[test]
fn training_learns_what_the_original_learned() {
    let learner = learner();
    let dir = tempfile::tempdir().unwrap();
    let mut jsonl = String::new();
    for (id, text) in documents() {
        writeln!(jsonl, "{}", serde_json::json!({"id": id, "text": text})).unwrap();
    }
    let memory = MemoryStore::new(
        &learner.node_names(),
        RunConfiguration::from_learner(&learner).to_json(),
    );
    let embedded = embedded_store(&dir, &learner);
    for store in [&memory as &dyn PatternStore, &embedded] {
        let mut loader = StreamingDatasetLoader::builder()
            .with_reader("samples.jsonl", std::io::Cursor::new(jsonl.clone()))
            .with_id_field("id")
            .build()
            .unwrap();
        let report = train_parallel(
            &mut loader,
            &learner,
            store,
            &Settings::EAGER.options(),
            |_| {},
        )
        .unwrap();
        assert_golden(store);

        assert_eq!(
            (report.documents_processed, report.errors, report.tokens),
            (20, 0, 10_140)
        );
        let levels: Vec<_> = report
            .levels
            .iter()
            .map(|level| (level.learns, level.unique_patterns.unwrap()))
            .collect();
        assert_eq!(levels, [(2023, 2003), (294, 294), (40, 40)]);
    }
}

#[test]
fn a_batch_records_what_the_original_notes_of_a_sample() {
    let learner = learner();
    let dir = tempfile::tempdir().unwrap();
    let memory = MemoryStore::new(&learner.node_names(), Value::Null);
    let embedded = embedded_store(&dir, &learner);
    for store in [&memory as &dyn PatternStore, &embedded] {
        let mut batch = learner.new_batch();
        let mut scratch = learner.new_scratch();
        for (title, text) in documents() {
            let metadata = [
                ("title", title.as_str()),
                ("author", "Unknown"),
                ("book_idx", "1"),
            ];
            let document = TextDocument {
                text: &text,
                metadata: &metadata,
                ..TextDocument::default()
            };
            learner.learn(document, &mut batch, &mut scratch).unwrap();
        }
        let staged = store.stage(batch.seal()).unwrap();
        store.commit(vec![staged], Value::Null).unwrap();
        assert_golden(store);
    }
}

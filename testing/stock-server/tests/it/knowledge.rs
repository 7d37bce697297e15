//! What the files say is what `kato_store` would export.

use std::collections::BTreeMap;

use kato_model::batch::BatchSymbol;
use kato_model::emotives::EmotiveWindow;
use kato_model::{AttributeLimits, Attributes, LearnBatch, Metadata, MetadataValue, PatternName};
use kato_stock_server::{Generation, StockOptions};
use kato_store::{KnowledgeBase, MemoryStore, PatternStore};
use serde_json::{Value, json};

use crate::support::{Client, start};

/// Events of a chunk, and the emotives and metadata that come with the first.
type Lesson = (Vec<Vec<&'static str>>, BTreeMap<&'static str, f64>, Value);

/// Chunks in the order in which they are learned.
fn lessons() -> Vec<Lesson> {
    let joy = |value| BTreeMap::from([("joy", value)]);
    vec![
        (
            vec![vec!["b"], vec!["a"]],
            joy(0.1),
            json!({"book": "z", "n": 1.0}),
        ),
        (
            vec![vec!["it's", "\"x\""], vec!["Ġé\n"]],
            joy(1e-7),
            json!({"k": [true, null]}),
        ),
        (
            vec![vec!["b"], vec!["a"]],
            joy(0.3),
            json!({"book": "a", "n": 1}),
        ),
        (
            vec![vec!["PTRN|x"], vec![""], vec!["q"]],
            BTreeMap::new(),
            json!({}),
        ),
        (vec![vec!["b"], vec!["a"]], joy(-2.5), json!({"book": "a"})),
        (vec![vec!["b"], vec!["a"]], joy(4.0), json!({})),
        (vec![vec!["b"], vec!["a"]], joy(5.0), json!({})),
        (vec![vec!["b"], vec!["a"]], joy(6.0), json!({})),
    ]
}

#[test]
fn learned_is_what_a_store_exports() {
    for generation in [Generation::V3_10, Generation::October2025] {
        let mut server = start(StockOptions::quick().generation(generation));
        let mut client = Client::of(&server);
        let limits = AttributeLimits::default();
        let mut batch = LearnBatch::new(1).with_limits(limits);
        for (position, (events, emotives, metadata)) in (0..).zip(lessons()) {
            let session = client.session("run_node0", &json!({}));
            for (idx, event) in events.iter().enumerate() {
                let mut observation = json!({"strings": event});
                if idx == 0 {
                    observation["emotives"] = json!(emotives);
                    observation["metadata"] = metadata.clone();
                }
                client.post(&format!("{session}/observe"), &observation);
            }
            client.post(&format!("{session}/learn"), &json!({}));

            let sorted: Vec<Vec<&str>> = events
                .iter()
                .map(|event| {
                    let mut event = event.clone();
                    event.sort_unstable();
                    event
                })
                .collect();
            let symbols: Vec<u32> = sorted
                .iter()
                .flatten()
                .map(|symbol| batch.literal(symbol))
                .collect();
            let name = PatternName::of_events(&sorted);
            let symbols = symbols.into_iter().map(BatchSymbol::Literal);
            let occurrence = batch.learn(0, name, symbols);
            let attributes = Attributes {
                event_lengths: sorted
                    .iter()
                    .any(|event| event.len() != 1)
                    .then(|| sorted.iter().map(|event| event.len() as u32).collect()),
                metadata: metadata_of(&metadata),
                emotives: window(position, &emotives, &limits),
                ..Attributes::default()
            };
            if attributes != Attributes::default() {
                batch.attach(0, occurrence, attributes);
            }
        }
        let store = MemoryStore::new(&["run_node0"], json!(null));
        let staged = store.stage(batch.seal()).unwrap();
        store.commit(vec![staged], json!(null)).unwrap();
        let knowledge = KnowledgeBase::new(&store, "run_node0").unwrap();
        let mut expected = Vec::new();
        knowledge.export(&mut expected).unwrap();
        let learned = server.learned();
        assert_eq!(
            learned.export("run_node0"),
            String::from_utf8(expected).unwrap()
        );
        assert_eq!(learned.learn_calls("run_node0"), 8);
        assert_eq!(learned.total_learn_calls(), 8);
        assert_eq!(learned.export("run_node1"), "");
        // The server knows it by the file alone.
        let name = learned.calls[0].name.clone();
        server.restart();
        let pattern = format!("/pattern/{name}?node_id=run_node0");
        let pattern = Client::of(&server).get(&pattern).body;
        let pattern = &pattern["pattern"]["pattern"];
        assert_eq!(pattern["frequency"], 6);
        let book = match generation {
            Generation::V3_10 | Generation::V6_3 => json!(["a", "z"]),
            Generation::October2025 => json!(["z", "a"]),
        };
        assert_eq!(pattern["metadata"]["book"], book);
        assert_eq!(pattern["emotives"].as_array().unwrap().len(), 5);
    }
}

fn metadata_of(values: &Value) -> Metadata {
    let mut metadata = Metadata::default();
    for (key, value) in values.as_object().unwrap() {
        let value: MetadataValue = serde_json::from_value(value.clone()).unwrap();
        metadata.insert(key, &value, None);
    }
    metadata
}

fn window(
    position: u64,
    emotives: &BTreeMap<&str, f64>,
    limits: &AttributeLimits,
) -> EmotiveWindow {
    let mut window = EmotiveWindow::default();
    if !emotives.is_empty() {
        let map = emotives
            .iter()
            .map(|(key, value)| ((*key).to_owned(), *value));
        window.learn((position, 0), map.collect(), limits.persistence);
    }
    window
}

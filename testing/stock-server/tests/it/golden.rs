//! What a real server of October 2025 answered.

use std::collections::HashMap;

use kato_stock_server::{Generation, StockOptions};
use serde_json::{Value, json};

use crate::support::{Client, start};

/// The first calls of the original trainer, with the answers that it got.
const CALLS: &str = include_str!("../data/calls.jsonl");

#[test]
fn recorded_training() {
    let server = start(StockOptions::quick().generation(Generation::October2025));
    let mut client = Client::of(&server);
    let mut sessions: HashMap<String, String> = HashMap::new();
    let mut learned = 0;
    for line in CALLS.lines() {
        let call: Value = serde_json::from_str(line).unwrap();
        let node = call["node"].as_str().unwrap();
        let session = sessions.entry(node.to_owned());
        let session = session.or_insert_with(|| client.session(node, &json!({})));
        let body =
            json!({"observations": call["observations"], "learn_at_end": call["learn_at_end"]});
        let answer = client.post(&format!("{session}/observe-sequence"), &body);
        for key in [
            "final_learned_pattern",
            "auto_learned_patterns",
            "final_stm_length",
        ] {
            assert_eq!(answer[key], call[key], "{key} of {line}");
        }
        learned += 1;
    }
    assert_eq!(server.learned().total_learn_calls(), learned);
}

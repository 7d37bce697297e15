//! Recorded predictions of a real KATO 3.10.1 server, through the engine: learning with emotives
//! and metadata, the stored patterns, configuration, the short-term memory and the answer.

use std::collections::BTreeMap;

use kato_engine::{Engine, Observation, Session};
use serde_json::{Value, json};

use crate::support::{NODE, alike, config, rows};

#[test]
fn recorded_predictions_are_reproduced() {
    // The neighbour's copy: the same rows prove the predictions there and the way to them here.
    for row in rows("../kato-prediction/tests/data/predictions.jsonl") {
        if row["status"] == 200 {
            check(&row);
        }
    }
}

fn check(row: &Value) {
    let id = &row["id"];
    let engine = Engine::in_memory(&[NODE]);
    let node = engine.node(NODE).unwrap();
    let mut session = node.session(config(&row["config"]));
    for lesson in row["learn"].as_array().unwrap() {
        for _ in 0..lesson["times"].as_u64().unwrap_or(1) {
            learn(&mut session, lesson);
        }
    }
    if row["finalize_training"] == true {
        node.finalize_training();
    }
    for known in row["kb"].as_array().unwrap() {
        let name = known["name"].as_str().unwrap().parse().unwrap();
        let mut record = serde_json::to_value(node.pattern(&name).unwrap()).unwrap();
        record["name"] = known["name"].clone();
        assert!(
            alike(known, &record),
            "{id}: expected {known}\nfound {record}"
        );
    }
    for event in row["observed"].as_array().unwrap() {
        session.observe(observation(event)).unwrap();
    }
    assert_eq!(json!(session.stm()), row["stm"], "{id}");
    compare(row, &session);
}

fn learn(session: &mut Session, lesson: &Value) {
    for (idx, event) in lesson["events"].as_array().unwrap().iter().enumerate() {
        let mut observation = observation(event);
        let part = |key: &str| {
            lesson[key]
                .get(idx)
                .filter(|part| part.is_object())
                .cloned()
        };
        if let Some(emotives) = part("emotives") {
            observation.emotives = serde_json::from_value(emotives).unwrap();
        }
        if let Some(metadata) = part("metadata") {
            observation.metadata = serde_json::from_value(metadata).unwrap();
        }
        session.observe(observation).unwrap();
    }
    session.learn().unwrap();
    session.clear_stm();
}

fn observation(event: &Value) -> Observation {
    Observation::strings(
        event
            .as_array()
            .unwrap()
            .iter()
            .map(|symbol| symbol.as_str().unwrap()),
    )
}

/// Ties are unordered in the recording, and the cut to `max_predictions` may go through one: what
/// lies at the cut is compared by its potential alone.
fn compare(row: &Value, session: &Session) {
    let id = &row["id"];
    let answer = session.predict().unwrap();
    let expected = row["predictions"].as_array().unwrap();
    assert_eq!(answer.predictions.len(), expected.len(), "{id}");
    let found: BTreeMap<String, Value> = answer
        .predictions
        .iter()
        .map(|prediction| (prediction.name.to_string(), json!(prediction)))
        .collect();
    for (expected, ours) in expected.iter().zip(&answer.predictions) {
        assert!(
            alike(&expected["potential"], &json!(ours.potential)),
            "{id}"
        );
        match found.get(expected["name"].as_str().unwrap()) {
            Some(found) => assert!(
                alike(expected, found),
                "{id}: expected {expected}\nfound {found}"
            ),
            None => assert!(
                row["ties"] == true || row["membership_differed_between_runs"] == true,
                "{id}: {expected} is missing"
            ),
        }
    }
}

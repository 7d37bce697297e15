//! Recorded predictions of real KATO servers, through the engine: learning with emotives and metadata,
//! the stored patterns, configuration, the short-term memory and the answer.

use std::collections::BTreeMap;

use kato_engine::{Engine, EngineOptions, Observation, Session, SessionConfig};
use kato_model::{KatoGeneration, PatternName};
use serde_json::{Value, json};

use crate::support::{NODE, alike, rows};

#[test]
fn recorded_predictions_are_reproduced() {
    // The neighbour's copy: the same rows prove the predictions there and the way to them here.
    for row in rows("../kato-prediction/tests/data/predictions.jsonl") {
        if row["status"] == 200 {
            check(&row, KatoGeneration::V3_10);
        }
    }
}

#[test]
fn recorded_predictions_of_the_newest_generation_are_reproduced() {
    let rows = rows("tests/data/predictions-6.3.jsonl");
    let (answered, refused): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| row["status"] == 200);
    assert_eq!((answered.len(), refused.len()), (207, 16));
    for row in answered {
        check(&row, KatoGeneration::V6);
    }
    for row in refused {
        let given = row["config"].as_object().unwrap();
        let (_, error) = SessionConfig::at_creation(given, KatoGeneration::V6);
        let errors = error.as_ref().map(|error| error.validation_errors());
        let expected = &row["error"]["detail"]["validation_errors"];
        assert_eq!(&json!(errors), expected, "{}", row["id"]);
    }
}

fn check(row: &Value, generation: KatoGeneration) {
    let id = &row["id"];
    let mut options = EngineOptions::default();
    options.generation = generation;
    let engine = Engine::in_memory_with(&[NODE], options);
    let node = engine.node(NODE).unwrap();
    let (config, error) =
        SessionConfig::at_creation(row["config"].as_object().unwrap(), generation);
    assert_eq!(error, None, "{id}");
    let mut session = node.session(config);
    for lesson in row["learn"].as_array().unwrap() {
        for _ in 0..lesson["times"].as_u64().unwrap_or(1) {
            learn(&mut session, lesson);
        }
    }
    if row["finalize_training"] == true {
        node.finalize_training();
    }
    let retired = row["retire"].as_array().into_iter().flatten();
    let retired: Vec<PatternName> = retired
        .map(|name| PatternName::from_symbol(name.as_str().unwrap()).unwrap())
        .collect();
    node.retire(&retired).unwrap();
    for known in row["kb"].as_array().unwrap() {
        let name = known["name"].as_str().unwrap();
        let name = name.trim_start_matches("PTRN|").parse().unwrap();
        let mut record = serde_json::to_value(node.pattern(&name).unwrap()).unwrap();
        record["name"] = known["name"].clone();
        assert!(
            alike(known, &record),
            "{id}: expected {known}\nfound {record}"
        );
    }
    let mut searches = Vec::new();
    for event in row["observed"].as_array().unwrap() {
        let observed = session.observe(observation(event)).unwrap();
        searches.extend(observed.vector_search);
    }
    compare_searches(row, &json!(searches));
    assert_eq!(json!(session.stm()), row["stm"], "{id}");
    compare(row, &session);
}

/// Compares the accounts of searches for vectors, whose scores KATO's database computes with 32 bits.
fn compare_searches(row: &Value, found: &Value) {
    let rounded = |searches: &Value| {
        let mut searches = searches.clone();
        for search in searches.as_array_mut().into_iter().flatten() {
            for found in search["matches"].as_array_mut().into_iter().flatten() {
                let score = found["raw_score"].as_f64();
                found["raw_score"] = json!(score.map(|score| (score * 1e6).round()));
            }
        }
        searches
    };
    let expected = row.get("vector_search").cloned().unwrap_or(json!([]));
    assert_eq!(rounded(found), rounded(&expected), "{}", row["id"]);
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
    match event {
        Value::Array(_) => {
            let strings: Vec<String> = serde_json::from_value(event.clone()).unwrap();
            Observation::strings(strings)
        }
        event => serde_json::from_value(event.clone()).unwrap(),
    }
}

/// Up to 4.x ties are unordered in the recording, and the cut to `max_predictions` may go through one: what
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
        if ours.generation.ties_descend() {
            assert_eq!(expected["name"], ours.name.to_string(), "{id}");
            let keys = |value: &Value| {
                value
                    .as_object()
                    .unwrap()
                    .keys()
                    .cloned()
                    .collect::<Vec<_>>()
            };
            assert_eq!(keys(expected), keys(&json!(ours)), "{id}");
        }
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
    compare_futures(row, &json!(answer.future_potentials));
}

/// Compares the futures in whatever order those of equal potential are.
fn compare_futures(row: &Value, found: &Value) {
    let Some(expected) = row["future_potentials"].as_array() else {
        return;
    };
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), expected.len(), "{}", row["id"]);
    for (expected, at_its_place) in expected.iter().zip(found) {
        let potential = |future: &Value| future["aggregate_potential"].clone();
        assert!(
            alike(&potential(expected), &potential(at_its_place)),
            "{}",
            row["id"]
        );
        let mut all = found.iter();
        assert!(
            all.any(|future| alike(expected, future)),
            "{}: {expected}",
            row["id"]
        );
    }
}

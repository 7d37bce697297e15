//! Recorded conversations with a real KATO 3.10.1 server, replayed: state, learned names,
//! configuration, stored patterns.

use std::collections::BTreeMap;

use kato_engine::{
    Engine, EngineError, EngineOptions, Observation, Sequence, Session, SessionConfig,
};
use kato_model::KatoGeneration;
use serde_json::{Map, Value, json};

use crate::support::{alike, rows};

/// Every recorded node as an engine of its own, and the recorded sessions by number.
#[derive(Default)]
struct Replay {
    engines: BTreeMap<String, Engine>,
    sessions: BTreeMap<u64, Session>,
}

impl Replay {
    fn step(&mut self, row: &Value) {
        let node = row["node"].as_str().unwrap();
        let engine = self.engines.entry(node.to_owned()).or_insert_with(|| {
            let mut options = EngineOptions::default();
            options.generation = KatoGeneration::V3_10;
            Engine::in_memory_with(&[node], options)
        });
        let node = engine.node(node).unwrap();
        let expected = &row["expected"];
        let found = match row["op"].as_str().unwrap() {
            "create" => {
                let (config, _) = SessionConfig::at_creation(
                    row["config"].as_object().unwrap(),
                    KatoGeneration::V3_10,
                );
                let session = node.session(config);
                let found = config_json(&session);
                self.sessions
                    .insert(row["session"].as_u64().unwrap(), session);
                found
            }
            "pattern" => {
                let name = row["name"].as_str().unwrap().parse().unwrap();
                let record = node.pattern(&name).unwrap();
                record.map_or(Value::Null, |record| {
                    let mut found = serde_json::to_value(&record).unwrap();
                    found["name"] = record.pattern.name().prefixed().to_string().into();
                    found
                })
            }
            op => {
                let session = self
                    .sessions
                    .get_mut(&row["session"].as_u64().unwrap())
                    .unwrap();
                operate(session, op, row)
            }
        };
        assert!(alike(expected, &found), "{row}\nfound {found}");
    }
}

fn operate(session: &mut Session, op: &str, row: &Value) -> Value {
    let refused = row["status"].as_u64().is_some_and(|status| status >= 400);
    match op {
        "config" => config_json(session),
        "update" => match session
            .config_mut()
            .update(row["body"].as_object().unwrap(), KatoGeneration::V3_10)
        {
            Ok(()) => json!({}),
            Err(error) => json!(error.messages()),
        },
        "observe" => {
            let observation: Observation = serde_json::from_value(row["body"].clone()).unwrap();
            let before = session.state().clone();
            match session.observe(observation) {
                Ok(observed) => json!({
                    "stm_length": observed.stm_length,
                    "time": observed.time,
                    "auto_learned_pattern": observed.auto_learned.map(|name| name.prefixed().to_string()),
                }),
                Err(error) => {
                    assert!(refused, "{row}: {error}");
                    assert_eq!(*session.state(), before);
                    Value::Null
                }
            }
        }
        "sequence" => {
            let sequence: Sequence = serde_json::from_value(row["body"].clone()).unwrap();
            sequence_json(session, sequence)
        }
        "learn" => match session.learn() {
            Ok(learned) => json!(learned.to_string()),
            Err(error) => {
                assert!(refused && matches!(error, EngineError::EmptyStm), "{row}");
                Value::Null
            }
        },
        "clear-stm" => {
            session.clear_stm();
            Value::Null
        }
        "clear-all" => {
            session.clear_all().unwrap();
            Value::Null
        }
        "stm" => json!(session.stm()),
        "percept" => json!(session.percept()),
        "predictions" => {
            let name_and_potential = |prediction: &kato_prediction::Prediction| {
                json!([prediction.name, prediction.potential])
            };
            let predictions = session.predict().unwrap().predictions;
            predictions.iter().map(name_and_potential).collect()
        }
        op => panic!("{op} is no operation"),
    }
}

fn sequence_json(session: &mut Session, sequence: Sequence) -> Value {
    let outcome = session.observe_sequence(sequence).unwrap();
    let steps: Vec<Value> = outcome
        .steps
        .iter()
        .map(|step| {
            json!({
                "stm_length": step.stm_length,
                "time": step.time,
                "auto_learned_pattern": step.auto_learned.map(|name| name.prefixed().to_string()),
            })
        })
        .collect();
    // An empty name counts as none, for those who make names up.
    let given = |id: &Option<String>| id.clone().filter(|id| !id.is_empty());
    let ids: Vec<_> = outcome
        .steps
        .iter()
        .map(|step| given(&step.unique_id))
        .collect();
    let learned: Vec<_> = outcome.learned.iter().map(ToString::to_string).collect();
    json!({
        "initial_stm_length": outcome.initial_stm_length,
        "final_stm_length": outcome.final_stm_length,
        "results": steps,
        "unique_ids": ids,
        "auto_learned_patterns": learned,
        "final_learned_pattern": outcome.final_learned.map(|learned| learned.to_string()),
    })
}

/// The configuration as the server answers it; what was given as a boolean or integer comes back as
/// a number.
fn config_json(session: &Session) -> Value {
    serde_json::to_value(session.config()).unwrap()
}

/// KATO answers `recall_threshold: true` when `true` was sent.
fn normalized(mut row: Value) -> Value {
    if let Some(threshold) = row["expected"].get_mut("recall_threshold")
        && threshold.is_boolean()
    {
        *threshold = json!(1.0);
    }
    row
}

#[test]
fn recorded_conversations_are_reproduced() {
    let mut replay = Replay::default();
    for row in rows("tests/data/sessions.jsonl") {
        replay.step(&normalized(row));
    }
}

#[test]
fn the_configuration_has_exactly_the_recorded_keys() {
    let row = &rows("tests/data/sessions.jsonl")[0];
    let recorded: &Map<String, Value> = row["expected"].as_object().unwrap();
    let ours = serde_json::to_value(SessionConfig::default()).unwrap();
    assert!(recorded.keys().eq(ours.as_object().unwrap().keys()));
}

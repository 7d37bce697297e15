//! What several tests use.

use kato_engine::{Engine, Observation, Sequence, Session, SessionConfig};
use serde_json::Value;

/// The only node of an engine in memory.
pub(crate) const NODE: &str = "node0";

pub(crate) fn session() -> Session {
    session_with(SessionConfig::default())
}

pub(crate) fn session_with(config: SessionConfig) -> Session {
    Engine::in_memory(&[NODE])
        .node(NODE)
        .unwrap()
        .session(config)
}

/// Events of one symbol each.
pub(crate) fn words<'a>(words: &'a [&str]) -> impl Iterator<Item = Observation> + 'a {
    words.iter().map(|word| Observation::strings([*word]))
}

/// Observes the words and learns them.
pub(crate) fn learn(session: &mut Session, text: &[&str]) -> String {
    let sequence = Sequence::new(words(text)).learn_at_end();
    let outcome = session.observe_sequence(sequence).unwrap();
    outcome.final_learned.unwrap().to_string()
}

/// The rows of a file of JSON Lines in this crate's or a neighbour's folder.
pub(crate) fn rows(path: &str) -> Vec<Value> {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Whether `found` holds all that `expected` holds, numbers within 1e-9.
pub(crate) fn alike(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(1.0)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Value::Object(a), Value::Object(b)) => a
            .iter()
            .all(|(key, value)| alike(value, b.get(key).unwrap_or(&Value::Null))),
        (a, b) => a == b,
    }
}

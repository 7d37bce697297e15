//! Parsing of request bodies into the types of the service.
//!
//! Nearly all bodies are plain JSON of the right types and are deserialized directly. Whatever that
//! refuses is parsed again as Python would, and then either coerced or described in every detail.

mod fast_path;
pub(crate) mod patterns;
pub(crate) mod questions;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use axum::http::{HeaderMap, header};
use kato_engine::config::SessionConfigChange;
use kato_engine::node::Lesson;
use kato_engine::session::SequencedObservation;
use kato_engine::{Observation, Sequence, SessionConfig};
use kato_model::{Event, KatoGeneration};
use kato_service::ServiceError;
use kato_service::answer::NewSession;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::compat::json::{self, Json, Malformed, Text, excerpt_of_text, field};
use crate::compat::validate::{
    Check, DICT_TYPE, Fault, MISSING, MODEL_TYPE, as_integer, malformed, ttl_in_range,
};
use crate::refusal::Refusal;

/// Bytes of a body other than JSON that are decoded in order to show a part of them.
const LOOKED_AT: usize = 8192;

const NO_VERSION: Fault = Fault {
    kind: "value_error",
    message: "Input should be a version: an integer from 0 to 18446744073709551615",
};

/// Parses an observation (`observe`).
pub(crate) fn observation(headers: &HeaderMap, body: &[u8]) -> Result<Observation, Refusal> {
    // The fast path. It takes nothing that the slow one would read otherwise: property tests
    // compare the two.
    if is_json(headers)
        && let Some(plain) = fast_path::observation(body)
    {
        return Ok(plain);
    }
    long_observation(headers, body)
}

/// Parses an observation with Python's grammar and pydantic's rules.
fn long_observation(headers: &HeaderMap, body: &[u8]) -> Result<Observation, Refusal> {
    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let observation = check.model(&json).map(|map| check.observation(map));
    finish(check, observation.unwrap_or_default())
}

/// Parses several observations (`observe-sequence`).
pub(crate) fn sequence(headers: &HeaderMap, body: &[u8]) -> Result<Sequence, Refusal> {
    if is_json(headers)
        && let Some(plain) = fast_path::sequence(body)
    {
        return Ok(plain);
    }
    long_sequence(headers, body)
}

/// Parses a sequence with Python's grammar and pydantic's rules.
fn long_sequence(headers: &HeaderMap, body: &[u8]) -> Result<Sequence, Refusal> {
    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let mut sequence = Sequence::default();
    if let Some(map) = check.model(&json) {
        let items = check.required(map, "observations", |check, value| {
            // An item that is no object is a fault and yields nothing; `finish` then refuses the
            // request, so that no sequence is ever carried out with items left out.
            check.list(value, |check, item| {
                check.model(item).map(|map| check_item(check, map))
            })
        });
        sequence = Sequence::from_items(items.into_iter().flatten());
        sequence.learn_after_each = check.field(map, "learn_after_each", Check::boolean);
        sequence.learn_at_end = check.field(map, "learn_at_end", Check::boolean);
        sequence.clear_stm_between = check.field(map, "clear_stm_between", Check::boolean);
    }
    finish(check, sequence)
}

/// Parses sequences to learn (`learn-batch`).
pub(crate) fn lessons(headers: &HeaderMap, body: &[u8]) -> Result<Vec<Lesson>, Refusal> {
    if is_json(headers)
        && let Some(plain) = fast_path::lessons(body)
    {
        return Ok(plain);
    }
    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let mut lessons = Vec::new();
    if let Some(map) = check.model(&json) {
        lessons = check.required(map, "sequences", |check, value| {
            check.list(value, |check, item| {
                check.model(item).map(|map| check_lesson(check, map))
            })
        });
    }
    finish(check, lessons.into_iter().flatten().collect())
}

/// Parses a record of a training run and the version that it replaces (`PUT /runs/{run}`).
pub(crate) fn run_record(headers: &HeaderMap, body: &[u8]) -> Result<(u64, Value), Refusal> {
    #[derive(Deserialize)]
    struct Record {
        record: Value,
    }

    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let mut version = 0;
    if let Some(map) = check.model(&json) {
        version = check.required(map, "version", run_version);
        check.required(map, "record", |_, _| ());
    }
    finish(check, ())?;
    // Read once more: what comes back is the record as it was sent, not as Python reads it.
    match serde_json::from_slice(body) {
        Ok(Record { record }) => Ok((version, record)),
        Err(error) => Err(Refusal::of_part(&["body", "record"], error.to_string())),
    }
}

/// Checks the version of a record.
fn run_version(check: &mut Check, value: &Json) -> u64 {
    let version =
        as_integer(value).and_then(|version| u64::try_from(version).map_err(|_| NO_VERSION));
    version.unwrap_or_else(|fault| {
        check.fault(fault, value);
        0
    })
}

/// Parses a session to create (`POST /sessions`).
pub(crate) fn new_session(
    headers: &HeaderMap,
    body: &[u8],
    most: usize,
) -> Result<NewSession, Refusal> {
    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let mut new = NewSession::default();
    let mut metadata: &[(Text, Json)] = &[];
    let mut config = None;
    if let Some(map) = check.model(&json) {
        new.node_id = check.required(map, "node_id", Check::string);
        let given = check.field(map, "metadata", maybe_map);
        metadata = given.unwrap_or_default();
        let ttl = check.field(map, "ttl_seconds", |check, value| {
            check.optional(value, ttl_seconds)
        });
        new.ttl_seconds = ttl.and_then(|seconds| u64::try_from(seconds).ok());
        config = check.field(map, "config", maybe_map);
    }
    // Faults come before sizes: a body that is invalid as well as too large gets status 422.
    finish(check, ())?;
    let bytes = metadata
        .iter()
        .map(|(key, value)| key.text.len() + value.text_bytes());
    at_most("bytes of metadata", bytes.sum(), most)?;
    new.metadata = map_of(metadata);
    new.config = config
        .map(|config| known_settings(config, most))
        .transpose()?;
    Ok(new)
}

/// Checks a map that may also be `null`.
fn maybe_map<'j>(check: &mut Check, value: &'j Json) -> Option<&'j [(Text, Json)]> {
    check.optional(value, Check::any_entries)
}

/// Parses a change of a session's settings (`config`), wrapped or not. Unknown settings are left
/// out.
pub(crate) fn settings(
    headers: &HeaderMap,
    body: &[u8],
    (most, generation): (usize, KatoGeneration),
) -> Result<SessionConfigChange, Refusal> {
    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let entries = wrapped(&mut check, &json, "config");
    finish(check, ())?;
    let given = known_settings(entries, most)?;
    SessionConfigChange::from_json(&given, generation)
        .map_err(|error| Refusal::settings(&error, generation))
}

/// Parses the genes of a node (`genes/update`), wrapped or not, and returns the whole body with
/// them.
pub(crate) fn genes(
    headers: &HeaderMap,
    body: &[u8],
    most: usize,
) -> Result<(Map<String, Value>, Value), Refusal> {
    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let entries = wrapped(&mut check, &json, "genes");
    finish(check, ())?;
    at_most("bytes of genes", json.text_bytes(), most)?;
    Ok((map_of(entries), json.to_value()))
}

/// Returns the entries of a map, or of the map that it holds under a key.
fn wrapped<'j>(check: &mut Check, json: &'j Json, key: &str) -> &'j [(Text, Json)] {
    let entries = check.any_entries(json);
    match field(entries, key) {
        Some(Json::Map(inner)) => inner,
        // An empty list is an empty map to Python.
        Some(Json::List(items)) if items.is_empty() => &[],
        // KATO answers 500 here (docs/compatibility.md); this is a refusal in its style.
        Some(other) => {
            check.at(key, |check| check.fault(DICT_TYPE, other));
            &[]
        }
        None => entries,
    }
}

/// Returns the known settings among the entries.
fn known_settings(entries: &[(Text, Json)], most: usize) -> Result<Map<String, Value>, Refusal> {
    // Unknown keys are ignored, as KATO does, and so must not count towards the limit either.
    let known = || {
        let entries = entries.iter();
        entries.filter(|(key, _)| SessionConfig::has(&key.text))
    };
    let bytes = known().map(|(_, value)| value.text_bytes()).sum();
    at_most("bytes of settings", bytes, most)?;
    let setting = |(key, value): &(Text, Json)| {
        let value = match value {
            // Not a float, which no count may be.
            Json::Integer(number) => number.to_nearest(),
            // Not null, which stands for a default: what is no number is below every range.
            Json::Float(number) if number.is_nan() => Value::from(f64::MIN),
            Json::Float(number) if number.is_infinite() => Value::from(f64::MAX.copysign(*number)),
            value => value.to_value(),
        };
        (key.text.clone(), value)
    };
    Ok(known().map(setting).collect())
}

/// Converts entries into a JSON object.
fn map_of(entries: &[(Text, Json)]) -> Map<String, Value> {
    let entries = entries.iter();
    entries
        .map(|(key, value)| (key.text.clone(), value.to_value()))
        .collect()
}

/// Refuses more than may be kept, before it is converted into larger types.
fn at_most(what: &'static str, found: usize, limit: usize) -> Result<(), Refusal> {
    if found <= limit {
        return Ok(());
    }
    Err(ServiceError::TooLarge { what, found, limit }.into())
}

/// Checks that a list has no more items than there may be.
fn at_most_items(check: &mut Check, value: &Json, most: usize) -> bool {
    let actual = match value {
        Json::List(items) => items.len(),
        _ => 0,
    };
    if actual > most {
        let ctx = json!({"field_type": "List", "max_length": most, "actual_length": actual});
        let message =
            format!("List should have at most {most} items after validation, not {actual}");
        check.fault_saying(("too_long", message), value, ctx);
    }
    actual <= most
}

/// Checks one observation of a sequence.
fn check_item(check: &mut Check, map: &[(Text, Json)]) -> SequencedObservation {
    SequencedObservation {
        observation: check.observation(map),
        unique_id: check.field(map, "unique_id", |check, value| {
            check.optional(value, Check::string)
        }),
    }
}

/// Checks one sequence of a batch.
fn check_lesson(check: &mut Check, map: &[(Text, Json)]) -> Lesson {
    let events: Vec<Vec<String>> = check.required(map, "events", |check, value| {
        check.list(value, Check::strings)
    });
    let emotives = check.field(map, "emotives", Check::emotives);
    let metadata: BTreeMap<_, _> = check.field(map, "metadata", Check::metadata);
    Lesson::new(events.into_iter().map(Event::new))
        .with_emotives(emotives)
        .with_metadata(&metadata)
}

/// Checks the lifetime of a session.
fn ttl_seconds(check: &mut Check, value: &Json) -> i64 {
    match as_integer(value) {
        Ok(seconds) => ttl_in_range(check, seconds, &value.excerpt()),
        Err(fault) => {
            check.fault(fault, value);
            0
        }
    }
}

/// Returns the value, or the refusal with all faults that were found.
fn finish<T>(check: Check, value: T) -> Result<T, Refusal> {
    check.finish(value).map_err(Refusal::invalid)
}

/// Parses the body as JSON; refuses one that is missing or malformed.
fn read(headers: &HeaderMap, body: &[u8]) -> Result<Json, Refusal> {
    let refuse = |fault, input| {
        let mut check = Check::new("body");
        check.fault_with(fault, input, None);
        finish(check, Json::Null)
    };
    if body.is_empty() {
        return refuse(MISSING, Value::Null);
    }
    if !is_json(headers) {
        // Only the beginning: the excerpt is shorter than this anyway.
        let text = String::from_utf8_lossy(body.get(..LOOKED_AT).unwrap_or(body));
        return refuse(MODEL_TYPE, Value::from(excerpt_of_text(&text)));
    }
    match json::parse(body) {
        // FastAPI does not tell `null` from a missing body.
        Ok(Json::Null) => refuse(MISSING, Value::Null),
        Ok(json) => Ok(json),
        Err(error) => Err(refuse_malformed(&error)),
    }
}

/// Creates the refusal of a body that is no JSON.
fn refuse_malformed(error: &Malformed) -> Refusal {
    match (malformed(error), error) {
        (Some(detail), _) => Refusal::invalid(vec![detail]),
        (None, Malformed::Unreadable { reason }) => Refusal::bad_body(reason),
        (None, Malformed::Syntax { message, .. }) => Refusal::bad_body(message),
    }
}

/// Returns whether the body is to be read as JSON: without a content type it is, with that of
/// something else it is not.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let Ok(kind) = kind.to_str() else {
        return false;
    };
    let kind = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    // FastAPI's rule: `application/json`, or a subtype with the suffix `+json`.
    match kind.strip_prefix("application/") {
        Some(sub) => sub == "json" || sub.ends_with("+json"),
        None => kind.is_empty(),
    }
}

//! Validation of bodies: what is missing or of the wrong type is refused in KATO's words.

use kato_protocol::session::CreateSession;
use kato_protocol::{Observation, Sequence};
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::check::{BODY, Check, NO_MODEL};

/// Reads the body of a request for a session.
pub(crate) fn create_session(body: &[u8]) -> Result<CreateSession, Answer> {
    whole(body, |check, body| {
        let node_id = match body.get("node_id") {
            Some(node_id) => check.text(node_id, BODY.key("node_id")),
            None => check.missing("node_id", body),
        };
        let ttl = body.get("ttl_seconds").filter(|ttl| !ttl.is_null());
        CreateSession {
            node_id,
            metadata: check
                .map_or_null(body.get("metadata"), "metadata")
                .unwrap_or_default(),
            ttl_seconds: ttl.and_then(|ttl| check.integer(ttl, BODY.key("ttl_seconds"))),
            config: check.map_or_null(body.get("config"), "config"),
        }
    })
}

/// Returns whether a body has a negative time to live, which KATO takes and then its Redis does
/// not.
pub(crate) fn has_negative_ttl(body: &[u8]) -> bool {
    let body = parsed(body).unwrap_or_default();
    body["ttl_seconds"].as_i64().is_some_and(|ttl| ttl < 0)
}

/// Reads the body of an observation.
pub(crate) fn observation(body: &[u8]) -> Result<Observation, Answer> {
    whole(body, |check, body| check.observation(body, BODY))
}

/// Reads the body of a sequence.
pub(crate) fn sequence(body: &[u8]) -> Result<Sequence, Answer> {
    whole(body, |check, body| {
        let mut flag = |name| check.flag(body.get(name), name);
        let learn_after_each = flag("learn_after_each");
        let learn_at_end = flag("learn_at_end");
        let clear_stm_between = flag("clear_stm_between");
        let observations = match body.get("observations") {
            Some(list) => check.list(Some(list), BODY.key("observations"), Check::item),
            None => check.missing("observations", body),
        };
        Sequence {
            observations,
            learn_after_each,
            learn_at_end,
            clear_stm_between,
        }
    })
}

/// Reads any map, as the routes of settings take it.
pub(crate) fn map(body: &[u8]) -> Result<Map<String, Value>, Answer> {
    match parsed(body)? {
        Value::Object(map) => Ok(map),
        other => {
            let mut check = Check::default();
            check.fail(
                "dict_type",
                BODY,
                "Input should be a valid dictionary",
                &other,
            );
            Err(Answer::invalid(&check.0))
        }
    }
}

/// Parses a body, or says in FastAPI's words why it cannot be parsed.
fn parsed(body: &[u8]) -> Result<Value, Answer> {
    if body.is_empty() {
        let missing =
            json!({"type": "missing", "loc": ["body"], "msg": "Field required", "input": null});
        return Err(Answer::invalid(&[missing]));
    }
    serde_json::from_slice(body).map_err(|error| {
        let error = json!({"type": "json_invalid", "loc": ["body", error.column().saturating_sub(1)],
            "msg": "JSON decode error", "input": {}, "ctx": {"error": "Expecting value"}});
        Answer::invalid(&[error])
    })
}

/// Reads a body; returns an answer instead if anything in it is wrong.
fn whole<T>(body: &[u8], read: impl FnOnce(&mut Check, &Value) -> T) -> Result<T, Answer> {
    let body = parsed(body)?;
    let mut check = Check::default();
    // Nothing can be looked for in it: this is the only fault that is listed.
    if !body.is_object() {
        check.fail("model_attributes_type", BODY, NO_MODEL, &body);
        return Err(Answer::invalid(&check.0));
    }
    let read = read(&mut check, &body);
    match check.0.is_empty() {
        true => Ok(read),
        false => Err(Answer::invalid(&check.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds<T>(read: Result<T, Answer>) -> Vec<(String, Value)> {
        let Err(answer) = read else { return Vec::new() };
        assert_eq!(answer.status, 422);
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let details = body["detail"].as_array().unwrap().iter();
        details
            .map(|detail| {
                (
                    detail["type"].as_str().unwrap().to_owned(),
                    detail["loc"].clone(),
                )
            })
            .collect()
    }

    #[test]
    fn refusals_name_the_place() {
        let kind = |name: &str, at: Value| vec![(name.to_owned(), at)];
        assert_eq!(kinds(observation(b"")), kind("missing", json!(["body"])));
        assert_eq!(
            kinds(observation(b"?")),
            kind("json_invalid", json!(["body", 0]))
        );
        let body = br#"{"strings": [null]}"#;
        assert_eq!(
            kinds(observation(body)),
            kind("string_type", json!(["body", "strings", 0]))
        );
        let body = br#"{"vectors": [["x"]]}"#;
        let at = json!(["body", "vectors", 0, 0]);
        assert_eq!(kinds(observation(body)), kind("float_parsing", at));
        let body = br#"{"emotives": {"a": null}}"#;
        assert_eq!(
            kinds(observation(body)),
            kind("float_type", json!(["body", "emotives", "a"]))
        );
        assert_eq!(
            kinds(sequence(b"{}")),
            kind("missing", json!(["body", "observations"]))
        );
        let body = br#"{"observations": [{}, {"strings": "a"}]}"#;
        let at = json!(["body", "observations", 1, "strings"]);
        assert_eq!(kinds(sequence(body)), kind("list_type", at));
        let body = br#"{"node_id": 5, "ttl_seconds": 5.5}"#;
        assert_eq!(kinds(create_session(body)).len(), 2);
        assert_eq!(kinds(map(b"[1]")), kind("dict_type", json!(["body"])));
        let body = br#"{"node_id": "n", "ttl_seconds": "7", "config": null}"#;
        assert_eq!(create_session(body).unwrap().ttl_seconds, Some(7));
    }
}

//! Recorded exchanges: their forms, and the requests that they are made of.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::support::Request;

/// Reads exchanges, in order: those of a compact recording, whose first line has the settings that sessions
/// have by default, or those that a proxy wrote.
pub(super) fn rows(text: &str) -> Vec<Value> {
    let mut default_config = Value::Null;
    let mut rows = Vec::new();
    for line in text.lines() {
        let mut row: Value = serde_json::from_str(line).unwrap();
        if let Some(config) = row.get("default_config") {
            default_config = config.clone();
            continue;
        }
        if row.get("test").is_some() {
            row = compact(&row);
        }
        if row["answer"]["session_config"] == "default" {
            row["answer"]["session_config"] = default_config.clone();
        }
        rows.push(row);
    }
    rows
}

/// Makes a compact exchange of one that a proxy wrote.
pub(super) fn compact(row: &Value) -> Value {
    let is_told = |(name, value): &(&String, &Value)| {
        *name != "x-trace-id" && (*name != "content-type" || *value != "application/json")
    };
    let answer_headers = row["resp_headers"].as_object().into_iter().flatten();
    let answer_headers: Map<String, Value> = answer_headers
        .filter(is_told)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut exchange = json!({
        "label": row["test"],
        "t": row["t"],
        "method": row["method"],
        "path": row["path"],
        "query": row["query"],
        "headers": row["req_headers"],
        "status": row["status"],
        "answer_headers": answer_headers,
    });
    // Some headers were not recorded: what kind of text was sent, and what a preflight asks for.
    let headers = &mut exchange["headers"];
    match row["req_body_kind"].as_str() {
        None => exchange["json"] = row["req_body"].clone(),
        Some("text") => {
            if headers.get("content-type").is_none() {
                headers["content-type"] = "application/x-www-form-urlencoded".into();
            }
            exchange["text"] = row["req_body"].clone();
        }
        Some(_) => {
            let is_preflight = row["method"] == "OPTIONS" && row["status"] == 200;
            if is_preflight {
                headers["access-control-request-method"] = "POST".into();
            }
        }
    }
    if row["resp_body_kind"] != "none" {
        exchange["answer"] = row["resp_body"].clone();
    }
    exchange
}

/// The ids of the recorded sessions, and ours.
#[derive(Default)]
pub(super) struct Ids(BTreeMap<String, String>);

impl Ids {
    pub(super) fn learn(&mut self, recorded: &Value, own: &Value) {
        if let (Some(recorded), Some(own)) =
            (recorded["session_id"].as_str(), own["session_id"].as_str())
        {
            self.0
                .entry(recorded.to_owned())
                .or_insert_with(|| own.to_owned());
        }
    }

    /// The text with our ids in place of the recorded ones.
    pub(super) fn own(&self, text: &str) -> String {
        const PREFIX: &str = "session-";
        let mut own = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(PREFIX) {
            let (before, id) = rest.split_at(start);
            let is_part = |char: char| char.is_ascii_alphanumeric() || char == '-';
            let (id, after) = id.split_at(id.find(|char| !is_part(char)).unwrap_or(id.len()));
            own.push_str(before);
            own.push_str(self.0.get(id).map_or(id, String::as_str));
            rest = after;
        }
        own + rest
    }
}

/// The request of an exchange.
pub(super) fn request(row: &Value, ids: &Ids) -> Request {
    let mut target = ids.own(row["path"].as_str().unwrap());
    let query = row["query"].as_object().into_iter().flatten();
    for (idx, (key, value)) in query.enumerate() {
        let value = encode(&ids.own(value.as_str().unwrap()));
        let mark = if idx == 0 { '?' } else { '&' };
        target.push_str(&format!("{mark}{key}={value}"));
    }
    let mut request = Request::new(row["method"].as_str().unwrap(), &target);
    for (name, value) in row["headers"].as_object().into_iter().flatten() {
        request = request.header(name, &ids.own(value.as_str().unwrap()));
    }
    let body = match (row.get("json"), row["text"].as_str()) {
        (Some(json), _) => json.to_string(),
        (None, Some(text)) => text.to_owned(),
        (None, None) => return request,
    };
    if row["headers"].get("content-type").is_none() {
        request = request.header("content-type", "application/json");
    }
    request.body(body)
}

/// A value as a query has it.
fn encode(value: &str) -> String {
    let encoded = value.bytes().map(|byte| match byte {
        b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

//! Whether an answer is the recorded one, but for what differs from run to run.

use kato_model::KatoGeneration;
use serde_json::Value;

use super::exchange::Ids;
use crate::support::Answer;

/// Keys whose values differ from run to run.
const VOLATILE: [&str; 10] = [
    "created_at",
    "expires_at",
    "unique_id",
    "timestamp",
    "uptime_seconds",
    "time_ms",
    "active_session_count",
    "last_collection",
    "active_sessions",
    "worker_pid",
];

/// The part of an answer that is another one; `None` where it is the recorded one.
pub(super) fn difference(
    row: &Value,
    answer: &Answer,
    ids: &Ids,
    generation: KatoGeneration,
) -> Option<String> {
    if row["status"] != answer.status {
        return Some(format!("{} {}", answer.status, answer.text()));
    }
    if answer.header("x-trace-id").is_none() {
        return Some("no trace id".to_owned());
    }
    if let Some(difference) = header_difference(row, answer, ids, generation) {
        return Some(difference);
    }
    // Documents are laid out by whoever writes them.
    let is_document = matches!(row["path"].as_str(), Some("/openapi.json" | "/docs"));
    if is_document || row["method"] == "HEAD" {
        return None;
    }
    let mut own = answer.json();
    let mut recorded: Value = serde_json::from_str(&ids.own(&row["answer"].to_string())).unwrap();
    if is_monitoring(row) {
        return shape(&recorded, &own, "");
    }
    mask(&mut recorded, row);
    mask(&mut own, row);
    untie(&mut recorded, "future_potentials");
    untie(&mut own, "future_potentials");
    if !generation.ties_descend() {
        untie(&mut recorded, "predictions");
        untie(&mut own, "predictions");
        if recorded["count"] == 0 {
            // KATO answers the futures of the node's last prediction, whoever asked for it.
            recorded["future_potentials"] = own["future_potentials"].clone();
        }
    }
    (!same(&recorded, &own)).then(|| format!("{own}\n    {recorded}"))
}

fn header_difference(
    row: &Value,
    answer: &Answer,
    ids: &Ids,
    generation: KatoGeneration,
) -> Option<String> {
    // Not among those that were recorded of later generations.
    const UNRECORDED: [&str; 3] = [
        "access-control-allow-methods",
        "access-control-allow-headers",
        "access-control-max-age",
    ];
    let mut headers = row["answer_headers"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let json = Value::from("application/json");
    headers.entry("content-type").or_insert(json);
    for name in [
        "x-session-id",
        "allow",
        "content-type",
        "access-control-allow-origin",
        "access-control-allow-methods",
        "access-control-allow-headers",
        "access-control-max-age",
        "access-control-allow-credentials",
    ] {
        let expected = headers
            .get(name)
            .map(|value| ids.own(value.as_str().unwrap()));
        let is_unrecorded = generation > KatoGeneration::V3_10 && UNRECORDED.contains(&name);
        if !is_unrecorded && answer.header(name) != expected.as_deref() {
            return Some(format!(
                "{name}: {:?} instead of {expected:?}",
                answer.header(name)
            ));
        }
    }
    None
}

/// Is the answer one of figures, of which only the shape can be compared?
fn is_monitoring(row: &Value) -> bool {
    let path = row["path"].as_str().unwrap();
    const FIGURES: [&str; 7] = [
        "/status",
        "/health",
        "/metrics",
        "/stats",
        "/concurrency",
        "/connection-pools",
        "/sessions/count",
    ];
    let is_figure = FIGURES.contains(&path)
        || path.starts_with("/cache/")
        || path.starts_with("/distributed-stm/");
    row["label"] == "monitoring" || is_figure && row["status"] == 200
}

/// Compares keys and types.
fn shape(recorded: &Value, own: &Value, at: &str) -> Option<String> {
    match (recorded, own) {
        (Value::Object(recorded), Value::Object(own)) => {
            if let Some(key) = own.keys().find(|key| !recorded.contains_key(*key)) {
                return Some(format!("{at}.{key} is not there"));
            }
            recorded.iter().find_map(|(key, value)| {
                let at = format!("{at}.{key}");
                match own.get(key) {
                    None => Some(format!("{at} is missing")),
                    Some(own) => shape(value, own, &at),
                }
            })
        }
        (Value::Array(recorded), Value::Array(own)) => match (recorded.first(), own.first()) {
            (Some(recorded), Some(own)) => shape(recorded, own, &format!("{at}[]")),
            _ => None,
        },
        // Of a text or a number there may be none.
        (Value::Null, Value::String(_) | Value::Number(_)) => None,
        (Value::String(_) | Value::Number(_), Value::Null) => None,
        (recorded, own) => {
            let same = std::mem::discriminant(recorded) == std::mem::discriminant(own);
            (!same).then(|| format!("{at}: {own} instead of {recorded}"))
        }
    }
}

fn mask(value: &mut Value, row: &Value) {
    match value {
        Value::Object(map) => {
            let is_info = row["method"] == "GET" && map.contains_key("expires_at");
            for (key, value) in map.iter_mut() {
                let is_masked = match key.as_str() {
                    "message" => {
                        let text = value.as_str().unwrap_or_default();
                        text.starts_with("Computed")
                    }
                    "ttl_seconds" => is_info,
                    key => VOLATILE.contains(&key) && !value.is_null(),
                };
                match is_masked {
                    true => *value = Value::from("volatile"),
                    false => mask(value, row),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, row)),
        _ => {}
    }
}

/// Puts what is of equal rank in a list into one order.
fn untie(answer: &mut Value, list: &str) {
    match answer {
        Value::Object(map) => {
            if let Some(Value::Array(items)) = map.get_mut(list) {
                items.sort_by_key(|item| {
                    let rank = item["potential"]
                        .as_f64()
                        .or(item["aggregate_potential"].as_f64())
                        .unwrap_or(0.0);
                    (
                        (-rank * 1e6).round() as i64,
                        item["name"].to_string(),
                        item["future"].to_string(),
                    )
                });
            }
            map.values_mut().for_each(|value| untie(value, list));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| untie(item, list)),
        _ => {}
    }
}

fn same(recorded: &Value, own: &Value) -> bool {
    match (recorded, own) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(1.0)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

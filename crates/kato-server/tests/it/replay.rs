//! What a real KATO 3.10.1 answered, request by request, answered again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::support::{Answer, Request, Running};

const RECORDED: &str = include_str!("../data/transcripts.jsonl");

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
    "message",
];

#[tokio::test]
async fn answers_are_those_of_the_real_server() {
    let (server, clock) =
        Running::manual(|builder| builder.with_generation_2025_10(false).with_cors(true)).await;
    let mut lines = RECORDED
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let default_config = lines.next().unwrap()["default_config"].clone();
    let mut ids = Ids::default();
    let mut failed = BTreeSet::new();
    let mut differing = Vec::new();
    let mut at = 0.0;
    for mut row in lines {
        let t = row["t"].as_f64().unwrap();
        clock.advance(Duration::from_secs_f64((t - at).max(0.0)));
        at = t;
        if row["answer"]["session_config"] == "default" {
            row["answer"]["session_config"] = default_config.clone();
        }
        let answer = server.send(request(&row, &ids)).await;
        ids.learn(&row["answer"], &answer.json());
        let label = row["label"].as_str().unwrap().to_owned();
        if row["status"] == 500 || label.starts_with("NaN") {
            failed.insert(label.clone());
        }
        let difference = if failed.contains(&label) {
            (answer.status >= 500).then(|| format!("{}", answer.status))
        } else {
            difference(&row, &answer, &ids)
        };
        if let Some(difference) = difference {
            let (method, path) = (&row["method"], &row["path"]);
            differing.push(format!(
                "{label}: {method} {path} {}\n    {difference}",
                row["json"]
            ));
        }
    }
    assert!(
        differing.is_empty(),
        "{} differ:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

/// The ids of the recorded sessions, and ours.
#[derive(Default)]
struct Ids(BTreeMap<String, String>);

impl Ids {
    fn learn(&mut self, recorded: &Value, own: &Value) {
        if let (Some(recorded), Some(own)) =
            (recorded["session_id"].as_str(), own["session_id"].as_str())
        {
            self.0
                .entry(recorded.to_owned())
                .or_insert_with(|| own.to_owned());
        }
    }

    fn own(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (recorded, own) in &self.0 {
            if recorded.starts_with("session-") {
                text = text.replace(recorded, own);
            }
        }
        text
    }
}

fn request(row: &Value, ids: &Ids) -> Request {
    let mut target = ids.own(row["path"].as_str().unwrap());
    for (idx, (key, value)) in row["query"].as_object().into_iter().flatten().enumerate() {
        let value = value.as_str().unwrap().replace(' ', "%20");
        target.push_str(&format!(
            "{}{key}={value}",
            if idx == 0 { '?' } else { '&' }
        ));
    }
    let mut request = Request::new(row["method"].as_str().unwrap(), &target);
    for (name, value) in row["headers"].as_object().into_iter().flatten() {
        request = request.header(name, &ids.own(value.as_str().unwrap()));
    }
    match (row.get("json"), row["text"].as_str()) {
        (Some(json), _) => request.json(json),
        (None, Some(text)) => request
            .header("content-type", "application/json")
            .body(text),
        (None, None) => request,
    }
}

fn difference(row: &Value, answer: &Answer, ids: &Ids) -> Option<String> {
    if row["status"] != answer.status {
        return Some(format!("{} {}", answer.status, answer.text()));
    }
    if answer.header("x-trace-id").is_none() {
        return Some("no trace id".to_owned());
    }
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
        if answer.header(name) != expected.as_deref() {
            return Some(format!(
                "{name}: {:?} instead of {expected:?}",
                answer.header(name)
            ));
        }
    }
    let mut own = answer.json();
    let mut recorded: Value = serde_json::from_str(&ids.own(&row["answer"].to_string())).unwrap();
    if is_monitoring(row) {
        return shape(&recorded, &own, "");
    }
    mask(&mut recorded, row);
    mask(&mut own, row);
    if recorded["count"] == 0 {
        // KATO answers the futures of the node's last prediction, whoever asked for it.
        recorded["future_potentials"] = own["future_potentials"].clone();
    }
    if recorded["session_config"]["recall_threshold"] == true {
        // KATO keeps the boolean that it takes for a number.
        recorded["session_config"]["recall_threshold"] = Value::from(1.0);
    }
    (!same(&recorded, &own)).then(|| format!("{own}\n    {recorded}"))
}

/// Is the answer one of figures, of which only the shape can be compared?
fn is_monitoring(row: &Value) -> bool {
    let path = row["path"].as_str().unwrap();
    row["label"] == "monitoring" || matches!(path, "/status" | "/health")
}

/// Compares keys and types; figures of what this server has not may be missing.
fn shape(recorded: &Value, own: &Value, at: &str) -> Option<String> {
    const ABSENT: [&str; 5] = [
        ".health",
        ".pool_statistics",
        ".connection_optimization",
        ".performance_improvements",
        ".redis_url",
    ];
    if ABSENT.contains(&at) {
        return None;
    }
    match (recorded, own) {
        (Value::Object(recorded), Value::Object(own)) => {
            recorded.iter().find_map(|(key, value)| {
                let at = format!("{at}.{key}");
                let disabled = [
                    "performance_stats",
                    "processor_info",
                    "expected_improvements",
                ]
                .contains(&key.as_str());
                match own.get(key) {
                    None if key == "redis_url" => None,
                    None => Some(format!("{at} is missing")),
                    Some(Value::Null) if disabled || key == "redis_url" => None,
                    Some(own) => shape(value, own, &at),
                }
            })
        }
        (Value::Array(recorded), Value::Array(own)) => match (recorded.first(), own.first()) {
            (Some(recorded), Some(own)) => shape(recorded, own, &format!("{at}[]")),
            _ => None,
        },
        (Value::Null, _) => None,
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
                let is_message = key != "message"
                    || value
                        .as_str()
                        .is_some_and(|text| text.starts_with("Computed"));
                if (VOLATILE.contains(&key.as_str()) && !value.is_null() && is_message)
                    || (is_info && key == "ttl_seconds")
                {
                    *value = Value::from("volatile");
                } else {
                    mask(value, row);
                }
            }
            untie(map);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, row)),
        _ => {}
    }
}

/// Puts predictions of equal rank in one order.
fn untie(map: &mut Map<String, Value>) {
    for list in ["predictions", "future_potentials"] {
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

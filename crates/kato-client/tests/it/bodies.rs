//! Bodies of a real server are understood and written back without loss.

use kato_client::protocol::Prediction;
use kato_client::protocol::prediction::FuturePotential;
use kato_protocol as wire;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Every field that was read comes back as it was.
fn round_trip<T: DeserializeOwned + Serialize>(body: &Value) {
    let value: T = serde_json::from_value(body.clone()).unwrap();
    let written = serde_json::to_value(&value).unwrap();
    for (key, value) in written.as_object().unwrap() {
        let found = body.get(key).unwrap_or(&Value::Null);
        let missing = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
        if key != "processors" && key != "processor_manager" && key != "sessions" {
            assert!(same(found, value) || missing, "{key}: {found} {value}");
        }
    }
}

/// Numbers are the same whether written with a point or not.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Object(left), Value::Object(right)) => right
            .iter()
            .all(|(key, right)| left.get(key).is_some_and(|left| same(left, right))),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (left, right) => left == right,
    }
}

#[test]
fn recorded_bodies_decode() {
    let text = include_str!("../data/bodies.jsonl");
    let mut n = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let body = &row["body"];
        match row["kind"].as_str().unwrap() {
            "observe" => round_trip::<wire::observation::ObservationResult>(body),
            "sequence" => round_trip::<wire::sequence::SequenceResult>(body),
            "learn" => round_trip::<wire::observation::LearnResult>(body),
            "stm" => round_trip::<wire::observation::Stm>(body),
            "predictions" => predictions(body),
            "config" => round_trip::<wire::session::ConfigAnswer>(body),
            "extended" => round_trip::<wire::session::Extended>(body),
            "finalized" => round_trip::<wire::session::FinalizedTraining>(body),
            "percept" => round_trip::<wire::percept::PerceptAnswer>(body),
            "cognition" => round_trip::<wire::percept::SessionCognition>(body),
            "cleared" => round_trip::<wire::session::Cleared>(body),
            "root" => round_trip::<wire::session::Root>(body),
            "health" => round_trip::<wire::monitoring::Health>(body),
            "status" => round_trip::<wire::monitoring::Status>(body),
            "metrics" => round_trip::<wire::monitoring::Metrics>(body),
            "concurrency" => round_trip::<wire::monitoring::Concurrency>(body),
            "cache" => round_trip::<wire::monitoring::CacheStats>(body),
            "invalidated" => round_trip::<wire::monitoring::CacheInvalidated>(body),
            "distributed" => round_trip::<wire::monitoring::DistributedStm>(body),
            "pools" => round_trip::<wire::monitoring::ConnectionPools>(body),
            "affinities" => round_trip::<wire::node::NodeAffinities>(body),
            "affinity" => round_trip::<wire::node::SymbolAffinity>(body),
            "symbols" => round_trip::<wire::node::NodeSymbols>(body),
            "count" => round_trip::<wire::session::SessionCount>(body),
            "history" => round_trip::<wire::monitoring::MetricHistory>(body),
            "pattern" => round_trip::<wire::node::PatternAnswer>(body),
            "session" => round_trip::<wire::session::SessionInfo>(body),
            "error" => round_trip::<wire::ErrorBody>(body),
            other => panic!("unknown kind {other}"),
        }
        n += 1;
    }
    assert!(n > 40);
}

/// Both shapes: events, and the flat lists of a single symbol.
fn predictions(body: &Value) {
    let answer: wire::prediction::PredictionsAnswer<Prediction, FuturePotential> =
        serde_json::from_value(body.clone()).unwrap();
    for (typed, raw) in answer
        .predictions
        .iter()
        .zip(body["predictions"].as_array().unwrap())
    {
        assert_eq!(typed.name, raw["name"]);
        assert_eq!(typed.potential, raw["potential"].as_f64().unwrap());
        let flat = raw.get("pattern_data").is_some();
        let key = if flat { "pattern_data" } else { "sequence" };
        assert_eq!(serde_json::to_value(&typed.sequence).unwrap(), raw[key]);
        let n_future = raw["future"].as_array().unwrap().len();
        assert_eq!(typed.future.len(), n_future);
        assert_eq!(typed.entropy.is_some(), !flat);
    }
}

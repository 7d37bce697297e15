//! Figures: true, and in the forms that monitors read.

use std::collections::BTreeMap;
use std::time::Duration;

use kato_service::{Service, ServiceOptions};
use serde_json::json;

use crate::support::{Request, Running};

/// A sample of Prometheus's text format: name with labels, value.
type Samples = BTreeMap<String, f64>;

/// Reads the text format, as strictly as its description: every sample belongs to a family that was
/// announced with help and type, families come once, names and labels have their alphabet.
fn parse(text: &str) -> (BTreeMap<String, String>, Samples) {
    assert!(text.ends_with('\n'));
    let is_name = |name: &str| {
        name.chars().enumerate().all(|(idx, c)| {
            c.is_ascii_alphabetic() || c == '_' || c == ':' || (idx > 0 && c.is_ascii_digit())
        }) && !name.is_empty()
    };
    let (mut types, mut helped, mut samples) = (BTreeMap::new(), String::new(), Samples::new());
    let mut family = String::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            helped = help.split_once(' ').unwrap().0.to_owned();
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert_eq!(name, helped);
            assert!(is_name(name) && ["counter", "gauge", "histogram"].contains(&kind));
            assert!(
                types.insert(name.to_owned(), kind.to_owned()).is_none(),
                "{name} twice"
            );
            family = name.to_owned();
            continue;
        }
        let (key, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = key.split_once('{').map_or((key, ""), |(name, labels)| {
            (name, labels.strip_suffix('}').unwrap())
        });
        let ends = match types[&family].as_str() {
            "histogram" => {
                ["_bucket", "_sum", "_count"].contains(&name.strip_prefix(&family).unwrap())
            }
            _ => name == family,
        };
        assert!(ends && is_name(name), "{line}");
        for label in labels.split_terminator("\",") {
            let (label, value) = label.split_once("=\"").unwrap();
            assert!(
                is_name(label) && !value.trim_end_matches('"').contains(['"', '\\']),
                "{line}"
            );
        }
        let value: f64 = value.parse().unwrap();
        assert!(value.is_finite() && value >= 0.0, "{line}");
        assert!(
            samples.insert(key.to_owned(), value).is_none(),
            "{key} twice"
        );
    }
    (types, samples)
}

#[tokio::test]
async fn prometheus_reads_what_is_true() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let server = Running::of(service, |builder| builder).await;
    let id = server.session("n").await;
    for strings in [["a", "b"], ["c", "d"]] {
        server
            .post(
                &format!("/sessions/{id}/observe"),
                json!({"strings": strings}),
            )
            .await;
    }
    let learn =
        Request::new("POST", &format!("/sessions/{id}/learn")).header("idempotency-key", "k");
    for _ in 0..2 {
        assert_eq!(server.send(learn.clone()).await.status, 200);
    }
    server
        .post(&format!("/sessions/{id}/learn"), json!({}))
        .await;
    server.get(&format!("/sessions/{id}/predictions")).await;
    server.get(&format!("/sessions/{id}/cognition-data")).await;
    server.get("/nowhere").await;
    let answer = server.get("/metrics/prometheus").await;
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let (types, samples) = parse(&answer.text());
    let expected = [
        ("kato_sessions_created_total", 1.0),
        ("kato_observations_total", 2.0),
        ("kato_learns_total", 1.0),
        ("kato_predictions_total", 2.0),
        ("kato_replays_total", 1.0),
        ("kato_sessions", 1.0),
        ("kato_nodes_loaded", 1.0),
        ("kato_uncommitted_learns", 1.0),
        ("kato_storage_failed", 0.0),
        ("kato_storage_degraded", 0.0),
        (
            "kato_http_requests_total{method=\"POST\",route=\"/sessions/{session_id}/learn\",status=\"200\"}",
            2.0,
        ),
        (
            "kato_http_requests_total{method=\"POST\",route=\"/sessions/{session_id}/learn\",status=\"400\"}",
            1.0,
        ),
        (
            "kato_http_requests_total{method=\"GET\",route=\"(none)\",status=\"404\"}",
            1.0,
        ),
        (
            "kato_http_request_duration_seconds_count{method=\"POST\",route=\"/sessions/{session_id}/learn\"}",
            3.0,
        ),
        (
            "kato_http_request_duration_seconds_bucket{method=\"POST\",route=\"/sessions/{session_id}/learn\",le=\"+Inf\"}",
            3.0,
        ),
    ];
    for (name, value) in expected {
        assert_eq!(samples.get(name), Some(&value), "{name}");
    }
    assert!(
        samples["kato_journal_bytes_total"] > 0.0 && samples["kato_journal_syncs_total"] >= 1.0
    );
    assert_eq!(types["kato_http_request_duration_seconds"], "histogram");
    // Buckets count everything up to their bounds.
    let route = "kato_http_request_duration_seconds_bucket{method=\"POST\",route=\"/sessions/{session_id}/observe\",le=\"";
    let mut buckets: Vec<(f64, f64)> = samples
        .iter()
        .filter_map(|(key, value)| {
            Some((
                key.strip_prefix(route)?.strip_suffix("\"}")?.parse().ok()?,
                *value,
            ))
        })
        .collect();
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(buckets.len() > 10 && buckets.is_sorted_by_key(|bucket| bucket.1));
    assert_eq!(buckets.last(), Some(&(f64::INFINITY, 2.0)));
}

#[tokio::test]
async fn status_and_metrics_count_sessions() {
    let (server, clock) = Running::manual(|builder| builder).await;
    for ttl_seconds in [5, 5, 100] {
        server
            .post(
                "/sessions",
                json!({"node_id": "n", "ttl_seconds": ttl_seconds}),
            )
            .await;
    }
    let id = server.session("m").await;
    server
        .send(Request::new("DELETE", &format!("/sessions/{id}")))
        .await;
    clock.advance(Duration::from_secs(6));
    // Maintenance removes them within a second.
    let sessions = loop {
        let sessions = server.get("/status").await.json()["sessions"].clone();
        if sessions["expired_sessions"] == 2 {
            break sessions;
        }
    };
    assert_eq!(
        (&sessions["total_sessions"], &sessions["active_sessions"]),
        (&json!(1), &json!(1))
    );
    let metrics = server.get("/metrics").await.json()["sessions"].clone();
    assert_eq!(
        (
            &metrics["total_created"],
            &metrics["total_deleted"],
            &metrics["active"]
        ),
        (&json!(4.0), &json!(1.0), &json!(1))
    );
    let health = server.get("/health").await.json();
    assert_eq!(
        (&health["processor_status"], &health["active_sessions"]),
        (&json!("healthy"), &json!(1))
    );
}

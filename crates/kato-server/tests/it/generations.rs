//! What a server of one generation answers otherwise than one of another, beside what was recorded.

use kato_model::KatoGeneration as G;
use kato_service::{Service, ServiceOptions};
use serde_json::{Value, json};

use crate::support::{Request, Running};

#[tokio::test]
async fn the_version_is_that_of_the_generation() {
    for generation in [G::V3_10, G::V5, G::V6] {
        let server = Running::memory_of(generation).await;
        let release = generation.release();
        assert_eq!(server.get("/").await.json()["version"], release);
        assert_eq!(server.get("/status").await.json()["version"], release);
        let document = server.get("/openapi.json").await.json();
        assert_eq!(document["info"]["version"], release);
    }
}

#[tokio::test]
async fn the_process_is_told_from_5_on() {
    for generation in [G::V3_10, G::V5, G::V6] {
        let server = Running::memory_of(generation).await;
        let pid = server.get("/health").await.json()["worker_pid"].clone();
        let expected = match generation {
            G::V3_10 => Value::Null,
            _ => Value::from(std::process::id()),
        };
        assert_eq!(pid, expected);
    }
}

#[tokio::test]
async fn a_failure_has_a_code_from_5_on() {
    for generation in [G::V3_10, G::V5, G::V6] {
        let options = ServiceOptions::default().with_generation(generation);
        let server = Running::of(Service::in_memory(options), |builder| {
            builder.with_max_concurrent_requests(0)
        })
        .await;
        let answer = server.get("/").await;
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, Some("1"))
        );
        let body = answer.json();
        match generation {
            G::V3_10 => assert!(body["detail"].is_string(), "{body}"),
            _ => {
                assert_eq!(body["error"]["code"], "SERVICE_UNAVAILABLE");
                assert!(body["error"]["message"].is_string() && body.get("detail").is_none());
            }
        }
    }
}

#[tokio::test]
async fn patterns_are_taken_back_by_6_alone() {
    for generation in [G::V3_10, G::V5] {
        let server = Running::memory_of(generation).await;
        let id = server.session("n").await;
        for what in ["retire", "un-retire", "purge"] {
            let target = format!("/sessions/{id}/patterns/{what}");
            assert_eq!(server.post(&target, json!({})).await.status, 404);
        }
        let counted = server.get("/patterns/count?node_id=n").await.status;
        assert_eq!(counted, if generation == G::V5 { 200 } else { 404 });
    }
}

#[tokio::test]
async fn every_way_to_learn_refuses_a_retired_pattern() {
    let server = Running::memory_of(G::V6).await;
    let id = server.session("n").await;
    let name = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9";
    let at = |what: &str| format!("/sessions/{id}/{what}");
    let retired = json!({"pattern_ids": [name]});
    assert_eq!(
        server.post(&at("patterns/retire"), retired).await.status,
        200
    );
    let is_refused = |answer: crate::support::Answer| {
        let error = &answer.json()["error"];
        assert_eq!(error["context"], json!({"pattern_name": name}));
        answer.status == 409 && error["code"] == "RETIRED_PATTERN"
    };
    let abc = ["a", "b", "c"];
    let items: Vec<_> = abc
        .iter()
        .map(|symbol| json!({"strings": [symbol]}))
        .collect();
    let sequence = json!({"sequences": [
        {"events": [["x"], ["y"]]},
        {"events": [["a"], ["b"], ["c"]]},
    ]});
    assert!(is_refused(server.post(&at("learn-batch"), sequence).await));
    // All of a batch or nothing.
    assert_eq!(
        server.get("/patterns/count?node_id=n").await.json()["pattern_count"],
        0
    );
    let observed = server
        .post(&at("observe-sequence"), json!({"observations": items}))
        .await;
    assert_eq!(observed.status, 200);
    assert!(is_refused(
        server.send(Request::new("POST", &at("learn"))).await
    ));
    assert_eq!(server.get(&at("stm")).await.json()["length"], 3);
    server.send(Request::new("POST", &at("clear-stm"))).await;
    server
        .post(&at("config"), json!({"max_pattern_length": 3}))
        .await;
    for symbol in ["a", "b"] {
        server
            .post(&at("observe"), json!({"strings": [symbol]}))
            .await;
    }
    // By itself.
    assert!(is_refused(
        server.post(&at("observe"), json!({"strings": ["c"]})).await
    ));
    assert_eq!(server.get(&at("stm")).await.json()["length"], 2);
}

#[tokio::test]
async fn pages_elsewhere_send_no_credentials_from_5_on() {
    for (generation, credentials) in [(G::V3_10, Some("true")), (G::V6, None)] {
        let options = ServiceOptions::default().with_generation(generation);
        let server = Running::of(Service::in_memory(options), |builder| {
            builder.with_cors(true)
        })
        .await;
        let origin = Request::new("GET", "/").header("origin", "http://example.org");
        let answer = server.send(origin.header("cookie", "a=b")).await;
        assert_eq!(
            answer.header("access-control-allow-credentials"),
            credentials
        );
        let allowed = credentials.map_or("*", |_| "http://example.org");
        assert_eq!(answer.header("access-control-allow-origin"), Some(allowed));
    }
}

#[tokio::test]
async fn what_is_no_number_is_out_of_the_range_of_a_setting() {
    let server = Running::memory_of(G::V6).await;
    for setting in [
        "recall_threshold",
        "jaccard_threshold",
        "fuzzy_token_threshold",
    ] {
        for value in ["Infinity", "NaN"] {
            let body = format!(r#"{{"node_id": "n", "config": {{"{setting}": {value}}}}}"#);
            let request = Request::new("POST", "/sessions");
            let request = request.header("content-type", "application/json");
            let answer = server.send(request.body(body)).await;
            assert_eq!(answer.status, 400, "{setting} {value}: {}", answer.json());
        }
    }
}

#[tokio::test]
async fn names_of_patterns_are_read_as_python_reads_them() {
    let server = Running::memory_of(G::V6).await;
    let target = format!("/sessions/{}/patterns/retire", server.session("n").await);
    let name = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9";
    let spaced = json!({"pattern_ids": [format!("\u{1f}\u{a0}PTRN|{name}\u{1c}\n")]});
    let answer = server.post(&target, spaced).await.json();
    assert_eq!(answer["retired"], json!([name]));
    // Of too many none is looked at.
    let mut many = vec![json!(name); 1001];
    many[7] = json!(7);
    let answer = server
        .post(&target, json!({"pattern_ids": many}))
        .await
        .json();
    let kinds: Vec<_> = answer["detail"].as_array().unwrap().iter().collect();
    assert_eq!((kinds.len(), &kinds[0]["type"]), (1, &json!("too_long")));
}

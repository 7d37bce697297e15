//! Sessions that end, nodes that are asked, requests with tokens and origins.

use std::time::Duration;

use kato_engine::EngineOptions;
use kato_service::{Service, ServiceOptions};
use serde_json::{Value, json};

use crate::support::{Request, Running};

#[tokio::test]
async fn writes_keep_a_session_alive_and_reads_do_not() {
    let (server, clock) = Running::manual(|builder| builder).await;
    let made = server
        .post("/sessions", json!({"node_id": "n", "ttl_seconds": 10}))
        .await;
    let id = made.json()["session_id"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        clock.advance(Duration::from_secs(8));
        let answer = server
            .post(
                &format!("/sessions/{id}/observe"),
                json!({"strings": ["a"]}),
            )
            .await;
        assert_eq!(answer.status, 200);
    }
    clock.advance(Duration::from_secs(8));
    assert_eq!(server.get(&format!("/sessions/{id}/stm")).await.status, 200);
    clock.advance(Duration::from_secs(3));
    let gone = server.get(&format!("/sessions/{id}/stm")).await;
    assert_eq!(gone.status, 404);
    assert_eq!(gone.json()["error"]["code"], "SESSION_NOT_FOUND");
    assert_eq!(gone.header("x-session-id"), None);
    let gone = server.get(&format!("/sessions/{id}")).await;
    assert_eq!(
        gone.json(),
        json!({"detail": format!("Session {id} not found or expired")})
    );
}

#[tokio::test]
async fn genes_of_the_older_generation_can_be_set_and_read() {
    let server = Running::memory().await;
    let set = server
        .post(
            "/genes/update?node_id=g",
            json!({"genes": {"recall_threshold": 0.4, "Foo": 1}}),
        )
        .await;
    let body = json!({"genes": {"recall_threshold": 0.4, "Foo": 1}});
    assert_eq!(
        set.json(),
        json!({"status": "okay", "node_id": "g_kato", "genes": body})
    );
    let got = server.get("/gene/RECALL_THRESHOLD?node_id=g").await;
    assert_eq!(
        got.json(),
        json!({"gene": "RECALL_THRESHOLD", "value": 0.4, "node_id": "g_kato"})
    );
    assert_eq!(server.get("/gene/foo?node_id=g").await.json()["value"], 1);
    let none = server.get("/gene/bar?node_id=g").await;
    assert_eq!(
        (none.status, none.json()),
        (404, json!({"detail": "Gene bar not found"}))
    );
}

#[tokio::test]
async fn a_token_opens_everything_and_nothing_else_does() {
    let server = Running::of(Service::in_memory(ServiceOptions::default()), |builder| {
        builder.with_token("secret-1").with_token("secret-2")
    })
    .await;
    assert_eq!(server.get("/").await.status, 200);
    assert_eq!(server.get("/health").await.status, 200);
    for wrong in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer secret-3",
        "Basic secret-1",
        "secret-1",
        "Bearer secret-1x",
    ] {
        let answer = server
            .send(Request::new("GET", "/status").header("authorization", wrong))
            .await;
        assert_eq!(answer.status, 401, "{wrong}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert!(answer.json()["detail"].is_string());
    }
    for right in ["Bearer secret-1", "bearer secret-2"] {
        let answer = server
            .send(Request::new("GET", "/status").header("authorization", right))
            .await;
        assert_eq!(answer.status, 200);
    }
    let handshake = Request::new("GET", "/ws/events")
        .header("connection", "upgrade")
        .header("upgrade", "websocket");
    assert_eq!(server.send(handshake).await.status, 401);
}

#[tokio::test]
async fn halves_of_characters_are_refused_where_they_stand() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    let body = r#"{"strings": ["a", "b\ud800"], "metadata": {"k": ["\udc00"]}}"#;
    let request = Request::new("POST", &format!("/sessions/{id}/observe")).body(body);
    let answer = server.send(request).await;
    assert_eq!(answer.status, 422);
    let detail = answer.json()["detail"].clone();
    assert_eq!(detail[0]["loc"], json!(["body", "strings", 1]));
    assert_eq!(detail[0]["type"], "string_unicode");
    assert_eq!(detail[1]["loc"], json!(["body", "metadata", "k", 0]));
}

#[tokio::test]
async fn long_integers_in_metadata_stay_integers() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    let body = r#"{"strings": ["a", "b"], "metadata": {"n": 12345678901234567890123, "z": -0}}"#;
    server
        .send(Request::new("POST", &format!("/sessions/{id}/observe")).body(body))
        .await;
    let name = server
        .post(&format!("/sessions/{id}/learn"), json!({}))
        .await
        .json()["pattern_name"]
        .clone();
    let found = server
        .get(&format!("/pattern/{}?node_id=n", name.as_str().unwrap()))
        .await
        .json();
    assert_eq!(
        found["pattern"]["pattern"]["metadata"],
        json!({"n": ["12345678901234567890123"], "z": ["0"]})
    );
}

#[tokio::test]
async fn vectors_of_differing_lengths_are_refused_and_change_nothing() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    let body = json!({"vectors": [[1.0, 2.0], [1.0, 2.0, 3.0]]});
    let answer = server.post(&format!("/sessions/{id}/observe"), body).await;
    assert_eq!(answer.status, 400);
    let detail = answer.json()["detail"].clone();
    assert_eq!(detail["error"], "VectorDimensionError");
    assert_eq!(
        (&detail["expected_dimension"], &detail["actual_dimension"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(
        server.get(&format!("/sessions/{id}/stm")).await.json()["length"],
        0
    );
}

#[tokio::test]
async fn a_vector_that_is_not_as_long_as_those_before_is_taken_as_kato_does_or_refused() {
    for refuses in [false, true] {
        let mut engine = EngineOptions::default();
        engine.one_vector_length = refuses;
        let options = ServiceOptions::default().with_engine(engine);
        let server = Running::of(Service::in_memory(options), |builder| builder).await;
        let id = server.session("n").await;
        let target = format!("/sessions/{id}/observe");
        let observe = |vector: Value| server.post(&target, json!({"vectors": [vector]}));
        assert_eq!(observe(json!([1.0, 2.0])).await.status, 200);
        let answer = observe(json!([1.0, 2.0, 3.0])).await;
        if !refuses {
            assert_eq!(answer.json()["stm_length"], 2);
            continue;
        }
        let detail = answer.json()["detail"].clone();
        assert_eq!(answer.status, 400);
        assert_eq!(detail["error"], "VectorDimensionError");
        assert_eq!(
            (&detail["expected_dimension"], &detail["actual_dimension"]),
            (&json!(2), &json!(3))
        );
    }
}

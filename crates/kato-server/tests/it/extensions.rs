//! What the server offers beyond KATO.

use kato_model::{KatoGeneration, PatternName};
use kato_service::{Service, ServiceOptions};
use serde_json::{Value, json};

use crate::support::{Answer, Request, Running};

fn batch() -> Value {
    json!({"sequences": [
        {"events": [["a"], ["b"]], "emotives": {"joy": 1}, "metadata": {"book": 7}},
        {"events": [["b", "a"]]},
        {"events": [["x"]]},
        {"events": [["a"], ["b"]]},
    ]})
}

#[tokio::test]
async fn a_batch_learns_every_sequence_in_order() {
    let server = Running::memory().await;
    let offered = server.get("/extensions").await.json();
    assert_eq!(
        (&offered["server"], &offered["idempotency_keys"]),
        (&json!("kato-rs"), &json!(true))
    );
    assert!(offered["learn_batch"]["max_sequences"].as_u64().unwrap() > 0);
    let id = server.session("n").await;
    let answer = server
        .post(&format!("/sessions/{id}/learn-batch"), batch())
        .await
        .json();
    let results = answer["results"].as_array().unwrap();
    let new: Vec<_> = results
        .iter()
        .map(|result| result["new"].as_bool().unwrap())
        .collect();
    assert_eq!(new, [true, true, false, false]);
    assert_eq!(
        results[1]["pattern_name"],
        "PTRN|395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4"
    );
    assert_eq!(results[2]["pattern_name"], "");
    let name = results[0]["pattern_name"].as_str().unwrap();
    let pattern = server
        .get(&format!("/pattern/{name}?node_id=n"))
        .await
        .json()["pattern"]["pattern"]
        .clone();
    assert_eq!(
        (&pattern["frequency"], &pattern["metadata"]),
        (&json!(2), &json!({"book": ["7"]}))
    );
}

#[tokio::test]
async fn a_request_repeated_with_its_key_acts_once_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::of(
        Service::open(dir.path(), ServiceOptions::default()).unwrap(),
        |b| b,
    )
    .await;
    let id = server.session("n").await;
    let target = format!("/sessions/{id}/observe");
    let keyed = || Request::new("POST", &target).header("idempotency-key", "k-1");
    let observe = keyed().json(&json!({"strings": ["a"]}));
    let first = server.send(observe.clone()).await;
    assert_eq!(
        (first.status, first.header("idempotency-replayed")),
        (200, None)
    );
    let again = server.send(observe.clone()).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.json(), first.json());
    let other = server.send(keyed().json(&json!({"strings": ["b"]}))).await;
    assert_eq!(other.status, 422);
    assert!(
        other.json()["detail"][0]["msg"]
            .as_str()
            .unwrap()
            .contains("make up a new one")
    );
    server.stop().await.unwrap().unwrap();

    let server = Running::of(
        Service::open(dir.path(), ServiceOptions::default()).unwrap(),
        |b| b,
    )
    .await;
    let again = server.send(observe).await;
    assert_eq!(again.json(), first.json());
    assert_eq!(
        server.get(&format!("/sessions/{id}/stm")).await.json()["length"],
        1
    );
}

#[tokio::test]
async fn a_sequence_that_is_refused_on_its_way_teaches_once_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        let options = ServiceOptions::default().with_generation(KatoGeneration::V6);
        Service::open(dir.path(), options).unwrap()
    };
    let name = |event| PatternName::of_events(&[event]).to_string();
    let server = Running::of(open(), |builder| builder).await;
    let id = server.session("n").await;
    let at = |what: &str| format!("/sessions/{id}/{what}");
    let retired = json!({"pattern_ids": [name(["c", "d"])]});
    let answer = server.post(&at("patterns/retire"), retired).await;
    assert_eq!(answer.status, 200);
    let sequence = Request::new("POST", &at("observe-sequence"))
        .header("idempotency-key", "k-1")
        .json(&json!({
            "observations": [{"strings": ["a", "b"]}, {"strings": ["c", "d"]}],
            "learn_after_each": true,
        }));
    // All but the time at which it is answered.
    let refusal = |answer: &Answer| {
        let mut error = answer.json()["error"].take();
        error.as_object_mut().unwrap().remove("timestamp");
        (answer.status, error)
    };
    let first = server.send(sequence.clone()).await;
    assert_eq!(
        (first.status, first.header("idempotency-replayed")),
        (409, None)
    );
    let again = server.send(sequence.clone()).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(refusal(&again), refusal(&first));
    server.stop().await.unwrap().unwrap();

    let server = Running::of(open(), |builder| builder).await;
    let again = server.send(sequence).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(refusal(&again), refusal(&first));
    server.stop().await.unwrap().unwrap();
    let taught = open().pattern("n", &name(["a", "b"])).unwrap().unwrap();
    assert_eq!(taught.frequency, 1);
}

#[tokio::test]
async fn without_extensions_the_server_is_a_stock_kato() {
    let server = Running::of(Service::in_memory(ServiceOptions::default()), |builder| {
        builder.with_extensions(false)
    })
    .await;
    let id = server.session("n").await;
    assert_eq!(server.get("/extensions").await.status, 404);
    assert_eq!(server.get("/admin/sessions").await.status, 404);
    assert_eq!(
        server
            .post(&format!("/sessions/{id}/learn-batch"), batch())
            .await
            .status,
        404
    );
    let request = || {
        Request::new("POST", &format!("/sessions/{id}/observe"))
            .header("idempotency-key", "k")
            .json(&json!({"strings": ["a"]}))
    };
    server.send(request()).await;
    assert_eq!(server.send(request()).await.json()["stm_length"], 2);
}

#[tokio::test]
async fn a_key_that_is_no_text_is_refused_only_where_one_is_taken() {
    let service = Service::in_memory(ServiceOptions::default());
    let server = Running::of(service, |builder| builder).await;
    let id = server.session("n").await;
    let status = async |method, target: &str| {
        let request = Request::new(method, target).header("idempotency-key", "\u{e9}");
        server.send(request).await.status
    };
    assert_eq!(status("POST", &format!("/sessions/{id}/learn")).await, 422);
    assert_eq!(status("GET", &format!("/sessions/{id}/stm")).await, 200);
    assert_eq!(status("GET", "/status").await, 200);
}

#[tokio::test]
async fn an_administrator_lists_sessions_and_ends_them() {
    let server = Running::of(Service::in_memory(ServiceOptions::default()), |builder| {
        builder.with_token("secret")
    })
    .await;
    let with_token = |method, target: &str| {
        Request::new(method, target).header("authorization", "Bearer secret")
    };
    for idx in 0..5 {
        let node_id = format!("n{}", idx % 2);
        let request = with_token("POST", "/sessions").json(&json!({"node_id": node_id}));
        assert_eq!(server.send(request).await.status, 200);
    }
    let first = server
        .send(with_token("GET", "/admin/sessions?limit=3"))
        .await;
    let first = first.json();
    assert_eq!(first["active_session_count"], 5);
    assert_eq!(first["sessions"].as_array().unwrap().len(), 3);
    let next = first["next"].as_str().unwrap();
    let target = format!("/admin/sessions?limit=3&after={next}");
    let second = server.send(with_token("GET", &target)).await.json();
    assert_eq!(second["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(second["next"], Value::Null);
    let target = "/admin/sessions?node_id=n1&limit=100";
    let of_node = server.send(with_token("GET", target)).await.json();
    let of_node = of_node["sessions"].as_array().unwrap().clone();
    assert_eq!(of_node.len(), 2);
    for session in &of_node {
        for time in ["created_at", "last_used_at", "expires_at"] {
            assert!(session[time].as_str().unwrap().ends_with('Z'), "{session}");
        }
        let id = session["session_id"].as_str().unwrap();
        let ended = server.send(with_token("DELETE", &format!("/sessions/{id}")));
        assert_eq!(ended.await.status, 200);
    }
    let left = server.send(with_token("GET", target)).await.json();
    assert_eq!(
        (&left["sessions"], &left["active_session_count"]),
        (&json!([]), &json!(3))
    );

    assert_eq!(server.get("/admin/sessions").await.status, 401);
    let wrong = server
        .send(with_token("GET", "/admin/sessions?limit=x"))
        .await;
    assert_eq!(wrong.status, 422);
}

#[tokio::test]
async fn figures_come_as_prometheus_reads_them() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    server
        .post(
            &format!("/sessions/{id}/observe"),
            json!({"strings": ["a"]}),
        )
        .await;
    let text = server.get("/metrics/prometheus").await;
    assert_eq!(
        text.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = text.text();
    assert!(text.contains("kato_observations_total 1\n"), "{text}");
    let route = "method=\"POST\",route=\"/sessions/{session_id}/observe\"";
    assert!(text.contains(&format!(
        "kato_http_requests_total{{{route},status=\"200\"}} 1\n"
    )));
    assert!(text.contains(&format!(
        "kato_http_request_duration_seconds_count{{{route}}} 1\n"
    )));
    let scraper = Request::new("GET", "/metrics").header("accept", "text/plain;version=0.0.4");
    assert!(server.send(scraper).await.text().starts_with("# HELP"));
    assert!(server.get("/metrics").await.json()["sessions"]["total_created"] == 1.0);
}

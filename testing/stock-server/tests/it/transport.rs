//! HTTP: connections stay usable, bodies that mean nothing are read, what is wrong is refused in
//! KATO's words.

use std::thread;
use std::time::Duration;

use kato_stock_server::{Generation, StockOptions};
use serde_json::{Value, json};

use crate::support::{Client, observations, pairs, start};

#[test]
fn connections_stay_usable_when_the_body_comes_late() {
    for generation in [Generation::V3_10, Generation::October2025] {
        let server = start(StockOptions::quick().generation(generation));
        let mut client = Client::of(&server);
        let session = client.session("n", &json!({}));
        let mut routes: Vec<(String, Value)> = vec![
            ("/sessions".to_owned(), json!({"node_id": "n"})),
            (format!("{session}/config"), json!({"config": pairs()})),
            (format!("{session}/extend"), json!({})),
            (format!("{session}/observe"), json!({"strings": ["a", "b"]})),
            (format!("{session}/learn"), json!({})),
            (
                format!("{session}/observe-sequence"),
                json!({"observations": observations(&["a", "b"])}),
            ),
            (format!("{session}/clear-stm"), json!({})),
            (format!("{session}/clear-all"), json!({})),
        ];
        match generation {
            Generation::V3_10 | Generation::V6_3 => {
                routes.push((format!("{session}/finalize-training"), json!({})))
            }
            Generation::October2025 => {
                let genes = json!({"genes": {"recall_threshold": 0.5}});
                routes.push(("/genes/update?node_id=n".to_owned(), genes));
            }
        }
        for pause in [0, 1, 20] {
            for (path, body) in &routes {
                let (head, body) = Client::bytes("POST", path, Some(body));
                client.write(&head);
                thread::sleep(Duration::from_millis(pause));
                client.write(&body);
                let reply = client.read().unwrap();
                assert_eq!(reply.status, 200, "{path}: {}", reply.body);
                assert_eq!(client.get("/health").status, 200, "after {path}");
            }
        }
    }
}

#[test]
fn bodies_in_chunks_and_many_requests_at_once() {
    let server = start(StockOptions::quick());
    let mut client = Client::of(&server);
    client.write(b"POST /sessions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{\"node_i\r\n7\r\nd\":\"n\"}\r\n0\r\n\r\n");
    assert_eq!(client.read().unwrap().body["node_id"], "n");
    for _ in 0..3 {
        client.send("GET", "/health", None);
    }
    for _ in 0..3 {
        assert_eq!(client.read().unwrap().status, 200);
    }
    client.write(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert_eq!(client.read().unwrap().status, 200);
    assert!(client.read().is_none());
}

#[test]
fn silent_connections_are_closed() {
    let server = start(StockOptions::quick().keep_alive(1));
    let mut client = Client::of(&server);
    assert_eq!(client.get("/").status, 200);
    assert!(client.read().is_none());
}

#[test]
fn refusals() {
    let server = start(StockOptions::quick());
    let mut client = Client::of(&server);
    let session = client.session("n", &json!({}));
    let missing = client.call("POST", &format!("{session}/observe"), None);
    assert_eq!(missing.status, 422);
    let detail =
        json!([{"type": "missing", "loc": ["body"], "msg": "Field required", "input": null}]);
    assert_eq!(missing.body, json!({ "detail": detail }));
    let path = format!("{session}/observe-sequence");
    let body = json!({"observations": [{"strings": [1]}]});
    let reply = client.call("POST", &path, Some(&body));
    assert_eq!(reply.status, 422);
    let loc = json!(["body", "observations", 0, "strings", 0]);
    assert_eq!(reply.body["detail"][0]["loc"], loc);
    for path in [
        "/extensions",
        "/learn-batch",
        "/observe",
        "/gene/recall_threshold",
    ] {
        let reply = client.get(path);
        assert_eq!(
            (reply.status, reply.body),
            (404, json!({"detail": "Not Found"}))
        );
    }
    let reply = client.get("/sessions");
    assert_eq!(reply.status, 405);
    assert!(
        reply
            .headers
            .contains(&("allow".to_owned(), "POST".to_owned()))
    );
    let bad = json!({"config": {"recall_threshold": "bad"}});
    let reply = client.call("POST", &format!("{session}/config"), Some(&bad));
    assert_eq!(reply.status, 400);
    let errors = &reply.body["detail"]["validation_errors"];
    assert_eq!(
        errors["recall_threshold"],
        "Must be a number between 0.0 and 1.0"
    );
    let body = json!({"vectors": [[1.0, 2.0], [1.0, 2.0, 3.0]]});
    let reply = client.call("POST", &format!("{session}/observe"), Some(&body));
    assert_eq!(
        (reply.status, reply.body),
        (500, json!("Internal Server Error"))
    );
    assert!(client.read().is_none(), "closed");
}

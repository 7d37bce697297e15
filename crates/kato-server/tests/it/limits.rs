//! Too much, too slow, too late: bodies, requests, clients, shutdown.

use std::time::Duration;

use kato_service::{Service, ServiceOptions};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::support::{Request, Running};

fn in_memory() -> Service {
    Service::in_memory(ServiceOptions::default())
}

#[tokio::test]
async fn bodies_beyond_the_limit_are_refused_whether_announced_or_not() {
    let server = Running::of(in_memory(), |builder| builder.with_max_body_bytes(1000)).await;
    let id = server.session("n").await;
    let target = format!("/sessions/{id}/observe");
    let announced = server
        .send(Request::new("POST", &target).body(vec![b' '; 1001]))
        .await;
    assert_eq!(announced.status, 413);
    assert!(
        announced.json()["detail"]
            .as_str()
            .unwrap()
            .contains("1000 bytes")
    );

    let mut connection = server.connect().await;
    let head =
        format!("POST {target} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
    let chunk = format!("400\r\n{}\r\n0\r\n\r\n", " ".repeat(0x400));
    connection
        .stream
        .write_all((head + &chunk).as_bytes())
        .await
        .unwrap();
    assert_eq!(connection.answer(false).await.unwrap().status, 413);
    assert_eq!(
        server.get(&format!("/sessions/{id}/stm")).await.json()["length"],
        0
    );
}

#[tokio::test]
async fn chunked_bodies_are_read() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    let mut connection = server.connect().await;
    let head = format!(
        "POST /sessions/{id}/observe HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let body = "8\r\n{\"string\r\n9\r\ns\":[\"a\"]}\r\n0\r\n\r\n";
    connection
        .stream
        .write_all((head + body).as_bytes())
        .await
        .unwrap();
    assert_eq!(
        connection.answer(false).await.unwrap().json()["stm_length"],
        1
    );
}

#[tokio::test]
async fn requests_beyond_the_limit_are_told_to_come_back() {
    let server = Running::of(in_memory(), |builder| {
        builder.with_max_concurrent_requests(1)
    })
    .await;
    // On one connection: the next request is read once the one before has given its place back.
    let mut first = server.connect().await;
    let session = Request::new("POST", "/sessions").json(&json!({"node_id": "n"}));
    let session = first.send(&session).await.json();
    let id = session["session_id"].as_str().unwrap();
    // A body that does not come keeps its request going.
    let head = format!(
        "POST /sessions/{id}/observe HTTP/1.1\r\nhost: localhost\r\ncontent-length: 15\r\n\r\n"
    );
    first.stream.write_all(head.as_bytes()).await.unwrap();
    let refused = loop {
        let answer = server.get("/").await;
        if answer.status == 503 {
            break answer;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.json()["error"]["code"].is_string());
    first
        .stream
        .write_all(br#"{"strings":[""]}"#)
        .await
        .unwrap();
    assert_eq!(first.answer(false).await.unwrap().status, 422);
}

#[tokio::test]
async fn heads_are_bounded() {
    let server = Running::memory().await;
    let with = |n_bytes| Request::new("GET", "/health").header("x-long", &"x".repeat(n_bytes));
    assert_eq!(server.send(with(15_000)).await.status, 200);
    // Twice the bound may do, where all of it arrives at once.
    assert_eq!(server.send(with(40_000)).await.status, 431);
    let header = |request: Request, n: usize| request.header(&format!("x-{n}"), "x");
    let many = (0..120).fold(Request::new("GET", "/health"), header);
    assert_eq!(server.send(many).await.status, 431);
}

#[tokio::test]
async fn clients_that_send_too_slowly_are_cut_off() {
    let short = Duration::from_millis(200);
    let server = Running::of(in_memory(), |builder| builder.with_read_timeout(short)).await;
    let id = server.session("n").await;
    let mut slow_head = server.connect().await;
    slow_head
        .stream
        .write_all(b"GET / HTTP/1.1\r\nhost:")
        .await
        .unwrap();
    let mut slow_body = server.connect().await;
    let head = format!(
        "POST /sessions/{id}/observe HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{{"
    );
    slow_body.stream.write_all(head.as_bytes()).await.unwrap();
    let mut silent = server.connect().await;

    assert!(
        slow_head
            .answer(false)
            .await
            .is_none_or(|answer| answer.status == 408)
    );
    let answer = slow_body.answer(false).await.unwrap();
    assert_eq!(
        (answer.status, answer.header("connection")),
        (408, Some("close"))
    );
    assert!(
        silent.answer(false).await.is_none(),
        "half-open connections are closed"
    );
    assert_eq!(
        server.get(&format!("/sessions/{id}/stm")).await.json()["length"],
        0
    );
}

#[tokio::test]
async fn sessions_beyond_the_limit_are_refused() {
    let service = Service::in_memory(ServiceOptions::default().with_max_sessions(1));
    let server = Running::of(service, |builder| builder).await;
    server.session("n").await;
    let refused = server.post("/sessions", json!({"node_id": "n"})).await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("1"))
    );
}

#[tokio::test]
async fn a_session_that_remembers_as_much_as_one_may_is_told_to_clear_and_not_to_come_back() {
    let options = ServiceOptions::default().with_max_session_memory(1_600_000);
    let server = Running::of(Service::in_memory(options), |builder| builder).await;
    let id = server.session("n").await;
    let to = |operation: &str| format!("/sessions/{id}/{operation}");
    let observe = |n_bytes| json!({"strings": ["x".repeat(n_bytes)]});
    let observed = server.post(&to("observe"), observe(60_000)).await;
    assert_eq!(observed.status, 200);
    for (operation, body) in [
        ("observe", observe(1)),
        ("observe-sequence", json!({"observations": [observe(1)]})),
        ("extend", json!({})),
    ] {
        let refused = server.post(&to(operation), body).await;
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (413, None),
            "{operation}"
        );
    }
    assert_eq!(server.get(&to("stm")).await.json()["length"], 1);
    let cleared = server.post(&to("clear-stm"), json!({})).await;
    assert_eq!(cleared.status, 200);
    let observed = server.post(&to("observe"), observe(1)).await;
    assert_eq!(observed.status, 200);
}

#[tokio::test]
async fn shutdown_finishes_what_has_begun_and_keeps_what_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let server = Running::of(service.clone(), |builder| builder).await;
    let id = server.session("n").await;
    let mut begun = server.connect().await;
    let body = r#"{"strings":["a","b"]}"#;
    let head = format!(
        "POST /sessions/{id}/observe HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    begun.stream.write_all(head.as_bytes()).await.unwrap();
    // The request has begun once another one on the same server sees it.
    while server.get("/concurrency").await.json()["current"]["concurrent_requests"] != 2 {
        tokio::task::yield_now().await;
    }
    let addr = server.addr;
    let stopped = server.stop();
    while tokio::net::TcpStream::connect(addr).await.is_ok() {
        tokio::task::yield_now().await;
    }
    begun.stream.write_all(body.as_bytes()).await.unwrap();
    assert_eq!(begun.answer(false).await.unwrap().status, 200);
    assert!(
        begun.answer(false).await.is_none(),
        "the connection is closed"
    );
    assert_eq!(stopped.await.unwrap().unwrap().n_cut_off, 0);
    drop(service);

    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    assert_eq!(service.stm(&id).unwrap().len(), 1);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_ever() {
    let short = Duration::from_millis(50);
    let server = Running::of(in_memory(), |builder| builder.with_shutdown_timeout(short)).await;
    let id = server.session("n").await;
    let mut stuck = server.connect().await;
    let head = format!(
        "POST /sessions/{id}/observe HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n"
    );
    stuck.stream.write_all(head.as_bytes()).await.unwrap();
    while server.get("/concurrency").await.json()["current"]["concurrent_requests"] != 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.stop().await.unwrap().unwrap().n_cut_off, 1);
}

#[tokio::test]
async fn nodes_beyond_the_limit_are_refused_and_those_that_there_are_are_served() {
    let service = Service::in_memory(ServiceOptions::default().with_max_nodes(1));
    let server = Running::of(service, |builder| builder).await;
    server.session("first").await;
    for (target, body) in [
        ("/sessions", json!({"node_id": "second"})),
        ("/genes/update?node_id=second", json!({"colour": "green"})),
    ] {
        assert_eq!(server.post(target, body).await.status, 507);
    }
    server.session("first").await;
    let nodes = server.get("/status").await.json()["processors"].clone();
    assert_eq!(nodes["total_processors"], 1);
    assert_eq!(nodes["processors"][0]["node_id"], "first");
}

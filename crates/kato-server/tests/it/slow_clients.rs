//! Clients that take nothing: they are cut off, and slow nobody.

use std::time::Duration;

use kato_service::{Service, ServiceOptions};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::events::handshake;
use crate::support::{Request, Running, figure};

#[tokio::test]
async fn an_event_stream_that_is_not_read_is_dropped_and_slows_nobody() {
    let service = Service::in_memory(ServiceOptions::default());
    let timeout = Duration::from_millis(100);
    let server = Running::of(service, |builder| builder.with_write_timeout(timeout)).await;
    let mut slow = server.connect().await;
    assert_eq!(slow.send(&handshake("/ws/events")).await.status, 101);
    let mut maker = server.connect().await;
    // Long events fill every buffer on the way soon.
    let create = Request::new("POST", "/sessions").json(&json!({"node_id": "n".repeat(60_000)}));
    while figure(&server, "kato_event_clients").await > 0.0 {
        assert_eq!(maker.send(&create).await.status, 200);
    }
    let mut other = server.connect().await;
    assert_eq!(other.send(&handshake("/ws/events")).await.status, 101);
    drop(slow);
}

#[tokio::test]
async fn an_answer_that_is_not_read_ends_its_connection() {
    let service = Service::in_memory(ServiceOptions::default());
    let timeout = Duration::from_millis(100);
    let server = Running::of(service, |builder| {
        builder.with_write_timeout(timeout).with_max_connections(2)
    })
    .await;
    let id = server.session("n").await;
    let mut other = server.connect().await;
    let observe = Request::new("POST", &format!("/sessions/{id}/observe"));
    let long = observe.json(&json!({"strings": ["x".repeat(4 << 20)]}));
    assert_eq!(other.send(&long).await.status, 200);

    // Answers of 4 MiB each, asked for at once and not read.
    let mut stalled = server.connect().await;
    let stm = Request::new("GET", &format!("/sessions/{id}/stm"));
    stalled
        .stream
        .write_all(&stm.bytes().repeat(8))
        .await
        .unwrap();
    // Others are served meanwhile.
    assert_eq!(other.send(&Request::new("GET", "/")).await.status, 200);
    // Both places are taken: a third connection is accepted only when the stalled one is gone.
    assert_eq!(server.get("/").await.status, 200);
    drop(stalled);
}

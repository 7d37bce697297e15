//! The event stream.

use std::time::Duration;

use kato_model::KatoGeneration;
use kato_service::{Service, ServiceOptions};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time;

use crate::support::{Connection, Request, Running, figure, until};

/// Messages of two clients of KATO 6.3.2 (`<` from the server, `>` to it), and the calls between them.
const RECORDED_6: &str = include_str!("../data/websocket-6.jsonl");

pub(crate) fn handshake(path: &str) -> Request {
    Request::new("GET", path)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
}

/// The next frame: its kind and its payload.
async fn frame(connection: &mut Connection) -> Option<(u8, Vec<u8>)> {
    let head = connection.take(2).await?;
    let length = match head[1] {
        126 => {
            let length = connection.take(2).await?;
            usize::from(u16::from_be_bytes([length[0], length[1]]))
        }
        length => usize::from(length),
    };
    Some((head[0] & 0x0f, connection.take(length).await?))
}

/// Sends a whole message of a kind.
async fn say(connection: &mut Connection, kind: u8, payload: impl AsRef<[u8]>) {
    say_frame(connection, LAST | kind, payload).await;
}

/// Marks the last frame of a message.
const LAST: u8 = 0x80;

/// Sends a masked frame that begins with this byte.
async fn say_frame(connection: &mut Connection, first: u8, payload: impl AsRef<[u8]>) {
    const MASK: [u8; 4] = [7, 0, 0xff, 0x80];
    let payload = payload.as_ref();
    let mut frame = vec![first, 0x80 | payload.len() as u8];
    frame.extend(MASK);
    let masks = MASK.iter().cycle();
    frame.extend(payload.iter().zip(masks).map(|(byte, mask)| byte ^ mask));
    connection.stream.write_all(&frame).await.unwrap();
}

/// What two events have in common, whichever server sends them and when.
fn form(event: &Value) -> Value {
    let keys = |it: &Value| -> Vec<String> { it.as_object().unwrap().keys().cloned().collect() };
    let has_offset = event["timestamp"].as_str().unwrap().ends_with("+00:00");
    json!([
        event["event_type"],
        keys(event),
        keys(&event["data"]),
        has_offset,
        event["data"]["reason"]
    ])
}

async fn event(connection: &mut Connection) -> Value {
    let (kind, payload) = frame(connection).await.unwrap();
    assert_eq!(kind, 1);
    serde_json::from_slice(&payload).unwrap()
}

#[tokio::test]
async fn sessions_are_announced_before_their_makers_get_an_answer() {
    let server = Running::memory().await;
    let mut stream = server.connect().await;
    assert_eq!(stream.send(&handshake("/ws/events")).await.status, 101);
    let snapshot = event(&mut stream).await;
    assert_eq!(snapshot["event_type"], "state.snapshot");
    assert_eq!(snapshot["data"]["active_sessions"], 0);
    assert!(!snapshot["timestamp"].as_str().unwrap().contains('+'));

    say(&mut stream, 1, "ping").await;
    assert_eq!(frame(&mut stream).await.unwrap(), (1, b"pong".to_vec()));

    let id = server.session("node").await;
    let created = event(&mut stream).await;
    assert_eq!(created["event_type"], "session.created");
    assert_eq!(
        (&created["data"]["session_id"], &created["data"]["node_id"]),
        (&Value::from(id.as_str()), &Value::from("node"))
    );
    assert!(created["timestamp"].as_str().unwrap().ends_with("+00:00"));
    server
        .send(Request::new("DELETE", &format!("/sessions/{id}")))
        .await;
    let destroyed = event(&mut stream).await;
    assert_eq!(destroyed["event_type"], "session.destroyed");
    assert_eq!(destroyed["data"]["reason"], "explicit_delete");

    let stopped = server.stop();
    let (kind, payload) = frame(&mut stream).await.unwrap();
    assert_eq!((kind, &payload[..2]), (8, &1012_u16.to_be_bytes()[..]));
    drop(stream);
    assert!(stopped.await.unwrap().is_ok());
}

#[tokio::test]
async fn recorded_messages_of_6_3_2_are_sent_and_no_others() {
    let server = Running::memory_of(KatoGeneration::V6).await;
    let mut streams = [server.connect().await, server.connect().await];
    for stream in &mut streams {
        assert_eq!(stream.send(&handshake("/ws/events")).await.status, 101);
    }
    let (mut session, mut is_silent_work_due) = (String::new(), false);
    for row in RECORDED_6.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let message = row["msg"].as_str().unwrap();
        match row["dir"].as_str().unwrap() {
            "http" if message.starts_with("DELETE") => {
                let delete = Request::new("DELETE", &format!("/sessions/{session}"));
                assert_eq!(server.send(delete).await.status, 200);
            }
            "http" => is_silent_work_due = message.starts_with("learn"),
            "1 >" if message == "binary" => say(&mut streams[0], 2, message).await,
            "1 >" => say(&mut streams[0], 1, message).await,
            from => {
                let is_first = from == "1 <";
                let stream = &mut streams[usize::from(!is_first)];
                if message == "pong" {
                    assert_eq!(frame(stream).await.unwrap(), (1, b"pong".to_vec()));
                    continue;
                }
                let recorded: Value = serde_json::from_str(message).unwrap();
                let is_new = is_first && recorded["event_type"] == "session.created";
                if is_new {
                    session = server.session("node").await;
                }
                assert_eq!(form(&event(stream).await), form(&recorded), "{row}");
                if is_new && std::mem::take(&mut is_silent_work_due) {
                    learn_and_take_back(&server, &session).await;
                }
            }
        }
    }
    // Nothing is left unread, and a binary message has no answer.
    say(&mut streams[0], 1, "ping").await;
    assert_eq!(frame(&mut streams[0]).await.unwrap(), (1, b"pong".to_vec()));
}

/// Does what no event tells: learns a pattern, retires and purges it, and clears the node.
async fn learn_and_take_back(server: &Running, session: &str) {
    let at = |path: &str| format!("/sessions/{session}/{path}");
    for symbol in ["a", "b"] {
        let observed = server
            .post(&at("observe"), json!({"strings": [symbol]}))
            .await;
        assert_eq!(observed.status, 200);
    }
    let learned = server.post(&at("learn"), json!({})).await.json();
    let ids = json!({"pattern_ids": [learned["pattern_name"]]});
    for (path, body) in [
        ("patterns/retire", &ids),
        ("patterns/purge", &json!({})),
        ("clear-all", &json!({})),
    ] {
        let done = server.post(&at(path), body.clone()).await;
        assert_eq!(done.status, 200, "{path}: {}", done.text());
    }
}

#[tokio::test]
async fn what_is_done_while_the_server_stops_is_announced_before_the_stream_ends() {
    let server = Running::memory().await;
    let mut stream = server.connect().await;
    assert_eq!(stream.send(&handshake("/ws/events")).await.status, 101);
    event(&mut stream).await;
    let mut maker = server.connect().await;
    let late = Request::new("POST", "/sessions").json(&json!({"node_id": "late"}));
    let late = late.bytes();
    let (begun, rest) = late.split_at(late.len() - 5);
    let before = figure(&server, "kato_requests_in_flight").await;
    maker.stream.write_all(begun).await.unwrap();
    // The server has begun with it before it stops, and has stopped before it can go on.
    until(&server, "kato_requests_in_flight", |n| n > before).await;
    let address = server.addr;
    let stopped = server.stop();
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    maker.stream.write_all(rest).await.unwrap();
    assert_eq!(maker.answer(false).await.unwrap().status, 200);
    assert_eq!(event(&mut stream).await["data"]["node_id"], "late");
    let (kind, payload) = frame(&mut stream).await.unwrap();
    assert_eq!((kind, &payload[..2]), (8, &1012_u16.to_be_bytes()[..]));
    drop(stream);
    assert!(stopped.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_frame_that_announces_too_much_ends_the_stream() {
    let server = Running::memory().await;
    let mut stream = server.connect().await;
    assert_eq!(stream.send(&handshake("/ws/events")).await.status, 101);
    event(&mut stream).await;
    // The head of a masked text frame of 8 MiB, of which nothing follows.
    let head = b"\x81\xff\0\0\0\0\0\x80\0\0\0\0\0\0";
    stream.stream.write_all(head).await.unwrap();
    assert_eq!(closed(&mut stream).await, 1002);
}

#[tokio::test]
async fn a_stream_ends_with_a_closing_handshake_whoever_ends_it_and_why() {
    let server = Running::memory().await;
    for (kind, payload, code) in [
        (8, &b"\x03\xe8bye"[..], 1000),
        (8, b"\x13\x87", 4999),
        // Half a code, one of no meaning, and one that is never sent.
        (8, b"\x03", 1002),
        (8, b"\x03\xe7", 1002),
        (8, b"\x03\xed", 1002),
        (3, b"no such kind", 1002),
        (11, b"no such kind", 1002),
        (0, b"the rest of nothing", 1002),
        (1, b"no UTF-8: \xff", 1002),
    ] {
        let mut stream = server.connect().await;
        assert_eq!(stream.send(&handshake("/ws/events")).await.status, 101);
        event(&mut stream).await;
        say(&mut stream, kind, payload).await;
        assert_eq!(closed(&mut stream).await, code, "{payload:?}");
    }
}

#[tokio::test]
async fn a_message_in_pieces_is_one_and_pings_of_the_protocol_are_answered_in_between() {
    let server = Running::memory().await;
    let mut stream = server.connect().await;
    assert_eq!(stream.send(&handshake("/ws/events")).await.status, 101);
    event(&mut stream).await;
    say_frame(&mut stream, 1, "pi").await;
    say(&mut stream, 9, "still there?").await;
    assert_eq!(
        frame(&mut stream).await.unwrap(),
        (10, b"still there?".to_vec())
    );
    say_frame(&mut stream, LAST, "ng").await;
    assert_eq!(frame(&mut stream).await.unwrap(), (1, b"pong".to_vec()));
}

#[tokio::test]
async fn a_frame_that_no_client_may_send_ends_the_stream() {
    let server = Running::memory().await;
    for malformed in [
        // Not masked; with a reserved bit; a ping in pieces; a text that begins inside of another.
        &b"\x81\x04ping"[..],
        b"\xc1\x84\0\0\0\0ping",
        b"\x09\x84\0\0\0\0ping",
        b"\x01\x82\0\0\0\0pi\x81\x82\0\0\0\0ng",
    ] {
        let mut stream = server.connect().await;
        assert_eq!(stream.send(&handshake("/ws/events")).await.status, 101);
        event(&mut stream).await;
        stream.stream.write_all(malformed).await.unwrap();
        assert_eq!(closed(&mut stream).await, 1002, "{malformed:?}");
    }
}

/// The code with which the server closes a stream, which is the last that it sends.
async fn closed(stream: &mut Connection) -> u16 {
    let (kind, payload) = frame(stream).await.unwrap();
    assert_eq!((kind, frame(stream).await), (8, None));
    u16::from_be_bytes([payload[0], payload[1]])
}

#[tokio::test]
async fn there_is_one_stream_and_it_has_places() {
    let server = Running::of(Service::in_memory(ServiceOptions::default()), |builder| {
        builder.with_max_event_clients(1)
    })
    .await;
    assert_eq!(server.send(handshake("/ws")).await.status, 403);
    assert_eq!(server.get("/ws/events").await.status, 404);
    let mut first = server.connect().await;
    assert_eq!(first.send(&handshake("/ws/events")).await.status, 101);
    assert_eq!(server.send(handshake("/ws/events")).await.status, 503);
}

#[tokio::test]
async fn a_silent_client_loses_its_place() {
    let service = Service::in_memory(ServiceOptions::default());
    let server = Running::of(service, |builder| {
        builder
            .with_max_event_clients(1)
            .with_event_timeout(Duration::from_millis(500))
    })
    .await;
    let mut silent = server.connect().await;
    assert_eq!(silent.send(&handshake("/ws/events")).await.status, 101);
    let next = async { while server.send(handshake("/ws/events")).await.status != 101 {} };
    let patience = Duration::from_secs(60);
    time::timeout(patience, next)
        .await
        .expect("a place is free");
    // What it was sent meanwhile: the snapshot, a ping that it did not answer, and why it ends.
    let mut kinds = Vec::new();
    while let Some((kind, payload)) = frame(&mut silent).await {
        kinds.push(kind);
        if kind == 8 {
            assert_eq!(payload[..2], 1011_u16.to_be_bytes());
        }
    }
    assert_eq!(kinds, [1, 9, 8]);
}

#[tokio::test]
async fn a_client_that_answers_pings_keeps_its_place() {
    let service = Service::in_memory(ServiceOptions::default());
    let server = Running::of(service, |builder| {
        builder.with_event_timeout(Duration::from_secs(4))
    })
    .await;
    let mut stream = server.connect().await;
    assert_eq!(stream.send(&handshake("/ws/events")).await.status, 101);
    event(&mut stream).await;
    // Longer than it may be silent.
    for _ in 0..3 {
        assert_eq!(frame(&mut stream).await.unwrap(), (9, vec![]));
        // A pong, masked.
        let pong = b"\x8a\x80\0\0\0\0";
        stream.stream.write_all(pong).await.unwrap();
    }
    server.session("node").await;
    assert_eq!(event(&mut stream).await["event_type"], "session.created");
}

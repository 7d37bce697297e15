//! Sessions: deleted, expired, back again, and gone with the process or not.

use std::thread;
use std::time::Duration;

use kato_stock_server::{StockOptions, requests};
use kato_test_needs::wait_until;
use serde_json::json;

use crate::support::{Client, chunks, pairs, start};

#[test]
fn both_shapes_of_404() {
    let server = start(StockOptions::quick());
    let mut client = Client::of(&server);
    let session = client.session("n", &json!({}));
    let id = session.strip_prefix("/sessions/").unwrap();
    let deleted = client.call("DELETE", &session, None);
    assert_eq!(deleted.body, json!({"status": "deleted", "session_id": id}));
    let message = format!("Session {id} not found or expired");
    let reply = client.get(&session);
    assert_eq!(
        (reply.status, reply.body),
        (404, json!({"detail": message}))
    );
    let error = json!({"code": "SESSION_NOT_FOUND", "message": message, "session_id": id});
    for (method, tail) in [
        ("POST", "/observe-sequence"),
        ("POST", "/learn"),
        ("GET", "/stm"),
        ("POST", "/no-such-thing"),
        ("DELETE", ""),
    ] {
        let reply = client.call(method, &format!("{session}{tail}"), Some(&json!({})));
        assert_eq!((reply.status, reply.body), (404, json!({"error": error})));
    }
    let exists = client.get(&format!("{session}/exists")).body;
    assert_eq!(exists["exists"], false);
}

#[test]
fn deleting_a_session_stops_no_request_of_it() {
    let server = start(StockOptions::quick().learn_ms(10));
    let mut running = Client::of(&server);
    let session = running.session("n", &pairs());
    let path = format!("{session}/observe-sequence");
    running.send("POST", &path, Some(&chunks(60, "a")));
    wait_until("it learns", || server.learned().learn_calls("n") >= 1);
    let mut waiting = Client::of(&server);
    waiting.send("POST", &path, Some(&chunks(5, "b")));
    wait_until("requests arrive", || requests(server.dir()).len() >= 3);
    thread::sleep(Duration::from_millis(100));
    let mut other = Client::of(&server);
    assert_eq!(other.call("DELETE", &session, None).status, 200);
    assert_eq!(other.call("POST", &path, Some(&chunks(5, "c"))).status, 404);
    assert_eq!(running.read().unwrap().status, 200);
    assert_eq!(waiting.read().unwrap().status, 200);
    assert_eq!(server.learned().learn_calls("n"), 65);
    // What they saved is back.
    assert_eq!(other.get(&format!("{session}/stm")).status, 200);
}

#[test]
fn the_time_to_live() {
    let server = start(StockOptions::quick());
    let mut client = Client::of(&server);
    let made = client.post("/sessions", &json!({"node_id": "n", "ttl_seconds": 1}));
    let session = format!("/sessions/{}", made["session_id"].as_str().unwrap());
    assert_eq!(made["ttl_seconds"], 1);
    client.post(&format!("{session}/extend?ttl_seconds=100"), &json!({}));
    let left = client.get(&session).body["ttl_seconds"].as_u64().unwrap();
    assert!((98..=100).contains(&left));
    client.post(&format!("{session}/extend?ttl_seconds=0"), &json!({}));
    assert_eq!(client.get(&format!("{session}/stm")).status, 404);
    let made = client.post("/sessions", &json!({"node_id": "n"}));
    assert_eq!(made["ttl_seconds"], 3600);
}

#[test]
fn a_restart_keeps_knowledge_and_only_on_demand_sessions() {
    for keeps in [false, true] {
        let mut server = start(StockOptions::quick().keep_sessions(keeps));
        let mut client = Client::of(&server);
        let session = client.session("n", &pairs());
        let path = format!("{session}/observe-sequence");
        client.post(&path, &chunks(3, "s"));
        client.post(&format!("{session}/observe"), &json!({"strings": ["rest"]}));
        let gone = client.session("n", &json!({}));
        client.call("DELETE", &gone, None);
        let url = server.url();
        server.restart();
        assert_eq!(server.url(), url);
        let mut client = Client::of(&server);
        let name = server.learned().calls[0].name.clone();
        assert_eq!(client.frequency("n", &name), Some(1));
        let stm = client.get(&format!("{session}/stm"));
        assert_eq!(stm.status, if keeps { 200 } else { 404 });
        if keeps {
            assert_eq!(stm.body["stm"], json!([["rest"]]));
            client.post(&path, &chunks(3, "s"));
        }
        assert_eq!(client.get(&format!("{gone}/stm")).status, 404);
        let again = client.session("n", &pairs());
        client.post(&format!("{again}/observe-sequence"), &chunks(1, "s"));
        assert_eq!(client.frequency("n", &name), Some(2));
    }
}

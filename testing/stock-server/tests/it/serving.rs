//! One event loop: in turns, or one request after the other; a session has one request at a time.

use std::thread;
use std::time::{Duration, Instant};

use kato_stock_server::{LearnCall, Serving, StockOptions, StockServer, requests};
use kato_test_needs::wait_until;
use serde_json::{Value, json};

use crate::support::{Client, chunks, observations, pairs, start};

/// Two sequences of 20 chunks at once, on sessions of their own; the learns.
fn race(server: &StockServer) -> Vec<LearnCall> {
    let mut clients = ["a", "b"].map(|label| {
        let mut client = Client::of(server);
        let session = client.session("n", &pairs());
        let path = format!("{session}/observe-sequence");
        client.send("POST", &path, Some(&chunks(20, label)));
        client
    });
    for client in &mut clients {
        assert_eq!(client.read().unwrap().status, 200);
    }
    server.learned().calls
}

/// How often the learns change from one request to the other.
fn changes(calls: &[LearnCall]) -> usize {
    let pairs = calls.windows(2);
    pairs
        .filter(|pair| pair[0].request != pair[1].request)
        .count()
}

#[test]
fn in_turns() {
    let calls = race(&start(StockOptions::quick().learn_ms(3)));
    assert_eq!(calls.len(), 40);
    assert!(changes(&calls) > 10, "{}", changes(&calls));
}

#[test]
fn whole_requests() {
    let calls = race(&start(
        StockOptions::quick().learn_ms(3).serve(Serving::Whole),
    ));
    assert_eq!(calls.len(), 40);
    assert_eq!(changes(&calls), 1);
}

#[test]
fn a_whole_request_keeps_others_waiting() {
    let server = start(StockOptions::quick().learn_ms(10).serve(Serving::Whole));
    let mut client = Client::of(&server);
    let session = client.session("n", &pairs());
    let path = format!("{session}/observe-sequence");
    client.send("POST", &path, Some(&chunks(30, "s")));
    wait_until("it learns", || server.learned().learn_calls("n") >= 1);
    assert_eq!(Client::of(&server).get("/health").status, 200);
    assert_eq!(server.learned().learn_calls("n"), 30);
}

#[test]
fn learns_take_their_time_and_stall() {
    let server = start(StockOptions::quick().learn_ms(2).stall(5, 60));
    let mut client = Client::of(&server);
    let session = client.session("n", &pairs());
    let begun = Instant::now();
    client.post(&format!("{session}/observe-sequence"), &chunks(10, "s"));
    assert!(begun.elapsed() >= Duration::from_millis(10 * 2 + 2 * 60));
    let calls = server.learned().calls;
    assert!(calls[4].at - calls[3].at >= 60);
}

#[test]
fn a_session_has_one_request_at_a_time() {
    let server = start(StockOptions::quick().learn_ms(5));
    let mut first = Client::of(&server);
    let session = first.session("n", &pairs());
    let path = format!("{session}/observe-sequence");
    first.send("POST", &path, Some(&chunks(30, "a")));
    wait_until("it learns", || server.learned().learn_calls("n") >= 2);
    let mut second = Client::of(&server);
    second.send("POST", &path, Some(&chunks(10, "b")));
    wait_until("requests arrive", || requests(server.dir()).len() >= 3);
    thread::sleep(Duration::from_millis(20));
    let mut third = Client::of(&server);
    third.send("GET", &format!("{session}/predictions"), None);
    // Not under the lock.
    assert_eq!(
        Client::of(&server).get(&format!("{session}/stm")).status,
        200
    );
    let reply = third.read().unwrap();
    assert_eq!(reply.body["predictions"], json!([]));
    // In the order in which they came: the sequences were done before.
    assert_eq!(server.learned().learn_calls("n"), 40);
    assert_eq!(changes(&server.learned().calls), 1);
    let data = third.get(&format!("{session}/cognition-data")).body;
    assert_eq!(data["cognition_data"]["time"], 80, "nothing was lost");
}

#[test]
fn a_learn_goes_on_with_what_it_loaded_before_it_waited() {
    let server = start(StockOptions::quick().learn_ms(20));
    let mut client = Client::of(&server);
    let session = client.session("n", &json!({}));
    let path = format!("{session}/observe-sequence");
    client.post(&path, &json!({"observations": observations(&["a", "b"])}));
    let mut first = Client::of(&server);
    let list: Value = (0..10)
        .map(|idx| json!({"strings": [format!("{idx}"), "x"]}))
        .collect();
    let sequence = json!({"observations": list, "learn_after_each": true});
    first.send("POST", &path, Some(&sequence));
    wait_until("it learns", || server.learned().learn_calls("n") >= 1);
    let learned = client.call("POST", &format!("{session}/learn"), None);
    assert_eq!(learned.status, 200);
    let name = learned.body["pattern_name"].as_str().unwrap();
    let learned = server.learned();
    let pattern = &learned.nodes["n"].patterns[name.strip_prefix("PTRN|").unwrap()];
    assert_eq!(pattern.events, [["a"], ["b"]]);
}

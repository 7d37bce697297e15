//! observe-sequence is not atomic: knowledge at once, the session in the end.

use kato_stock_server::{StockOptions, requests};
use kato_test_needs::wait_until;
use serde_json::json;

use crate::support::{Client, LONG, chunks, observations, pairs, start};

fn slow() -> StockOptions {
    StockOptions::quick().learn_ms(3)
}

#[test]
fn a_killed_server_keeps_a_prefix_and_no_session() {
    let mut server = start(slow().keep_sessions(true));
    let mut client = Client::of(&server);
    let session = client.session("n", &pairs());
    let sequence = chunks(200, "s");
    client.send(
        "POST",
        &format!("{session}/observe-sequence"),
        Some(&sequence),
    );
    wait_until("it learns", || server.learned().learn_calls("n") >= 5);
    server.kill();
    assert!(client.read().is_none());
    let learned = server.learned();
    let calls = learned.learn_calls("n");
    assert!((5..200).contains(&calls), "{calls}");
    for (idx, call) in learned.calls.iter().enumerate() {
        let events = &learned.nodes["n"].patterns[&call.name].events;
        assert_eq!(
            *events,
            [[format!("s{}", 2 * idx)], [format!("s{}", 2 * idx + 1)]]
        );
    }
    assert_eq!(requests(server.dir()).last().unwrap().done, None);

    server.restart();
    let mut client = Client::of(&server);
    let last = &learned.calls.last().unwrap().name;
    assert_eq!(client.frequency("n", last), Some(1));
    let data = client.get(&format!("{session}/cognition-data")).body;
    assert_eq!(data["cognition_data"]["time"], 0, "nothing was saved");
}

#[test]
fn a_client_that_goes_away_stops_nothing() {
    let mut server = start(slow());
    let sessions: Vec<String> = (0..4)
        .map(|_| Client::of(&server).session("n", &pairs()))
        .collect();
    for (idx, session) in sessions.iter().enumerate() {
        let mut client = Client::of(&server);
        let path = format!("{session}/observe-sequence");
        client.send("POST", &path, Some(&chunks(20, &format!("c{idx}-"))));
        // Dropped: the connection is closed with the request in the buffer.
    }
    assert!(server.wait_idle(LONG));
    assert_eq!(server.learned().learn_calls("n"), 80);
    let mut client = Client::of(&server);
    for session in &sessions {
        let data = client.get(&format!("{session}/cognition-data")).body;
        assert_eq!(data["cognition_data"]["time"], 40);
    }
    let seen = requests(server.dir());
    assert!(seen.iter().all(|request| request.done.is_some()));
    assert_eq!(server.learned().calls_by_request().len(), 4);
}

#[test]
fn a_request_that_is_not_whole_is_nothing() {
    let mut server = start(StockOptions::quick());
    let session = Client::of(&server).session("n", &pairs());
    let (mut head, body) = Client::bytes(
        "POST",
        &format!("{session}/observe-sequence"),
        Some(&chunks(20, "s")),
    );
    head.extend(&body[..body.len() - 1]);
    let mut client = Client::of(&server);
    client.write(&head);
    drop(client);
    assert!(server.wait_idle(LONG));
    assert_eq!(server.learned().total_learn_calls(), 0);
}

#[test]
fn the_session_is_saved_last() {
    let server = start(StockOptions::quick().learn_ms(10));
    let mut client = Client::of(&server);
    let session = client.session("n", &pairs());
    let path = format!("{session}/observe-sequence");
    let mut sequence = chunks(40, "s");
    let list = sequence["observations"].as_array_mut().unwrap();
    list.push(json!({"strings": ["rest"]}));
    client.send("POST", &path, Some(&sequence));
    wait_until("it learns", || server.learned().learn_calls("n") >= 3);
    let mut other = Client::of(&server);
    let data = other.get(&format!("{session}/cognition-data")).body;
    assert_eq!(data["cognition_data"]["time"], 0);
    assert_eq!(other.get(&format!("{session}/stm")).body["length"], 0);
    let first = server.learned().calls[0].name.clone();
    assert_eq!(other.frequency("n", &first), Some(1), "known at once");
    // What is set in between is overwritten by the save.
    other.post(
        &format!("{session}/config"),
        &json!({"max_pattern_length": 7}),
    );
    assert_eq!(client.read().unwrap().status, 200);
    let data = other.get(&format!("{session}/cognition-data")).body;
    assert_eq!(data["cognition_data"]["time"], 81);
    assert_eq!(
        data["cognition_data"]["short_term_memory"],
        json!([["rest"]])
    );
    let config = other.get(&format!("{session}/config")).body;
    assert_eq!(config["config"]["max_pattern_length"], 2);
}

#[test]
fn ways_of_learning() {
    let server = start(StockOptions::quick());
    let mut client = Client::of(&server);
    let rolling = json!({"max_pattern_length": 3, "stm_mode": "ROLLING"});
    let session = client.session("n", &rolling);
    let path = format!("{session}/observe-sequence");
    let list = observations(&["a", "b", "c", "d", "e"]);
    let answer = client.post(&path, &json!({ "observations": list }));
    assert_eq!(answer["auto_learned_patterns"].as_array().unwrap().len(), 3);
    let stm = client.get(&format!("{session}/stm")).body;
    assert_eq!(stm["stm"], json!([["d"], ["e"]]));

    let session = client.session("n", &json!({}));
    let path = format!("{session}/observe-sequence");
    let list = json!([{"strings": ["a"]}, {"strings": ["c", "b"]}]);
    let answer = client.post(
        &path,
        &json!({"observations": list, "learn_after_each": true}),
    );
    let names = json!(["", "PTRN|e6e5236daf0e3c23d48ed14eeaad5bfad34c1242"]);
    assert_eq!(answer["auto_learned_patterns"], names);
    assert_eq!(answer["final_learned_pattern"], json!(null));
    let list = observations(&["a"]);
    let answer = client.post(&path, &json!({"observations": list, "learn_at_end": true}));
    assert_eq!(answer["final_learned_pattern"], "");
    let learn = client.call("POST", &format!("{session}/learn"), None);
    assert_eq!(learn.status, 400);
    assert_eq!(learn.body, json!({"detail": "Cannot learn from empty STM"}));
}

//! Where the generations differ.

use std::time::{Duration, Instant};

use kato_stock_server::{Generation, StockOptions};
use kato_test_needs::wait_until;
use serde_json::{Value, json};

use crate::support::{Client, pairs, start};

const AB: &str = "76d7efca2e96cb5eeddf4e06ac96a0f424630135";

fn with_extras(symbol: &str, joy: f64, book: &str) -> Value {
    json!({"strings": [symbol], "emotives": {"joy": joy}, "metadata": {"book": book}})
}

#[test]
fn faces() {
    let server = start(StockOptions::quick());
    let mut client = Client::of(&server);
    assert_eq!(client.get("/").body["version"], "3.10.1");
    let session = client.session("n", &pairs());
    assert_eq!(
        client.get(&session).body["session_config"]["persistence"],
        5
    );
    for tail in ["config", "percept-data", "cognition-data"] {
        assert_eq!(client.get(&format!("{session}/{tail}")).status, 200);
    }
    assert_eq!(client.get("/symbols/stats?node_id=n").status, 200);

    let server = start(StockOptions::quick().generation(Generation::October2025));
    let mut client = Client::of(&server);
    assert_eq!(client.get("/").body["version"], "1.0.0");
    let config = json!({"max_pattern_length": 2, "stm_mode": "ROLLING"});
    let session = client.session("n", &config);
    assert_eq!(client.get(&session).body["session_config"], pairs());
    for tail in ["percept-data", "cognition-data"] {
        assert_eq!(client.get(&format!("{session}/{tail}")).status, 404);
    }
    assert_eq!(client.get(&format!("{session}/config")).status, 405);
    assert_eq!(client.get("/symbols/stats?node_id=n").status, 404);
}

#[test]
fn sessions_of_3_10_have_their_own() {
    let server = start(StockOptions::quick());
    let mut client = Client::of(&server);
    let (one, two) = (
        client.session("n", &json!({})),
        client.session("n", &json!({})),
    );
    let time = |client: &mut Client, session: &str, body: &Value| {
        client.post(&format!("{session}/observe"), body)["time"].clone()
    };
    assert_eq!(time(&mut client, &one, &with_extras("b", 0.5, "x")), 1);
    assert_eq!(time(&mut client, &two, &with_extras("a", 1.0, "y")), 1);
    assert_eq!(time(&mut client, &two, &json!({"strings": ["b"]})), 2);
    for expected in [1, 2] {
        client.post(&format!("{two}/learn"), &json!({}));
        let pattern = client.get(&format!("/pattern/PTRN%7C{AB}?node_id=n")).body;
        let pattern = &pattern["pattern"]["pattern"];
        assert_eq!(pattern["metadata"], json!({"book": ["y"]}));
        // Not emptied by the first learn.
        assert_eq!(pattern["emotives"].as_array().unwrap().len(), expected);
        client.post(&format!("{two}/observe"), &json!({"strings": ["a"]}));
        client.post(&format!("{two}/observe"), &json!({"strings": ["b"]}));
    }
    let stats = client.get("/symbols/stats?node_id=n").body;
    let a = json!({"name": "a", "frequency": 2, "pattern_member_frequency": 1});
    assert_eq!(stats["symbols"]["a"], a);
    // Learned by itself: without them.
    let auto = client.session("m", &pairs());
    client.post(&format!("{auto}/observe"), &with_extras("a", 1.0, "y"));
    let learned = client.post(&format!("{auto}/observe"), &json!({"strings": ["b"]}));
    assert_eq!(learned["auto_learned_pattern"], format!("PTRN|{AB}"));
    let pattern = client.get(&format!("/pattern/{AB}?node_id=m")).body;
    assert_eq!(pattern["pattern"]["pattern"]["emotives"], json!([]));
    assert_eq!(pattern["pattern"]["pattern"]["metadata"], json!({}));
    client.post(&format!("{two}/clear-stm"), &json!({}));
    assert_eq!(time(&mut client, &two, &json!({})), 1);
}

#[test]
fn sessions_of_2025_10_share_what_the_node_has() {
    let server = start(StockOptions::quick().generation(Generation::October2025));
    let mut client = Client::of(&server);
    let one = client.session("n", &pairs());
    let two = client.session("n", &json!({}));
    let answer = client.post(&format!("{one}/observe"), &with_extras("b", 1.0, "x"));
    assert_eq!(answer["time"], 1);
    // The short-term memory of the other.
    let stm = client.get(&format!("{two}/stm")).body;
    assert_eq!(stm["stm"], json!([["b"]]));
    client.post(&format!("{two}/clear-stm"), &json!({}));
    client.post(&format!("{one}/clear-stm"), &json!({}));
    // Time, settings, emotives and metadata: the second session learns after two events, for the
    // first was told to.
    let answer = client.post(&format!("{one}/observe"), &with_extras("c", 0.0, "x"));
    assert_eq!(answer["time"], 2);
    client.post(&format!("{two}/observe"), &with_extras("a", 1.0, "y"));
    let answer = client.post(&format!("{two}/observe"), &json!({"strings": ["b"]}));
    assert_eq!(answer["time"], 4);
    assert_eq!(answer["auto_learned_pattern"], format!("PTRN|{AB}"));
    let pattern = client.get(&format!("/pattern/{AB}?node_id=n")).body;
    let pattern = &pattern["pattern"]["pattern"];
    assert_eq!(pattern["emotives"], json!([{"joy": 0.5}]));
    assert_eq!(pattern["metadata"], json!({"book": ["x", "y"]}));
    // Emptied by the learn.
    client.post(&format!("{two}/observe"), &json!({"strings": ["p"]}));
    let answer = client.post(&format!("{two}/observe"), &json!({"strings": ["q"]}));
    let name = answer["auto_learned_pattern"]
        .as_str()
        .unwrap()
        .replace('|', "%7C");
    let pattern = client.get(&format!("/pattern/{name}?node_id=n")).body;
    assert_eq!(pattern["pattern"]["pattern"]["emotives"], json!({}));
    // Relearned with emotives: an error of the database.
    client.post(&format!("{two}/observe"), &with_extras("p", 1.0, "z"));
    let observe = format!("{two}/observe");
    let reply = client.call("POST", &observe, Some(&json!({"strings": ["q"]})));
    assert_eq!(reply.status, 500);
}

#[test]
fn genes() {
    let server = start(StockOptions::quick().generation(Generation::October2025));
    let mut client = Client::of(&server);
    let gene = |client: &mut Client| client.get("/gene/MAX_PATTERN_LENGTH?node_id=a-b");
    assert_eq!(gene(&mut client).body["value"], 0);
    let body = json!({"genes": {"max_pattern_length": 2}});
    let answer = client.post("/genes/update?node_id=a-b", &body);
    assert_eq!(answer["node_id"], "a_b_kato");
    assert_eq!(gene(&mut client).body["value"], 2);
    assert_eq!(client.get("/gene/nope").status, 404);
    let session = client.session("a-b", &json!({}));
    client.post(&format!("{session}/observe"), &json!({"strings": ["a"]}));
    let answer = client.post(&format!("{session}/observe"), &json!({"strings": ["b"]}));
    assert_eq!(answer["auto_learned_pattern"], format!("PTRN|{AB}"));
}

#[test]
fn new_patterns_of_3_10_are_seen_late() {
    let server = start(StockOptions::quick().visible_ms(1000));
    let mut client = Client::of(&server);
    let session = client.session("n", &pairs());
    client.post(&format!("{session}/observe"), &json!({"strings": ["a"]}));
    client.post(&format!("{session}/observe"), &json!({"strings": ["b"]}));
    assert_eq!(client.frequency("n", AB), None);
    assert_eq!(server.learned().learn_calls("n"), 1);
    let learned = Instant::now();
    wait_until("it is known", || client.frequency("n", AB) == Some(1));
    assert!(learned.elapsed() > Duration::from_millis(500));
    client.post(&format!("{session}/observe"), &json!({"strings": ["a"]}));
    client.post(&format!("{session}/observe"), &json!({"strings": ["b"]}));
    assert_eq!(client.frequency("n", AB), Some(2), "not a new one");
    client.post(&format!("{session}/clear-all"), &json!({}));
    assert_eq!(client.frequency("n", AB), None);
    assert_eq!(server.learned().learn_calls("n"), 0);
}

#[test]
fn retired_patterns_of_6_3_are_not_learned() {
    let server = start(StockOptions::quick().generation(Generation::V6_3));
    let mut client = Client::of(&server);
    assert_eq!(client.get("/").body["version"], "6.3.2");
    server.retire("n", &[AB]);
    let asked = client.session("n", &json!({}));
    let both = json!({"observations": [{"strings": ["a"]}, {"strings": ["b"]}]});
    client.post(&format!("{asked}/observe-sequence"), &both);
    let refused = client.call("POST", &format!("{asked}/learn"), Some(&json!({})));
    assert_eq!(refused.status, 409);
    assert_eq!(refused.body["error"]["code"], "RETIRED_PATTERN");
    // The short-term memory stays.
    assert_eq!(client.get(&format!("{asked}/stm")).body["length"], 2);
    // The learn at the end of a sequence fails in silence.
    let at_end = json!({"observations": both["observations"], "learn_at_end": true});
    let session = client.session("n", &json!({}));
    let answer = client.post(&format!("{session}/observe-sequence"), &at_end);
    assert_eq!(answer["final_learned_pattern"], json!(null));
    assert_eq!(answer["final_stm_length"], 2);
    assert_eq!(client.frequency("n", AB), None);
    server.unretire("n", &[AB]);
    client.post(&format!("{asked}/learn"), &json!({}));
    assert_eq!(client.frequency("n", AB), Some(1));
    assert_eq!(
        client.get("/patterns/count?node_id=n").body["pattern_count"],
        1
    );
}

/// Nobody knows which of the two a real one says.
#[test]
fn a_retired_pattern_that_is_learned_by_itself_is_a_failure_or_told() {
    let both = json!({"observations": [{"strings": ["a"]}, {"strings": ["b"]}]});
    for (is_told, status) in [(false, 500), (true, 409)] {
        let options = StockOptions::quick().generation(Generation::V6_3);
        let server = start(options.tells_retired(is_told));
        server.retire("n", &[AB]);
        let mut client = Client::of(&server);
        let session = client.session("n", &pairs());
        let path = format!("{session}/observe-sequence");
        let answer = client.call("POST", &path, Some(&both));
        assert_eq!(answer.status, status);
        assert!(!answer.body.to_string().contains(AB), "{}", answer.body);
        assert_eq!(
            Client::of(&server).get(&format!("{session}/stm")).body["length"],
            0
        );
    }
}

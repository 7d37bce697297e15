//! Memory that strangers can have the server take: for what they send, and for what they do not
//! read.

use std::time::Duration;

use kato_service::{Service, ServiceOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time;

use crate::support::{Request, Running, figure, until};

const MIB: usize = 1 << 20;

fn in_memory() -> Service {
    Service::in_memory(ServiceOptions::default())
}

fn observe(id: &str) -> Request {
    Request::new("POST", &format!("/sessions/{id}/observe"))
}

/// An observation of one symbol, whose short-term memory is then an answer of so many bytes.
async fn remember(server: &Running, n_bytes: usize) -> String {
    let id = server.session("n").await;
    let body = json!({"strings": ["x".repeat(n_bytes)]});
    assert_eq!(server.send(observe(&id).json(&body)).await.status, 200);
    id
}

#[tokio::test]
async fn of_many_faults_a_hundred_are_listed() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    for (body, last) in [
        (
            format!("{{\"strings\":[{}0]}}", "0,".repeat(500_000)),
            json!(["body", "strings", 99]),
        ),
        (
            format!("{{\"vectors\":[{}[\"x\"]]}}", "[\"x\"],".repeat(100_000)),
            json!(["body", "vectors", 99, 0]),
        ),
        (
            format!(
                "{{\"metadata\":{{\"m\":[{}0]}}}}",
                "\"\\ud800\",".repeat(100_000)
            ),
            json!(["body", "metadata", "m", 99]),
        ),
    ] {
        let answer = server.send(observe(&id).body(body)).await;
        assert_eq!(answer.status, 422);
        assert!(answer.body.len() < 50_000, "{} bytes", answer.body.len());
        let details = answer.json()["detail"].as_array().unwrap().clone();
        assert_eq!((details.len(), &details[99]["loc"]), (101, &last));
        assert_eq!(details[100]["type"], "too_many_errors");
        assert_eq!(details[100]["loc"], json!(["body"]));
    }
    // A hundred are no more than a hundred.
    let hundred = json!({"strings": vec![0; 100]});
    let answer = server.send(observe(&id).json(&hundred)).await.json();
    assert_eq!(answer["detail"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn a_refusal_shows_the_beginning_of_long_input() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    let long = "y".repeat(MIB);
    let session = |body: Value| Request::new("POST", "/sessions").json(&body);
    for (request, kind) in [
        // The whole map is the input where a key is missing.
        (
            session(json!({"other": long, "metadata": {"a": long}})),
            "missing",
        ),
        (session(json!(long)), "model_attributes_type"),
        (
            session(json!({"node_id": "n", "config": long})),
            "dict_type",
        ),
        (
            observe(&id)
                .header("content-type", "text/plain")
                .body(long.clone()),
            "model_attributes_type",
        ),
        (
            observe(&id).json(&json!({"emotives": {long.clone(): "x"}})),
            "float_parsing",
        ),
        (
            observe(&id).json(&json!({"emotives": {"a": long}})),
            "float_parsing",
        ),
        (
            Request::new("POST", &format!("/sessions/{id}/config"))
                .json(&json!({"config": [long]})),
            "dict_type",
        ),
    ] {
        let answer = server.send(request).await;
        assert_eq!(
            (answer.status, &answer.json()["detail"][0]["type"]),
            (422, &json!(kind))
        );
        assert!(
            answer.body.len() < 100_000,
            "{kind}: {} bytes",
            answer.body.len()
        );
        assert!(answer.text().contains('…'));
    }
}

#[tokio::test]
async fn a_body_is_paid_for_by_its_values_while_it_arrives() {
    let server = Running::of(in_memory(), |builder| builder.with_max_request_memory(MIB)).await;
    let id = server.session("n").await;
    let wide: Vec<u8> = format!("\u{feff}{{\"strings\":[{}\"\"]}}", "\"\",".repeat(2_000))
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let metadata = format!(
        "{{\"metadata\":{{\"m\":[{}0]}}}}",
        "{\"\":0},".repeat(2_000)
    );
    for body in [
        format!("{{\"strings\":[{}\"\"]}}", "\"\",".repeat(20_000)).into_bytes(),
        format!(
            "{{\"strings\":[\"\"],\"vectors\":[{}[]]}}",
            "[],".repeat(20_000)
        )
        .into_bytes(),
        format!("{{\"a\":{}0}}", "0,\"a\":".repeat(20_000)).into_bytes(),
        metadata.into_bytes(),
        wide,
        // Larger than the memory, and not a value in it.
        vec![b' '; MIB],
    ] {
        for request in [observe(&id).body(body.clone()), observe(&id).chunked(&body)] {
            let answer = server.send(request).await;
            assert_eq!(answer.status, 413);
            assert_eq!(answer.header("connection"), Some("close"));
            assert!(answer.text().contains("of memory"), "{}", answer.text());
        }
    }
    // What is in a text is no value.
    let text = json!({"strings": [",{[".repeat(20_000)]});
    assert_eq!(server.send(observe(&id).json(&text)).await.status, 200);
    assert_eq!(figure(&server, "kato_request_memory_bytes").await, 0.0);
}

#[tokio::test]
async fn bodies_beyond_the_memory_for_all_are_told_to_come_back_and_small_ones_are_served() {
    let server = Running::of(in_memory(), |builder| {
        builder
            .with_max_request_memory(16 * MIB)
            .with_read_timeout(Duration::from_secs(2))
    })
    .await;
    let id = server.session("n").await;
    let body = json!({"strings": ["x".repeat(MIB + MIB / 8)]}).to_string();
    // The first one keeps its last byte back.
    let (begun, last) = body.split_at(body.len() - 1);
    let mut first = server.connect().await;
    let head = format!(
        "POST /sessions/{id}/observe HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    first.stream.write_all(head.as_bytes()).await.unwrap();
    first.stream.write_all(begun.as_bytes()).await.unwrap();
    until(&server, "kato_request_memory_bytes", |held| held > 11e6).await;

    let refused = server.send(observe(&id).body(body.clone())).await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("1"))
    );
    let small = observe(&id).json(&json!({"strings": ["small"]}));
    assert_eq!(server.send(small).await.status, 200);
    // Another one that comes waits for the first to be done.
    let second = async { server.send(observe(&id).body(body.clone())).await };
    let finish = async {
        first.stream.write_all(last.as_bytes()).await.unwrap();
        first.answer(false).await.unwrap()
    };
    let (second, first) = tokio::join!(second, finish);
    assert_eq!((second.status, first.status), (200, 200));
    until(&server, "kato_request_memory_bytes", |held| held == 0.0).await;
}

/// Asks for a short-term memory and reads nothing of it.
async fn ask(server: &Running, id: &str) -> TcpStream {
    // With a small buffer the system takes little for the client, and every read lets the server
    // send more.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(server.addr).await.unwrap();
    let request = Request::new("GET", &format!("/sessions/{id}/stm"));
    stream.write_all(&request.bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn an_answer_keeps_its_place_until_it_is_read() {
    let server = Running::memory().await;
    let id = remember(&server, 15_000_000).await;
    let mut slow = ask(&server, &id).await;
    // The request that asks is one, too.
    until(&server, "kato_requests_in_flight", |n| n == 2.0).await;
    until(&server, "kato_answer_memory_bytes", |held| held > 15e6).await;
    // It is written as far as it goes, and the place is still taken.
    let mut read = vec![0; MIB];
    slow.read_exact(&mut read).await.unwrap();
    until(&server, "kato_requests_in_flight", |n| n == 2.0).await;
    let mut rest = vec![0; 15_000_000 - MIB];
    slow.read_exact(&mut rest).await.unwrap();
    until(&server, "kato_requests_in_flight", |n| n == 1.0).await;
    until(&server, "kato_answer_memory_bytes", |held| held == 0.0).await;
}

#[tokio::test]
async fn answers_that_nobody_reads_take_no_more_than_the_memory_for_them() {
    let server = Running::of(in_memory(), |builder| {
        // Longer than a busy machine takes for all of this: who does not read is let go then.
        builder
            .with_max_answer_memory(64 * MIB)
            .with_write_timeout(Duration::from_secs(600))
    })
    .await;
    let id = remember(&server, 15_000_000).await;
    let mut slow = Vec::new();
    for n in 1..=3 {
        slow.push(ask(&server, &id).await);
        let expected = f64::from(n) * 15e6;
        until(&server, "kato_answer_memory_bytes", |held| held > expected).await;
    }
    let stm = format!("/sessions/{id}/stm");
    for _ in 0..20 {
        let refused = server.get(&stm).await;
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (503, Some("1"))
        );
    }
    // Everything else goes on.
    assert_eq!(server.get("/health").await.status, 200);
    let other = server.session("n").await;
    let small = observe(&other).json(&json!({"strings": ["a"]}));
    assert_eq!(server.send(small).await.status, 200);
    assert_eq!(
        server.get(&format!("/sessions/{other}/stm")).await.status,
        200
    );
    drop(slow);
    until(&server, "kato_answer_memory_bytes", |held| held == 0.0).await;
    assert_eq!(server.get(&stm).await.status, 200);
}

#[tokio::test]
async fn an_answer_larger_than_all_memory_for_answers_is_not_to_be_had() {
    let server = Running::of(in_memory(), |builder| builder.with_max_answer_memory(MIB)).await;
    let id = remember(&server, 2 * MIB).await;
    let answer = server.get(&format!("/sessions/{id}/stm")).await;
    assert_eq!((answer.status, answer.header("retry-after")), (507, None));
}

#[tokio::test]
async fn a_purge_whose_answer_may_have_no_room_purges_nothing() {
    let server = Running::of(in_memory(), |builder| {
        builder.with_max_answer_memory(MIB / 8)
    })
    .await;
    let id = server.session("n").await;
    let retire = format!("/sessions/{id}/patterns/retire");
    for part in 0..3 {
        let names = (0..1000).map(|idx| format!("{:040x}", part * 1000 + idx));
        let names: Vec<_> = names.collect();
        let retired = server.post(&retire, json!({"pattern_ids": names})).await;
        assert_eq!(retired.status, 200);
    }
    let purge = format!("/sessions/{id}/patterns/purge");
    let refused = server.post(&purge, json!({"max_patterns": 10_000})).await;
    assert_eq!(refused.status, 507);
    let purged = server.post(&purge, json!({"max_patterns": 1000})).await;
    assert_eq!(purged.status, 200);
    assert_eq!(purged.json()["remaining"], 2000);
}

#[tokio::test]
async fn what_predictions_are_made_of_is_paid_for() {
    let server = Running::of(in_memory(), |builder| builder.with_max_answer_memory(MIB)).await;
    let id = remember(&server, 2 * MIB).await;
    let predictions = format!("/sessions/{id}/predictions");
    let refused = server.get(&predictions).await;
    assert_eq!((refused.status, refused.header("retry-after")), (507, None));
    server
        .post(&format!("/sessions/{id}/clear-stm"), json!({}))
        .await;
    assert_eq!(server.get(&predictions).await.status, 200);
    until(&server, "kato_answer_memory_bytes", |held| held == 0.0).await;
}

#[tokio::test]
async fn what_patterns_become_as_texts_is_paid_for_before_they_are_made() {
    let server = Running::of(in_memory(), |builder| builder.with_max_answer_memory(MIB)).await;
    for (n_events, status) in [(100, 200), (10_000, 507)] {
        let id = server.session(&format!("n{n_events}")).await;
        let events: Vec<_> = (0..n_events).map(|_| ["a"]).collect();
        let batch = json!({"sequences": [{"events": events}]});
        let learned = server
            .post(&format!("/sessions/{id}/learn-batch"), batch)
            .await
            .json();
        for symbol in ["a", "a"] {
            let body = json!({"strings": [symbol]});
            server.send(observe(&id).json(&body)).await;
        }
        let config = json!({"config": {"recall_threshold": 0.0001}});
        server.post(&format!("/sessions/{id}/config"), config).await;
        // As JSON it has a tenth of the memory that there is.
        let predictions = server.get(&format!("/sessions/{id}/predictions")).await;
        assert_eq!(predictions.status, status, "{}", predictions.text());
        let name = learned["results"][0]["pattern_name"].as_str().unwrap();
        let pattern = format!("/pattern/{}?node_id=n{n_events}", name.replace('|', "%7C"));
        assert_eq!(server.get(&pattern).await.status, status);
    }
    until(&server, "kato_answer_memory_bytes", |held| held == 0.0).await;
}

/// Teaches a node one pattern of so many symbols, all of which have an affinity then.
async fn teach_symbols(server: &Running, node_id: &str, n_symbols: usize) {
    let id = server.session(node_id).await;
    let symbols: Vec<_> = (0..n_symbols).map(|idx| format!("s{idx}")).collect();
    let body = json!({"strings": symbols, "emotives": {"joy": 0.5}});
    assert_eq!(server.send(observe(&id).json(&body)).await.status, 200);
    let learn = format!("/sessions/{id}/learn");
    assert_eq!(server.post(&learn, json!({})).await.status, 200);
}

#[tokio::test]
async fn what_lists_of_symbols_are_made_of_is_paid_for() {
    let server = Running::of(in_memory(), |builder| builder.with_max_answer_memory(MIB)).await;
    teach_symbols(&server, "few", 100).await;
    // The answers themselves would have less than half as many bytes as there is memory for.
    for (target, n_symbols, length) in [
        ("/symbols/stats", 6_000, 500_000),
        ("/symbols/affinity", 1_500, 100_000),
    ] {
        let node_id = format!("many{n_symbols}");
        teach_symbols(&server, &node_id, n_symbols).await;
        let of = |node_id: &str| format!("{target}?node_id={node_id}");
        let few = server.get(&of("few")).await;
        assert_eq!(few.status, 200);
        assert!(few.body.len() * n_symbols / 100 < length);
        let refused = server.get(&of(&node_id)).await;
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (507, None),
            "{target}"
        );
    }
    until(&server, "kato_answer_memory_bytes", |held| held == 0.0).await;
}

#[tokio::test]
async fn a_write_that_was_carried_out_is_answered_whatever_others_do_not_read() {
    let server = Running::of(in_memory(), |builder| {
        builder.with_max_answer_memory(SMALLEST)
    })
    .await;
    let id = server.session("n").await;
    let observations = vec![json!({"strings": ["a"], "unique_id": "u"}); 5_000];
    let body = json!({"observations": observations, "learn_after_each": true});
    let request = Request::new("POST", &format!("/sessions/{id}/observe-sequence"));
    let answer = server.send(request.json(&body)).await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.len() > SMALLEST);
}

/// Less memory for answers than any large answer takes.
const SMALLEST: usize = 100_000;

#[tokio::test]
async fn an_answer_that_is_read_too_slowly_ends_its_connection() {
    let server = Running::of(in_memory(), |builder| {
        builder.with_write_timeout(Duration::from_secs(1))
    })
    .await;
    let id = remember(&server, 15_000_000).await;
    let mut stream = ask(&server, &id).await;
    until(&server, "kato_requests_in_flight", |n| n == 2.0).await;
    let mut part = [0; 1024];
    let mut n_read = 0;
    // At most ten thousand bytes a second: the whole answer would take 25 minutes.
    while let Ok(1..) = stream.read(&mut part).await {
        n_read += part.len();
        assert!(n_read < 10_000_000, "it is sent to the end");
        time::sleep(Duration::from_millis(100)).await;
    }
    until(&server, "kato_requests_in_flight", |n| n == 1.0).await;
    until(&server, "kato_answer_memory_bytes", |held| held == 0.0).await;
}

#[tokio::test]
async fn metadata_and_settings_are_kept_up_to_a_limit() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    let long = "x".repeat(70_000);
    let session = Request::new("POST", "/sessions");
    let many = format!("[{}0]", "{\"\":0},".repeat(10_000));
    let config = Request::new("POST", &format!("/sessions/{id}/config"));
    let genes = Request::new("POST", "/genes/update?node_id=n");
    let batch = Request::new("POST", &format!("/sessions/{id}/learn-batch"));
    for request in [
        session.clone().json(&json!({"node_id": long})),
        session
            .clone()
            .json(&json!({"node_id": "n", "metadata": {"a": long}})),
        session
            .clone()
            .json(&json!({"node_id": "n", "config": {"affinity_emotive": long}})),
        session.body(format!(
            "{{\"node_id\":\"n\",\"metadata\":{{\"m\":{many}}}}}"
        )),
        config
            .clone()
            .json(&json!({"config": {"filter_pipeline": vec!["zzz"; 20_000]}})),
        genes
            .clone()
            .body(format!("{{\"genes\":{{\"g\":{many}}}}}")),
        observe(&id).json(&json!({"metadata": {"a": long}})),
        observe(&id).body(format!("{{\"metadata\":{{\"m\":{many}}}}}")),
        batch.json(&json!({"sequences": [{"events": [["a"], ["b"]], "metadata": {"a": long}}]})),
    ] {
        let answer = server.send(request).await;
        assert_eq!(answer.status, 413, "{}", answer.text());
        assert!(
            answer.text().contains("the limit is 65536"),
            "{}",
            answer.text()
        );
    }
    assert_eq!(
        server.get("/sessions/count").await.json()["active_session_count"],
        1
    );
    // Settings that there are not are ignored, as KATO ignores them, however many.
    let unknown = format!("{{\"config\":{{\"unknown\":{many},\"max_predictions\":7}}}}");
    assert_eq!(server.send(config.body(unknown)).await.status, 200);
    let config = server.get(&format!("/sessions/{id}/config")).await.json();
    assert_eq!(config["config"]["max_predictions"], 7);
    assert_eq!(config["config"].get("unknown"), None);
    // Genes may be anything.
    let few = genes.json(&json!({"genes": {"colour": ["green"]}}));
    assert_eq!(
        server.send(few).await.json()["genes"]["genes"]["colour"],
        json!(["green"])
    );
    let gene = server.get("/gene/colour?node_id=n").await.json();
    assert_eq!(gene["value"], json!(["green"]));
}

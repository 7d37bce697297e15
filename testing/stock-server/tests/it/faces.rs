//! Hostile faces on demand.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use kato_stock_server::StockOptions;
use kato_test_needs::wait_until;
use serde_json::json;

use crate::support::{Client, LONG, chunks, pairs, start};

#[test]
fn it_dies_after_a_learn() {
    let mut server = start(StockOptions::quick().die_after(7));
    let mut client = Client::of(&server);
    let session = client.session("n", &pairs());
    let path = format!("{session}/observe-sequence");
    client.send("POST", &path, Some(&chunks(20, "s")));
    assert!(client.read().is_none());
    assert!(!server.wait_ended(LONG).unwrap().success());
    assert_eq!(server.learned().learn_calls("n"), 7);
    assert!(server.wait_idle(LONG));
    server.restart_with(StockOptions::quick());
    let name = server.learned().calls[6].name.clone();
    assert_eq!(Client::of(&server).frequency("n", &name), Some(1));
}

#[test]
fn it_hangs_after_a_learn() {
    let mut server = start(StockOptions::quick().hang_after(3));
    let mut client = Client::of(&server);
    let session = client.session("n", &pairs());
    let path = format!("{session}/observe-sequence");
    client.send("POST", &path, Some(&chunks(20, "s")));
    wait_until("it learns", || server.learned().learn_calls("n") == 3);
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    std::io::Write::write_all(&mut stream, b"GET /health HTTP/1.1\r\n\r\n").unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert!(stream.read(&mut [0]).is_err(), "no answer, and no end");
    assert!(!server.wait_idle(Duration::from_millis(200)));
    assert_eq!(server.learned().learn_calls("n"), 3);
    server.signal("TERM");
    assert!(server.wait_ended(LONG).unwrap().success());
}

#[test]
fn it_ignores_requests_after_a_learn() {
    let server = start(StockOptions::quick().ignore_after(3));
    let mut client = Client::of(&server);
    let session = client.session("n", &pairs());
    let path = format!("{session}/observe-sequence");
    // What has begun ends.
    client.post(&path, &chunks(5, "s"));
    client.send("POST", &path, Some(&chunks(5, "t")));
    assert!(client.read().is_none());
    let mut client = Client::of(&server);
    client.send("GET", "/", None);
    assert!(client.read().is_none());
    assert_eq!(server.learned().learn_calls("n"), 5);
}

#[test]
fn it_dribbles() {
    let server = start(StockOptions::quick().dribble(true));
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    std::io::Write::write_all(&mut stream, b"GET /health HTTP/1.1\r\n\r\n").unwrap();
    let begun = Instant::now();
    let mut bytes = [0; 3];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"HTT");
    assert!(begun.elapsed() >= Duration::from_millis(1900));
}

#[test]
fn it_never_ends_its_answer() {
    let server = start(StockOptions::quick().endless(true));
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut bytes = vec![0; 1 << 20];
    stream.read_exact(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"HTTP/1.1 200 OK"));
    drop(stream);
    assert_eq!(Client::of(&server).get("/health").status, 200);
}

#[test]
fn it_refuses_every_post() {
    let server = start(StockOptions::quick().retry_after(7));
    let mut client = Client::of(&server);
    let reply = client.call("POST", "/sessions", Some(&json!({"node_id": "n"})));
    assert_eq!(reply.status, 503);
    assert!(
        reply
            .headers
            .contains(&("retry-after".to_owned(), "7".to_owned()))
    );
    assert_eq!(client.get("/").status, 200);
}

#[test]
fn sigterm_ends_it_at_once() {
    let mut server = start(StockOptions::quick().learn_ms(20));
    let mut client = Client::of(&server);
    let session = client.session("n", &pairs());
    let path = format!("{session}/observe-sequence");
    client.send("POST", &path, Some(&chunks(500, "s")));
    wait_until("it learns", || server.learned().learn_calls("n") >= 2);
    server.signal("TERM");
    assert!(server.wait_ended(LONG).unwrap().success());
    assert!(server.learned().learn_calls("n") < 500);
}

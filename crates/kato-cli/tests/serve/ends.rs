//! How a server ends, and what is there when it starts again.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};

use crate::http::{ask, connect};
use crate::program::kato;
use crate::server::Server;

/// A server on the data of a folder.
fn start(dir: &Path) -> Server {
    Server::start(dir, &["--data", "data", "--addr", "127.0.0.1:0"])
}

fn observe(addr: SocketAddr, session: &str, symbol: &str) {
    let observation = json!({"strings": [symbol]});
    let line = format!("POST /sessions/{session}/observe");
    ask(addr, &line, Some(&observation));
}

fn stm(addr: SocketAddr, session: &str) -> Value {
    ask(addr, &format!("GET /sessions/{session}/stm"), None)["stm"].take()
}

/// Learns what is in the short-term memory; the pattern's name.
fn learn(addr: SocketAddr, session: &str) -> String {
    let learned = ask(addr, &format!("POST /sessions/{session}/learn"), None);
    learned["pattern_name"].as_str().unwrap().to_owned()
}

/// How often a pattern was learned.
fn frequency(addr: SocketAddr, name: &str) -> Option<u64> {
    let name = name.trim_start_matches("PTRN|");
    let answer = ask(addr, &format!("GET /pattern/{name}?node_id=node0"), None);
    answer["pattern"]["pattern"]["frequency"].as_u64()
}

/// Works with a server, ends it, and looks at what the next one knows.
fn check(end: fn(&mut Server)) {
    let dir = tempfile::tempdir().unwrap();
    let mut server = start(dir.path());
    let addr = server.addr();
    let session = ask(addr, "POST /sessions", Some(&json!({"node_id": "node0"})));
    let session = session["session_id"].as_str().unwrap().to_owned();
    let mut name = String::new();
    for n_learned in 1..=4 {
        let addr = server.addr();
        observe(addr, &session, "a");
        observe(addr, &session, "b");
        name = learn(addr, &session);
        observe(addr, &session, "c");
        end(&mut server);

        server = start(dir.path());
        let addr = server.addr();
        assert_eq!(stm(addr, &session), json!([["c"]]));
        assert_eq!(frequency(addr, &name), Some(n_learned));
        ask(addr, &format!("POST /sessions/{session}/clear-stm"), None);
    }
    assert_eq!(server.terminate(), Some(0));

    let output = kato("inspect")
        .args(["--kb", "data/nodes/node0_kato", "--pattern"])
        .arg(name.trim_start_matches("PTRN|"))
        .arg("--json")
        .current_dir(dir.path())
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        shown.to_string().contains("\"frequency\":4"),
        "an ordinary knowledge base: {shown}"
    );
}

#[test]
fn after_a_request_to_terminate_everything_is_there() {
    check(|server| assert_eq!(server.terminate(), Some(0)));
}

#[test]
fn after_ctrl_c_everything_is_there() {
    check(|server| {
        server.signal("INT");
        assert_eq!(server.wait(), Some(0));
    });
}

#[test]
fn after_kill_9_everything_is_there_that_was_acknowledged() {
    check(Server::kill);
}

#[test]
fn a_second_signal_ends_a_server_that_waits_for_a_request() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path(), &["--in-memory", "--addr", "127.0.0.1:0"]);
    let mut stream = connect(server.addr());
    let head = "POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    // It asks for the body, so the request has begun; the body never comes.
    let mut asked = [0; 12];
    stream.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100");

    server.signal("TERM");
    server.signal("INT");
    assert_eq!(server.wait(), Some(130));
}

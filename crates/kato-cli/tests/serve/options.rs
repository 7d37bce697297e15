//! What the options do: tokens, pages, extensions, logs.

use std::fs;

use serde_json::{Value, json};

use crate::http::{ask, request};
use crate::program::kato;
use crate::server::{LOG, Server};

const IN_MEMORY: [&str; 3] = ["--in-memory", "--addr", "127.0.0.1:0"];

#[test]
fn each_token_of_the_file_opens_the_server_and_nothing_else_does() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("tokens"),
        "first-secret\n\n  other-secret \n",
    )
    .unwrap();
    let arguments = [&IN_MEMORY[..], &["--token-file", "tokens"]].concat();
    let mut server = Server::start(dir.path(), &arguments);
    let status = |line: &str, headers: &[&str]| {
        let body = json!({"node_id": "node0"});
        request(server.addr(), line, headers, Some(&body)).status
    };
    for headers in [
        [].as_slice(),
        &["Authorization: Bearer wrong"],
        &["Authorization: Bearer first-secret other-secret"],
        &["Authorization: Basic first-secret"],
    ] {
        assert_eq!(status("POST /sessions", headers), 401, "{headers:?}");
    }
    for token in ["first-secret", "other-secret"] {
        let header = format!("Authorization: Bearer {token}");
        assert_eq!(status("POST /sessions", &[&header]), 200);
    }
    for line in ["GET /", "GET /health"] {
        assert_eq!(status(line, &[]), 200, "{line}");
    }
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn pages_elsewhere_may_use_the_server_where_an_option_says_so_and_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let page = "Origin: http://page.example";
    for (more, allowed) in [
        ([].as_slice(), 403),
        (&["--allow-origin", "http://page.example"], 200),
        (&["--allow-origin", "http://other.example"], 403),
        (&["--allow-all-origins"], 200),
    ] {
        let arguments = [&IN_MEMORY[..], more].concat();
        let mut server = Server::start(dir.path(), &arguments);
        let reply = request(server.addr(), "GET /status", &[page], None);
        assert_eq!(reply.status, allowed, "{more:?}");
        let reply = request(server.addr(), "GET /status", &[], None);
        assert_eq!(reply.status, 200, "{more:?}");
        assert_eq!(server.terminate(), Some(0));
    }
}

#[test]
fn without_extensions_it_is_a_stock_kato() {
    let dir = tempfile::tempdir().unwrap();
    for (more, expected) in [([].as_slice(), 200), (&["--no-extensions"], 404)] {
        let arguments = [&IN_MEMORY[..], more].concat();
        let mut server = Server::start(dir.path(), &arguments);
        for line in ["GET /extensions", "GET /metrics/prometheus"] {
            let reply = request(server.addr(), line, &[], None);
            assert_eq!(reply.status, expected, "{line} {more:?}");
        }
        assert_eq!(server.terminate(), Some(0));
    }
}

#[test]
fn logs_are_json_with_a_trace_id_and_tell_no_token_and_no_text() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tokens"), "very-secret-token\n").unwrap();
    let more = [
        "--token-file",
        "tokens",
        "--log",
        "json",
        "--log-level",
        "info",
    ];
    let mut server = Server::start(dir.path(), &[&IN_MEMORY[..], &more].concat());
    let mut trace_ids = Vec::new();
    for token in ["very-secret-token", "very-secret-guess"] {
        let headers = [&format!("Authorization: Bearer {token}"), "Accept: */*"];
        let body = json!({"node_id": "node0", "metadata": {"note": "a-private-note"}});
        let reply = request(server.addr(), "POST /sessions", &headers, Some(&body));
        trace_ids.push(reply.header("x-trace-id").unwrap().to_owned());
    }
    assert_eq!(server.terminate(), Some(0));

    let log = fs::read_to_string(dir.path().join(LOG)).unwrap();
    let lines = log.lines().map(serde_json::from_str);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().unwrap();
    for (trace_id, status) in trace_ids.iter().zip([200, 401]) {
        let mut fields = lines.iter().map(|line| &line["fields"]);
        let found = fields.find(|fields| fields["trace_id"] == trace_id.as_str());
        assert_eq!(found.unwrap()["status"], status, "{log}");
    }
    for secret in ["very-secret", "a-private-note"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn logs_in_a_file_are_without_colours() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = [&IN_MEMORY[..], &["--log-level", "info"]].concat();
    let mut command = Server::command(dir.path(), &arguments);
    command.env_remove("NO_COLOR");
    let mut server = Server::start_as(command).unwrap();
    ask(server.addr(), "GET /health", None);
    assert_eq!(server.terminate(), Some(0));
    let log = fs::read_to_string(dir.path().join(LOG)).unwrap();
    assert!(log.contains("status=200"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
}

#[test]
fn a_setting_that_the_answer_does_not_name_is_in_the_log_under_the_trace_id() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path(), &[&IN_MEMORY[..], &["--log", "json"]].concat());
    let session = ask(
        server.addr(),
        "POST /sessions",
        Some(&json!({"node_id": "a"})),
    );
    let line = format!(
        "POST /sessions/{}/config",
        session["session_id"].as_str().unwrap()
    );
    let body = json!({"config": {"jaccard_threshold": 1.5}});
    let refused = request(server.addr(), &line, &[], Some(&body));
    assert_eq!(refused.status, 400);
    assert_eq!(server.terminate(), Some(0));
    let log = fs::read_to_string(dir.path().join(LOG)).unwrap();
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let told: Vec<Value> = lines
        .filter(|line| line["fields"]["trace_id"] == refused.header("x-trace-id").unwrap())
        .collect();
    assert_eq!(told.len(), 1, "{log}");
    assert_eq!(told[0]["level"], "WARN", "{log}");
    let cause = told[0]["fields"]["cause"].as_str().unwrap();
    assert!(cause.contains("jaccard_threshold"), "{cause}");
}

#[test]
fn variables_of_a_kato_set_what_sessions_begin_with() {
    let dir = tempfile::tempdir().unwrap();
    for (more, ttl_seconds) in [([].as_slice(), 40), (&["--session-ttl", "50"], 50)] {
        let mut command = Server::command(dir.path(), &[&IN_MEMORY[..], more].concat());
        command.envs([
            ("SESSION_TTL", "40"),
            ("RECALL_THRESHOLD", "0.25"),
            ("KATO_WORKERS", "4"),
        ]);
        let mut server = Server::start_as(command).unwrap();
        let body = json!({"node_id": "a"});
        let session = ask(server.addr(), "POST /sessions", Some(&body));
        assert_eq!(session["ttl_seconds"], ttl_seconds);
        assert_eq!(session["session_config"]["recall_threshold"], 0.25);
        assert_eq!(server.terminate(), Some(0));
    }
    let log = fs::read_to_string(dir.path().join(LOG)).unwrap();
    assert!(log.contains("KATO_WORKERS has no effect on this server: use --workers"));

    let mut command = Server::command(dir.path(), &IN_MEMORY);
    command.env("RECALL_THRESHOLD", "0");
    let refusal = Server::start_as(command).err().unwrap();
    assert!(refusal.contains("exit code Some(2)"), "{refusal}");
    assert!(refusal.contains("error: RECALL_THRESHOLD=0: Must be a number"));
}

#[test]
fn a_bench_leaves_no_record_of_its_runs_on_the_server() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("text.txt"), "the old sea sings at night\n").unwrap();
    // Room for one record, and two measurements.
    let mut server = Server::start(dir.path(), &[&IN_MEMORY[..], &["--max-runs", "1"]].concat());
    let backend = format!("kato:http://{}", server.addr());
    let arguments = [
        "text.txt",
        "--backends",
        &backend,
        "--workers",
        "1,2",
        "--repeat",
        "1",
        "--levels",
        "3",
    ];
    let output = kato("bench")
        .args(arguments)
        .current_dir(dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn what_a_backup_passed_over_is_in_the_log_under_the_trace_id() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = [
        "--data",
        "data",
        "--backups",
        "backups",
        "--addr",
        "127.0.0.1:0",
        "--log",
        "json",
    ];
    let mut server = Server::start(dir.path(), &arguments);
    fs::create_dir_all(dir.path().join("data/nodes/stranger")).unwrap();
    fs::write(
        dir.path().join("data/nodes/stranger/file"),
        "of somebody else",
    )
    .unwrap();
    let made = request(server.addr(), "POST /admin/backups", &[], None);
    assert_eq!(made.status, 201);
    assert_eq!(server.terminate(), Some(0));
    let log = fs::read_to_string(dir.path().join(LOG)).unwrap();
    let lines = log.lines().map(serde_json::from_str);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().unwrap();
    let told = lines
        .iter()
        .find(|line| line["fields"]["names"].is_string());
    let told = told.unwrap_or_else(|| panic!("{log}"));
    assert_eq!(
        told["fields"]["trace_id"],
        made.header("x-trace-id").unwrap()
    );
}

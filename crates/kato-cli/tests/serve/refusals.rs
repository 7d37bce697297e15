//! What `serve` refuses, and what it says then.

use std::fs;
use std::path::Path;

use crate::program::kato;
use crate::server::Server;

/// Exit code and standard error of a server that must not start.
fn refused(dir: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = kato("serve")
        .args(arguments)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), message.trim_end().to_owned())
}

#[test]
fn one_server_at_a_time_has_the_data_and_the_port() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["--data", "data", "--addr", "127.0.0.1:0"];
    let mut first = Server::start(dir.path(), &arguments);

    let (code, message) = refused(dir.path(), &arguments);
    assert_eq!(code, Some(6));
    assert_eq!(
        message,
        "error: open the service's directory data: another process uses it, or this one does already; stop or close that first"
    );

    let addr = first.addr().to_string();
    let (code, message) = refused(dir.path(), &["--in-memory", "--addr", &addr]);
    assert_eq!(code, Some(6));
    let expected = format!(
        "error: listen on {addr}: choose an address of this machine and a port that is free: Address already in use"
    );
    assert!(message.starts_with(&expected), "{message}");
    // With a directory that it makes: it is gone again, with those above it.
    let new = ["--data", "not/there/data", "--addr", &addr];
    assert!(refused(dir.path(), &new).1.starts_with(&expected));
    assert!(!dir.path().join("not").exists());

    assert_eq!(first.terminate(), Some(0));
    let mut next = Server::start(dir.path(), &arguments);
    assert_eq!(next.terminate(), Some(0));
}

#[test]
fn an_empty_variable_is_as_one_that_is_not_set() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let mut server = kato("serve");
    server.args(["--data", "file"]).current_dir(dir.path());
    for variable in ["SESSION_TTL", "KATO_SETTINGS", "RECALL_THRESHOLD"] {
        server.env(variable, "");
    }
    let message = String::from_utf8(server.output().unwrap().stderr).unwrap();
    assert_eq!(message, "error: --data file is a file: name a directory\n");
}

#[test]
fn a_token_file_must_hold_tokens() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("empty"), "\n  \n").unwrap();
    fs::write(dir.path().join("odd"), "good\nnot so good\n").unwrap();
    for (file, expected) in [
        ("missing", "error: --token-file missing cannot be read: "),
        (
            "empty",
            "error: --token-file empty holds no token: write one a line",
        ),
        (
            "odd",
            "error: accept bearer token number 1 (from 0): it must be visible ASCII characters",
        ),
    ] {
        let arguments = ["--in-memory", "--addr", "127.0.0.1:0", "--token-file", file];
        let (code, message) = refused(dir.path(), &arguments);
        assert_eq!(code, Some(if file == "odd" { 2 } else { 1 }), "{file}");
        assert!(message.starts_with(expected), "{message}");
        assert!(!message.contains("good"), "{message}");
    }
}

#[test]
fn data_that_is_no_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let addr = ["--addr", "127.0.0.1:0"];
    for (places, code, expected) in [
        (
            &["--data", "file"][..],
            6,
            "--data file is a file: name a directory",
        ),
        (
            &["--data", "file/in"],
            6,
            "--data file/in: file is a file: choose another place",
        ),
        (
            &["--data", "new", "--backups", "file/in"],
            6,
            "--backups file/in: file is a file: choose another place",
        ),
        (
            &["--data", "new", "--backups", "new"],
            2,
            "--backups and --data name one directory: name another for the copies",
        ),
    ] {
        let refused = refused(dir.path(), &[places, &addr].concat());
        assert_eq!(refused, (Some(code), format!("error: {expected}")));
    }
    assert!(!dir.path().join("new").exists());
}

#[test]
fn origins_and_hosts_that_no_request_can_have_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (flag, value, expected) in [
        (
            "--allow-origin",
            "https://kato.example/",
            "is no origin: write scheme and host",
        ),
        (
            "--allow-host",
            "kato:8000",
            "is no name of a host: write it without scheme, port",
        ),
    ] {
        let arguments = ["--in-memory", "--addr", "127.0.0.1:0", flag, value];
        let (code, message) = refused(dir.path(), &arguments);
        assert_eq!(code, Some(2), "{message}");
        assert!(
            message.starts_with(&format!("error: {value:?} {expected}")),
            "{message}"
        );
    }
}

#[test]
fn wrong_usage_is_told() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        ([].as_slice(), "--data <DIR>"),
        (&["--data", "data", "--in-memory"], "cannot be used with"),
        (
            &["--in-memory", "--addr", "localhost"],
            "give an address and a port",
        ),
        (&["--in-memory", "--workers", "0"], "--workers"),
        (&["--in-memory", "--log-level", "kato=loud"], "--log-level"),
        (
            &["--in-memory", "--log-level", "loud"],
            "\"loud\" is no level: use ",
        ),
    ] {
        let (code, message) = refused(dir.path(), arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

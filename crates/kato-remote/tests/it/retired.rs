//! Patterns that somebody retires on the server while a run teaches it.

use kato_client::{KatoClient, SessionOptions};
use kato_model::{PatternName, RunName};
use kato_remote::RemoteError;
use serde_json::Value;

use crate::support::{
    RUN, TestServer, assert_equal, backend, corpus, documents, own_error, train_there, trained_here,
};

/// Documents that are learned before a pattern is retired.
const BEFORE: u64 = 10;

/// A pattern of a level that the rest of the corpus teaches.
fn taught_later(before: &str, all: &str) -> PatternName {
    let line = all.lines().find(|line| !before.contains(line)).unwrap();
    let pattern: Value = serde_json::from_str(line).unwrap();
    pattern["name"].as_str().unwrap().parse().unwrap()
}

fn client_of(server: &TestServer, level: usize) -> KatoClient {
    let run: RunName = RUN.parse().unwrap();
    let node = run.node_id(&format!("node{level}"));
    let url = format!("http://{}", server.addr);
    let client = KatoClient::builder(url, SessionOptions::new(node)).build();
    client.unwrap()
}

#[test]
fn a_retired_pattern_is_named_with_documents_and_taught_once_it_is_none_any_more() {
    let text = corpus(30);
    let (before, all) = (trained_here(&corpus(BEFORE)), trained_here(&text));
    for (extensions, level) in [(true, 0), (true, 2), (false, 0), (false, 1)] {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state.json");
        let train = |server: &TestServer, limit| {
            let backend = backend(server.addr, &state, 4).unwrap();
            train_there(&backend, documents(&text).with_max_documents(limit), 2)
        };
        let server = TestServer::start(&dir.path().join("data"), extensions);
        train(&server, BEFORE).unwrap();
        let name = taught_later(&before[level], &all[level]);
        let client = client_of(&server, level);
        let retired = server.runtime.block_on(client.retire(&[name])).unwrap();
        assert_eq!(retired.retired, [name.to_string()]);

        let error = train(&server, 30).unwrap_err();
        let Some(RemoteError::Retired(found)) = own_error(&error) else {
            panic!("{error:?}");
        };
        assert_eq!((found.pattern, &*found.node), (name, client.node_id()));
        assert!(!found.documents.is_empty(), "{found:?}");

        // Another process serves the same, and is done with what the run had sent.
        drop(client);
        let server = TestServer::start(&server.end(), extensions);
        let client = client_of(&server, level);
        let unretired = server.runtime.block_on(client.unretire(&[name])).unwrap();
        assert_eq!(unretired.un_retired, [name.to_string()]);
        drop(client);
        train(&server, 30).unwrap();
        let how = format!("extensions {extensions}, level {level}");
        assert_equal(&server.stop(), &all, &how);
    }
}

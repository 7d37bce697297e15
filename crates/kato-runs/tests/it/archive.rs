//! Exported runs: complete, checked, and taken as a whole or not at all.

use std::fs;

use kato_runs::{Archive, RunsError};
use kato_store::{MemoryStore, PatternStore};
use serde_json::{Value, json};

use crate::support::{Place, content, learn, message, name, names};

fn exported() -> Place {
    let place = Place::new();
    place.by_hand("one", &["a", "b"]);
    place.runs().export("one", place.path("out")).unwrap();
    place
}

fn empty_store() -> MemoryStore {
    MemoryStore::new(&["node0"], json!({"by": "hand"}))
}

#[test]
fn an_export_holds_these_files() {
    let place = exported();
    let files = fs::read_dir(place.path("out")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["checkpoint.json", "node0.jsonl", "run.json"]);
    let archive = Archive::open(place.path("out")).unwrap();
    let contents = archive.manifest().contents.as_ref().unwrap();
    assert_eq!(contents.patterns[0].patterns, 2);
    assert_eq!(contents.left_out, [] as [&str; 0]);
    assert_eq!(
        contents.patterns[0].bytes,
        fs::metadata(place.path("out/node0.jsonl")).unwrap().len()
    );
}

#[test]
fn a_changed_file_is_not_imported() {
    let check = |file: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let place = exported();
        let path = place.path("out").join(file);
        fs::write(&path, change(fs::read(&path).unwrap())).unwrap();
        let import = place.runs().import(place.path("out"), Some(&name("two")));
        assert!(import.is_err(), "{file}");
        assert_eq!(names(&place.runs()), ["one"]);
        assert_eq!(fs::read_dir(place.path("runs")).unwrap().count(), 1);

        let store = empty_store();
        let archive = Archive::open(place.path("out")).unwrap();
        assert!(archive.import_into(&store).is_err(), "{file}");
        assert_eq!(content(&store), (Value::Null, vec![String::new()]));
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    check("node0.jsonl", &|bytes| {
        text(bytes)
            .replace("\"frequency\":1", "\"frequency\":2")
            .into_bytes()
    });
    check("node0.jsonl", &|bytes| {
        let first = text(bytes).lines().next().unwrap().to_owned();
        (first + "\n").into_bytes()
    });
    check("node0.jsonl", &|bytes| [bytes, b"\n".to_vec()].concat());
    check("node0.jsonl", &|_| Vec::new());
    check("node0.jsonl", &|_| b"{}\n".to_vec());
    check("checkpoint.json", &|_| b"{}\n".to_vec());
    check("checkpoint.json", &|_| Vec::new());
    check("run.json", &|bytes| {
        text(bytes)
            .replace("node0.jsonl", "../out/node0.jsonl")
            .into_bytes()
    });
    check("run.json", &|bytes| {
        text(bytes)
            .replace("node0.jsonl", "no-such-file")
            .into_bytes()
    });
}

#[test]
fn what_is_no_export_is_not_imported() {
    let place = exported();
    let runs = place.runs();
    runs.record("one").unwrap();
    for dir in ["runs", "runs/one", "nowhere"] {
        let import = runs.import(place.path(dir), Some(&name("two")));
        assert!(matches!(import, Err(RunsError::NoExport { .. })), "{dir}");
    }
    assert_eq!(
        message(runs.import(place.path("out"), None)),
        "there is a run one already: choose another name, or delete that run"
    );
}

#[test]
fn a_store_that_does_not_fit_stays_as_it_is() {
    let place = exported();
    let archive = Archive::open(place.path("out")).unwrap();
    let refused = |store: &MemoryStore, reason: &str| {
        let before = content(store);
        let text = message(archive.import_into(store));
        assert!(text.contains(reason), "{text}");
        assert_eq!(content(store), before);
    };
    refused(
        &MemoryStore::new(&["other"], json!({"by": "hand"})),
        "the nodes are others",
    );
    refused(
        &MemoryStore::new(&["node0"], json!(null)),
        "the configuration is another",
    );
    let full = empty_store();
    learn(&full, &["c"]);
    refused(&full, "it holds a run already");
    let begun = empty_store();
    begun.commit(Vec::new(), json!({"samples": 0})).unwrap();
    refused(&begun, "it holds a run already");
}

#[test]
fn an_import_that_died_begins_anew() {
    let place = exported();
    let archive = Archive::open(place.path("out")).unwrap();
    let store = empty_store();
    // What an import leaves that dies before its last commit.
    store
        .commit(Vec::new(), json!({"import": "unfinished"}))
        .unwrap();
    learn(&store, &["a"]);
    archive.import_into(&store).unwrap();
    assert_eq!(content(&store), place.content("one"));
}

#[test]
fn an_unfinished_export_is_replaced_and_one_in_progress_is_not() {
    let place = exported();
    let partial = place.path(".again.partial");
    fs::create_dir(&partial).unwrap();
    fs::write(partial.join("node0.jsonl"), "half a li").unwrap();
    let lock = fs::File::create(partial.join("LOCK")).unwrap();
    lock.lock().unwrap();
    let again = place.runs().export("one", place.path("again"));
    assert!(matches!(again, Err(RunsError::InUse { .. })));
    drop(lock);
    place.runs().export("one", place.path("again")).unwrap();
    assert!(!partial.exists());
    for file in ["node0.jsonl", "checkpoint.json"] {
        let read = |dir| fs::read(place.path(dir).join(file)).unwrap();
        assert_eq!(read("again"), read("out"));
    }
}

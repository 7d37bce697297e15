//! The runs of a server: none touches another.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{panic, thread};

use kato_mongodb::{Guard, MongoRuns, MongoStore};
use kato_store::conformance::{LearnCall, Lessons};
use kato_store::{PatternStore, StoreError};
use kato_test_needs::is_thorough;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::json;

use crate::raw::Raw;
use crate::support::{builder, fresh_run, server};

#[test]
fn runs_are_listed_copied_and_deleted_without_touching_each_other() {
    let Some(uri) = server() else { return };
    let (run, copy) = (fresh_run(), fresh_run());
    let store = builder(&uri, &run, Guard::Auto)
        .create(&["node0"], json!({"a": 1}))
        .unwrap();
    let lessons = Lessons::new(1, vec![LearnCall::text(0, &["a", "b"])]);
    let staged = store.stage(lessons.batch(&[0])).unwrap();
    store.commit(vec![staged], json!({"samples": 1})).unwrap();
    assert_eq!(store.manifest().unwrap(), None);
    store.set_manifest(&json!({"id": "r1"})).unwrap();
    let runs = MongoRuns::connect(&uri).unwrap();
    assert!(matches!(runs.delete(&run), Err(StoreError::Locked { .. })));
    drop(store);
    runs.copy(&run, &copy).unwrap();
    assert!(matches!(
        runs.copy(&run, &copy),
        Err(StoreError::Exists { .. })
    ));
    let listed = runs.list().unwrap();
    for name in [&run, &copy] {
        let found = listed.iter().find(|listed| listed.run == *name).unwrap();
        assert_eq!(
            (&found.checkpoint, &found.configuration),
            (&json!({"samples": 1}), &json!({"a": 1}))
        );
        assert_eq!(found.manifest, Some(json!({"id": "r1"})));
        assert!(!found.in_use);
    }
    runs.set_manifest(&copy, &json!({"id": "r2"})).unwrap();
    assert_eq!(runs.manifest(&copy).unwrap(), Some(json!({"id": "r2"})));
    assert_eq!(runs.manifest(&run).unwrap(), Some(json!({"id": "r1"})));
    runs.delete(&run).unwrap();
    assert!(matches!(
        runs.manifest(&run),
        Err(StoreError::Missing { .. })
    ));
    assert!(matches!(
        builder(&uri, &run, Guard::Auto).open(),
        Err(StoreError::Missing { .. })
    ));
    let store: MongoStore = builder(&uri, &copy, Guard::Auto).open().unwrap();
    assert_eq!(
        store
            .pattern(0, &lessons.name(0))
            .unwrap()
            .map(|pattern| pattern.frequency),
        Some(1)
    );
    assert_eq!(store.document(0).unwrap().as_deref(), Some("document 0"));
}

/// The owner of a lease that has run out.
fn gone() -> Document {
    doc! {
        "id": ObjectId::new(), "host": "elsewhere", "pid": 1_i64, "started": 0_i64,
        "expires": DateTime::from_millis(0),
    }
}

#[test]
fn what_an_interrupted_copy_left_is_cleared_away_and_what_another_left_is_not() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    let (run, copy) = (fresh_run(), fresh_run());
    let store = builder(&uri, &run, Guard::Auto)
        .create(&["node0"], json!(null))
        .unwrap();
    drop(store);
    let node = format!("{copy}_node0_kato");
    let pattern = doc! {"name": "half", "pattern_data": [["a"]], "frequency": 1};
    raw.insert(&node, "patterns_kb", vec![pattern]);
    let runs = MongoRuns::connect(&uri).unwrap();
    assert!(matches!(
        runs.copy(&run, &copy),
        Err(StoreError::NotAKnowledgeBase { .. })
    ));
    assert_eq!(raw.all(&node, "patterns_kb").len(), 1);
    let is_discovered = || {
        let found = runs.discover().unwrap();
        let mut nodes = found.iter().flat_map(|run| &run.nodes);
        nodes.any(|(_, database)| *database == node)
    };
    assert!(is_discovered());

    let note = doc! {"_id": "copying", "owner": gone(), "databases": [&node]};
    raw.insert(&format!("{copy}_kato_rs"), "run", vec![note.clone()]);
    // Else its name would count as taken, and nobody could copy there again.
    assert!(!is_discovered());
    runs.copy(&run, &copy).unwrap();
    assert!(raw.all(&node, "patterns_kb").is_empty());

    let other = fresh_run();
    raw.insert(&format!("{other}_kato_rs"), "run", vec![note]);
    runs.delete(&other).unwrap();
    assert!(matches!(
        runs.delete(&other),
        Err(StoreError::Missing { .. })
    ));
}

#[test]
fn connections_that_come_and_go_leave_without_a_panic() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let Some(uri) = server() else { return };
    // Nobody joins the threads of a connection: a panic there is only printed.
    let printing = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if thread::current().name() == Some("kato-mongodb") {
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
        printing(panic);
    }));
    for _ in 0..if is_thorough() { 100 } else { 30 } {
        let runs = MongoRuns::connect(&uri).unwrap();
        runs.list().unwrap();
    }
    // They take leave on their own threads.
    thread::sleep(Duration::from_secs(1));
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}

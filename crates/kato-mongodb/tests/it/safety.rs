//! Writers exclude each other, secrets stay secret, and no thread is the wrong one.

use std::time::Duration;

use kato_mongodb::{Guard, MongoRuns, MongoStore};
use kato_store::conformance::{Lesson, Lessons};
use kato_store::{PatternStore, StoreError};
use serde_json::json;

use crate::support::{builder, fresh_run, server};

#[test]
fn one_process_writes_at_a_time_and_a_dropped_store_lets_go() {
    let Some(uri) = server() else { return };
    let run = fresh_run();
    let store = builder(&uri, &run, Guard::Auto)
        .create(&["node0"], json!(null))
        .unwrap();
    assert!(matches!(
        builder(&uri, &run, Guard::Auto).open(),
        Err(StoreError::Locked { .. })
    ));
    let reader = builder(&uri, &run, Guard::Auto).open_read_only().unwrap();
    assert!(matches!(
        reader.clear(json!(null)),
        Err(StoreError::ReadOnly { .. })
    ));
    assert!(matches!(
        builder(&uri, &run, Guard::Auto).create(&["node0"], json!(null)),
        Err(StoreError::Exists { .. })
    ));
    drop(store);
    assert!(builder(&uri, &run, Guard::Auto).open().is_ok());
}

#[test]
fn a_store_may_be_used_and_dropped_inside_a_runtime() {
    let Some(uri) = server() else { return };
    let run = fresh_run();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = builder(&uri, &run, Guard::Auto)
            .create(&["node0"], json!(null))
            .unwrap();
        let lessons = Lessons::new(1, vec![Lesson::text(0, &["a"])]);
        let staged = store.stage(lessons.batch(&[0])).unwrap();
        drop(store.stage(lessons.batch(&[0])).unwrap());
        store.commit(vec![staged], json!(1)).unwrap();
        assert_eq!(store.count_patterns(0).unwrap(), 1);
    });
}

#[test]
fn credentials_show_nowhere() {
    let run = fresh_run();
    let uris = [
        "mongodb://ann:s3cr%40t@127.0.0.1:9/?serverSelectionTimeoutMS=50",
        "mongodb://ann:s3cr%40t@[broken",
        "mongodb://ann:s3cr@t@127.0.0.1:9/?nonsense",
    ];
    for uri in uris {
        let builder = MongoStore::builder(uri, run.clone()).patience(Duration::from_millis(300));
        let mut shown = format!("{builder:?}");
        match builder.open() {
            Ok(store) => shown += &format!("{store:?}"),
            Err(error) => {
                shown += &format!("{error:?} {error}");
                let mut source = std::error::Error::source(&error);
                while let Some(error) = source {
                    shown += &format!("{error:?} {error}");
                    source = error.source();
                }
            }
        }
        match MongoRuns::connect(uri) {
            Ok(runs) => shown += &format!("{runs:?}"),
            Err(error) => shown += &format!("{error:?} {error}"),
        }
        assert!(!shown.contains("s3cr"), "{shown}");
    }
    let gone = MongoStore::builder("mongodb://127.0.0.1:9", run)
        .patience(Duration::from_millis(300))
        .open();
    let error = gone.unwrap_err();
    assert!(
        error.is_transient() && error.to_string().contains("mongodb://127.0.0.1:9"),
        "{error}"
    );
}

#[test]
fn a_pattern_that_no_document_holds_is_named() {
    let Some(uri) = server() else { return };
    let run = fresh_run();
    let store = builder(&uri, &run, Guard::Auto)
        .create(&["node0"], json!(null))
        .unwrap();
    let large = "x".repeat(17 << 20);
    let lessons = Lessons::new(1, vec![Lesson::text(0, &[&large])]);
    match store.stage(lessons.batch(&[0])) {
        Err(StoreError::TooLarge { name, .. }) => assert_eq!(name, lessons.name(0)),
        other => panic!("{other:?}"),
    }
}

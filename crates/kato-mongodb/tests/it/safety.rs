//! Writers exclude each other, secrets stay secret, and no thread is the wrong one.

use std::time::Duration;

use kato_mongodb::{Error, Guard, MongoRuns, MongoStore};
use kato_store::conformance::{LearnCall, Lessons};
use kato_store::{PatternStore, StoreError, StoreErrorKind};
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
        let lessons = Lessons::new(1, vec![LearnCall::text(0, &["a"])]);
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
        let builder =
            MongoStore::builder(uri, run.clone()).with_patience(Duration::from_millis(300));
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
        .with_patience(Duration::from_millis(300))
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
    let lessons = Lessons::new(1, vec![LearnCall::text(0, &[&large])]);
    match store.stage(lessons.batch(&[0])) {
        Err(StoreError::Backend {
            kind: StoreErrorKind::TooLarge,
            source,
            ..
        }) => match source.downcast_ref::<Error>() {
            Some(Error::TooLarge { name, .. }) => assert_eq!(*name, lessons.name(0)),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_address_that_cannot_be_read_is_told_how_to_write_one() {
    let builder = MongoStore::builder("localhost:27017", fresh_run());
    for error in [
        builder.clone().open().unwrap_err(),
        builder.open_read_only().unwrap_err(),
        MongoRuns::connect("localhost:27017").unwrap_err(),
    ] {
        let StoreError::Backend { kind, source, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*kind, StoreErrorKind::Misconfigured);
        assert!(source.to_string().contains("mongodb://["), "{source}");
        assert!(error.to_string().contains("mend the settings"), "{error}");
    }
}

#[test]
fn a_run_that_is_not_there_is_missed_at_an_address_and_not_in_a_directory() {
    let Some(uri) = server() else { return };
    let run = fresh_run();
    let error = builder(&uri, &run, Guard::Auto).open().unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("mongodb://") && text.contains("check the address"),
        "{text}"
    );
    assert!(!text.contains("directory"), "{text}");
}

//! What is there after closing, folding and opening again.

use std::fs;
use std::time::Duration;

use kato_engine::Observation;
use kato_service::answer::NewSession;
use kato_service::{Durability, Service, ServiceError, ServiceOptions};
use serde_json::json;

use crate::support::{create, export, frequency, known, lesson, teach, timed};

#[test]
fn sessions_go_on_where_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let (options, clock) = timed();
    let service = Service::open(dir.path(), options.clone()).unwrap();
    let config = json!({"max_pattern_length": 3, "recall_threshold": 0.25});
    let new = NewSession {
        config: config.as_object().cloned(),
        ttl_seconds: Some(100),
        ..NewSession::new("n")
    };
    let id = service
        .create_session(new)
        .unwrap()
        .wait()
        .unwrap()
        .session_id;
    let deleted = create(&service, "n");
    let untouched = create(&service, "other");
    let observation = Observation::strings(["a"]).with_emotive("joy", 0.1 + 0.2);
    service
        .observe(&id, observation, None)
        .unwrap()
        .wait()
        .unwrap();
    service.delete_session(&deleted).unwrap().wait().unwrap();
    clock.advance(Duration::from_secs(10));
    service
        .extend_session(&untouched, 55)
        .unwrap()
        .wait()
        .unwrap();
    let view = service.session(&id).unwrap();
    // No close: as after a kill.
    drop(service);

    let service = Service::open(dir.path(), options).unwrap();
    assert_eq!(service.n_sessions(), 2);
    assert_eq!(service.session(&id).unwrap(), view);
    assert_eq!(service.session(&untouched).unwrap().remaining_seconds, 55);
    assert_eq!(service.cognition(&id).unwrap().emotives["joy"], 0.1 + 0.2);
    for (word, length) in [("b", 2), ("c", 0)] {
        let observed = service
            .observe(&id, Observation::strings([word]), None)
            .unwrap();
        assert_eq!(observed.wait().unwrap().observed.stm_length, length);
    }
    clock.advance(Duration::from_secs(55));
    assert!(!service.check(&untouched));
}

#[test]
fn what_was_learned_is_there_however_often_it_was_folded() {
    for durability in [Durability::Disk, Durability::Os] {
        let dir = tempfile::tempdir().unwrap();
        let (options, clock) = timed();
        let options = options
            .with_durability(durability)
            .with_fold_after_learns(5);
        let mut service = Service::open(dir.path(), options.clone()).unwrap();
        let id = create(&service, "n");
        let twin = Service::in_memory(options.clone());
        let twin_id = create(&twin, "n");
        for round in 0..12_u32 {
            for word in ["a", "b", "c"] {
                let pattern = ["x", word, ["p", "q"][(round % 2) as usize]];
                teach(&service, &id, pattern);
                teach(&twin, &twin_id, pattern);
            }
            if round % 6 == 0 {
                service.clear_all(&id, None).unwrap().wait().unwrap();
                twin.clear_all(&twin_id, None).unwrap().wait().unwrap();
            }
            match round % 4 {
                0 => drop(service.maintain().unwrap()),
                1 => {
                    clock.advance(Duration::from_secs(60));
                    assert_eq!(service.maintain().unwrap().nodes_folded, 1);
                    assert_eq!(service.figures().uncommitted_learns, 0);
                }
                2 => service.close().unwrap(),
                _ => {}
            }
            if round % 2 == 0 {
                drop(service);
                service = Service::open(dir.path(), options.clone()).unwrap();
            }
            assert_eq!(known(&service, "n"), known(&twin, "n"), "round {round}");
        }
    }
}

#[test]
fn closing_folds_everything_and_takes_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let id = create(&service, "n");
    teach(&service, &id, ["a", "b"]);
    drop(service);
    // Not loaded since it was opened.
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    service.close().unwrap();
    service.close().unwrap();
    assert!(matches!(
        service.learn(&id, None),
        Err(ServiceError::Closed)
    ));
    assert!(matches!(
        service.create_session(NewSession::new("n")),
        Err(ServiceError::Closed)
    ));
    assert_eq!(export(dir.path(), "n_kato").len(), 1);
    assert_eq!(service.symbols("n").unwrap().len(), 2);
}

#[test]
fn one_service_has_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let second = Service::open(dir.path(), ServiceOptions::default());
    // Nobody else has it: to look for another process would be for nothing.
    assert!(matches!(
        second,
        Err(error @ ServiceError::InUse { .. }) if error.to_string().contains("or this one does")
    ));
    drop(service);
    Service::open(dir.path(), ServiceOptions::default()).unwrap();
}

#[test]
fn a_store_that_cannot_be_written_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (options, clock) = timed();
    let service = Service::open(dir.path(), options.clone()).unwrap();
    let id = create(&service, "n");
    let name = teach(&service, &id, ["a", "b"]);
    // A file stands where the knowledge base would be.
    let in_the_way = dir.path().join("nodes/n_kato");
    std::fs::write(&in_the_way, "").unwrap();
    clock.advance(Duration::from_secs(60));
    for _ in 0..2 {
        assert!(service.maintain().is_err());
        assert!(service.figures().failure.is_some());
        teach(&service, &id, ["a", "b"]);
    }
    std::fs::remove_file(&in_the_way).unwrap();
    assert_eq!(service.maintain().unwrap().nodes_folded, 1);
    assert!(service.figures().failure.is_none());
    service.close().unwrap();
    drop(service);
    let service = Service::open(dir.path(), options).unwrap();
    assert_eq!(frequency(&service, "n", &name), 3);
}

#[test]
fn figures_are_true() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let id = create(&service, "n");
    teach(&service, &id, ["a", "b"]);
    let items = vec![lesson(["a", "b"]), lesson(["c", "d"])];
    service
        .learn_batch(&id, items, None)
        .unwrap()
        .wait()
        .unwrap();
    service.predictions(&id).unwrap();
    let figures = service.figures();
    assert_eq!((figures.sessions, figures.sessions_created), (1, 1));
    assert_eq!(
        (figures.observations, figures.learns, figures.predictions),
        (2, 3, 1)
    );
    assert_eq!(
        (
            figures.nodes,
            figures.nodes_loaded,
            figures.uncommitted_learns
        ),
        (1, 1, 3)
    );
    assert_eq!(figures.journal_syncs, 2);
    assert!(figures.journal_records > 4 && figures.journal_bytes > 100 && figures.disk_bytes > 0);
    assert!(figures.failure.is_none());
}

#[test]
fn a_lock_file_that_was_deleted_keeps_nobody_out_and_lets_nobody_else_in() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Service::open(dir.path(), ServiceOptions::default());
    let service = open().unwrap();
    let id = create(&service, "n");
    let name = teach(&service, &id, ["a", "b", "c"]);
    let lock = dir.path().join("journal").join("lock");
    fs::remove_file(&lock).unwrap();
    // It is in use, file or no file.
    assert!(matches!(open(), Err(ServiceError::InUse { path }) if path == dir.path()));
    service.close().unwrap();
    drop(service);

    fs::remove_file(&lock).ok();
    let service = open().unwrap();
    assert_eq!(frequency(&service, "n", &name), 1);
    assert!(service.check(&id));
}

//! Tests of what a service does when its journal cannot be written or flushed: it stops taking
//! writes, says so, and loses nothing; and when an operation of one node ends half-way: that node is
//! loaded again.

use std::path::Path;

use kato_engine::Observation;
use kato_engine::node::Lesson;
use kato_model::Event;
use tempfile::TempDir;

use super::Service;
use crate::answer::NewSession;
use crate::figures::ServiceHealth;
use crate::journal::Fault;
use crate::{ServiceError, ServiceOptions};

fn open(dir: &Path) -> Service {
    Service::open(dir, ServiceOptions::default()).unwrap()
}

fn create(service: &Service) -> String {
    let created = service.create_session(NewSession::new("n")).unwrap();
    created.wait().unwrap().session_id
}

/// Returns two patterns that no other word makes.
fn batch(word: &str) -> Vec<Lesson> {
    let lesson = |first| Lesson::new([Event::new([first]), Event::new([word])]);
    vec![lesson("x"), lesson("y")]
}

fn learn(service: &Service, id: &str, word: &str) -> Result<(), ServiceError> {
    let receipt = service.learn_batch(id, batch(word), Some(word))?;
    receipt.wait().map(drop)
}

/// Makes the next write of the journal fail.
fn inject(service: &Service, fault: Fault) {
    let journal = service.shared.journal.as_ref().unwrap();
    journal.tables().inject(fault);
}

/// Counts how often a word was learned; each batch has it twice.
fn count(service: &Service, word: &str) -> u64 {
    let symbols = service.symbols("n").unwrap();
    symbols.get(word).map_or(0, |counts| counts.frequency)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the results are made for this"
)]
fn is_failed<T>(result: Result<T, ServiceError>) -> bool {
    matches!(result, Err(ServiceError::StorageFailed { .. }))
}

/// Returns a service that has learned something, and whose next write fails.
fn learned_before(fault: Fault) -> (TempDir, Service, String) {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    let id = create(&service);
    learn(&service, &id, "before").unwrap();
    inject(&service, fault);
    (dir, service, id)
}

fn assert_stopped(service: &Service, id: &str) {
    assert!(is_failed(learn(service, id, "later")));
    assert!(is_failed(service.observe(
        id,
        Observation::strings(["later"]),
        None
    )));
    assert!(is_failed(service.clear_all(id, None)));
    assert!(is_failed(service.delete_session(id)));
    assert!(is_failed(service.create_session(NewSession::new("m"))));
    assert!(is_failed(service.maintain()));
    assert!(matches!(service.health(), ServiceHealth::Failed(_)));
    assert!(service.figures().failure.is_some());
    // Reads go on.
    assert_eq!(count(service, "before"), 2);
    assert!(service.stm(id).is_ok() && service.predictions(id).is_ok());
    assert!(is_failed(service.close()));
}

#[test]
fn a_failure_stops_all_writes_and_keeps_what_was_acknowledged() {
    for fault in [Fault::Write, Fault::Sync, Fault::Panic] {
        let (dir, service, id) = learned_before(fault);
        assert!(is_failed(learn(&service, &id, "during")), "{fault:?}");
        assert_stopped(&service, &id);
        drop(service);

        let service = open(dir.path());
        assert_eq!(count(&service, "before"), 2);
        // A whole batch or nothing of it; and what was not written is not there.
        assert!([0, 2].contains(&count(&service, "during")));
        assert!(fault != Fault::Write || count(&service, "during") == 0);
        for word in ["before", "during"] {
            learn(&service, &id, word).unwrap();
            assert_eq!(count(&service, word), 2, "{fault:?}");
        }
        assert_eq!(count(&service, "later"), 0);
        service.close().unwrap();
    }
}

#[test]
fn forgetting_a_node_fails_as_a_whole() {
    for fault in [Fault::Write, Fault::Sync, Fault::Panic] {
        let (dir, service, id) = learned_before(fault);
        assert!(is_failed(service.clear_all(&id, Some("c"))), "{fault:?}");
        assert_stopped(&service, &id);
        drop(service);

        let service = open(dir.path());
        assert!([0, 2].contains(&count(&service, "before")));
        service.clear_all(&id, Some("c")).unwrap().wait().unwrap();
        assert_eq!(count(&service, "before"), 0);
        learn(&service, &id, "after").unwrap();
        assert!(service.clear_all(&id, Some("c")).unwrap().replayed());
        assert_eq!(count(&service, "after"), 2);
    }
}

#[test]
fn a_fold_after_a_failure_stores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    let id = create(&service);
    inject(&service, Fault::Write);
    assert!(is_failed(learn(&service, &id, "lost")));
    // It is in memory, and must not get from there into the store.
    assert_eq!(count(&service, "lost"), 2);
    assert!(is_failed(service.close()));
    assert!(!dir.path().join("nodes").join("n_kato").exists());
}

#[test]
fn a_cause_is_told_without_paths() {
    let failure = |code| {
        let error = std::io::Error::from_raw_os_error(code);
        crate::StorageFailure::new(fjall::Error::Io(error))
    };
    assert!(failure(28).system_error().unwrap().contains("os error 28"));
    let worded = crate::StorageFailure::new("/secret/path is damaged");
    assert_eq!(worded.system_error(), None);
}

/// Teaches a node what the journal does not have, as an operation that ends half-way does.
fn leave_half_way(service: &Service, node_id: &str, word: &str) {
    let shared = &service.shared;
    let entry = shared.nodes.enter(node_id, shared.now());
    let node = entry.in_memory().unwrap();
    let gate = node.gate();
    let guard = node.begin_operation();
    for lesson in &batch(word) {
        node.node().teach(lesson).unwrap();
    }
    drop(guard);
    drop(gate);
}

#[test]
fn a_node_that_was_left_half_way_is_loaded_again_and_no_other_one_is_concerned() {
    for way in ["learn", "read", "fold", "close", "evict", "copy"] {
        let dir = tempfile::tempdir().unwrap();
        let options = ServiceOptions::default()
            .with_fold_interval(std::time::Duration::ZERO)
            .with_max_loaded_nodes(usize::from(way != "evict"));
        let data = dir.path().join("service");
        let service = Service::open(&data, options.clone()).unwrap();
        let (id, beside) = (create(&service), create(&service));
        let made = service.create_session(NewSession::new("other")).unwrap();
        let other = made.wait().unwrap().session_id;
        learn(&service, &id, "before").unwrap();
        for id in [&id, &beside] {
            let observed = service.observe(id, Observation::strings(["seen"]), None);
            observed.unwrap().wait().unwrap();
        }
        leave_half_way(&service, "n", "half");
        learn(&service, &other, "beside").unwrap();
        assert!(matches!(service.health(), ServiceHealth::Healthy));
        match way {
            "learn" => learn(&service, &id, "after").unwrap(),
            "fold" | "evict" => drop(service.maintain().unwrap()),
            "close" => service.close().unwrap(),
            "copy" => {
                let report = service.backup(dir.path().join("copy")).unwrap();
                assert!(report.losses.is_empty(), "{report:?}");
            }
            _ => {}
        }
        assert_eq!(count(&service, "half"), 0, "{way}");
        assert_eq!(count(&service, "before"), 2, "{way}");
        for id in [&id, &beside] {
            assert_eq!(service.stm(id).unwrap().len(), 1, "{way}");
        }
        if way != "close" {
            learn(&service, &id, "half").unwrap();
            assert_eq!(count(&service, "half"), 2, "{way}");
            service.close().unwrap();
        }
        drop(service);
        let open_again = |dir: &Path| Service::open(dir, options.clone()).unwrap();
        let service = open_again(&data);
        let expected = if way == "close" { 0 } else { 2 };
        assert_eq!(count(&service, "half"), expected, "{way}");
        assert_eq!(count(&service, "before"), 2, "{way}");
        if way == "copy" {
            let copy = open_again(&dir.path().join("copy"));
            assert_eq!((count(&copy, "half"), count(&copy, "before")), (0, 2));
        }
    }
}

#[test]
fn a_node_that_is_loaded_again_says_so_while_somebody_has_it_in_hand() {
    let dir = tempfile::tempdir().unwrap();
    let service = open(dir.path());
    let id = create(&service);
    learn(&service, &id, "before").unwrap();
    let shared = &service.shared;
    let node = shared.nodes.enter("n", shared.now()).in_memory().unwrap();
    let failure = node.fail(crate::StorageFailure::new("the node is full"));
    drop(node);
    assert!(failure.to_string().contains("full"));
    // Somebody else has the node in hand: told, and over as soon as that ends.
    let held = shared.nodes.enter("n", shared.now()).in_memory().unwrap();
    let refused = learn(&service, &id, "during").unwrap_err();
    let ServiceError::NodeInterrupted { node_id, source } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(node_id, "n");
    assert!(source.to_string().contains("full"));
    drop(held);
    learn(&service, &id, "during").unwrap();
    assert_eq!(count(&service, "during"), 2);
    assert_eq!(count(&service, "before"), 2);
}

//! Idempotency keys.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use kato_engine::{Observation, Sequence};
use kato_service::{Service, ServiceError, ServiceOptions};

use crate::support::{create, frequency, timed, words};

fn abc() -> Sequence {
    Sequence::of(words(["a", "b", "c"])).learn_at_end()
}

const ABC: &str = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9";

#[test]
fn a_repeated_request_acts_once_and_answers_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let on_disk = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    for service in [Service::in_memory(ServiceOptions::default()), on_disk] {
        let id = create(&service, "n");
        let first = service.observe_sequence(&id, abc(), Some("k")).unwrap();
        // Also before the first is acknowledged, and from another session.
        let second = service.observe_sequence(&id, abc(), Some("k")).unwrap();
        let other = create(&service, "n");
        let third = service.observe_sequence(&other, abc(), Some("k")).unwrap();
        assert_eq!(
            [first.replayed(), second.replayed(), third.replayed()],
            [false, true, true]
        );
        let first = first.wait().unwrap();
        assert_eq!(second.wait().unwrap(), first);
        assert_eq!(third.wait().unwrap(), first);
        assert_eq!(frequency(&service, "n", ABC), 1);
        assert_eq!(
            (service.figures().learns, service.figures().replays),
            (1, 2)
        );
        // Another node is another scope.
        let elsewhere = create(&service, "m");
        assert!(
            !service
                .observe_sequence(&elsewhere, abc(), Some("k"))
                .unwrap()
                .replayed()
        );
    }
}

#[test]
fn a_key_belongs_to_one_request() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    service
        .observe(&id, Observation::strings(["a"]), Some("k"))
        .unwrap()
        .wait()
        .unwrap();
    let refused = [
        service
            .observe(&id, Observation::strings(["b"]), Some("k"))
            .err(),
        service.learn(&id, Some("k")).err(),
        service.clear_all(&id, Some("k")).err(),
    ];
    for error in refused {
        assert!(matches!(error, Some(ServiceError::KeyReused { key }) if key == "k"));
    }
    assert_eq!(service.stm(&id).unwrap().len(), 1);
}

#[test]
fn a_request_that_failed_may_be_repeated() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    assert!(matches!(
        service.learn(&id, Some("k")),
        Err(ServiceError::EmptyStm)
    ));
    for word in ["a", "b"] {
        service
            .observe(&id, Observation::strings([word]), None)
            .unwrap()
            .wait()
            .unwrap();
    }
    assert!(!service.learn(&id, Some("k")).unwrap().replayed());
    assert!(service.learn(&id, Some("k")).unwrap().replayed());
}

#[test]
fn keys_are_visible_ascii() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    let long = "k".repeat(256);
    for key in ["", "a b", "ü", "a\n", &long] {
        assert!(matches!(
            service.clear_stm(&id, Some(key)),
            Err(ServiceError::KeyInvalid)
        ));
    }
    assert!(service.clear_stm(&id, Some(&long[1..])).is_ok());
}

#[test]
fn keys_survive_a_restart_and_clearing() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let id = create(&service, "n");
    let first = service
        .observe_sequence(&id, abc(), Some("k"))
        .unwrap()
        .wait()
        .unwrap();
    service.clear_all(&id, Some("c")).unwrap().wait().unwrap();
    service.close().unwrap();
    drop(service);
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let again = service.observe_sequence(&id, abc(), Some("k")).unwrap();
    assert!(again.replayed() && service.clear_all(&id, Some("c")).unwrap().replayed());
    assert_eq!(again.wait().unwrap(), first);
    assert_eq!(frequency(&service, "n", ABC), 0);
}

#[test]
fn old_keys_are_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (options, clock) = timed();
    let options = options.with_session_ttl(1_000_000);
    let on_disk = Service::open(dir.path(), options.clone()).unwrap();
    for service in [Service::in_memory(options), on_disk] {
        let id = create(&service, "n");
        service.clear_stm(&id, Some("k")).unwrap().wait().unwrap();
        clock.advance(Duration::from_secs(24 * 60 * 60));
        // Another request may use it, though nothing was tidied.
        assert!(
            !service
                .learn(&id, Some("k"))
                .is_err_and(|error| matches!(error, ServiceError::KeyReused { .. }))
        );
        service.clear_stm(&id, Some("k")).unwrap().wait().unwrap();
        clock.advance(Duration::from_secs(60));
        service.maintain().unwrap();
        assert!(service.clear_stm(&id, Some("k")).unwrap().replayed());
        clock.advance(Duration::from_secs(24 * 60 * 60));
        assert_eq!(service.maintain().unwrap().keys_forgotten, 1);
    }
}

#[test]
fn of_requests_at_once_one_acts() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    for round in 0..20 {
        let (key, start) = (format!("k{round}"), Barrier::new(4));
        let replayed: usize = thread::scope(|scope| {
            let request = || {
                let id = create(&service, "n");
                start.wait();
                let receipt = service.observe_sequence(&id, abc(), Some(&key)).unwrap();
                let replayed = receipt.replayed();
                receipt.wait().unwrap();
                usize::from(replayed)
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(request)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(replayed, 3);
        assert_eq!(frequency(&service, "n", ABC), round + 1);
    }
}

#[test]
fn without_a_journal_the_latest_keys_are_known_and_memory_is_bounded() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    let clear = |key: usize| service.clear_stm(&id, Some(&key.to_string())).unwrap();
    for key in 0..100_001 {
        assert!(!clear(key).replayed());
    }
    assert!(clear(100_000).replayed() && clear(1).replayed());
    assert!(!clear(0).replayed(), "the oldest made room");
}

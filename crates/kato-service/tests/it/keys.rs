//! Idempotency keys.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use kato_engine::{EngineError, Observation, Sequence};
use kato_model::{KatoGeneration, PatternName};
use kato_service::{Service, ServiceError, ServiceOptions};
use serde_json::json;

use crate::support::{create, frequency, lesson, settings, timed, words};

fn abc() -> Sequence {
    Sequence::new(words(["a", "b", "c"])).learn_at_end()
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

/// Sends the sequence `o p`, `q r`, of which the second pattern is retired, and expects to be refused.
fn is_refused_again(service: &Service, id: &str, learns: bool, key: &str) -> bool {
    let events = [["o", "p"], ["q", "r"]].map(Observation::strings);
    let mut sequence = Sequence::new(events);
    sequence.learn_after_each = learns;
    let receipt = service.observe_sequence(id, sequence, Some(key)).unwrap();
    let replayed = receipt.replayed();
    let retired = PatternName::of_events(&[["q", "r"]]);
    assert!(matches!(
        receipt.wait(),
        Err(ServiceError::Engine(EngineError::Retired { name, .. })) if name == retired
    ));
    replayed
}

#[test]
fn what_a_sequence_teaches_before_it_is_refused_it_teaches_once() {
    let taught = PatternName::of_events(&[["o", "p"]]).to_string();
    for generation in [KatoGeneration::V3_10, KatoGeneration::V6] {
        let dir = tempfile::tempdir().unwrap();
        let options = || ServiceOptions::default().with_generation(generation);
        let open = || Service::open(dir.path(), options()).unwrap();
        for service in [Service::in_memory(options()), open()] {
            let id = create(&service, "n");
            let retired = [PatternName::of_events(&[["q", "r"]])];
            service.retire(&id, &retired, None).unwrap().wait().unwrap();
            // It learns when it is told to, or by itself at each event, of which it would keep some.
            let by_itself = json!({"max_pattern_length": 1, "stm_mode": "ROLLING"});
            let other = create(&service, "n");
            let changed = service.update_config(&other, settings(by_itself));
            changed.unwrap().wait().unwrap();
            for (id, learns, key) in [(&id, true, "told"), (&other, false, "by-itself")] {
                assert!(!is_refused_again(&service, id, learns, key));
                assert!(is_refused_again(&service, id, learns, key));
                assert!(
                    service.stm(id).unwrap().is_empty(),
                    "the session is as before"
                );
            }
            assert_eq!(frequency(&service, "n", &taught), 2);
            assert_eq!(service.figures().replays, 2);
        }
        // The pattern is not retired any more; the first answer is still the answer.
        for unretires in [false, true] {
            let service = open();
            let id = create(&service, "n");
            if unretires {
                let retired = [PatternName::of_events(&[["q", "r"]])];
                service
                    .unretire(&id, &retired, None)
                    .unwrap()
                    .wait()
                    .unwrap();
            }
            assert!(is_refused_again(&service, &id, true, "told"));
            assert_eq!(frequency(&service, "n", &taught), 2);
            service.close().unwrap();
        }
    }
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

/// Bytes that a batch of so many sequences puts into the journal.
fn journaled(n: usize, key: Option<&str>) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let id = create(&service, "n");
    let items = (0..n).map(|n| lesson([&n.to_string(), "b", "c"])).collect();
    let before = service.figures().journal_bytes;
    service
        .learn_batch(&id, items, key)
        .unwrap()
        .wait()
        .unwrap();
    service.figures().journal_bytes - before
}

#[test]
fn a_key_costs_a_few_bytes_a_learn_and_not_its_name() {
    const LEARNS: u64 = 1000;
    let key = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let with_key = journaled(LEARNS as usize, Some(key));
    let bytes = with_key - journaled(LEARNS as usize, None);
    println!("{bytes} bytes for {LEARNS} learns under one key");
    assert!(bytes <= 4 * LEARNS, "{bytes}");
}

#[test]
fn the_answer_to_a_batch_is_the_first_one_whoever_asks_again() {
    let dir = tempfile::tempdir().unwrap();
    let unsorted = || {
        let words = ["b", "a"].map(str::to_owned).to_vec();
        let event = kato_model::Event::in_given_order(words);
        vec![
            kato_engine::node::Lesson::new([event]),
            lesson(["x"]),
            lesson(["c", "d"]),
            lesson(["c", "d"]),
        ]
    };
    let mut first = Vec::new();
    for round in 0..2 {
        let mut options = ServiceOptions::default();
        options.engine.session_sort_symbols = true;
        let service = Service::open(dir.path(), options).unwrap();
        for (key, sorts) in [("sorted", true), ("given", false)] {
            let session = |sorts: bool| {
                let config = crate::support::object(serde_json::json!({"sort_symbols": sorts}));
                let new = kato_service::answer::NewSession {
                    config: Some(config),
                    ..kato_service::answer::NewSession::new("n")
                };
                service
                    .create_session(new)
                    .unwrap()
                    .wait()
                    .unwrap()
                    .session_id
            };
            if round == 0 {
                let asked = service.learn_batch(&session(sorts), unsorted(), Some(key));
                first.push(asked.unwrap().wait().unwrap());
            }
            // Another session, which sorts otherwise.
            let again = service
                .learn_batch(&session(!sorts), unsorted(), Some(key))
                .unwrap();
            assert!(again.replayed());
            assert_eq!(
                &again.wait().unwrap(),
                &first[usize::from(!sorts)],
                "{key} {round}"
            );
        }
        service.close().unwrap();
    }
    assert_ne!(first[0].outcomes[0].name(), first[1].outcomes[0].name());
}

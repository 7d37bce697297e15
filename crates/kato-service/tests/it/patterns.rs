//! Patterns that are counted, retired, un-retired and purged.

use std::time::Duration;

use kato_engine::EngineError;
use kato_model::{KatoGeneration, PatternName};
use kato_service::answer::NextQuestion;
use kato_service::{Receipt, Service, ServiceError, ServiceOptions};

use crate::support::{copy, create, export, frequency, known, lesson, teach, words};

fn options() -> ServiceOptions {
    ServiceOptions::default()
        .with_generation(KatoGeneration::V6)
        .with_fold_interval(Duration::ZERO)
}

fn name<const N: usize>(pattern: [&str; N]) -> PatternName {
    PatternName::of_events(&pattern.map(|symbol| [symbol]))
}

fn done<T>(receipt: Result<Receipt<T>, ServiceError>) -> T {
    receipt.unwrap().wait().unwrap()
}

/// The names of the patterns that a new session predicts.
fn predicted<const N: usize>(service: &Service, node: &str, state: [&str; N]) -> Vec<String> {
    let id = create(service, node);
    for word in words(state) {
        done(service.observe(&id, word, None));
    }
    let found = service.predictions(&id).unwrap().predictions;
    let mut names: Vec<_> = found.iter().map(|found| found.name.to_string()).collect();
    names.sort();
    names
}

/// The symbols that can come next.
fn next(service: &Service, id: &str) -> Vec<String> {
    let found = service.next(
        id,
        &NextQuestion::default(),
        &kato_prediction::Cancel::never(),
    );
    let found = found.unwrap().next;
    let mut symbols: Vec<_> = found.into_iter().map(|(symbol, _)| symbol).collect();
    symbols.sort();
    symbols
}

fn is_refused(service: &Service, id: &str, pattern: [&str; 2]) -> bool {
    done(service.clear_stm(id, None));
    for word in words(pattern) {
        done(service.observe(id, word, None));
    }
    match service.learn(id, None) {
        Err(ServiceError::Engine(EngineError::Retired { name: found, .. })) => {
            assert_eq!(found, name(pattern));
            // Nothing is lost of what was observed.
            assert_eq!(service.stm(id).unwrap().len(), 2);
            true
        }
        learned => {
            learned.unwrap().wait().unwrap();
            false
        }
    }
}

#[test]
fn a_fold_ahead_of_retiring_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), options()).unwrap();
    let id = create(&service, "n");
    teach(&service, &id, ["a", "b"]);
    assert_eq!(service.figures().folds, 0);
    done(service.retire(&id, &[name(["a", "b"])], None));
    assert_eq!(service.figures().folds, 1);
}

#[test]
fn a_retired_pattern_is_hidden_from_all_sessions_and_not_learned_again() {
    let dir = tempfile::tempdir().unwrap();
    let on_disk = Service::open(dir.path(), options()).unwrap();
    for service in [Service::in_memory(options()), on_disk] {
        let (id, other) = (create(&service, "n"), create(&service, "n"));
        teach(&service, &id, ["a", "b"]);
        teach(&service, &id, ["a", "c"]);
        let before = known(&service, "n");
        assert_eq!(next(&service, &other), ["a", "b", "c"]);
        let retired = done(service.retire(&id, &[name(["a", "b"]), name(["x", "y"])], None));
        assert_eq!(retired.outcome.retired.len(), 2);
        let again = done(service.retire(&other, &[name(["a", "b"])], None));
        assert_eq!(again.outcome.already_retired, [name(["a", "b"])]);
        assert_eq!(
            predicted(&service, "n", ["a", "b"]),
            [name(["a", "c"]).to_string()]
        );
        assert!(is_refused(&service, &other, ["a", "b"]));
        // Nobody taught it, and nobody can.
        assert!(is_refused(&service, &other, ["x", "y"]));
        // It is still known, and counted.
        assert_eq!(service.n_patterns("n").unwrap(), 2);
        assert_eq!(frequency(&service, "n", &name(["a", "b"]).to_string()), 1);
        assert_eq!(known(&service, "n"), before);
        assert_eq!(next(&service, &other), ["a", "c"]);
        let raised = done(service.unretire(&id, &[name(["a", "b"]), name(["q", "q"])], None));
        assert_eq!(raised.outcome.un_retired, [name(["a", "b"])]);
        assert_eq!(raised.outcome.not_retired, [name(["q", "q"])]);
        assert_eq!(predicted(&service, "n", ["a", "b"]).len(), 2);
        assert!(!is_refused(&service, &other, ["a", "b"]));
        assert_eq!(service.n_patterns("unknown").unwrap(), 0);
    }
}

#[test]
fn what_is_purged_leaves_nothing_behind() {
    let (dir, twin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let kept = vec![lesson(["a", "c"]), lesson(["c", "d"])];
    {
        let service = Service::open(dir.path(), options()).unwrap();
        let id = create(&service, "n");
        done(service.learn_batch(&id, vec![lesson(["a", "b"]), lesson(["a", "b"])], None));
        done(service.learn_batch(&id, kept.clone(), None));
        service.maintain().unwrap();
        // In the journal alone.
        done(service.learn_batch(&id, vec![lesson(["a", "b"]), lesson(["e", "f"])], None));
        let doomed = [name(["a", "b"]), name(["e", "f"])];
        done(service.retire(&id, &doomed, None));
        let asked = [name(["a", "b"]), name(["c", "d"])];
        let purged = done(service.purge(&id, Some(&asked), 1000, None)).outcome;
        assert_eq!(purged.purged, [name(["a", "b"])]);
        assert_eq!(
            purged.failed.keys().collect::<Vec<_>>(),
            [&name(["c", "d"])]
        );
        assert_eq!(purged.remaining, 1);
        let purged = done(service.purge(&id, None, 1000, None)).outcome;
        assert_eq!((purged.purged.len(), purged.remaining), (1, 0));
        assert_eq!(service.n_patterns("n").unwrap(), 2);
        // It stays retired.
        assert!(is_refused(&service, &id, ["a", "b"]));
        done(service.unretire(&id, &doomed, None));
        service.close().unwrap();
    }
    {
        let service = Service::open(twin.path(), options()).unwrap();
        let id = create(&service, "n");
        done(service.learn_batch(&id, kept, None));
        let service_of = Service::open(dir.path(), options()).unwrap();
        assert_eq!(known(&service_of, "n"), known(&service, "n"));
        service.close().unwrap();
    }
    assert_eq!(export(dir.path(), "n_kato"), export(twin.path(), "n_kato"));
}

#[test]
fn a_request_with_a_key_purges_once() {
    for on_disk in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let service = match on_disk {
            true => Service::open(dir.path(), options()).unwrap(),
            false => Service::in_memory(options()),
        };
        let id = create(&service, "n");
        let names = [name(["a", "b"]), name(["a", "c"])];
        teach(&service, &id, ["a", "b"]);
        teach(&service, &id, ["a", "c"]);
        let first = done(service.retire(&id, &names, Some("r")));
        assert_eq!(done(service.retire(&id, &names, Some("r"))), first);
        let first = done(service.purge(&id, None, 1, Some("p")));
        let other = create(&service, "n");
        assert_eq!(done(service.purge(&other, None, 1, Some("p"))), first);
        assert_eq!(service.n_patterns("n").unwrap(), 1);
    }
}

#[test]
fn what_was_taken_back_stays_so_however_the_service_ends() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), options()).unwrap();
    let id = create(&service, "n");
    for pattern in [["a", "b"], ["a", "c"], ["a", "d"]] {
        teach(&service, &id, pattern);
    }
    done(service.retire(&id, &[name(["a", "b"]), name(["a", "c"])], None));
    done(service.purge(&id, Some(&[name(["a", "c"])]), 1, None));
    // Taught behind the tombstones, and in the journal alone.
    teach(&service, &id, ["a", "e"]);
    let known_before = known(&service, "n");
    let check = |service: &Service| {
        assert!(service.losses().is_empty());
        assert_eq!(known(service, "n"), known_before);
        assert_eq!(service.n_patterns("n").unwrap(), 3);
        let hidden = predicted(service, "n", ["a", "b"]);
        assert_eq!(hidden.len(), 2, "{hidden:?}");
        let id = create(service, "n");
        assert!(is_refused(service, &id, ["a", "b"]) && is_refused(service, &id, ["a", "c"]));
    };
    check(&service);
    // As a kill leaves it.
    let killed = tempfile::tempdir().unwrap();
    copy(dir.path(), killed.path());
    check(&Service::open(killed.path(), options()).unwrap());
    service.maintain().unwrap();
    service.close().unwrap();
    drop(service);
    let service = Service::open(dir.path(), options()).unwrap();
    check(&service);
    // Clearing forgets tombstones, too.
    let id = create(&service, "n");
    done(service.clear_all(&id, None));
    assert!(!is_refused(&service, &id, ["a", "b"]));
}

#[test]
fn an_index_follows() {
    let dir = tempfile::tempdir().unwrap();
    let options = options()
        .with_index_after_patterns(1)
        .with_index_after_percent(1);
    let service = Service::open(dir.path(), options).unwrap();
    let id = create(&service, "n");
    for pattern in [["a", "b"], ["a", "c"], ["a", "d"]] {
        teach(&service, &id, pattern);
    }
    assert_eq!(service.write_indexes().faults, []);
    done(service.retire(&id, &[name(["a", "b"])], None));
    assert_eq!(predicted(&service, "n", ["a"]).len(), 2);
    done(service.purge(&id, None, 1000, None));
    assert_eq!(predicted(&service, "n", ["a"]).len(), 2);
    assert_eq!(service.n_patterns("n").unwrap(), 2);
    teach(&service, &id, ["a", "e"]);
    assert_eq!(service.write_indexes().faults, []);
    assert_eq!(predicted(&service, "n", ["a"]).len(), 3);
    assert!(known(&service, "n").find("\"b\"").is_none());
}

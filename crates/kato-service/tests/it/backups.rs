//! Copies of a running service.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use kato_engine::Observation;
use kato_engine::node::Lesson;
use kato_service::{Receipt, Service, ServiceError, ServiceOptions};

use crate::support::{create, frequency, known, lesson, teach};

fn options() -> ServiceOptions {
    // Every round of maintenance folds.
    ServiceOptions::default().with_fold_interval(Duration::ZERO)
}

/// What a request with this key teaches.
fn batch(key: &str) -> Vec<Lesson> {
    vec![lesson(["x", key]), lesson(["y", key])]
}

fn learn(service: &Service, id: &str, key: &str) -> bool {
    let learned = service.learn_batch(id, batch(key), Some(key)).unwrap();
    let replayed = learned.replayed();
    learned.wait().unwrap();
    replayed
}

#[test]
fn a_copy_has_what_was_acknowledged_before_it_and_nothing_by_halves() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(&dir.path().join("service"), options()).unwrap();
    let (is_over, acknowledged) = (AtomicBool::new(false), Mutex::new(BTreeSet::new()));
    let observed = Mutex::new(Vec::new());
    let copies: Vec<_> = (0..3)
        .map(|n| dir.path().join(format!("copy-{n}")))
        .collect();
    let before = thread::scope(|scope| {
        for worker in 0..3 {
            let (service, is_over, acknowledged) = (&service, &is_over, &acknowledged);
            let observed = &observed;
            scope.spawn(move || {
                let (id, node) = (create(service, "n"), format!("n{worker}"));
                let own = create(service, &node);
                for n in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let key = format!("{worker}-{n}");
                    learn(service, &id, &key);
                    learn(service, &own, &key);
                    acknowledged.lock().unwrap().insert((worker, key.clone()));
                    let seen = service.observe(&id, Observation::strings([key]), None);
                    let length = seen.unwrap().wait().unwrap().observed.stm_length;
                    observed.lock().unwrap().push((id.clone(), length));
                }
            });
        }
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                service.maintain().unwrap();
            }
        });
        let mut before = Vec::new();
        for copy in &copies {
            let so_far = before
                .last()
                .map_or(0, |(keys, _): &(BTreeSet<_>, _)| keys.len());
            while acknowledged.lock().unwrap().len() < so_far + 40 {
                thread::sleep(Duration::from_millis(5));
            }
            let keys = acknowledged.lock().unwrap().clone();
            let lengths = observed.lock().unwrap().clone();
            service.backup(copy).unwrap();
            before.push((keys, lengths));
        }
        is_over.store(true, Ordering::Relaxed);
        before
    });
    for (copy, (keys, lengths)) in copies.iter().zip(before) {
        let copied = Service::open(copy, options()).unwrap();
        assert!(copied.losses().is_empty(), "{:?}", copied.losses());
        for (id, length) in lengths {
            assert!(copied.stm(&id).unwrap().len() >= length);
        }
        let id = create(&copied, "n");
        let all = copied.symbols("n").unwrap();
        for (worker, key) in &keys {
            for node in ["n".to_owned(), format!("n{worker}")] {
                let symbols = copied.symbols(&node).unwrap();
                assert_eq!(
                    symbols.get(key).map(|counts| counts.frequency),
                    Some(2),
                    "{node} {key}"
                );
            }
            assert!(learn(&copied, &id, key), "{key}");
        }
        // What came later is there as a whole, with its key, or not at all.
        for (key, counts) in all {
            if key.len() > 1 {
                assert_eq!(counts.frequency, 2, "{key}");
                assert!(learn(&copied, &id, &key), "{key}");
            }
        }
        copied.close().unwrap();
    }
    // The one that was copied goes on, and nothing of the copying is left.
    service.close().unwrap();
    assert!(!dir.path().join("service/STAGED").exists());
    drop(service);
    let service = Service::open(&dir.path().join("service"), options()).unwrap();
    assert!(service.losses().is_empty());
    for (_, key) in acknowledged.into_inner().unwrap() {
        let symbols = service.symbols("n").unwrap();
        assert_eq!(symbols[&key].frequency, 2);
    }
}

#[test]
fn a_copy_is_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(&dir.path().join("service"), options()).unwrap();
    let id = create(&service, "n");
    let name = teach(&service, &id, ["a", "b"]);
    service.maintain().unwrap();
    let copy = dir.path().join("copy");
    fs::create_dir(&copy).unwrap();
    service.backup(&copy).unwrap();
    let was = known(&service, "n");
    teach(&service, &id, ["c", "d"]);
    service.clear_all(&id, None).unwrap().wait().unwrap();
    service.close().unwrap();

    let copied = Service::open(&copy, options()).unwrap();
    assert_eq!(known(&copied, "n"), was);
    assert!(copied.check(&id));
    teach(&copied, &id, ["a", "b"]);
    copied.close().unwrap();
    drop(copied);
    let copied = Service::open(&copy, options()).unwrap();
    assert_eq!(frequency(&copied, "n", &name), 2);
    assert_eq!(frequency(&service, "n", &name), 0);
}

#[test]
fn a_copy_goes_nowhere_where_something_is_and_an_unfinished_one_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(&dir.path().join("service"), options()).unwrap();
    teach(&service, &create(&service, "n"), ["a", "b"]);
    let taken = dir.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("letter"), "dear").unwrap();
    assert!(matches!(
        service.backup(&taken),
        Err(ServiceError::NotEmpty { .. })
    ));
    assert_eq!(fs::read_dir(&taken).unwrap().count(), 1);
    let in_memory = Service::in_memory(options());
    let nowhere = dir.path().join("nowhere");
    assert!(matches!(
        in_memory.backup(&nowhere),
        Err(ServiceError::InMemory)
    ));

    let copy = dir.path().join("copy");
    service.backup(&copy).unwrap();
    // As the copying leaves it when it is broken off.
    fs::write(copy.join("UNFINISHED"), "").unwrap();
    assert!(matches!(
        Service::open(&copy, options()),
        Err(ServiceError::Unfinished { .. })
    ));
    service.close().unwrap();
    let late = service.backup(&dir.path().join("late"));
    assert!(matches!(late, Err(ServiceError::Closed)));
    assert!(service.clear_stm("none", None).map(Receipt::wait).is_err());
}

//! Copies of a running service.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use kato_engine::Observation;
use kato_engine::node::Lesson;
use kato_service::backups::{self, BackupState};
use kato_service::figures::DataLoss;
use kato_service::{Receipt, Service, ServiceError, ServiceOptions};
use kato_test_needs::wait_until;

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
    let service = Service::open(dir.path().join("service"), options()).unwrap();
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
            wait_until("more is acknowledged", || {
                acknowledged.lock().unwrap().len() >= so_far + 40
            });
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
    let service = Service::open(dir.path().join("service"), options()).unwrap();
    assert!(service.losses().is_empty());
    for (_, key) in acknowledged.into_inner().unwrap() {
        let symbols = service.symbols("n").unwrap();
        assert_eq!(symbols[&key].frequency, 2);
    }
}

#[test]
fn a_copy_is_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path().join("service"), options()).unwrap();
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
    let service = Service::open(dir.path().join("service"), options()).unwrap();
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
    let late = service.backup(dir.path().join("late"));
    assert!(matches!(late, Err(ServiceError::Closed)));
    assert!(service.clear_stm("none", None).map(Receipt::wait).is_err());
}

/// A service with folded nodes, each with one pattern; its directory and the pattern.
fn folded(dir: &Path, nodes: &[&str]) -> (Service, String) {
    let service = Service::open(dir, options()).unwrap();
    let mut name = String::new();
    for node in nodes {
        name = teach(&service, &create(&service, node), ["a", "b"]);
        service.maintain().unwrap();
    }
    (service, name)
}

/// The manifests of a knowledge base.
fn manifests(knowledge_base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(knowledge_base).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_manifest = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("MANIFEST")
    };
    paths.filter(is_manifest).collect()
}

/// The only segment of a knowledge base.
fn segment(knowledge_base: &Path) -> PathBuf {
    let mut segments = fs::read_dir(knowledge_base.join("segments")).unwrap();
    segments.next().unwrap().unwrap().path()
}

#[test]
fn one_damaged_node_and_what_is_none_keep_no_other_node_from_being_copied() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("service");
    let names = ["whole", "manifest", "segment", "gone", "emptied"];
    let (service, pattern) = folded(&data, &names);
    service.close().unwrap();
    drop(service);
    let nodes = data.join("nodes");
    // All of them: one alone has a twin.
    for path in manifests(&nodes.join("manifest_kato")) {
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    for path in manifests(&nodes.join("emptied_kato")) {
        fs::remove_file(path).unwrap();
    }
    fs::remove_file(segment(&nodes.join("segment_kato"))).unwrap();
    fs::remove_dir_all(nodes.join("gone_kato")).unwrap();
    fs::write(nodes.join("letter"), "dear").unwrap();
    fs::create_dir(nodes.join("photos")).unwrap();
    fs::write(nodes.join("photos/sea"), "blue").unwrap();

    let service = Service::open(&data, options()).unwrap();
    let copy = dir.path().join("copy");
    let report = service.backup(&copy).unwrap();
    assert_eq!(report.foreign, ["letter", "photos"]);
    let mut lost: Vec<_> = report.losses.iter().map(ToString::to_string).collect();
    lost.sort();
    assert_eq!(lost.len(), 4, "{lost:?}");
    for (loss, (node, file)) in lost.iter().zip([
        ("emptied", "emptied_kato/MANIFEST"),
        ("gone", "gone_kato"),
        ("manifest", "manifest_kato/MANIFEST"),
        ("segment", "segment_kato/segments/"),
    ]) {
        let is_told = loss.contains(&format!("{node:?}")) && loss.contains(file);
        assert!(is_told && !loss.contains("service/nodes"), "{loss}");
    }
    assert_eq!(report.knowledge_bases, 4);
    // What is damaged is as good as the original.
    let damaged = copy.join("nodes/manifest_kato");
    assert_eq!(
        fs::read(segment(&damaged)).unwrap(),
        fs::read(segment(&nodes.join("manifest_kato"))).unwrap()
    );
    assert_eq!(fs::read(nodes.join("letter")).unwrap(), b"dear");
    assert!(nodes.join("photos/sea").exists());

    for dir in [&data, &copy] {
        let is_copy = dir == &copy;
        let opened = match is_copy {
            true => Service::open(dir, options()).unwrap(),
            false => service.clone(),
        };
        assert_eq!(frequency(&opened, "whole", &pattern), 1);
        for node in &names[1..] {
            assert!(opened.pattern(node, &pattern).is_err(), "{node}");
            assert!(opened.symbols(node).is_err(), "{node}");
        }
        if is_copy {
            let told = opened.losses();
            let is_told = |loss: &DataLoss| matches!(loss, DataLoss::Earlier { count: 4, .. });
            assert!(told.iter().any(is_told), "{told:?}");
        }
    }
}

#[test]
fn a_copy_leaves_room_and_is_counted_until_it_is_a_service() {
    let dir = tempfile::tempdir().unwrap();
    let (service, _) = folded(&dir.path().join("service"), &["n"]);
    service.close().unwrap();
    drop(service);
    let strict = options().with_backup_reserve(Some(u64::MAX));
    let service = Service::open(dir.path().join("service"), strict).unwrap();
    let copy = dir.path().join("copy");
    let refused = service.backup(&copy).unwrap_err();
    assert!(matches!(refused, ServiceError::NoRoom { .. }), "{refused}");
    assert!(
        refused.to_string().contains("--backup-reserve"),
        "{refused}"
    );
    assert!(!copy.exists());
    drop(service);

    let service = Service::open(dir.path().join("service"), options()).unwrap();
    let report = service.backup(&copy).unwrap();
    assert!(report.bytes > 0 && report.losses.is_empty() && report.foreign.is_empty());
    assert_eq!(BackupState::of(&copy), BackupState::Whole);
    assert_eq!(
        BackupState::of(dir.path().join("service")),
        BackupState::Other
    );
    // As a kill leaves it.
    fs::write(copy.join("UNFINISHED"), "").unwrap();
    assert_eq!(BackupState::of(&copy), BackupState::BrokenOff);
    backups::remove(&copy).unwrap();
    assert!(!copy.exists());

    service.backup(&copy).unwrap();
    let copied = Service::open(&copy, options()).unwrap();
    for dir in [&copy, &dir.path().join("service")] {
        assert_eq!(BackupState::of(dir), BackupState::Other);
        let refused = backups::remove(dir).unwrap_err();
        assert!(matches!(refused, ServiceError::NotABackup { .. }));
    }
    drop(copied);
}

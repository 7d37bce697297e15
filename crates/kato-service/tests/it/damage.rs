//! Random damage to any file of a service's directory: what is damaged is an error of its node, or
//! told, or of no consequence; it is never an absence, and never concerns another node.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kato_advice::ErrorKind;
use kato_engine::Sequence;
use kato_prediction::Cancel;
use kato_random::SplitMix64;
use kato_service::answer::{NextQuestion, NodeStorage, NodeView};
use kato_service::figures::DataLoss;
use kato_service::{Service, ServiceError, ServiceOptions};
use kato_store::EmbeddedStore;

use crate::support::{copy, create, files, known, lesson, teach, words};

/// Cases of a plain `cargo test`; `KATO_CHAOS_SCHEDULES` is another number.
const FEW: u64 = 12;

fn options() -> ServiceOptions {
    ServiceOptions::default()
        .with_fold_interval(Duration::ZERO)
        .with_index_after_patterns(1)
        .with_index_after_percent(1)
        .with_backup_reserve(Some(0))
}

/// A directory with nodes `a`, `b` (folded in several commits, indexed, and taught since) and what is
/// known of them.
fn filled(dir: &Path) -> [String; 2] {
    let service = Service::open(dir, options()).unwrap();
    for node in ["a", "b"] {
        let id = create(&service, node);
        for word in ["one", "two", "three"] {
            teach(&service, &id, ["x", word]);
            teach(&service, &id, ["y", word, word]);
            service.maintain().unwrap();
        }
    }
    assert_eq!(service.write_indexes().written.len(), 2);
    for node in ["a", "b"] {
        let id = create(&service, node);
        teach(&service, &id, ["z", "later"]);
    }
    ["a", "b"].map(|node| known(&service, node))
}

/// Damages a file in one of several ways; says how.
fn damage(path: &Path, random: &mut SplitMix64) -> &'static str {
    let mut bytes = fs::read(path).unwrap();
    // Of a log file that is mostly zeros, what was written.
    let used = bytes
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |at| at + 1);
    if used == 0 || random.below(4) == 0 {
        fs::remove_file(path).unwrap();
        return "removed";
    }
    let at = random.below(used);
    let way = match random.below(3) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            "a bit turned"
        }
        1 => {
            bytes.truncate(at);
            "cut"
        }
        _ => {
            let end = bytes.len().min(at + 64);
            bytes[at..end].fill(0);
            "zeros"
        }
    };
    fs::write(path, bytes).unwrap();
    way
}

#[test]
fn damage_is_an_error_of_its_node_and_never_an_absence() {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    let whole = tempfile::tempdir().unwrap();
    let [of_a, of_b] = filled(whole.path());
    let below_a = whole.path().join("nodes/a_kato");
    let all = files(whole.path());
    let (mut refused, mut told, mut of_no_consequence) = (0, 0, 0);
    for case in 0..number("KATO_CHAOS_SCHEDULES").unwrap_or(FEW) {
        let mut random = SplitMix64::from_seed(case);
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        copy(whole.path(), &data);
        // The node's own files, those of its index, and anything but the other node.
        let is_concerned = |path: &&PathBuf| match case % 4 {
            0 | 2 => path.starts_with(&below_a) && !path.starts_with(below_a.join("index")),
            1 => path.starts_with(&below_a),
            _ => !path.starts_with(whole.path().join("nodes/b_kato")),
        };
        let concerned: Vec<_> = all.iter().filter(is_concerned).collect();
        let victim = concerned[random.below(concerned.len())];
        let relative = victim.strip_prefix(whole.path()).unwrap();
        let is_of_node = victim.starts_with(&below_a);
        let way = damage(&data.join(relative), &mut random);
        let what = format!("case {case}: {} {way}", relative.display());

        let service = match Service::open(&data, options()) {
            Ok(service) => service,
            Err(error) => {
                assert!(!is_of_node, "{what}: {error}");
                refused += 1;
                continue;
            }
        };
        let is_told = !service.losses().is_empty();
        assert!(
            is_of_node || is_told || known(&service, "b") == of_b,
            "{what}"
        );
        if is_of_node {
            assert_eq!(known(&service, "b"), of_b, "{what}");
        }
        let read = service.symbols("a");
        match read {
            Ok(_) => {
                assert!(is_told || known(&service, "a") == of_a, "{what}");
                of_no_consequence += 1;
            }
            Err(error) => {
                assert!(is_of_node, "{what}: {error}");
                let is_named =
                    matches!(
                        &error,
                        ServiceError::Node { node_id, .. } if node_id == "a"
                    ) || matches!(&error, ServiceError::Lost { .. } | ServiceError::Engine(_));
                assert!(is_named, "{what}: {error:?}");
                told += 1;
            }
        }
        // Whatever becomes of the one, the other one learns, and is folded, indexed and copied.
        let (id, other) = (create(&service, "a"), create(&service, "b"));
        let learn = |id: &str| {
            let learned = service.learn_batch(id, vec![lesson(["p", "q"])], None)?;
            learned.wait().map(drop)
        };
        let _ = learn(&id);
        learn(&other).unwrap_or_else(|error| panic!("{what}: {error}"));
        let _ = service.maintain();
        let _ = service.write_indexes();
        let copied = dir.path().join("copy");
        let report = service
            .backup(&copied)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        learn(&other).unwrap_or_else(|error| panic!("{what}: {error}"));
        let known_now = known(&service, "b");
        let _ = service.close();
        drop(service);
        let service = Service::open(&data, options()).unwrap();
        assert_eq!(known(&service, "b"), known_now, "{what}");
        let opened = Service::open(&copied, options()).unwrap();
        assert!(opened.symbols("b").is_ok(), "{what}");
        if !report.losses.is_empty() {
            assert!(!opened.losses().is_empty(), "{what}");
        }
    }
    println!("refused {refused}, told {told}, of no consequence {of_no_consequence}");
}

/// Returns how a service describes a node.
fn view(service: &Service, node_id: &str) -> NodeView {
    let mut nodes = service.nodes().into_iter();
    nodes.find(|node| node.node_id == node_id).unwrap()
}

/// Overwrites the segments of node `a` with zeros.
fn blank_segments(data: &Path) {
    for path in files(&data.join("nodes/a_kato/segments")) {
        let len = fs::metadata(&path).unwrap().len();
        fs::write(&path, vec![0; usize::try_from(len).unwrap()]).unwrap();
    }
}

#[test]
fn damage_that_a_head_meets_names_its_node_and_is_told_until_it_is_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let (data, whole) = (dir.path().join("data"), dir.path().join("whole"));
    filled(&data);
    copy(&data, &whole);
    let service = Service::open(&data, options().with_max_loaded_nodes(0)).unwrap();
    let of_a = create(&service, "a");
    let observed = service.observe_sequence(&of_a, Sequence::new(words(["x"])), None);
    observed.unwrap().wait().unwrap();
    let mut query = NextQuestion::default();
    service.next(&of_a, &query, &Cancel::never()).unwrap();
    blank_segments(&data);
    // The events are in memory or in the index, and only what is told of a pattern is in the segments.
    service.next(&of_a, &query, &Cancel::never()).unwrap();
    (query.explain, query.patterns) = (true, 10);
    let error = service.next(&of_a, &query, &Cancel::never()).unwrap_err();
    assert!(
        matches!(&error, ServiceError::Node { node_id, .. } if node_id == "a"),
        "{error:?}"
    );
    let is_damaged = || matches!(view(&service, "a").storage, NodeStorage::Damaged { .. });
    let losses = service.losses();
    assert!(
        matches!(&losses[..], [DataLoss::Unreadable { node_id, .. }] if node_id == "a"),
        "{losses:?}"
    );
    assert!(is_damaged());

    // It leaves memory, and what was found of it stays.
    service.delete_session(&of_a).unwrap().wait().unwrap();
    service.maintain().unwrap();
    assert!(view(&service, "a").totals.is_none());
    assert!(is_damaged());
    assert_eq!(service.losses().len(), 1);

    // An error that tells nothing of it mends nothing.
    for path in files(&whole.join("nodes/a_kato/segments")) {
        let place = data.join(path.strip_prefix(&whole).unwrap());
        fs::copy(&path, place).unwrap();
    }
    let held = EmbeddedStore::open(data.join("nodes/a_kato")).unwrap();
    let error = service.symbols("a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error:?}");
    assert!(is_damaged());
    drop(held);
    service.symbols("a").unwrap();
    assert!(!is_damaged());
    assert!(service.losses().is_empty());
}

// Elsewhere a mapped file cannot be cut off, or ends the process that reads it.
#[cfg(target_os = "linux")]
#[test]
fn damage_of_an_upper_level_concerns_that_level() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let service = Service::open(dir.path(), options()).unwrap();
    let id = create(&service, "b");
    let above = create(&service, "a");
    service.stm(&above).unwrap();
    for path in files(&dir.path().join("nodes/a_kato/index")) {
        if path.ends_with("0.frequencies") {
            fs::File::create(path).unwrap();
        }
    }
    blank_segments(dir.path());
    let query = NextQuestion {
        above: vec!["a".to_owned()],
        ..NextQuestion::default()
    };
    let error = service.next(&id, &query, &Cancel::never()).unwrap_err();
    assert!(error.to_string().contains("\"a\""), "{error}");
    let losses = service.losses();
    assert!(
        matches!(&losses[..], [DataLoss::Unreadable { node_id, .. }] if node_id == "a"),
        "{losses:?}"
    );
    let storage = |node_id| view(&service, node_id).storage;
    assert!(matches!(storage("a"), NodeStorage::Damaged { .. }));
    assert!(matches!(storage("b"), NodeStorage::Whole { .. }));
}

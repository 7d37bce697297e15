//! Building that is cancelled or fails leaves what was there, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kato_engine::node::Lesson;
use kato_engine::{Engine, SessionConfig};
use kato_model::Event;
use kato_prediction::Cancel;
use kato_prediction::disk::{BuildOptions, IndexFileError};
use kato_store::{EmbeddedStore, PatternStore};

use crate::support::{build, engines, events, teach};

/// Moments of a build at which it is cancelled.
const N_MOMENTS: usize = 12;

/// Creates a knowledge base of so many patterns of a few symbols.
fn many(n_patterns: usize) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lesson = |n: usize| {
        let symbols = [n % 7, n % 11, n % 13, n / 143].map(|n| n.to_string());
        (symbols.map(|symbol| Event::new([symbol])).to_vec(), 1)
    };
    teach(&kb, &[(0..n_patterns).map(lesson).collect()]);
    (dir, kb)
}

/// The names of what is in the directory of a knowledge base's indexes, without the lock.
fn listed(kb: &Path) -> Vec<String> {
    let entries = fs::read_dir(kb.join("index")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "LOCK").collect();
    names.sort();
    names
}

/// Compares a few answers over the index with those of memory.
fn check(kb: &Path) {
    let [memory, disk] = engines(kb);
    for (expected, found) in memory.nodes().zip(disk.nodes()) {
        for state in ["1 2 3", "4", "5 0 12 9"].map(events) {
            let config = SessionConfig::default();
            assert_eq!(
                found.predict(&state, &config).unwrap(),
                expected.predict(&state, &config).unwrap()
            );
        }
    }
}

#[test]
fn a_build_that_is_cancelled_leaves_nothing() {
    let (_dir, kb) = many(300);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let cancel = Cancel::new();
    let options = BuildOptions::default().with_cancel(cancel.clone());
    cancel.cancel();
    let built = kato_prediction::disk::build(&store, &options);
    assert!(matches!(built, Err(IndexFileError::Cancelled(_))));
    assert!(listed(&kb).is_empty());
    // What was there stays, and may be too large to be looked through to the end.
    build(&kb);
    let before = listed(&kb);
    let built = kato_prediction::disk::build(&store, &options);
    assert!(matches!(built, Err(IndexFileError::Cancelled(_))));
    assert_eq!(listed(&kb), before);
    check(&kb);
}

#[test]
fn a_build_ends_soon_wherever_it_is_cancelled() {
    let (_dir, kb) = many(6_000);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    // Cancelled when it is asked for the `last` time; returns how often it was asked.
    let asked_until = |last: usize| {
        let n_asked = Arc::new(AtomicUsize::new(0));
        let asked = Arc::clone(&n_asked);
        let cancel = Cancel::when(move || asked.fetch_add(1, Ordering::Relaxed) >= last);
        // So little memory that the patterns are read again and again.
        let options = BuildOptions::default()
            .with_sort_bytes(1 << 14)
            .with_cancel(cancel);
        let built = kato_prediction::disk::build(&store, &options);
        (built, n_asked.load(Ordering::Relaxed))
    };
    let (built, n_asked) = asked_until(usize::MAX);
    built.unwrap();
    check(&kb);
    fs::remove_dir_all(kb.join("index")).unwrap();
    for part in 0..N_MOMENTS {
        let last = n_asked * part / N_MOMENTS;
        let (built, _) = asked_until(last);
        assert!(
            matches!(built, Err(IndexFileError::Cancelled(_))),
            "{last} of {n_asked}: {built:?}"
        );
        assert!(listed(&kb).is_empty(), "{last} of {n_asked}");
    }
    build(&kb);
    check(&kb);
}

#[test]
fn what_fails_leaves_nothing() {
    let (_dir, kb) = many(20);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    for entry in fs::read_dir(kb.join("segments")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 3;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    let built = kato_prediction::disk::build(&store, &BuildOptions::default());
    assert!(matches!(built, Err(IndexFileError::Store(_))), "{built:?}");
    assert!(listed(&kb).is_empty());
}

#[test]
fn stale_indexes_are_removed_and_useful_ones_stay() {
    let (_dir, kb) = many(40);
    build(&kb);
    let whole = listed(&kb);
    let store = Arc::new(EmbeddedStore::open(&kb).unwrap());
    fs::create_dir(kb.join("index").join("building")).unwrap();
    kato_prediction::disk::remove_stale(&store).unwrap();
    assert_eq!(listed(&kb), whole);
    // One of a part is of use.
    let engine = Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>).unwrap();
    let node = engine.nodes().next().unwrap();
    node.teach(&Lesson::new(events("some more"))).unwrap();
    engine.commit().unwrap();
    kato_prediction::disk::remove_stale(&store).unwrap();
    assert_eq!(listed(&kb), whole);
    check(&kb);
    store.compact().unwrap();
    kato_prediction::disk::remove_stale(&store).unwrap();
    assert!(listed(&kb).is_empty());
    // Where there never was one, none of it is made.
    fs::remove_dir_all(kb.join("index")).unwrap();
    kato_prediction::disk::remove_stale(&store).unwrap();
    assert!(!kb.join("index").exists());
}

#[test]
fn an_engine_goes_over_to_an_index_with_what_it_learned_since() {
    let (_dir, kb) = many(200);
    let store = Arc::new(EmbeddedStore::open(&kb).unwrap());
    let open = || Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>).unwrap();
    let (engine, memory) = (open(), open());
    let teach = |text: &str| {
        for engine in [&engine, &memory] {
            for node in engine.nodes() {
                node.teach(&Lesson::new(events(text))).unwrap();
            }
        }
    };
    build(&kb);
    // Committed after the index, a new pattern and a known one; and some that is not committed.
    teach("1 2 new");
    teach("1 1 1 0");
    engine.commit().unwrap();
    teach("1 2 newer");
    teach("1 1 1 0");
    let index = kato_prediction::disk::open(&store).unwrap().unwrap();
    let bytes = |engine: &Engine| {
        engine
            .nodes()
            .map(|node| node.memory_bytes())
            .sum::<usize>()
    };
    let before = bytes(&engine);
    assert_eq!(
        engine
            .adopt_indexes(index.nodes(), index.covered())
            .unwrap(),
        2
    );
    assert!(bytes(&engine) < before);
    teach("1 2 newest");
    let compare = |engine: &Engine| {
        for (expected, found) in memory.nodes().zip(engine.nodes()) {
            for state in ["1 2", "1 1 1", "newer", "9 9"].map(events) {
                let config = SessionConfig::default();
                assert_eq!(
                    found.predict(&state, &config).unwrap(),
                    expected.predict(&state, &config).unwrap()
                );
            }
            assert_eq!(found.symbols().unwrap(), expected.symbols().unwrap());
            let name = kato_model::PatternName::of_events(&events("1 1 1 0"));
            assert_eq!(
                found.frequency(&name).unwrap(),
                expected.frequency(&name).unwrap()
            );
            assert_eq!(found.totals().patterns, expected.totals().patterns);
            assert_eq!(found.totals().learns, expected.totals().learns);
        }
    };
    compare(&engine);
    // Nothing is committed twice.
    engine.commit().unwrap();
    drop(engine);
    let [loaded, indexed] = engines(&kb);
    compare(&loaded);
    compare(&indexed);
}

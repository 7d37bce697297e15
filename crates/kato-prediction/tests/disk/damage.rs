//! Indexes that are missing, stale, cut off or damaged: none of them is believed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_column_reader::crc32;
use kato_engine::node::Lesson;
use kato_engine::{Engine, EngineError, EngineOptions, SessionConfig};
use kato_model::Event;
use kato_prediction::disk::{BuildOptions, IndexFileError};
use kato_store::EmbeddedStore;

use crate::support::{build, engines, events, learning_engines, name, teach};

pub(crate) const TEXTS: [&str; 6] = [
    "the cat sat on the",
    "the cat sat down",
    "a dog ran on",
    "the dog ran",
    "on the mat",
    "mat on a cat",
];

/// Creates a small knowledge base in a directory of its own.
pub(crate) fn small() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lessons = TEXTS.map(|text| (events(text), 2));
    teach(&kb, &[lessons[..3].to_vec(), lessons[2..].to_vec()]);
    (dir, kb)
}

/// Creates what [`small`] does, and so many patterns of one kind that there are lists of pairs and of what begins
/// with a symbol.
pub(crate) fn with_all_lists() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lessons = TEXTS.map(|text| (events(text), 2)).into_iter();
    let many = (0..140).map(|n| (events(&format!("the cat {n} sat")), 1));
    teach(&kb, &[lessons.chain(many).collect()]);
    (dir, kb)
}

/// Returns the only index of a knowledge base.
pub(crate) fn index_dir(kb: &Path) -> PathBuf {
    let entries = fs::read_dir(kb.join("index")).unwrap().flatten();
    let mut dirs = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    let dir = dirs.next().unwrap();
    assert_eq!(dirs.next(), None);
    dir
}

/// Asks both nodes of two engines all kinds of things, and compares.
pub(crate) fn check([memory, disk]: &[Engine; 2]) {
    let config = SessionConfig::default();
    for (expected, found) in memory.nodes().zip(disk.nodes()) {
        let mut states: Vec<Vec<Event>> = TEXTS.map(events).to_vec();
        states.extend(TEXTS.map(|text| events(text)[..1].to_vec()));
        states.push(TEXTS.map(|text| name(&events(text))).to_vec());
        for state in states {
            let answer = found.predict(&state, &config).unwrap();
            assert_eq!(
                answer,
                expected.predict(&state, &config).unwrap(),
                "{state:?}"
            );
        }
        assert_eq!(found.symbols().unwrap(), expected.symbols().unwrap());
        for text in TEXTS {
            let name = kato_model::PatternName::of_events(&events(text));
            assert_eq!(
                found.events(&name).unwrap(),
                expected.events(&name).unwrap()
            );
            assert_eq!(
                found.frequency(&name).unwrap(),
                expected.frequency(&name).unwrap()
            );
            assert_eq!(
                found.pattern(&name).unwrap(),
                expected.pattern(&name).unwrap()
            );
        }
        assert_eq!(found.totals(), expected.totals());
    }
}

#[test]
fn without_damage_answers_are_those_of_memory() {
    let (_dir, kb) = small();
    build(&kb);
    check(&engines(&kb));
}

#[test]
fn an_index_goes_on_to_serve_after_further_commits() {
    let (_dir, kb) = small();
    let store = Arc::new(EmbeddedStore::open(&kb).unwrap());
    assert!(kato_prediction::disk::open(&store).unwrap().is_none());
    let options = BuildOptions::default();
    let report = kato_prediction::disk::build(&store, &options).unwrap();
    assert!(!report.was_there);
    assert!(
        kato_prediction::disk::build(&store, &options)
            .unwrap()
            .was_there
    );
    let index = kato_prediction::disk::open(&store).unwrap().unwrap();
    index.check().unwrap();
    // Learning goes on above it, and commits are not in it.
    let engine = Engine::open_indexed(
        Arc::clone(&store) as _,
        index.nodes(),
        index.covered(),
        EngineOptions::default(),
    );
    let node = engine.unwrap().nodes().next().unwrap();
    node.teach(&Lesson::new(events("the cat sat down")))
        .unwrap();
    node.teach(&Lesson::new(events("the cow sat down")))
        .unwrap();
    let name = kato_model::PatternName::of_events(&events("the cat sat down"));
    assert_eq!(node.frequency(&name).unwrap(), 3);
    drop(node);
    let engine = Engine::open_indexed(
        Arc::clone(&store) as _,
        index.nodes(),
        index.covered(),
        EngineOptions::default(),
    )
    .unwrap();
    let node = engine.nodes().next().unwrap();
    node.teach(&Lesson::new(events("the cat sat down")))
        .unwrap();
    node.teach(&Lesson::new(events("the cow sat down")))
        .unwrap();
    engine.commit().unwrap();
    let reload = || Engine::open(Arc::new(EmbeddedStore::open_read_only(&kb).unwrap())).unwrap();
    check(&[reload(), engine]);
    // The next opening loads what was committed since, and nothing else.
    let index = kato_prediction::disk::open(&store).unwrap().unwrap();
    assert_ne!(index.content(), store.content_digest());
    assert_eq!(index.content(), report.content);
    let [_, reopened] = engines(&kb);
    check(&[reload(), reopened]);
    let all_anew = options.with_unit_ratio(u64::MAX);
    assert!(
        !kato_prediction::disk::build(&store, &all_anew)
            .unwrap()
            .was_there
    );
    drop(store);
    // That of the content before is gone.
    index_dir(&kb);
    check(&engines(&kb));
}

#[test]
fn a_flipped_bit_in_any_column_changes_no_answer() {
    let (_dir, kb) = with_all_lists();
    build(&kb);
    let mut n_columns = 0;
    for entry in fs::read_dir(index_dir(&kb)).unwrap().flatten() {
        let path = entry.path();
        let whole = fs::read(&path).unwrap();
        let is_column = path.file_name().unwrap().to_str().unwrap().contains('.');
        if whole.is_empty() || !is_column {
            continue;
        }
        n_columns += 1;
        for at in [0, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            // Replaced and not changed, as files of an index are mapped.
            replace(&path, &damaged);
            let [memory, disk] = learning_engines(&kb);
            // What was learned before the damage is found stays, pending or not.
            for engine in [&memory, &disk] {
                for node in engine.nodes() {
                    node.teach(&Lesson::new(events("the cat sat down")))
                        .unwrap();
                    node.teach(&Lesson::new(events("the cow sat down")))
                        .unwrap();
                }
            }
            check(&[memory, disk]);
            let store = EmbeddedStore::open_read_only(&kb).unwrap();
            let index = kato_prediction::disk::open(&store).unwrap().unwrap();
            assert!(matches!(index.check(), Err(IndexFileError::Damaged { .. })));
        }
        replace(&path, &whole);
    }
    assert!(n_columns > 28, "{n_columns}");
    check(&engines(&kb));
}

#[test]
fn what_is_cut_off_or_missing_is_refused_and_built_again() {
    let (_dir, kb) = small();
    build(&kb);
    let dir = index_dir(&kb);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    for file in ["INDEX", "CHECKSUMS", "0.names", "1.held_lists"] {
        let path = dir.join(file);
        let whole = fs::read(&path).unwrap();
        // The last byte of a header is white space.
        replace(&path, &whole[..whole.len() - 2]);
        assert!(kato_prediction::disk::open(&store).is_err(), "{file}");
        fs::remove_file(&path).unwrap();
        match kato_prediction::disk::open(&store) {
            // Without a header there is none.
            Ok(None) => assert_eq!(file, "INDEX"),
            opened => assert!(opened.is_err(), "{file}"),
        }
        let report = kato_prediction::disk::build(&store, &BuildOptions::default()).unwrap();
        assert!(!report.was_there, "{file}");
        check(&engines(&kb));
    }
    // A header whose own checksum holds and which describes another index.
    let header = fs::read_to_string(dir.join("INDEX")).unwrap();
    let (body, _) = header.trim_end().rsplit_once('\n').unwrap();
    for (from, to) in [
        ("\"n_patterns\": 6", "\"n_patterns\": 7"),
        ("\"symbol_bytes\": 2", "\"symbol_bytes\": 4"),
        ("\"format_version\": 6", "\"format_version\": 7"),
        ("\"content\": \"", "\"content\": \"0"),
    ] {
        assert!(body.contains(from), "{from} {body}");
        let body = body.replacen(from, to, 1);
        let crc = crc32(body.as_bytes());
        replace(
            &dir.join("INDEX"),
            format!("{body}\ncrc32 {crc:08x}\n").as_bytes(),
        );
        match kato_prediction::disk::open(&store) {
            Err(IndexFileError::Damaged { .. } | IndexFileError::Version { .. }) => {}
            // The width of symbols shows only when they are read: as symbols out of bounds.
            Ok(Some(_)) if from.contains("symbol_bytes") => check(&engines(&kb)),
            opened => panic!("{to}: {opened:?}"),
        }
    }
}

#[test]
fn a_build_that_was_cut_off_leaves_nothing_that_counts() {
    let (_dir, kb) = small();
    build(&kb);
    let whole = index_dir(&kb);
    // As a crash would leave it: some columns, no header, and the lock's file.
    let building = kb.join("index").join("building");
    fs::create_dir(&building).unwrap();
    for entry in fs::read_dir(&whole).unwrap().flatten().take(20) {
        fs::copy(entry.path(), building.join(entry.file_name())).unwrap();
    }
    fs::remove_dir_all(&whole).unwrap();
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    assert!(kato_prediction::disk::open(&store).unwrap().is_none());
    let report = kato_prediction::disk::build(&store, &BuildOptions::default()).unwrap();
    assert_eq!((report.patterns, report.was_there), (8, false));
    assert!(!building.exists());
    check(&engines(&kb));
}

#[test]
fn one_builder_at_a_time() {
    let (_dir, kb) = small();
    fs::create_dir(kb.join("index")).unwrap();
    let lock = fs::File::create(kb.join("index").join("LOCK")).unwrap();
    lock.lock().unwrap();
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let built = kato_prediction::disk::build(&store, &BuildOptions::default());
    // This process holds the lock, so that no other one can be waited for.
    assert!(matches!(
        built,
        Err(error @ IndexFileError::Locked { .. }) if error.to_string().contains("or by this one")
    ));
}

#[test]
fn nodes_with_emotives_are_loaded() {
    let (_dir, kb) = small();
    {
        let engine = Engine::open(Arc::new(EmbeddedStore::open(&kb).unwrap())).unwrap();
        let emotives = [("joy".to_owned(), 1.0)].into();
        let lesson = Lesson::new(events("the cat sat down")).with_emotives(emotives);
        engine.nodes().next().unwrap().teach(&lesson).unwrap();
        engine.commit().unwrap();
    }
    let index = build(&kb);
    let is_indexed: Vec<bool> = index.nodes().map(|node| node.is_some()).collect();
    assert_eq!(is_indexed, [false, true]);
    check(&engines(&kb));
}

/// Replaces a file by another one, which leaves maps of the old one as they are.
fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(new, path).unwrap();
}

/// Overwrites everything that a knowledge base holds in segments.
pub(crate) fn wipe_segments(kb: &Path) {
    let mut n_wiped = 0;
    for entry in fs::read_dir(kb.join("segments")).unwrap().flatten() {
        let bytes = fs::metadata(entry.path()).unwrap().len();
        fs::write(entry.path(), vec![0; usize::try_from(bytes).unwrap()]).unwrap();
        n_wiped += 1;
    }
    assert!(n_wiped > 0);
}

#[test]
fn where_neither_index_nor_store_can_be_read_every_read_is_an_error_that_names_both() {
    let (_dir, kb) = small();
    build(&kb);
    let names = index_dir(&kb).join("0.names");
    let mut damaged = fs::read(&names).unwrap();
    damaged[0] ^= 1;
    replace(&names, &damaged);
    let [_, disk] = learning_engines(&kb);
    wipe_segments(&kb);
    let node = disk.nodes().next().unwrap();
    let name = kato_model::PatternName::of_events(&events(TEXTS[0]));
    let is_unreadable = |outcome: Result<(), EngineError>| {
        let error = outcome.unwrap_err();
        let EngineError::Unreadable {
            node,
            damage,
            source,
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(node, "node0");
        assert!(damage.what.contains("0.names"), "{damage:?}");
        assert!(matches!(**source, EngineError::Store { .. }), "{source:?}");
    };
    let config = SessionConfig::default();
    is_unreadable(node.frequency(&name).map(drop));
    is_unreadable(node.predict(&events("the cat sat"), &config).map(drop));
    is_unreadable(node.events(&name).map(drop));
    is_unreadable(node.bytes_of_events(&name).map(drop));
    is_unreadable(node.frequencies().map(drop));
    is_unreadable(node.pattern(&name).map(drop));
    is_unreadable(node.symbols().map(drop));
    is_unreadable(node.symbol_counts("the").map(drop));
    is_unreadable(node.affinities().map(drop));
    is_unreadable(node.affinity("the").map(drop));
    is_unreadable(node.teach(&Lesson::new(events("the cow"))).map(drop));
    let mut session = node.session(config);
    session
        .observe(kato_engine::Observation::strings(["the"]))
        .unwrap();
    is_unreadable(session.predict().map(drop));
    assert!(node.is_damaged());
}

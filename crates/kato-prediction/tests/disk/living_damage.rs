//! Files of an index that are damaged while an engine is asked over them: every answer is the right one, by
//! the store, or an error, and the process lives.
// Elsewhere a mapped file cannot be cut off, or ends the process that reads it.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kato_engine::node::Lesson;
use kato_engine::{Engine, EngineError, EngineOptions, SessionConfig};
use kato_model::PatternName;
use kato_store::EmbeddedStore;
use kato_test_needs::is_thorough;

use crate::damage::{TEXTS, check, index_dir, small, wipe_segments, with_all_lists};
use crate::support::{build, engines, events, learning_engines};

/// Something that is done to a file while it is mapped.
#[derive(Debug, Clone, Copy)]
enum Deed {
    CutTo(u64),
    Flip(u64),
    ZeroFrom(u64),
    Grow,
    Remove,
}

impl Deed {
    /// Returns what can be done to a file of so many bytes.
    fn all(len: u64) -> Vec<Self> {
        let mut deeds = vec![
            Self::CutTo(0),
            Self::Flip(len / 2),
            Self::ZeroFrom(0),
            Self::Remove,
        ];
        if is_thorough() {
            deeds.extend([
                Self::CutTo(len / 2),
                Self::CutTo(len.saturating_sub(4096).max(len / 3)),
                Self::CutTo(len - 1),
                Self::Flip(0),
                Self::Flip(len - 1),
                Self::ZeroFrom(len / 2),
                Self::Grow,
            ]);
        }
        deeds
    }

    /// Does it in place, as no program of ours would.
    fn run(self, path: &Path) {
        let mut whole = fs::read(path).unwrap();
        let mut file = File::options().write(true).open(path).unwrap();
        match self {
            Self::CutTo(len) => return file.set_len(len).unwrap(),
            Self::Grow => return file.set_len(whole.len() as u64 + 1).unwrap(),
            Self::Remove => return fs::remove_file(path).unwrap(),
            Self::Flip(at) => whole[at as usize] ^= 0x10,
            Self::ZeroFrom(at) => whole[at as usize..].fill(0),
        }
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(&whole).unwrap();
    }
}

/// Returns the files of the columns that hold something.
fn columns(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some() && fs::metadata(path).unwrap().len() > 0);
    paths.sort();
    paths
}

/// Asks a node all kinds of things, and returns the error that all of it failed with; everything was
/// answered where it is `None`.
fn ask_all(engine: &Engine) -> Option<EngineError> {
    let config = SessionConfig::default();
    let mut errors = Vec::new();
    let mut n_asked = 0;
    let mut ask = |outcome: Result<(), EngineError>| {
        n_asked += 1;
        errors.extend(outcome.err());
    };
    let node = engine.nodes().next().unwrap();
    ask(node.predict(&events(TEXTS[0]), &config).map(|answer| {
        assert!(!answer.predictions.is_empty());
    }));
    ask(node.symbols().map(|symbols| assert!(symbols.len() > 8)));
    let name = PatternName::of_events(&events(TEXTS[0]));
    ask(node.frequency(&name).map(|found| assert_eq!(found, 2)));
    ask(node
        .events(&name)
        .map(|found| assert_eq!(found, Some(events(TEXTS[0])))));
    ask(node
        .frequencies()
        .map(|all| assert_eq!(all.len(), TEXTS.len())));
    assert!(errors.is_empty() || errors.len() == n_asked, "{errors:?}");
    errors.pop()
}

#[test]
fn whatever_is_done_to_a_column_changes_no_answer() {
    let (_dir, kb) = with_all_lists();
    build(&kb);
    let dir = index_dir(&kb);
    let mut n_done = 0;
    for path in columns(&dir) {
        let whole = fs::read(&path).unwrap();
        for deed in Deed::all(whole.len() as u64) {
            let pair = learning_engines(&kb);
            // Everything is read and compared with its checksums once.
            check(&pair);
            for engine in &pair {
                for node in engine.nodes() {
                    for lesson in ["the cat sat down", "the cow sat down"] {
                        node.teach(&Lesson::new(events(lesson))).unwrap();
                    }
                }
            }
            deed.run(&path);
            check(&pair);
            n_done += 1;
            drop(pair);
            // A new file, as its map may be that of another deed.
            let _ = fs::remove_file(&path);
            fs::write(&path, &whole).unwrap();
        }
    }
    assert!(n_done > 115, "{n_done}");
    check(&engines(&kb));
}

#[test]
fn where_the_store_is_damaged_as_well_everything_is_an_error() {
    for deed in [Deed::CutTo(0), Deed::Flip(3), Deed::ZeroFrom(0)] {
        let (_dir, kb) = small();
        build(&kb);
        let [_, disk] = engines(&kb);
        assert!(ask_all(&disk).is_none());
        wipe_segments(&kb);
        // Nothing needs the store yet.
        assert!(ask_all(&disk).is_none());
        let path = index_dir(&kb).join("0.names");
        deed.run(&path);
        let error = ask_all(&disk).unwrap();
        let EngineError::Unreadable { damage, .. } = &error else {
            panic!("{error:?}");
        };
        assert!(damage.what.contains("0.names"), "{damage}");
    }
}

#[test]
fn a_commit_after_damage_keeps_what_was_learned() {
    let (_dir, kb) = small();
    build(&kb);
    let cow = events("the cow sat down");
    {
        let store = Arc::new(EmbeddedStore::open(&kb).unwrap());
        let index = kato_prediction::disk::open(&store).unwrap().unwrap();
        let options = EngineOptions::default();
        let engine = Engine::open_indexed(store, index.nodes(), index.covered(), options).unwrap();
        let node = engine.nodes().next().unwrap();
        node.teach(&Lesson::new(cow.clone())).unwrap();
        // A column that neither of the symbols' texts is in.
        Deed::CutTo(0).run(&index_dir(&kb).join("0.held_lists"));
        node.teach(&Lesson::new(cow.clone())).unwrap();
        Deed::Flip(0).run(&index_dir(&kb).join("0.names"));
        engine.commit().unwrap();
    }
    let engine = Engine::open(Arc::new(EmbeddedStore::open_read_only(&kb).unwrap())).unwrap();
    let node = engine.nodes().next().unwrap();
    let name = PatternName::of_events(&cow);
    assert_eq!(node.frequency(&name).unwrap(), 2);
    assert_eq!(node.events(&name).unwrap(), Some(cow));
}

#[test]
fn a_pattern_whose_texts_are_gone_is_still_known() {
    for column in ["0.texts", "0.text_starts"] {
        let (_dir, kb) = small();
        build(&kb);
        let store = Arc::new(EmbeddedStore::open(&kb).unwrap());
        let index = kato_prediction::disk::open(&store).unwrap().unwrap();
        let options = EngineOptions::default();
        let engine = Engine::open_indexed(store, index.nodes(), index.covered(), options).unwrap();
        let node = engine.nodes().next().unwrap();
        let lesson = events("down the mat");
        node.teach(&Lesson::new(lesson.clone())).unwrap();
        Deed::ZeroFrom(0).run(&index_dir(&kb).join(column));
        let name = PatternName::of_events(&lesson);
        assert_eq!(node.events(&name).unwrap(), Some(lesson));
        engine.commit().unwrap();
        drop((node, engine));
        let engine = Engine::open(Arc::new(EmbeddedStore::open_read_only(&kb).unwrap())).unwrap();
        let node = engine.nodes().next().unwrap();
        assert_eq!(node.frequency(&name).unwrap(), 1);
    }
}

#[test]
fn threads_that_ask_while_columns_are_cut_off_get_right_answers() {
    let (_dir, kb) = small();
    build(&kb);
    let [memory, disk] = engines(&kb);
    let config = SessionConfig::default();
    let expected: Vec<_> = TEXTS
        .iter()
        .map(|text| {
            let node = memory.nodes().next().unwrap();
            node.predict(&events(text), &config).unwrap()
        })
        .collect();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let node = disk.nodes().next().unwrap();
                while !is_done.load(Ordering::Relaxed) {
                    for (text, expected) in TEXTS.iter().zip(&expected) {
                        let found = node.predict(&events(text), &config).unwrap();
                        assert_eq!(found, *expected);
                    }
                }
            });
        }
        for path in columns(&index_dir(&kb)) {
            Deed::CutTo(0).run(&path);
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(disk.nodes().next().unwrap().n_indexed(), 0);
}

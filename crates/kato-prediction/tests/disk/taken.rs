//! What was deleted of an index is kept beside it: who opens it finds none of it by its name, and answers as before.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_column_reader::crc32;
use kato_engine::Engine;
use kato_engine::node::Lesson;
use kato_model::PatternName;
use kato_prediction::disk::{BuildOptions, IndexPolicy, StoreIndex, keep};
use kato_store::embedded::EmbeddedOptions;
use kato_store::{EmbeddedStore, PatternStore};

use crate::damage::check;
use crate::support::{engines, events, teach_indexed};

/// Patterns of two units.
const PARTS: [[&str; 4]; 2] = [
    [
        "the cat sat on the",
        "the cat sat down",
        "a dog ran on",
        "on the mat",
    ],
    [
        "the cat sat down",
        "the dog ran",
        "a new word",
        "mat on a cat",
    ],
];

/// Creates a knowledge base in two units, and opens it to forget.
fn in_units(kb: &Path) -> EmbeddedStore {
    let part = |texts: &[&str; 4]| texts.iter().map(|text| (events(text), 2)).collect();
    let parts: Vec<_> = PARTS.iter().map(part).collect();
    teach_indexed(kb, &parts);
    open(kb)
}

fn open(kb: &Path) -> EmbeddedStore {
    let mut options = EmbeddedOptions::default();
    options.max_deleted_percent = 100;
    let store = EmbeddedStore::open_with(kb, options).unwrap();
    kato_prediction::disk::spare(&store);
    store
}

fn find(store: &EmbeddedStore) -> StoreIndex {
    kato_prediction::disk::find(store).index.unwrap()
}

/// Forgets a pattern of the lower node, and keeps that it is gone.
fn forget(store: &EmbeddedStore, text: &str) {
    let names = [vec![PatternName::of_events(&events(text))], Vec::new()];
    store.forget(&names, store.checkpoint()).unwrap();
    let built = keep(store, IndexPolicy::Auto, &BuildOptions::default()).unwrap();
    assert!(built.is_none(), "the index stays");
}

/// Returns the number of patterns that whoever opens the index has to find.
fn n_found_by_name(store: &EmbeddedStore) -> usize {
    let gone = store.deleted_beyond(0, find(store).covered()).unwrap();
    gone.unwrap().len()
}

fn file(store: &EmbeddedStore) -> PathBuf {
    find(store).dir().join("TAKEN")
}

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "a build that is not for tests keeps the file of many patterns only"
)]
fn what_is_gone_is_found_at_once_and_answers_are_those_without_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = in_units(&kb);
    assert!(!file(&store).exists());
    let before: Vec<_> = find(&store).units().collect();
    // Of both units, one that a pattern above refers to, and at last all of the first.
    for text in [
        "the cat sat down",
        "on the mat",
        "mat on a cat",
        "a dog ran on",
    ] {
        forget(&store, text);
        assert_eq!(find(&store).units().collect::<Vec<_>>(), before);
        assert_eq!(n_found_by_name(&store), 0);
        check(&engines(&kb));
        fs::rename(file(&store), kb.join("without")).unwrap();
        assert!(n_found_by_name(&store) > 0);
        check(&engines(&kb));
        fs::rename(kb.join("without"), file(&store)).unwrap();
    }
    // More that is deleted since is found as before.
    let names = [
        vec![PatternName::of_events(&events("the dog ran"))],
        Vec::new(),
    ];
    store.forget(&names, store.checkpoint()).unwrap();
    assert_eq!(n_found_by_name(&store), 1);
    check(&engines(&kb));
}

#[test]
fn what_is_learned_again_counts_what_was_learned_since() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = in_units(&kb);
    forget(&store, "the cat sat down");
    drop(store);
    let engine = Engine::open(Arc::new(open(&kb))).unwrap();
    let lesson = Lesson::new(events("the cat sat down"));
    engine.nodes().next().unwrap().teach(&lesson).unwrap();
    engine.commit().unwrap();
    drop(engine);
    check(&engines(&kb));
    let store = open(&kb);
    // It is of nothing any more: all is written again.
    kato_prediction::disk::build(&store, &BuildOptions::default()).unwrap();
    assert!(!file(&store).exists());
    check(&engines(&kb));
}

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "a build that is not for tests keeps the file of many patterns only"
)]
fn a_file_that_is_damaged_or_of_another_commit_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = in_units(&kb);
    forget(&store, "the cat sat down");
    let path = file(&store);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(n_found_by_name(&store), 1, "byte {at}");
        fs::write(&path, &whole[..at]).unwrap();
        assert_eq!(n_found_by_name(&store), 1, "{at} bytes");
    }
    check(&engines(&kb));
    // Forgotten in another order, the segment was never as the file says.
    let other = dir.path().join("other");
    let store = in_units(&other);
    forget(&store, "on the mat");
    fs::write(file(&store), &whole).unwrap();
    assert_eq!(n_found_by_name(&store), 1);
    check(&engines(&other));
}

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "a build that is not for tests keeps the file of many patterns only"
)]
fn the_file_is_what_the_documents_say() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = in_units(&kb);
    let text = "the cat sat down";
    forget(&store, text);
    let bytes = fs::read(file(&store)).unwrap();
    let mut expected = b"KATOTAK1".to_vec();
    let sources = store.content().sources;
    expected.extend(u32::try_from(sources.len()).unwrap().to_le_bytes());
    sources
        .iter()
        .for_each(|source| expected.extend(source.as_bytes()));
    // Of the first unit, whose ranks are places among its names, and whose texts are `a`, `cat`, `dog`, `down`,
    // `mat`, `on`, `ran`, `sat` and `the`.
    let name = PatternName::of_events(&events(text));
    let mut names = PARTS[0].map(|text| PatternName::of_events(&events(text)));
    names.sort_unstable();
    let rank = names.iter().position(|other| *other == name).unwrap();
    expected.extend(1_u32.to_le_bytes());
    expected.extend(u32::try_from(rank).unwrap().to_le_bytes());
    expected.extend(name.as_bytes());
    expected.extend(4_u32.to_le_bytes());
    for id in [1_u32, 3, 7, 8] {
        expected.extend(id.to_le_bytes());
        expected.extend(1_u32.to_le_bytes());
        // Twice in each part.
        expected.extend(4_u64.to_le_bytes());
    }
    // `down`, and of the node above nothing.
    for number in [1_u32, 0, 0, 0] {
        expected.extend(number.to_le_bytes());
    }
    expected.extend(crc32(&expected).to_le_bytes());
    assert_eq!(bytes, expected);
}

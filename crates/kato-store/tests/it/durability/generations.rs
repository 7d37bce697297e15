//! The commit before the newest one: what opens when the newest is damaged, and what a run comes to
//! that goes on from there.

use std::fs;
use std::path::Path;

use kato_store::conformance::{Lessons, assert_same_content};
use kato_store::embedded::{DamagePolicy, EmbeddedOptions};
use kato_store::{EmbeddedStore, MemoryStore, PatternStore, StoreError};
use serde_json::{Value, json};

use super::{Everything, Files, files, open_and_read, read_everything, small, write};
use crate::support::{always_merging, commit, two_levels};

const NODES: [&str; 2] = ["node0", "node1"];

/// What `small` holds after its first commit.
fn after_the_first(lessons: &Lessons) -> Everything {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::create(dir.path(), &NODES, Value::Null).unwrap();
    commit(&store, lessons, &[0, 1, 2, 3, 8, 9], json!({"samples": 1}));
    read_everything(&store, lessons).unwrap()
}

/// A reader finds the commit before and leaves the files alone; a writer stays with it.
fn check_goes_back(dir: &Path, lessons: &Lessons, expected: &Everything, what: &str) {
    let before = files(dir);
    let reader = EmbeddedStore::open_read_only(dir).unwrap();
    let recovery = reader.recovered().expect(what);
    assert_eq!(recovery.n_commits, 1, "{what}");
    assert_eq!(
        &read_everything(&reader, lessons).unwrap(),
        expected,
        "{what}"
    );
    assert_eq!(files(dir), before, "{what}");
}

#[test]
fn every_damaged_byte_of_the_newest_manifest_goes_back_one_commit() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let expected = after_the_first(&lessons);
    let path = dir.path().join("MANIFEST");
    let whole = fs::read(&path).unwrap();
    // The last byte is a line end that does not count.
    for at in 0..whole.len() - 1 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        check_goes_back(dir.path(), &lessons, &expected, &format!("byte {at}"));
        fs::write(&path, &whole[..at]).unwrap();
        check_goes_back(dir.path(), &lessons, &expected, &format!("cut after {at}"));
    }
    fs::remove_file(&path).unwrap();
    check_goes_back(dir.path(), &lessons, &expected, "removed");
    assert!(EmbeddedStore::exists(dir.path()));
    let created = EmbeddedStore::create(dir.path(), &NODES, Value::Null);
    assert!(matches!(created, Err(StoreError::Exists { .. })));
}

#[test]
fn a_damaged_segment_of_the_newest_commit_goes_back_or_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let expected = after_the_first(&lessons);
    let path = dir.path().join("segments/0000000001.seg");
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        match open_and_read(dir.path(), &lessons) {
            Ok(found) => assert_eq!(found, expected, "byte {at}"),
            // What is only looked at when it is read does not open another commit.
            Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "byte {at}"),
        }
        fs::write(&path, &whole[..at]).unwrap();
        check_goes_back(dir.path(), &lessons, &expected, &format!("cut after {at}"));
    }
    fs::remove_file(&path).unwrap();
    check_goes_back(dir.path(), &lessons, &expected, "removed");
}

#[test]
fn going_back_says_what_was_damaged_and_how_much_was_given_up() {
    let dir = tempfile::tempdir().unwrap();
    small(dir.path());
    assert_eq!(EmbeddedStore::open(dir.path()).unwrap().recovered(), None);
    let segment = dir.path().join("segments/0000000001.seg");
    fs::remove_file(&segment).unwrap();
    let store = EmbeddedStore::open_read_only(dir.path()).unwrap();
    let recovery = store.recovered().unwrap();
    assert_eq!((&recovery.path, recovery.lost_commits), (&segment, Some(1)));
    assert!(
        recovery
            .to_string()
            .ends_with("went back to commit 1, the last one that is whole")
    );
    fs::write(dir.path().join("MANIFEST"), "{").unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let recovery = store.recovered().unwrap();
    assert_eq!(recovery.path, dir.path().join("MANIFEST"));
    assert_eq!((recovery.lost_commits, store.n_commits()), (None, 1));
    drop(store);
    // It stays with it.
    assert_eq!(EmbeddedStore::open(dir.path()).unwrap().recovered(), None);
}

#[test]
fn damage_of_both_generations_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    small(dir.path());
    let whole = files(dir.path());
    let damage = |names: &[&str]| {
        let copy = tempfile::tempdir().unwrap();
        let mut damaged: Files = whole.clone();
        for name in names {
            damaged.get_mut(*name).unwrap().truncate(30);
        }
        write(copy.path(), &damaged);
        let opened = EmbeddedStore::open(copy.path());
        assert!(
            matches!(opened, Err(StoreError::Corrupt { .. })),
            "{names:?}: {opened:?}"
        );
        let reader = EmbeddedStore::open_read_only(copy.path());
        assert!(
            matches!(reader, Err(StoreError::Corrupt { .. })),
            "{names:?}"
        );
        let mut left = files(copy.path());
        left.remove("LOCK");
        damaged.remove("LOCK");
        assert_eq!(left, damaged, "{names:?}: nothing is removed");
    };
    damage(&["MANIFEST", "MANIFEST.previous"]);
    damage(&["MANIFEST", "segments/0000000000.seg"]);
    damage(&["segments/0000000000.seg"]);
    damage(&["segments/0000000001.seg", "MANIFEST.previous"]);
}

#[test]
fn a_damaged_previous_manifest_is_no_matter() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let expected = open_and_read(dir.path(), &lessons).unwrap();
    fs::write(dir.path().join("MANIFEST.previous"), "{").unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    assert_eq!(
        (
            store.recovered(),
            &read_everything(&store, &lessons).unwrap()
        ),
        (None, &expected)
    );
}

#[test]
fn who_relies_on_the_newest_commit_is_told_and_nothing_changes() {
    let dir = tempfile::tempdir().unwrap();
    small(dir.path());
    fs::write(dir.path().join("MANIFEST"), "{").unwrap();
    let before = files(dir.path());
    let mut options = EmbeddedOptions::default();
    options.damage_policy = DamagePolicy::Refuse;
    let refused = EmbeddedStore::open_with(dir.path(), options);
    assert!(
        matches!(refused, Err(StoreError::Corrupt { .. })),
        "{refused:?}"
    );
    assert_eq!(files(dir.path()), before);
}

#[test]
fn after_compacting_clearing_and_forgetting_nothing_else_is_left_to_go_back_to() {
    type Operation = fn(&EmbeddedStore, &Lessons);
    let operations: [(&str, Operation); 3] = [
        ("compact", |store, _| store.compact().unwrap()),
        ("clear", |store, _| store.clear(json!("cleared")).unwrap()),
        ("forget", |store, lessons| {
            let doomed = [vec![lessons.name(0)], Vec::new()];
            store.forget(&doomed, json!("forgotten")).unwrap();
        }),
    ];
    for (name, operation) in operations {
        let dir = tempfile::tempdir().unwrap();
        let lessons = small(dir.path());
        let store = EmbeddedStore::open(dir.path()).unwrap();
        operation(&store, &lessons);
        let expected = read_everything(&store, &lessons).unwrap();
        let n_files = fs::read_dir(dir.path().join("segments")).unwrap().count();
        assert_eq!(n_files, store.n_segments(), "{name}: no other file is left");
        drop(store);
        fs::write(dir.path().join("MANIFEST"), "{").unwrap();
        assert_eq!(
            open_and_read(dir.path(), &lessons).unwrap(),
            expected,
            "{name}"
        );
    }
}

/// A run of commits, one a lesson, whose checkpoint is the number of lessons learned.
fn go_on(store: &EmbeddedStore, lessons: &Lessons, until: usize) {
    for idx in store.checkpoint().as_u64().unwrap_or(0) as usize..until {
        commit(store, lessons, &[idx], json!(idx + 1));
    }
}

#[test]
fn a_run_that_goes_on_after_damage_ends_with_equal_content() {
    let lessons = two_levels(12);
    let whole = MemoryStore::new(&NODES, Value::Null);
    let all: Vec<usize> = (0..lessons.len()).collect();
    commit(&whole, &lessons, &all, Value::Null);
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 3] = [
        ("the manifest is garbled", |dir| {
            let path = dir.join("MANIFEST");
            let mut bytes = fs::read(&path).unwrap();
            bytes[40] ^= 1;
            fs::write(&path, bytes).unwrap();
        }),
        ("the manifest is gone", |dir| {
            fs::remove_file(dir.join("MANIFEST")).unwrap();
        }),
        ("the newest segment is gone", |dir| {
            let entries = fs::read_dir(dir.join("segments")).unwrap();
            let newest = entries.map(|entry| entry.unwrap().path()).max().unwrap();
            fs::remove_file(newest).unwrap();
        }),
    ];
    for options in [EmbeddedOptions::default(), always_merging()] {
        for (name, damage) in damages {
            let dir = tempfile::tempdir().unwrap();
            let kb = dir.path().join("kb");
            drop(EmbeddedStore::create_with(&kb, &NODES, Value::Null, options).unwrap());
            // Damage again and again, also right after going back, where one commit more is needed
            // to have two.
            for until in (2..=lessons.len()).step_by(2) {
                let store = EmbeddedStore::open_with(&kb, options).unwrap();
                go_on(&store, &lessons, until);
                drop(store);
                damage(&kb);
                let store = EmbeddedStore::open_with(&kb, options).unwrap();
                assert!(store.recovered().is_some(), "{name} at {until}");
                assert_eq!(store.checkpoint(), json!(until - 1), "{name}");
            }
            let store = EmbeddedStore::open_with(&kb, options).unwrap();
            go_on(&store, &lessons, lessons.len());
            assert_same_content(&store, &whole, lessons.len() as u64);
        }
    }
}

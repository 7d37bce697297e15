//! The commit before the newest one: never opened unless it is asked for, and what a run comes to
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

/// The options of a policy.
fn with(policy: DamagePolicy) -> EmbeddedOptions {
    EmbeddedOptions::default().with_damage_policy(policy)
}

/// Damages both copies of the newest manifest.
fn lose_manifests(dir: &Path) {
    for name in ["MANIFEST", "MANIFEST.twin"] {
        fs::write(dir.join(name), "{").unwrap();
    }
}

/// What `small` holds after its first commit.
fn after_the_first(lessons: &Lessons) -> Everything {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::create(dir.path(), &NODES, Value::Null).unwrap();
    commit(&store, lessons, &[0, 1, 2, 3, 8, 9], json!({"samples": 1}));
    read_everything(&store, lessons).unwrap()
}

/// A reader is refused; one that asks for it finds the commit before. Both leave the files alone.
fn check_goes_back(dir: &Path, lessons: &Lessons, expected: &Everything, what: &str) {
    let before = files(dir);
    let refused = EmbeddedStore::open_read_only(dir);
    assert!(
        matches!(refused, Err(StoreError::Corrupt { .. })),
        "{what}: {refused:?}"
    );
    let reader = EmbeddedStore::open_read_only_with(dir, DamagePolicy::GoBack).unwrap();
    let recovery = reader.recovered().expect(what);
    assert_eq!(recovery.n_commits, 1, "{what}");
    assert!(!recovery.is_lossless(), "{what}");
    assert_eq!(
        &read_everything(&reader, lessons).unwrap(),
        expected,
        "{what}"
    );
    assert_eq!(files(dir), before, "{what}");
}

#[test]
fn every_damaged_byte_of_one_manifest_loses_nothing_and_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let expected = open_and_read(dir.path(), &lessons).unwrap();
    for name in ["MANIFEST", "MANIFEST.twin", "MANIFEST.previous"] {
        let path = dir.path().join(name);
        let whole = fs::read(&path).unwrap();
        // The last byte is a line end that does not count.
        for at in 0..whole.len() - 1 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            for bytes in [&flipped[..], &whole[..at]] {
                fs::write(&path, bytes).unwrap();
                let store = EmbeddedStore::open_read_only(dir.path()).unwrap();
                let what = format!("{name}, byte {at}");
                let recovery = store.recovered().expect(&what);
                assert!(recovery.is_lossless(), "{what}");
                assert_eq!(recovery.files[0].path, path, "{what}");
                assert_eq!(
                    read_everything(&store, &lessons).unwrap(),
                    expected,
                    "{what}"
                );
            }
        }
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn a_writer_heals_what_a_second_copy_has() {
    for name in ["MANIFEST", "MANIFEST.twin", "MANIFEST.previous"] {
        let dir = tempfile::tempdir().unwrap();
        let lessons = small(dir.path());
        let expected = open_and_read(dir.path(), &lessons).unwrap();
        fs::write(dir.path().join(name), "{").unwrap();
        let store = EmbeddedStore::open(dir.path()).unwrap();
        let recovery = store.recovered().unwrap().clone();
        assert!(recovery.is_lossless(), "{name}");
        let kept = recovery.moved_to.unwrap().join(name);
        assert_eq!(fs::read(kept).unwrap(), b"{", "{name}");
        drop(store);
        // From now on either copy can be lost again.
        for lost in ["MANIFEST", "MANIFEST.twin"] {
            fs::write(dir.path().join(lost), "{").unwrap();
            let store = EmbeddedStore::open(dir.path()).unwrap();
            assert_eq!(
                read_everything(&store, &lessons).unwrap(),
                expected,
                "{name}"
            );
        }
        let store = EmbeddedStore::open(dir.path()).unwrap();
        assert_eq!(store.recovered(), None, "{name}");
    }
}

#[test]
fn a_twin_that_an_older_program_left_behind_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let twin = dir.path().join("MANIFEST.twin");
    let old = fs::read(&twin).unwrap();
    for commits in 1..3 {
        let store = EmbeddedStore::open(dir.path()).unwrap();
        commit(&store, &lessons, &[0], json!({"samples": commits}));
        let expected = read_everything(&store, &lessons).unwrap();
        drop(store);
        fs::write(&twin, &old).unwrap();
        assert_eq!(open_and_read(dir.path(), &lessons).unwrap(), expected);
        let newest = fs::read(dir.path().join("MANIFEST")).unwrap();
        fs::write(dir.path().join("MANIFEST"), "{").unwrap();
        let refused = EmbeddedStore::open(dir.path());
        assert!(
            matches!(refused, Err(StoreError::Corrupt { .. })),
            "{commits}"
        );
        fs::write(dir.path().join("MANIFEST"), newest).unwrap();
    }
}

#[test]
fn without_both_manifests_the_commit_before_is_opened_where_it_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let expected = after_the_first(&lessons);
    lose_manifests(dir.path());
    check_goes_back(dir.path(), &lessons, &expected, "garbled");
    for name in ["MANIFEST", "MANIFEST.twin"] {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    check_goes_back(dir.path(), &lessons, &expected, "removed");
    assert!(EmbeddedStore::exists(dir.path()));
    let created = EmbeddedStore::create(dir.path(), &NODES, Value::Null);
    assert!(matches!(created, Err(StoreError::Exists { .. })));
}

#[test]
fn a_damaged_segment_of_the_newest_commit_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let expected = after_the_first(&lessons);
    let path = dir.path().join("segments/0000000001.seg");
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        let found = open_and_read(dir.path(), &lessons);
        assert!(
            matches!(found, Err(StoreError::Corrupt { .. })),
            "byte {at}"
        );
        fs::write(&path, &whole[..at]).unwrap();
        check_goes_back(dir.path(), &lessons, &expected, &format!("cut after {at}"));
    }
    fs::remove_file(&path).unwrap();
    check_goes_back(dir.path(), &lessons, &expected, "removed");
    fs::create_dir(&path).unwrap();
    check_goes_back(dir.path(), &lessons, &expected, "a directory");
}

#[test]
fn damage_says_what_is_whole_and_what_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    assert_eq!(EmbeddedStore::damage(dir.path()).unwrap(), None);
    let segment = dir.path().join("segments/0000000001.seg");
    fs::remove_file(&segment).unwrap();
    let damage = EmbeddedStore::damage(dir.path()).unwrap().unwrap();
    let newest = damage.newest.as_ref().unwrap();
    assert_eq!(
        (newest.n_commits, &newest.checkpoint),
        (2, &json!({"samples": 2}))
    );
    assert_eq!(damage.files[0].path, segment);
    assert_eq!((damage.whole.segments, damage.whole.learns), (1, 6));
    assert_eq!((damage.lost().segments, damage.lost().learns), (1, 7));
    let older = damage.older.as_ref().unwrap();
    assert_eq!(
        (older.n_commits, &older.checkpoint),
        (1, &json!({"samples": 1}))
    );
    let error = EmbeddedStore::open(dir.path()).unwrap_err();
    let text = format!("{error}; {}", error.advice().unwrap());
    for told in [
        "0000000001.seg",
        "commit 2",
        "7 learn calls",
        "6 learn calls",
        "`DamagePolicy::GoBack`",
        "kato salvage",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let whole = after_the_first(&lessons);
    let options = with(DamagePolicy::GoBack);
    let store = EmbeddedStore::open_with(dir.path(), options).unwrap();
    let recovery = store.recovered().unwrap();
    assert_eq!(recovery.lost_commits, Some(1));
    assert_eq!(recovery.lost.unwrap().learns, 7);
    assert_eq!(read_everything(&store, &lessons).unwrap(), whole);
    drop(store);
    // It stays with it.
    let store = EmbeddedStore::open(dir.path()).unwrap();
    assert_eq!((store.recovered(), store.n_commits()), (None, 1));
    drop(store);
    lose_manifests(dir.path());
    let damage = EmbeddedStore::damage(dir.path()).unwrap().unwrap();
    assert_eq!(
        (&damage.newest, &damage.older, damage.unnamed.len()),
        (&None, &None, 1)
    );
}

#[test]
fn damage_of_both_generations_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    small(dir.path());
    let whole = files(dir.path());
    let damage = |names: &[&str]| {
        for policy in [
            DamagePolicy::Refuse,
            DamagePolicy::GoBack,
            DamagePolicy::Relearn,
        ] {
            let copy = tempfile::tempdir().unwrap();
            let mut damaged: Files = whole.clone();
            for name in names {
                damaged.get_mut(*name).unwrap().truncate(30);
            }
            write(copy.path(), &damaged);
            let opened = EmbeddedStore::open_with(copy.path(), with(policy));
            assert!(
                matches!(opened, Err(StoreError::Corrupt { .. })),
                "{names:?}: {opened:?}"
            );
            let reader = EmbeddedStore::open_read_only_with(copy.path(), policy);
            assert!(
                matches!(reader, Err(StoreError::Corrupt { .. })),
                "{names:?}"
            );
            let mut left = files(copy.path());
            left.remove("LOCK");
            damaged.remove("LOCK");
            assert_eq!(left, damaged, "{names:?}: nothing is removed");
        }
    };
    damage(&["MANIFEST", "MANIFEST.twin", "MANIFEST.previous"]);
    damage(&["MANIFEST", "MANIFEST.twin", "segments/0000000000.seg"]);
    damage(&["segments/0000000000.seg"]);
    damage(&["segments/0000000001.seg", "MANIFEST.previous"]);
}

#[test]
fn a_commit_that_holds_nothing_is_no_place_to_go_back_to_unless_all_is_learned_again() {
    let lessons = two_levels(8);
    for is_segment in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::create(dir.path(), &NODES, Value::Null).unwrap();
        commit(&store, &lessons, &[0, 1, 8], json!(1));
        drop(store);
        match is_segment {
            true => fs::write(dir.path().join("segments/0000000000.seg"), "KATO").unwrap(),
            false => lose_manifests(dir.path()),
        }
        for policy in [DamagePolicy::Refuse, DamagePolicy::GoBack] {
            let before = files(dir.path());
            let opened = EmbeddedStore::open_with(dir.path(), with(policy));
            assert!(
                matches!(opened, Err(StoreError::Corrupt { .. })),
                "{opened:?}"
            );
            let opened = EmbeddedStore::open_read_only_with(dir.path(), policy);
            assert!(
                matches!(opened, Err(StoreError::Corrupt { .. })),
                "{opened:?}"
            );
            assert_eq!(files(dir.path()), before);
        }
        let segment = fs::read(dir.path().join("segments/0000000000.seg")).unwrap();
        let store = EmbeddedStore::open_with(dir.path(), with(DamagePolicy::Relearn)).unwrap();
        assert_eq!(store.checkpoint(), Value::Null);
        let moved_to = store.recovered().unwrap().moved_to.clone().unwrap();
        assert_eq!(fs::read(moved_to.join("0000000000.seg")).unwrap(), segment);
        commit(&store, &lessons, &[0, 1, 8], json!(1));
        assert_eq!(store.count_patterns(0).unwrap(), 2);
    }
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
    let damages: [(&str, u64, Damage); 4] = [
        ("the manifest is garbled", 0, |dir| {
            let path = dir.join("MANIFEST");
            let mut bytes = fs::read(&path).unwrap();
            bytes[40] ^= 1;
            fs::write(&path, bytes).unwrap();
        }),
        ("both manifests are garbled", 1, lose_manifests),
        ("both manifests are gone", 1, |dir| {
            fs::remove_file(dir.join("MANIFEST")).unwrap();
            fs::remove_file(dir.join("MANIFEST.twin")).unwrap();
        }),
        ("the newest segment is gone", 1, |dir| {
            let entries = fs::read_dir(dir.join("segments")).unwrap();
            let newest = entries.map(|entry| entry.unwrap().path()).max().unwrap();
            fs::remove_file(newest).unwrap();
        }),
    ];
    for mut options in [EmbeddedOptions::default(), always_merging()] {
        options.damage_policy = DamagePolicy::Relearn;
        for (name, lost, damage) in damages {
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
                assert_eq!(store.checkpoint(), json!(until as u64 - lost), "{name}");
            }
            let store = EmbeddedStore::open_with(&kb, options).unwrap();
            go_on(&store, &lessons, lessons.len());
            assert_same_content(&store, &whole, lessons.len() as u64);
        }
    }
}

#[test]
fn going_back_finds_the_damage_that_only_a_later_read_would_find() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let newest = open_and_read(dir.path(), &lessons).unwrap();
    let older = after_the_first(&lessons);
    let segment = dir.path().join("segments/0000000001.seg");
    let whole = fs::read(&segment).unwrap();
    let mut found_later = 0;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&segment, &bytes).unwrap();
        let store = EmbeddedStore::open_read_only_with(dir.path(), DamagePolicy::GoBack).unwrap();
        let expected = match store.recovered() {
            Some(_) => &older,
            None => &newest,
        };
        let read = read_everything(&store, &lessons).unwrap();
        assert_eq!(&read, expected, "byte {at}");
        let opens = EmbeddedStore::open_read_only(dir.path()).is_ok();
        found_later += usize::from(opens && store.recovered().is_some());
    }
    assert!(found_later > 0, "opening finds all of it");
}

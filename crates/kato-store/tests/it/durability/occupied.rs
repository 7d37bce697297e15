//! Directories that are in use, or not ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use kato_store::{EmbeddedStore, PatternStore, StoreError};
use serde_json::{Value, json};

use super::{open_and_read, small};
use crate::support::{commit, two_levels};

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn a_second_writer_is_refused_while_readers_are_welcome() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let writer = EmbeddedStore::open(dir.path()).unwrap();
    for _ in 0..2 {
        assert!(
            matches!(EmbeddedStore::open(dir.path()), Err(StoreError::Locked { place }) if place.path() == Some(dir.path()))
        );
        assert!(matches!(
            EmbeddedStore::create(dir.path(), &["node0"], Value::Null),
            Err(StoreError::Exists { .. })
        ));
        open_and_read(dir.path(), &lessons).unwrap();
    }
    drop(writer);
    EmbeddedStore::open(dir.path()).unwrap();
}

#[test]
fn a_writer_that_is_about_to_go_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    small(dir.path());
    let writer = EmbeddedStore::open(dir.path()).unwrap();
    // As long as the system may take to clear away a process that was killed.
    let going = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        drop(writer);
    });
    EmbeddedStore::open(dir.path()).unwrap();
    going.join().unwrap();
}

#[test]
fn a_reader_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let before = files(dir.path());
    let reader = EmbeddedStore::open_read_only(dir.path()).unwrap();
    assert!(matches!(
        reader.stage(lessons.batch(&[0])),
        Err(StoreError::ReadOnly { .. })
    ));
    assert!(matches!(
        reader.commit(Vec::new(), Value::Null),
        Err(StoreError::ReadOnly { .. })
    ));
    assert!(matches!(reader.compact(), Err(StoreError::ReadOnly { .. })));
    assert_eq!(files(dir.path()), before);
}

#[test]
fn creating_over_a_knowledge_base_is_refused_and_leaves_it_alone() {
    let dir = tempfile::tempdir().unwrap();
    small(dir.path());
    let before = files(dir.path());
    let refused = EmbeddedStore::create(dir.path(), &["node0"], Value::Null);
    assert!(
        matches!(refused, Err(StoreError::Exists { place }) if place.path() == Some(dir.path()))
    );
    assert_eq!(files(dir.path()), before);
}

#[test]
fn creating_among_other_files_is_refused_and_leaves_them_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "ten years").unwrap();
    let before = files(dir.path());
    let refused = EmbeddedStore::create(dir.path(), &["node0"], Value::Null);
    assert!(matches!(refused, Err(StoreError::NotAKnowledgeBase { .. })));
    let on_a_file = EmbeddedStore::create(dir.path().join("thesis.txt"), &["node0"], Value::Null);
    assert!(matches!(
        on_a_file,
        Err(StoreError::NotAKnowledgeBase { .. })
    ));
    assert_eq!(files(dir.path()), before);
}

#[test]
fn opening_what_is_not_there_is_refused_and_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let paths = [
        dir.path().to_owned(),
        dir.path().join("missing"),
        file.path().to_owned(),
        file.path().join("missing"),
    ];
    for path in paths {
        assert!(matches!(
            EmbeddedStore::open(&path),
            Err(StoreError::Missing { .. })
        ));
        assert!(matches!(
            EmbeddedStore::open_read_only(&path),
            Err(StoreError::Missing { .. })
        ));
        assert!(!EmbeddedStore::exists(&path));
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_creation_that_was_killed_can_be_repeated() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("LOCK"), "").unwrap();
    fs::create_dir(dir.path().join("segments")).unwrap();
    fs::write(dir.path().join("MANIFEST.tmp"), "{\"format").unwrap();
    EmbeddedStore::create(dir.path(), &["node0"], Value::Null).unwrap();
}

#[test]
fn the_next_writer_clears_away_what_a_crashed_one_left() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small(dir.path());
    let before = files(dir.path());
    let expected = open_and_read(dir.path(), &lessons).unwrap();
    // Also under the name of the segment that comes next.
    for orphan in ["0000000002.seg", "0000000009.seg"] {
        fs::write(dir.path().join("segments").join(orphan), "half a segm").unwrap();
    }
    fs::write(dir.path().join("MANIFEST.tmp"), "{\"format").unwrap();
    assert_eq!(open_and_read(dir.path(), &lessons).unwrap(), expected);
    let store = EmbeddedStore::open(dir.path()).unwrap();
    fs::remove_file(dir.path().join("MANIFEST.tmp")).unwrap();
    assert_eq!(files(dir.path()), before);
    commit(&store, &two_levels(8), &[3], json!({"samples": 3}));
    assert_eq!(store.count_patterns(0).unwrap(), 8);
}

#[test]
fn files_of_the_user_stay() {
    let dir = tempfile::tempdir().unwrap();
    small(dir.path());
    let note = dir.path().join("segments").join("note.txt");
    fs::write(&note, "do not touch").unwrap();
    EmbeddedStore::open(dir.path()).unwrap();
    assert!(note.exists());
}

#[test]
fn segments_of_others_are_no_knowledge_base() {
    let dir = tempfile::tempdir().unwrap();
    let segments = dir.path().join("segments");
    fs::create_dir(&segments).unwrap();
    // As the store of a cluster names them.
    fs::write(segments.join("2e65a003c52f4958.000000.seg"), "").unwrap();
    assert!(!EmbeddedStore::exists(dir.path()));
    // Without its manifests a store's own are what is left of it.
    fs::write(segments.join("0000000003.seg"), "").unwrap();
    assert!(EmbeddedStore::exists(dir.path()));
}

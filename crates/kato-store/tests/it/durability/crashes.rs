//! Crashes at every step of an operation: the directory as it is between two steps opens to the last commit.

use std::fs;

use kato_store::conformance::Lessons;
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::json;

use super::{Everything, Files, files, open_and_read, read_everything, write};
use crate::support::{commit, copy_dir, two_levels};

/// Checks that these files open to `expected`, for a reader and for the next writer, who can go on.
fn check(files: &Files, lessons: &Lessons, expected: &Everything, what: &str) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    assert_eq!(
        &open_and_read(dir.path(), lessons).unwrap(),
        expected,
        "a reader after: {what}"
    );
    let store = EmbeddedStore::open(dir.path()).unwrap();
    assert_eq!(
        &read_everything(&store, lessons).unwrap(),
        expected,
        "a writer after: {what}"
    );
    commit(&store, lessons, &[0], json!("resumed"));
    drop(store);
    assert_eq!(
        open_and_read(dir.path(), lessons).unwrap().0,
        json!("resumed"),
        "{what}"
    );
}

/// The order of steps is: new segment files grow, the new manifest grows beside the old one, the rename, old segments go.
fn check_every_crash(
    before: &Files,
    after: &Files,
    lessons: &Lessons,
    contents: [&Everything; 2],
    operation: &str,
) {
    let mut state = before.clone();
    let cut =
        |bytes: &[u8]| [0, bytes.len() / 2, bytes.len() - 1].map(|length| bytes[..length].to_vec());
    check(
        &state,
        lessons,
        contents[0],
        &format!("{operation}: nothing"),
    );
    for (name, bytes) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        for part in cut(bytes) {
            state.insert(name.clone(), part);
            check(
                &state,
                lessons,
                contents[0],
                &format!("{operation}: a part of {name}"),
            );
        }
        state.insert(name.clone(), bytes.clone());
        check(
            &state,
            lessons,
            contents[0],
            &format!("{operation}: {name}"),
        );
    }
    let manifest = &after["MANIFEST"];
    for part in cut(manifest).into_iter().chain([manifest.clone()]) {
        state.insert("MANIFEST.tmp".to_owned(), part);
        check(
            &state,
            lessons,
            contents[0],
            &format!("{operation}: the new manifest, not renamed"),
        );
    }
    state.remove("MANIFEST.tmp");
    state.insert("MANIFEST".to_owned(), manifest.clone());
    check(
        &state,
        lessons,
        contents[1],
        &format!("{operation}: the rename"),
    );
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        state.remove(name);
        check(
            &state,
            lessons,
            contents[1],
            &format!("{operation}: removing {name}"),
        );
    }
    assert_eq!(&state, after, "{operation} has no other steps");
}

#[test]
fn a_crash_at_any_step_leaves_the_last_commit() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = two_levels(8);
    let store = EmbeddedStore::create(dir.path(), &["node0", "node1"], json!(null)).unwrap();
    let operations: [(&str, &dyn Fn()); 4] = [
        ("first commit", &|| {
            commit(&store, &lessons, &[0, 1, 8], json!(1))
        }),
        ("commit of two batches", &|| {
            let staged = [[2, 3, 9].as_slice(), &[4, 0, 1]]
                .map(|picked| store.stage(lessons.batch(picked)).unwrap());
            store.commit(staged.into(), json!(2)).unwrap();
        }),
        ("empty commit", &|| {
            store.commit(Vec::new(), json!(3)).unwrap()
        }),
        ("merge", &|| store.compact().unwrap()),
    ];
    for (name, operation) in operations {
        let (before, content_before) = (
            files(dir.path()),
            read_everything(&store, &lessons).unwrap(),
        );
        operation();
        let (after, content_after) = (
            files(dir.path()),
            read_everything(&store, &lessons).unwrap(),
        );
        check_every_crash(
            &before,
            &after,
            &lessons,
            [&content_before, &content_after],
            name,
        );
    }
}

#[test]
fn what_was_staged_at_a_crash_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lessons = two_levels(8);
    let store = EmbeddedStore::create(&kb, &["node0", "node1"], json!(null)).unwrap();
    commit(&store, &lessons, &[0, 1, 8], json!(1));
    let expected = read_everything(&store, &lessons).unwrap();
    let staged = [2, 3].map(|idx| store.stage(lessons.batch(&[idx])).unwrap());
    let copy = dir.path().join("copy");
    copy_dir(&kb, &copy);
    assert_eq!(files(&copy).len(), files(&kb).len());
    let reopened = EmbeddedStore::open(&copy).unwrap();
    assert_eq!(read_everything(&reopened, &lessons).unwrap(), expected);
    assert_eq!(fs::read_dir(copy.join("segments")).unwrap().count(), 1);
    store.commit(staged.into(), json!(2)).unwrap();
    assert_eq!(store.count_patterns(0).unwrap(), 4);
}

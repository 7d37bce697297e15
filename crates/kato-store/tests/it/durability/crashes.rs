//! Crashes at every step of an operation: the directory as it is between two steps opens to the
//! last commit, also when one of its manifests is damaged as well.

use std::fs;

use kato_store::conformance::Lessons;
use kato_store::embedded::EmbeddedOptions;
use kato_store::{EmbeddedStore, MemoryStore, PatternStore};
use serde_json::json;

use super::{Everything, Files, files, open_and_read, read_everything, write};
use crate::support::{commit, copy_dir, never_rewriting, two_levels};

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

/// Checks that these files open to the same when one of the two newest manifests is cut off, and that
/// it is told.
fn check_damaged(files: &Files, lessons: &Lessons, expected: &Everything, what: &str) {
    for damaged in ["MANIFEST", "MANIFEST.twin"] {
        let dir = tempfile::tempdir().unwrap();
        let mut files = files.clone();
        files.get_mut(damaged).unwrap().truncate(20);
        write(dir.path(), &files);
        let store = EmbeddedStore::open_read_only(dir.path()).unwrap();
        assert!(store.recovered().unwrap().is_lossless(), "{what}");
        // A commit that is interrupted between the two has the one or the other.
        let is_between = files["MANIFEST"] != files["MANIFEST.twin"];
        if !is_between || damaged == "MANIFEST" {
            assert_eq!(
                &read_everything(&store, lessons).unwrap(),
                expected,
                "{what}"
            );
        }
    }
}

/// A crash after each step of an operation, as the directory is then: new segment files grow, the
/// new manifest and its twin grow beside the old ones; the twin is replaced, the old manifest gets the
/// previous one's name, then the new one the newest's; a previous one that is given up and files that are
/// not named any more go.
fn check_every_crash(
    before: &Files,
    after: &Files,
    lessons: &Lessons,
    history: &[Everything],
    operation: &str,
) {
    let (content_before, content_after) =
        (&history[history.len() - 2], &history[history.len() - 1]);
    let mut state = before.clone();
    let mut committed = false;
    let mut step = |state: &Files, what: &str| {
        committed |= what == "the twin is replaced";
        let what = format!("{operation}: {what}");
        let expected = if committed {
            content_after
        } else {
            content_before
        };
        check(state, lessons, expected, &what);
        check_damaged(state, lessons, expected, &what);
    };
    let parts = |bytes: &[u8]| {
        [0, bytes.len() / 2, bytes.len() - 1, bytes.len()].map(|length| bytes[..length].to_vec())
    };
    step(&state, "nothing");
    let segments = after
        .iter()
        .filter(|(name, _)| name.starts_with("segments/"));
    for (name, bytes) in segments.filter(|(name, _)| !before.contains_key(*name)) {
        for part in parts(bytes) {
            state.insert(name.clone(), part);
            step(&state, &format!("a part of {name}"));
        }
    }
    let newest = &after["MANIFEST"];
    for part in parts(newest) {
        state.insert("MANIFEST.tmp".to_owned(), part);
        step(&state, "the new manifest grows");
    }
    for part in parts(newest) {
        state.insert("MANIFEST.twin.tmp".to_owned(), part);
        step(&state, "the new twin grows");
    }
    state.remove("MANIFEST.twin.tmp");
    state.insert("MANIFEST.twin".to_owned(), newest.clone());
    step(&state, "the twin is replaced");
    let kept = before["MANIFEST"].clone();
    state.insert("MANIFEST.previous.tmp".to_owned(), kept.clone());
    step(&state, "the newest has a second name");
    state.remove("MANIFEST.previous.tmp");
    state.insert("MANIFEST.previous".to_owned(), kept);
    step(&state, "the newest is also the previous");
    state.remove("MANIFEST.tmp");
    state.insert("MANIFEST".to_owned(), newest.clone());
    step(&state, "the newest is replaced");
    if !after.contains_key("MANIFEST.previous") {
        state.remove("MANIFEST.previous");
        step(&state, "the previous is given up");
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        state.remove(name);
        step(&state, &format!("{name} goes"));
    }
    assert_eq!(&state, after, "{operation} has no other steps");
}

#[test]
fn a_crash_at_any_step_leaves_the_last_commit() {
    check_every_operation(EmbeddedOptions::default());
}

#[test]
fn a_crash_at_any_step_leaves_the_last_commit_where_what_is_deleted_stays_in_its_segments() {
    check_every_operation(never_rewriting(EmbeddedOptions::default()));
}

fn check_every_operation(mut options: EmbeddedOptions) {
    let dir = tempfile::tempdir().unwrap();
    let lessons = two_levels(8);
    options.max_segments = 3;
    let store =
        EmbeddedStore::create_with(dir.path(), &["node0", "node1"], json!(null), options).unwrap();
    let doomed = [vec![lessons.name(0)], vec![lessons.name(9)]];
    let operations: [(&str, &dyn Fn()); 12] = [
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
        ("commit that merges", &|| {
            commit(&store, &lessons, &[5, 10], json!(4))
        }),
        ("commit after a merge", &|| {
            commit(&store, &lessons, &[6], json!(5))
        }),
        // One of them was learned twice, and stays.
        ("taking lessons back", &|| {
            let taken = MemoryStore::new(&["node0", "node1"], json!(null));
            commit(&taken, &lessons, &[1, 8], json!(null));
            store.unlearn(&taken, json!(6)).unwrap();
        }),
        ("forgetting", &|| store.forget(&doomed, json!(6)).unwrap()),
        ("commit after that", &|| {
            commit(&store, &lessons, &[0, 7], json!(7))
        }),
        ("forgetting more", &|| {
            store
                .forget(&[vec![lessons.name(7)], Vec::new()], json!(7))
                .unwrap()
        }),
        ("merge", &|| store.compact().unwrap()),
        ("commit after these", &|| {
            commit(&store, &lessons, &[0, 7], json!(7))
        }),
        ("clearing", &|| store.clear(json!(8)).unwrap()),
    ];
    let mut history = vec![read_everything(&store, &lessons).unwrap()];
    for (name, operation) in operations {
        let before = files(dir.path());
        operation();
        history.push(read_everything(&store, &lessons).unwrap());
        check_every_crash(&before, &files(dir.path()), &lessons, &history, name);
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

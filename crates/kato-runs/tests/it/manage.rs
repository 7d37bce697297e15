//! Listing, renaming, cloning, deleting: what was asked for happens, and to no other run.

use std::fs;

use kato_runs::manifest::RunState;
use kato_runs::{Runs, RunsError};
use kato_store::{EmbeddedStore, PatternStore};

use crate::support::{Place, learn, message, name, names, recorded};

#[test]
fn two_levels_are_looked_at_and_nothing_within_a_run() {
    let place = Place::new();
    place.by_hand("one", &["a"]);
    place.by_hand("project/two", &["a"]);
    place.by_hand("deep/er/three", &["a"]);
    place.by_hand("one/segments/four", &["a"]);
    place.by_hand(".hidden", &["a"]);
    fs::write(place.path("runs/notes.txt"), "no run").unwrap();
    assert_eq!(names(&place.runs()), ["one", "two"]);

    let inside = Runs::in_directory(place.path("runs/one"));
    assert!(message(inside).contains("it is a knowledge base itself"));
    let nowhere = Runs::in_directory(place.path("nowhere"));
    assert!(matches!(nowhere, Err(RunsError::NoPlace { .. })));
}

#[test]
fn a_run_is_found_by_name_id_beginning_of_the_id_and_place() {
    let place = Place::new();
    for dir in ["one", "project/two"] {
        place.by_hand(dir, &["a"]);
    }
    let runs = place.runs();
    let id = runs.record("two").unwrap().manifest.id;
    for wanted in ["two", "project/two", id.as_str(), &id.as_str()[..12]] {
        assert_eq!(runs.show(wanted).unwrap().manifest.id, id, "{wanted}");
    }
    for wanted in ["runs/project/two", "runs/../runs/./project/two"] {
        let place = place.path(wanted);
        assert_eq!(runs.show(place.to_str().unwrap()).unwrap().manifest.id, id);
    }
    assert_eq!(
        message(runs.show("three")),
        r#"there is no run "three"; the runs are one, two"#
    );
    assert!(matches!(runs.show(""), Err(RunsError::Unknown { .. })));

    let other = runs.record("one").unwrap().manifest.id;
    let shared: String = id
        .as_str()
        .chars()
        .zip(other.as_str().chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a)
        .collect();
    let error = message(runs.show(&shared));
    assert!(
        error.contains(&format!("one ({other}), two ({id})")),
        "{error}"
    );
}

#[test]
fn two_runs_of_one_name_are_told_apart_by_place_and_id() {
    let place = Place::new();
    place.by_hand("a-b", &["a"]);
    place.by_hand("a_b", &["b"]);
    let runs = place.runs();
    assert_eq!(names(&runs), ["a_b", "a_b"]);
    assert!(matches!(
        runs.delete("a_b"),
        Err(RunsError::Ambiguous { .. })
    ));
    runs.delete("a-b").unwrap();
    assert!(place.path("runs/a_b").exists());
    assert!(!place.path("runs/a-b").exists());
}

#[test]
fn a_run_without_a_manifest_has_the_name_that_training_gives_its_directory() {
    let place = Place::new();
    place.by_hand("wiki.v1", &["a"]);
    assert_eq!(names(&place.runs()), ["wiki_v1"]);
}

#[test]
fn a_discovered_run_is_recorded_once() {
    let place = Place::new();
    place.by_hand("one", &["a"]);
    let runs = place.runs();
    let discovered = runs.discover().unwrap();
    assert_eq!(discovered.len(), 1);
    assert_eq!(discovered, place.runs().discover().unwrap());
    let run = runs.record("one").unwrap();
    assert_eq!(runs.discover().unwrap(), []);
    assert_ne!(run.manifest.id, discovered[0].manifest.id);
    assert_eq!(runs.record("one").unwrap(), run);
    assert_eq!(
        recorded(&place.path("runs/one")).unwrap().id,
        run.manifest.id
    );
}

#[test]
fn renaming_keeps_the_run_and_its_directory() {
    let place = Place::new();
    place.by_hand("one", &["a"]);
    place.by_hand("two", &["b"]);
    let runs = place.runs();
    let before = runs.record("one").unwrap();
    let after = runs.rename("one", &name("uno")).unwrap();
    assert_eq!(after.manifest.id, before.manifest.id);
    assert_eq!(after.location, before.location);
    assert_eq!(after.manifest.levels[0].node_id, "uno_node0");
    assert_eq!(after.manifest.levels[0].database, "uno_node0_kato");
    assert_eq!(names(&runs), ["two", "uno"]);
    assert_eq!(
        message(runs.rename("uno", &name("two"))),
        "there is a run two already: choose another name, or delete that run"
    );
}

#[test]
fn a_clone_is_a_run_of_its_own() {
    let place = Place::new();
    place.by_hand("one", &["a", "b"]);
    fs::write(place.path("runs/one/skipped.jsonl"), "{}\n").unwrap();
    let runs = place.runs();
    let original = place.content("one");
    let clone = runs.clone_run("one", &name("two")).unwrap();
    assert_eq!(place.content("two"), original);
    assert_eq!(clone.manifest.lineage.len(), 1);

    // Whatever happens to either does not happen to the other: files that are changed in place
    // included.
    let store = EmbeddedStore::open(place.path("runs/two")).unwrap();
    learn(&store, &["c"]);
    store.compact().unwrap();
    drop(store);
    fs::write(place.path("runs/two/skipped.jsonl"), "").unwrap();
    assert_eq!(place.content("one"), original);
    assert_eq!(
        fs::read(place.path("runs/one/skipped.jsonl")).unwrap(),
        b"{}\n"
    );
    let cloned = place.content("two");
    assert_ne!(cloned, original);
    runs.delete("one").unwrap();
    assert_eq!(place.content("two"), cloned);
}

#[cfg(unix)]
#[test]
fn a_clone_shares_its_segments() {
    use std::os::unix::fs::MetadataExt as _;
    let place = Place::new();
    place.by_hand("one", &["a"]);
    place.runs().clone_run("one", &name("two")).unwrap();
    let links = |file| fs::metadata(place.path(file)).unwrap().nlink();
    assert_eq!(links("runs/two/segments/0000000000.seg"), 2);
    assert_eq!(links("runs/two/MANIFEST"), 1);
}

#[test]
fn nothing_is_overwritten() {
    let place = Place::new();
    place.by_hand("one", &["a"]);
    fs::create_dir(place.path("runs/occupied")).unwrap();
    fs::write(place.path("file"), "").unwrap();
    let runs = place.runs();
    let clone = runs.clone_run("one", &name("one"));
    assert!(matches!(clone, Err(RunsError::NameTaken { .. })));
    let clone = runs.clone_run("one", &name("occupied"));
    assert!(matches!(clone, Err(RunsError::Exists { .. })));
    for out in ["runs/occupied", "file", "runs/one"] {
        let export = runs.export("one", place.path(out));
        assert!(matches!(export, Err(RunsError::Exists { .. })), "{out}");
    }
}

#[test]
fn a_run_in_use_is_refused_and_may_be_read() {
    let place = Place::new();
    place.by_hand("one", &["a"]);
    let runs = place.runs();
    runs.record("one").unwrap();
    let writer = EmbeddedStore::open(place.path("runs/one")).unwrap();
    assert_eq!(runs.show("one").unwrap().manifest.state, RunState::Running);
    for refused in [
        runs.rename("one", &name("two")),
        runs.clone_run("one", &name("two")),
        runs.delete("one"),
    ] {
        assert!(message(refused).contains("is in use: wait for that to end"));
    }
    runs.export("one", place.path("out")).unwrap();
    learn(&writer, &["b"]);
    drop(writer);
    assert_eq!(
        runs.show("one").unwrap().manifest.state,
        RunState::Interrupted
    );
    runs.delete("one").unwrap();
    assert_eq!(names(&runs), [] as [&str; 0]);
}

#[test]
fn who_holds_a_run_is_told_as_far_as_its_manifest_does() {
    let place = Place::new();
    place.by_hand("one", &["a"]);
    let runs = place.runs();
    let mut manifest = runs.record("one").unwrap().manifest;
    manifest.resume();
    let dir = place.path("runs/one");
    kato_runs::ManifestFile::in_knowledge_base(&dir)
        .write(&manifest)
        .unwrap();
    // Nobody holds the lock: it is interrupted, whatever is written there.
    let run = runs.show("one").unwrap();
    assert_eq!(
        (run.manifest.state, run.manifest.process),
        (RunState::Interrupted, None)
    );
    let _writer = EmbeddedStore::open(&dir).unwrap();
    let words = format!("(its manifest names process {})", std::process::id());
    assert!(message(runs.delete("one")).contains(&words));
}

#[test]
fn a_damaged_run_hides_no_other_and_can_be_deleted() {
    let place = Place::new();
    place.by_hand("one", &["a"]);
    place.by_hand("two", &["a"]);
    // Of both generations.
    for entry in fs::read_dir(place.path("runs/two")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("MANIFEST")
        {
            fs::write(path, "not a manifest").unwrap();
        }
    }
    let runs = place.runs();
    let list = runs.list().unwrap();
    assert_eq!(list[0].problem, None);
    assert!(list[1].problem.as_ref().unwrap().contains("is damaged"));
    assert!(runs.clone_run("two", &name("three")).is_err());
    assert!(runs.export("two", place.path("out")).is_err());
    runs.delete("two").unwrap();
    assert_eq!(names(&runs), ["one"]);
}

#[test]
fn a_manifest_that_cannot_be_read_is_a_problem_of_one_run() {
    let place = Place::new();
    place.by_hand("one", &["a"]);
    let file = place.path("runs/one/run.json");
    for (text, expected) in [
        ("{", "is damaged or no file of ours"),
        ("{}", "it has no format version"),
        (
            r#"{"format_version":2}"#,
            "has format version 2, and this version reads 1",
        ),
        (r#"{"format_version":1}"#, "missing field"),
    ] {
        fs::write(&file, text).unwrap();
        let problem = place.runs().list().unwrap().remove(0).problem.unwrap();
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}

#[test]
fn patterns_are_kept_where_counts_still_hold() {
    let place = Place::new();
    place.by_hand("one", &["a"]);
    let runs = place.runs();
    let run = runs.record("one").unwrap();
    let mut manifest = run.manifest;
    manifest.results.as_mut().unwrap().levels[0].patterns = Some(1);
    let dir = place.path("runs/one");
    kato_runs::ManifestFile::in_knowledge_base(&dir)
        .write(&manifest)
        .unwrap();
    let level = |runs: &Runs| {
        runs.show("one")
            .unwrap()
            .manifest
            .results
            .unwrap()
            .levels
            .remove(0)
    };
    assert_eq!((level(&runs).learns, level(&runs).patterns), (1, Some(1)));
    let store = EmbeddedStore::open(&dir).unwrap();
    learn(&store, &["b"]);
    assert_eq!(store.totals(0).unwrap().learns, 2);
    drop(store);
    assert_eq!((level(&runs).learns, level(&runs).patterns), (2, None));
}

//! Runs whose nodes are on a server: listed by their state files.

use std::fs;

use kato_runs::manifest::{BackendKind, RunState};
use kato_runs::{ManifestFile, RunLocation, RunsError};
use serde_json::{Value, json};

use crate::support::{Place, message, name, names};

fn state(place: &Place) -> std::path::PathBuf {
    let path = place.path("runs/wiki.kato-run.json");
    let state = json!({
        "format_version": 2,
        "run": "wiki",
        "run_id": "f00",
        "server": "http://127.0.0.1:8000",
        "nodes": ["node0", "node1"],
        "configuration": null,
        "checkpoint": null,
        "observations": [12, 3],
        "new_patterns": [10, 3],
    });
    fs::write(&path, state.to_string()).unwrap();
    path
}

#[test]
fn a_state_file_is_a_run() {
    let place = Place::new();
    let path = state(&place);
    let run = place.runs().show("wiki").unwrap();
    assert_eq!(run.location, RunLocation::StateFile(path));
    assert_eq!(run.manifest.backend.kind, BackendKind::Kato);
    assert_eq!(run.manifest.backend.place, "http://127.0.0.1:8000");
    assert_eq!(run.manifest.levels[1].node_id, "wiki_node1");
    assert_eq!(run.manifest.configuration, Value::Null);
    let levels = run.manifest.results.unwrap().levels;
    assert_eq!((levels[0].learns, levels[0].patterns), (12, Some(10)));
}

#[test]
fn what_a_server_must_do_is_refused_with_the_reason() {
    let place = Place::new();
    state(&place);
    let runs = place.runs();
    let refused = message(runs.rename("wiki", &name("other")));
    assert!(
        refused.contains("cannot be renamed: the server knows its nodes by this name"),
        "{refused}"
    );
    for refused in [
        runs.clone_run("wiki", &name("other")).map(drop),
        runs.export("wiki", place.path("out")).map(drop),
    ] {
        assert!(message(refused).contains("what it learned is on the server"));
    }
    assert_eq!(names(&runs), ["wiki"]);
}

#[test]
fn a_manifest_beside_the_state_belongs_to_it() {
    let place = Place::new();
    let path = state(&place);
    let runs = place.runs();
    let run = runs.record("wiki").unwrap();
    let file = ManifestFile::beside_state(&path);
    assert_eq!(file.path(), place.path("runs/wiki.run.json"));
    assert_eq!(file.read().unwrap().unwrap().id, run.manifest.id);
    assert_eq!(runs.list().unwrap(), [run]);
}

#[test]
fn deleting_removes_its_files_unless_it_is_trained() {
    let place = Place::new();
    let path = state(&place);
    let runs = place.runs();
    runs.record("wiki").unwrap();
    let lock = fs::File::create(place.path("runs/wiki.kato-run.json.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(runs.show("wiki").unwrap().manifest.state, RunState::Running);
    assert!(matches!(runs.delete("wiki"), Err(RunsError::InUse { .. })));
    assert!(path.exists());
    drop(lock);
    runs.delete("wiki").unwrap();
    assert_eq!(fs::read_dir(place.path("runs")).unwrap().count(), 0);
}

#[test]
fn a_state_file_that_cannot_be_read_is_listed_with_the_reason() {
    let place = Place::new();
    let path = state(&place);
    for (text, expected) in [
        ("", "is damaged or no file of ours"),
        (r#"{"format_version":9}"#, "has format version 9"),
        (r#"{"format_version":2,"run":"a-b"}"#, "is no name of a run"),
    ] {
        fs::write(&path, text).unwrap();
        let run = place.runs().list().unwrap().remove(0);
        assert!(run.problem.as_ref().unwrap().contains(expected), "{run:?}");
        assert_eq!(run.manifest.name, name("wiki"));
    }
}

#[test]
fn a_damaged_state_is_passed_over_for_the_one_before_it() {
    let place = Place::new();
    let path = state(&place);
    fs::copy(&path, place.path("runs/wiki.kato-run.json.previous")).unwrap();
    let whole = place.runs().show("wiki").unwrap();
    fs::write(&path, "{").unwrap();
    let damaged = place.runs().show("wiki").unwrap();
    assert_eq!(damaged.problem, None);
    assert_eq!(damaged.manifest.results, whole.manifest.results);
    place.runs().delete("wiki").unwrap();
    assert_eq!(fs::read_dir(place.path("runs")).unwrap().count(), 0);
}

#[test]
fn the_list_of_what_was_skipped_goes_with_the_run() {
    let place = Place::new();
    state(&place);
    for list in ["wiki.kato-run.errors.jsonl", "other.kato-run.errors.jsonl"] {
        fs::write(place.path("runs").join(list), "{}\n").unwrap();
    }
    place.runs().delete("wiki").unwrap();
    let left = fs::read_dir(place.path("runs")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["other.kato-run.errors.jsonl"]);
}

//! Operations that die between any two changes to the disk: the old state or the new one, and
//! nothing left over.

use std::fs;
use std::path::Path;

use kato_model::batch::BatchSymbol;
use kato_model::{LearnBatch, PatternName};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::Runs;

/// Most changes that an operation of these tests makes.
const MOST_STEPS: usize = 60;

/// A knowledge base of two nodes and two segments.
fn knowledge_base(dir: &Path) {
    let store = EmbeddedStore::create(dir, &["node0", "node1"], json!({"by": "hand"})).unwrap();
    for (first, documents) in [("a", 1), ("b", 2)] {
        let mut batch = LearnBatch::new(2);
        let name = PatternName::of_events(&[[first], ["z"]]);
        let symbols = [first, "z"].map(|text| BatchSymbol::Literal(batch.literal(text)));
        batch.learn(0, name, symbols);
        let staged = store.stage(batch.seal()).unwrap();
        store
            .commit(vec![staged], json!({"samples": documents}))
            .unwrap();
    }
    fs::write(dir.join("skipped.jsonl"), "{}\n").unwrap();
}

/// Everything that a run holds.
fn content(dir: &Path) -> (Value, Vec<u8>) {
    let store = EmbeddedStore::open_read_only(dir).unwrap();
    let mut lines = Vec::new();
    for node in KnowledgeBase::all(&store) {
        node.export(&mut lines).unwrap();
    }
    (store.checkpoint(), lines)
}

/// A place with the run `a`, and an export of it beside.
fn place() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("runs")).unwrap();
    knowledge_base(&dir.path().join("runs/a"));
    let runs = Runs::in_directory(dir.path().join("runs")).unwrap();
    runs.record("a").unwrap();
    runs.export("a", dir.path().join("export")).unwrap();
    dir
}

fn names(dir: &TempDir) -> Vec<String> {
    let runs = Runs::in_directory(dir.path().join("runs"))
        .unwrap()
        .list()
        .unwrap();
    for run in &runs {
        assert_eq!(run.problem, None);
        assert_eq!(run.manifest.state, crate::manifest::RunState::Interrupted);
    }
    runs.iter()
        .map(|run| run.manifest.name.to_string())
        .collect()
}

/// Lets an operation die at every change in turn. What is there then is the old state or the new
/// one, and the operation done again, if it was not done, leads to the new one with nothing beside.
fn dies_anywhere(
    act: impl Fn(&Runs, &Path) -> Result<(), RunsError>,
    new: &[&str],
    check: impl Fn(&TempDir),
) {
    for steps in 0..MOST_STEPS {
        let dir = place();
        let at = |disk| Runs::at(DirectoryPlace::on(disk, dir.path().join("runs")).unwrap());
        let died = act(&at(Disk::dying_after(steps)), dir.path()).is_err();
        let found = names(&dir);
        assert!(found == ["a"] || found == new, "step {steps}: {found:?}");
        if found != new || died {
            match act(&at(Disk::default()), dir.path()) {
                Ok(()) => {}
                // It was done but for its last words.
                Err(
                    RunsError::Exists { .. }
                    | RunsError::NameTaken { .. }
                    | RunsError::Unknown { .. },
                ) if died && found == new => {}
                Err(error) => panic!("step {steps}: {error}"),
            }
        }
        assert_eq!(names(&dir), new, "step {steps}");
        check(&dir);
        // Any change clears away what is left of those before.
        at(Disk::default())
            .import(dir.path().join("export"), Some(&"sweep".parse().unwrap()))
            .unwrap();
        let left = fs::read_dir(dir.path().join("runs")).unwrap();
        let left: Vec<String> = left
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with('.'))
            .collect();
        assert!(left.is_empty(), "step {steps}: {left:?}");
        if !died {
            return;
        }
    }
    panic!("the operation takes more than {MOST_STEPS} changes");
}

#[test]
fn a_clone_that_dies_is_there_or_not() {
    dies_anywhere(
        |runs, _| runs.clone_run("a", &"b".parse().unwrap()).map(drop),
        &["a", "b"],
        |dir| {
            let content = |name| content(&dir.path().join("runs").join(name));
            assert_eq!(content("a"), content("b"));
            assert!(dir.path().join("runs/b/skipped.jsonl").exists());
        },
    );
}

#[test]
fn an_import_that_dies_is_there_or_not() {
    dies_anywhere(
        |runs, dir| {
            runs.import(dir.join("export"), Some(&"b".parse().unwrap()))
                .map(drop)
        },
        &["a", "b"],
        |dir| {
            let content = |name| content(&dir.path().join("runs").join(name));
            assert_eq!(content("a"), content("b"));
        },
    );
}

#[test]
fn a_rename_that_dies_is_done_or_not() {
    dies_anywhere(
        |runs, _| runs.rename("a", &"b".parse().unwrap()).map(drop),
        &["b"],
        |dir| assert!(dir.path().join("runs/a/MANIFEST").exists()),
    );
}

#[test]
fn a_delete_that_dies_is_done_or_not() {
    dies_anywhere(
        |runs, _| runs.delete("a").map(drop),
        &[],
        |dir| assert!(!dir.path().join("runs/a").exists()),
    );
}

#[test]
fn a_delete_of_a_run_on_a_server_that_dies_is_finished_by_deleting_again() {
    let state = json!({
        "format_version": 2,
        "run": "wiki",
        "server": "http://127.0.0.1:8000",
        "nodes": ["node0"],
        "configuration": null,
        "checkpoint": null,
        "observations": [3],
        "new_patterns": [2],
    });
    for steps in 0..MOST_STEPS {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(format!("wiki.{name}"));
        fs::write(file("kato-run.json"), state.to_string()).unwrap();
        fs::write(file("kato-run.json.previous"), state.to_string()).unwrap();
        fs::write(file("kato-run.json.sent"), "").unwrap();
        for name in ["kato-run.json.taught", "kato-run.json.taught.part"] {
            knowledge_base(&file(name));
        }
        let at = |disk| Runs::at(DirectoryPlace::on(disk, dir.path().to_owned()).unwrap());
        at(Disk::default()).record("wiki").unwrap();

        let died = at(Disk::dying_after(steps)).delete("wiki").is_err();
        let left = || fs::read_dir(dir.path()).unwrap().count();
        if left() > 0 {
            assert!(died, "step {steps}");
            at(Disk::default()).delete("wiki").unwrap();
        }
        assert_eq!(left(), 0, "step {steps}");
        if !died {
            return;
        }
    }
    panic!("the operation takes more than {MOST_STEPS} changes");
}

#[test]
fn an_export_that_dies_is_there_or_not() {
    for steps in 0..MOST_STEPS {
        let dir = place();
        let out = dir.path().join("out");
        let export = |disk| {
            let place = DirectoryPlace::on(disk, dir.path().join("runs")).unwrap();
            Runs::at(place).export("a", &out).map(drop)
        };
        let died = export(Disk::dying_after(steps)).is_err();
        if !out.exists() {
            assert!(died, "step {steps}");
            export(Disk::default()).unwrap();
        }
        let runs = Runs::in_directory(dir.path().join("runs")).unwrap();
        runs.import(&out, Some(&"b".parse().unwrap())).unwrap();
        assert!(!dir.path().join(".out.partial").exists(), "step {steps}");
        if !died {
            return;
        }
    }
    panic!("the operation takes more than {MOST_STEPS} changes");
}

#[test]
fn a_disk_without_links_gets_copies() {
    let dir = place();
    // One step is refused, as a file system without links would; the copy that takes its place is
    // the next one.
    let (from, to) = (dir.path().join("runs/a/MANIFEST"), dir.path().join("copy"));
    Disk::default().link(&from, &to).unwrap();
    assert!(
        Disk::default().link(&from, &to).is_ok(),
        "a link cannot replace, a copy can"
    );
    assert_eq!(fs::read(from).unwrap(), fs::read(to).unwrap());
}

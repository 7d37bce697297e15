//! `analyze`, `cleanup`, `retire` and `purge` as their users meet them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

#[path = "../support/program.rs"]
mod program;

use std::process::{Output, Stdio};

use kato_model::batch::BatchSymbol;
use kato_model::{LearnBatch, PatternName};
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::kato;

/// A folder whose `kb` has learned `a b` twice, `c d` once, and a pattern of both.
fn workplace() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let store =
        EmbeddedStore::create(place.path().join("kb"), &["node0", "node1"], Value::Null).unwrap();
    let mut batch = LearnBatch::new(2);
    let mut children = Vec::new();
    for words in [["a", "b"], ["a", "b"], ["c", "d"]] {
        let symbols = words.map(|word| BatchSymbol::Literal(batch.literal(word)));
        let name = PatternName::of_events(&words.map(|word| [word]));
        children.push((name, batch.learn(0, name, symbols)));
    }
    let names = [1, 2].map(|idx: usize| [children[idx].0.prefixed().to_string()]);
    let symbols = [1, 2].map(|idx: usize| BatchSymbol::Child(children[idx].1));
    batch.learn(1, PatternName::of_events(&names), symbols);
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], json!("position")).unwrap();
    place
}

fn run(place: &TempDir, name: &str, arguments: &[&str]) -> Output {
    let mut command = kato(name);
    command.args(arguments).current_dir(place.path());
    command.stdin(Stdio::null()).output().unwrap()
}

fn json_of(place: &TempDir, name: &str, arguments: &[&str]) -> Value {
    let output = run(place, name, arguments);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_snapshot_is_printed_kept_and_compared() {
    let place = workplace();
    let arguments = ["--kb", "embedded:kb", "--snapshot", "before.json", "--json"];
    let printed = json_of(&place, "analyze", &arguments);
    let kept = std::fs::read(place.path().join("before.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&kept).unwrap(), printed);
    assert_eq!(printed["links"][0]["coverage"], 1.0);
    let same = ["--compare", "before.json", "before.json", "--json"];
    assert_eq!(json_of(&place, "analyze", &same)["equal"], true);
    let text = run(&place, "analyze", &["--kb", "kb"]).stdout;
    assert!(String::from_utf8(text).unwrap().contains("node0 → node1"));
}

#[test]
fn a_clean_up_looks_first_and_needs_consent() {
    let place = workplace();
    let planned = ["--kb", "kb", "--threshold", "2", "--dry-run", "--json"];
    let plan = json_of(&place, "cleanup", &planned);
    assert_eq!(
        (&plan["removed"], &plan["applied"]),
        (&json!(2), &json!(false))
    );
    let refused = run(&place, "cleanup", &["--kb", "kb", "--threshold", "2"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("say --yes")
    );
    let done = ["--kb", "kb", "--threshold", "2", "--yes", "--json"];
    assert_eq!(json_of(&place, "cleanup", &done)["applied"], true);
    let store = EmbeddedStore::open(place.path().join("kb")).unwrap();
    assert_eq!(
        (
            store.count_patterns(0).unwrap(),
            store.count_patterns(1).unwrap()
        ),
        (1, 0)
    );
    assert_eq!(store.checkpoint(), json!("position"));
}

#[test]
fn a_pattern_is_retired_and_purged_for_good() {
    let place = workplace();
    let kb = place.path().join("kb");
    let (gone, kept) = (
        PatternName::of_events(&[["a"], ["b"]]),
        PatternName::of_events(&[["c"], ["d"]]),
    );
    let (name, other) = (gone.prefixed().to_string(), kept.to_string());
    let unknown = PatternName::of_events(&[["z"]]).to_string();
    let retired = json_of(
        &place,
        "retire",
        &["--kb", "kb", "--json", &name, &other, &name],
    );
    let entry = |name: &PatternName| json!({"node": "node0", "name": name});
    assert_eq!(retired["changed"], json!([entry(&gone), entry(&kept)]));
    assert_eq!(retired["unchanged"], json!([entry(&gone)]));
    let undone = json_of(
        &place,
        "retire",
        &["--kb", "kb", "--json", "--undo", &other],
    );
    assert_eq!(undone["changed"], json!([entry(&kept)]));
    let refused = run(&place, "retire", &["--kb", "kb", &unknown]);
    assert_eq!(refused.status.code(), Some(2));
    json_of(
        &place,
        "retire",
        &["--kb", "kb", "--json", "--node", "node1", &unknown],
    );
    // Nothing goes before somebody says so.
    let plan = json_of(&place, "purge", &["--kb", "kb", "--dry-run", "--json"]);
    assert_eq!(plan["changed"], json!([entry(&gone)]));
    assert_eq!(plan["applied"], false);
    let refused = run(&place, "purge", &["--kb", "kb"]);
    assert_eq!(refused.status.code(), Some(2));
    let count = || EmbeddedStore::open(&kb).unwrap().count_patterns(0).unwrap();
    assert_eq!(count(), 2);
    let done = run(&place, "purge", &["--kb", "kb", "--yes"]);
    assert!(String::from_utf8(done.stdout).unwrap().contains("purged"));
    assert_eq!(count(), 1);
    let store = EmbeddedStore::open(&kb).unwrap();
    assert_eq!(store.checkpoint(), json!("position"));
    let tombstone = store.tombstones(0).unwrap().get(&gone);
    assert_eq!(tombstone, Some(kato_store::Tombstone::Purged));
    drop(store);
    let again = json_of(
        &place,
        "purge",
        &["--kb", "kb", "--yes", "--rewrite", "--json"],
    );
    assert_eq!(again["changed"], json!([]));
    let files = std::fs::read_dir(kb.join("segments")).unwrap();
    let files: Vec<_> = files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .collect();
    let holds = |name: &PatternName| {
        let mut windows = files
            .iter()
            .flat_map(|file| file.windows(PatternName::BYTES));
        windows.any(|held| held == name.as_bytes())
    };
    assert!(!holds(&gone) && holds(&kept));
}

#[test]
fn a_pattern_is_retired_where_it_is_held_and_taken_back_where_it_is_retired() {
    let place = workplace();
    let name = PatternName::of_events(&[["a"], ["b"]]).to_string();
    let unknown = PatternName::of_events(&[["z"]]).to_string();
    let retire = |arguments: &[&str]| {
        let arguments = [&["--kb", "kb", "--json"], arguments].concat();
        let changes = json_of(&place, "retire", &arguments);
        ["changed", "unchanged"].map(|list| {
            let list = changes[list].as_array().unwrap().iter();
            list.map(|one| one["node"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        })
    };
    let of = |changed: &[&str], unchanged: &[&str]| {
        [changed, unchanged]
            .map(|list| list.iter().map(|&node| node.to_owned()).collect::<Vec<_>>())
    };
    // The lowest node that holds it, also where another one has retired the name.
    retire(&["--node", "node1", &name]);
    assert_eq!(retire(&["--undo", &name]), of(&["node1"], &[]));
    assert_eq!(retire(&["--undo", &name]), of(&[], &["node0"]));
    retire(&["--node", "node1", &name]);
    assert_eq!(retire(&[&name]), of(&["node0"], &[]));
    assert_eq!(
        retire(&["--undo", &name, &name]),
        of(&["node0"], &["node0"])
    );
    assert_eq!(retire(&["--undo", &name]), of(&["node1"], &[]));
    // What no node holds is taken back only where it is retired.
    retire(&["--node", "node1", &unknown]);
    assert_eq!(retire(&[&unknown]), of(&[], &["node1"]));
    assert_eq!(
        retire(&["--undo", &unknown, &unknown]),
        of(&["node1"], &["node1"])
    );
    for (undo, told) in [
        (&[][..], "say --node to retire it all the same"),
        (&["--undo"], "is not retired, and no node holds it"),
    ] {
        let arguments = [&["--kb", "kb", &unknown], undo].concat();
        let refused = run(&place, "retire", &arguments);
        assert_eq!(refused.status.code(), Some(2));
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn a_purge_tells_nothing_retired_from_all_purged_before() {
    let place = workplace();
    let purged = |arguments: &[&str]| {
        let output = run(
            &place,
            "purge",
            &[&["--kb", "kb", "--yes"], arguments].concat(),
        );
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(purged(&[]), "Nothing is retired.\n");
    let name = PatternName::of_events(&[["a"], ["b"]]).to_string();
    json_of(&place, "retire", &["--kb", "kb", "--json", &name]);
    assert_eq!(
        purged(&["--node", "node1"]),
        "Nothing is retired at node1.\n"
    );
    purged(&[]);
    assert_eq!(purged(&[]), "All that is retired was purged before.\n");
    assert_eq!(
        purged(&["--node", "node0"]),
        "All that is retired at node0 was purged before.\n"
    );
    assert_eq!(
        purged(&["--node", "node1"]),
        "Nothing is retired at node1.\n"
    );
}

#[test]
fn a_clean_up_of_which_nobody_reads_is_done_all_the_same() {
    let place = workplace();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = kato("cleanup");
    command.args(["--kb", "kb", "--threshold", "2", "--yes"]);
    command.current_dir(place.path()).stdin(Stdio::null());
    let output = command.stdout(writer).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let store = EmbeddedStore::open(place.path().join("kb")).unwrap();
    assert_eq!(store.count_patterns(0).unwrap(), 1);
}

#[test]
fn a_damaged_newest_commit_is_told() {
    let place = workplace();
    std::fs::write(place.path().join("kb/MANIFEST"), "{").unwrap();
    let output = run(&place, "analyze", &["--kb", "kb"]);
    assert!(output.status.success());
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .starts_with("warning: kb/MANIFEST is damaged")
    );
}

#[test]
fn wrong_usage_is_told_apart() {
    let place = workplace();
    for (name, arguments) in [
        ("cleanup", &["--kb", "kb"][..]),
        ("cleanup", &["--kb", "kb", "--threshold", "0"]),
        ("retire", &["--kb", "kb"]),
        ("retire", &["--kb", "kb", "abc"]),
        (
            "retire",
            &["--kb", "kb", "--node", "node7", &"0".repeat(40)],
        ),
        ("purge", &["--kb", "kb", "--yes", "--dry-run"]),
        (
            "cleanup",
            &["--kb", "kb", "--threshold", "2", "--yes", "--dry-run"],
        ),
        ("analyze", &["--compare", "one.json"]),
        ("analyze", &["--kb", "kb", "--compare", "a.json", "b.json"]),
    ] {
        let output = run(&place, name, arguments);
        assert_eq!(output.status.code(), Some(2), "{name} {arguments:?}");
    }
}

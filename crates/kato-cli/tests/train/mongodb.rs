//! Runs in a MongoDB: trained, resumed, listed, analysed, cleaned up, copied and deleted by the
//! programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use kato_mongo_server::{ServerOptions, is_installed, shared};
use serde_json::{Value, json};

use crate::place::{N_SAMPLES, Place, object};
use crate::report::stderr;

/// A server for all tests; `None` where none is installed.
fn server() -> Option<String> {
    is_installed().then(|| shared(ServerOptions::default()))
}

/// What `runs` tells of a run in a MongoDB.
fn run(place: &Place, uri: &str, name: &str) -> Value {
    place.json("runs", &["show", name, "--in", uri])
}

#[test]
fn every_spelling_and_program_finds_the_run() {
    let Some(uri) = server() else {
        return;
    };
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "kb"]);
    let prefixed = format!("mongodb:{uri}");
    for (name, backend) in [
        ("plain", uri.as_str()),
        ("prefixed", &prefixed),
        ("variable", "mongodb"),
    ] {
        let arguments = ["--backend", backend, "--run", name, "--workers", "2"];
        let output = place
            .train("corpus.jsonl", &[&["--quiet"], &arguments[..]].concat())
            .env("KATO_MONGODB_URI", &uri)
            .output()
            .unwrap();
        assert!(output.status.success(), "{backend}: {}", stderr(&output));
        let shown = place
            .command("runs", &["show", name, "--json", "--in", backend])
            .env("KATO_MONGODB_URI", &uri)
            .output()
            .unwrap();
        let shown = object(&shown);
        assert_eq!(shown["manifest"]["state"], "complete");
        assert_eq!(shown["manifest"]["results"]["documents"], N_SAMPLES);
        assert_eq!(shown["manifest"]["backend"]["kind"], "mongodb");
        let snapshot = [
            "--kb",
            &uri,
            "--run",
            name,
            "--snapshot",
            &format!("{name}.json"),
        ];
        place.json("analyze", &snapshot);
    }
    place.json("analyze", &["--kb", "kb", "--snapshot", "kb.json"]);
    for name in ["plain", "prefixed", "variable"] {
        let file = format!("{name}.json");
        let compared = place.json("analyze", &["--compare", "kb.json", &file]);
        assert_eq!(compared["equal"], true, "{name}");
    }

    let threshold = ["--threshold", "2", "--yes"];
    let here = place.json("cleanup", &[&["--kb", "kb"], &threshold[..]].concat());
    let there = ["--kb", &uri, "--run", "plain"];
    let there = place.json("cleanup", &[&there, &threshold[..]].concat());
    assert_eq!(there["nodes"], here["nodes"]);
    assert!(here["removed"].as_u64() > Some(0));
    assert!(!there["kb"].as_str().unwrap().contains('?'), "{there}");
}

#[test]
fn what_is_skipped_is_listed_where_the_run_began_wherever_it_goes_on() {
    let Some(uri) = server() else {
        return;
    };
    let place = Place::new().with_bad_records();
    let elsewhere = place.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let tokenizer = place.path("tokenizer.json");
    fs::copy(tokenizer, elsewhere.join("tokenizer.json")).unwrap();
    let corpus = place.path("bad.jsonl");
    let run = ["--backend", &uri, "--run", "skips", "--skip-errors"];
    let train = |more: &[&str]| place.train(corpus.to_str().unwrap(), &[&run, more].concat());
    let went_well = |mut command: Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        (object(&output), stderr(&output))
    };
    went_well(train(&["--max-documents", "15"]));
    let list = place.path("skips.errors.jsonl");
    let n_listed = |list: &Path| fs::read_to_string(list).unwrap().lines().count();
    let n_before = n_listed(&list);
    assert!(n_before > 0);
    let go_on = |more: &[&str]| {
        let mut command = train(&[&["--resume"], more].concat());
        command.current_dir(&elsewhere);
        command
    };
    went_well(go_on(&["--max-documents", "25"]));
    let n_both = n_listed(&list);
    assert!(n_both > n_before);
    assert!(!elsewhere.join("skips.errors.jsonl").exists());
    // One that is away is told, and never cut.
    let kept = place.path("kept.jsonl");
    fs::rename(&list, &kept).unwrap();
    let (report, told) = went_well(go_on(&[]));
    assert!(
        told.contains("the list of what was skipped so far is not at "),
        "{told}"
    );
    let rest = n_listed(&elsewhere.join("skips.errors.jsonl"));
    assert_eq!(report["errors"], n_both + rest);
    assert_eq!(n_listed(&kept), n_both);
    let shown = self::run(&place, &uri, "skips");
    let ledger = shown["manifest"]["options"]["ledger"].as_str().unwrap();
    assert!(ledger.ends_with("elsewhere/skips.errors.jsonl"), "{ledger}");
}

#[test]
fn a_run_goes_on_is_copied_and_deleted() {
    let Some(uri) = server() else {
        return;
    };
    let place = Place::new();
    let there = ["--backend", uri.as_str(), "--run", "parts"];
    place.trained(
        "corpus.jsonl",
        &[&there[..], &["--max-documents", "20"]].concat(),
    );
    assert_eq!(
        run(&place, &uri, "parts")["manifest"]["state"],
        "interrupted"
    );
    let again = [&there[..], &["--quiet"]].concat();
    let again = place.train("corpus.jsonl", &again).output().unwrap();
    assert_eq!(again.status.code(), Some(6));
    assert!(
        stderr(&again).contains(" already: go on with --resume, or give another --run"),
        "{}",
        stderr(&again)
    );
    let report = place.trained("corpus.jsonl", &[&there[..], &["--resume"]].concat());
    assert_eq!(report["session_documents"], N_SAMPLES - 20);
    assert_eq!(report["mongodb"]["run"], "parts");
    assert_eq!(run(&place, &uri, "parts")["manifest"]["state"], "complete");

    place.json("runs", &["clone", "parts", "copied", "--in", &uri]);
    place.json("runs", &["export", "copied", "out", "--in", &uri]);
    std::fs::create_dir(place.path("local")).unwrap();
    place.json(
        "runs",
        &["import", "out", "--name", "moved", "--in", "local"],
    );
    place.trained("corpus.jsonl", &["--kb", "kb"]);
    assert_eq!(place.exported("local/moved"), place.exported("kb"));
    let deleted = place.json("runs", &["delete", "copied", "--yes", "--in", &uri]);
    assert_eq!(deleted["deleted"]["manifest"]["name"], "copied");
    let gone = place
        .command("runs", &["show", "copied", "--in", &uri])
        .output();
    assert_eq!(gone.unwrap().status.code(), Some(1));
    let kept = place.json("runs", &["list", "--in", &uri]);
    let names = kept["runs"].as_array().unwrap().iter();
    let names: Vec<&Value> = names.map(|run| &run["manifest"]["name"]).collect();
    assert!(names.contains(&&json!("parts")), "{names:?}");
}

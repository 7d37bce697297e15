//! `run.json`, and what `runs` tells of a run in every state.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use kato_test_needs::wait_until;
use serde_json::{Value, json};

use crate::place::{N_SAMPLES, Place};
use crate::report::stderr;

fn manifest(place: &Place, kb: &str) -> Value {
    let text = fs::read_to_string(place.path(kb).join("run.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_finished_run_tells_what_it_was() {
    let place = Place::new();
    let arguments = [
        "--kb",
        "wiki",
        "--workers",
        "2",
        "--distribution",
        "contiguous",
    ];
    let report = place.trained("corpus.jsonl", &arguments);
    let manifest = manifest(&place, "wiki");
    assert_eq!(manifest["name"], "wiki");
    assert_eq!(manifest["state"], "complete");
    assert_eq!(manifest["backend"]["kind"], "embedded");
    assert_eq!(
        manifest["options"],
        json!({"n_workers": "2", "distribution": "contiguous"})
    );
    assert_eq!(manifest["corpus"]["files"], 1);
    assert_eq!(manifest["tokenizer"]["name"], "tokenizer.json");
    assert_eq!(manifest["levels"][1]["database"], "wiki_node1_kato");
    assert_eq!(manifest["results"]["documents"], N_SAMPLES);
    assert_eq!(manifest["results"]["tokens"], report["tokens"]);
    assert_eq!(manifest["results"]["seconds"], report["total_time_seconds"]);

    let run = place.run("wiki");
    assert_eq!(run["is_recorded"], true);
    assert_eq!(run["manifest"]["state"], "complete");
    assert_eq!(run["manifest"]["id"], manifest["id"]);
}

#[test]
fn a_session_that_is_refused_or_learns_nothing_leaves_the_manifest_alone() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "wiki"]);
    let before = fs::read(place.path("wiki/run.json")).unwrap();
    place.trained("corpus.jsonl", &["--kb", "wiki", "--resume"]);
    let refused = ["--kb", "wiki", "--resume", "--tail", "promote", "--quiet"];
    let refused = place.train("corpus.jsonl", &refused).output().unwrap();
    assert_eq!(refused.status.code(), Some(6));
    let after = fs::read(place.path("wiki/run.json")).unwrap();
    assert!(after == before, "{}", String::from_utf8_lossy(&after));
}

#[test]
fn a_killed_run_is_interrupted_whatever_it_wrote_last() {
    let place = Place::new();
    let records = fs::read_to_string(place.path("corpus.jsonl")).unwrap();
    let texts = records.lines().map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["text"].as_str().unwrap().to_owned() + "\n"
    });
    let corpus: Vec<u8> = texts.collect::<String>().into();
    // Standard input is plain text.
    let arguments = [
        "--kb",
        "wiki",
        "--text-unit",
        "line",
        "--commit-interval",
        "0",
        "--quiet",
    ];
    let mut child = place
        .train("-", &arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&corpus).unwrap();
    // It waits for more: the pipe is still open.
    wait_until("it begins", || place.path("wiki/run.json").exists());
    let running = place.run("wiki");
    assert_eq!(running["manifest"]["state"], "running");
    assert_eq!(running["manifest"]["process"], child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
    assert_eq!(manifest(&place, "wiki")["state"], "running");
    assert_eq!(place.run("wiki")["manifest"]["state"], "interrupted");

    let mut child = place
        .train("-", &[&arguments[..], &["--resume"]].concat())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&corpus).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let finished = place.run("wiki");
    assert_eq!(finished["manifest"]["state"], "complete");
    assert_eq!(finished["manifest"]["id"], running["manifest"]["id"]);
    assert_eq!(finished["manifest"]["results"]["documents"], N_SAMPLES);
    assert_eq!(finished["manifest"].get("process"), None);
}

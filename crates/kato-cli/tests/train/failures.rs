//! Samples and records that fail: listed, counted, told by the exit code.

use std::fs;

use serde_json::{Value, json};

use crate::place::{N_SAMPLES, Place, UNLEARNABLE, object};
use crate::report::{counters, stderr};

/// Entries of the ledger of a knowledge base, of documents and of records.
fn ledger(place: &Place, kb: &str) -> (Vec<Value>, Vec<Value>) {
    let text = fs::read_to_string(place.path(kb).join("errors.jsonl")).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
    entries.partition(|entry: &Value| entry.get("document_idx").is_some())
}

#[test]
fn without_skipping_the_first_failure_ends_the_run() {
    let place = Place::new().with_bad_records();
    let output = place.train("bad.jsonl", &["--quiet"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("d7"), "{}", stderr(&output));
}

#[test]
fn failures_are_listed_and_told_by_the_exit_code() {
    let place = Place::new().with_bad_records();
    let arguments = ["--skip-errors", "--fail-on-errors", "--quiet"];
    let output = place.train("bad.jsonl", &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let report = object(&output);
    assert_eq!(report["complete"], true);
    assert_eq!(report["samples_processed"], N_SAMPLES - 5);
    assert_eq!(report["errors"], 5);
    assert_eq!(report["bad_records"], 2);
    assert_eq!(report["failures"]["unlearnable"], 3);

    let (mut failed, records) = ledger(&place, "kato-kb");
    failed.sort_by_key(|entry| entry["document_idx"].as_u64());
    let documents: Vec<&Value> = failed.iter().map(|entry| &entry["document"]).collect();
    assert_eq!(json!(documents), json!(["d7", "d20", "d41"]));
    for entry in &failed {
        assert_eq!(entry["kind"], "unlearnable");
        assert_eq!(entry["level"], 0);
        assert_eq!(entry["attempts"], 1);
        let reason = entry["reason"].as_str().unwrap();
        assert!(reason.contains("no unknown-token"), "{entry}");
    }
    assert_eq!(records.len(), 2, "{records:?}");

    // The same without being asked to tell; in words.
    let arguments = [
        "bad.jsonl",
        "--tokenizer",
        "tokenizer.json",
        "--levels",
        "3,2",
    ];
    let more = ["--kb", "words", "--skip-errors", "--quiet"];
    let output = place
        .command("train", &[arguments.as_slice(), &more].concat())
        .output();
    let output = output.unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let expected = "5 errors (2 unreadable records, 3 documents without anything to learn from), listed in words/errors.jsonl\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_record_that_cannot_be_read_is_a_failure_as_well() {
    let place = Place::new();
    let good = std::fs::read_to_string(place.path("corpus.jsonl")).unwrap();
    std::fs::write(place.path("torn.jsonl"), format!("{{\n{{\n{good}")).unwrap();
    let ends = |most| {
        let arguments = ["--kb", most, "--skip-errors", "--max-errors", most];
        let output = place.train("torn.jsonl", &arguments).output().unwrap();
        (output.status.code(), stderr(&output))
    };
    let (code, told) = ends("1");
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("documents and records that failed: 2, and 1 may"),
        "{told}"
    );
    assert_eq!(ends("2").0, Some(0));
}

#[test]
fn too_many_failures_end_the_run_and_lose_nothing() {
    let place = Place::new().with_bad_records();
    let whole = ["--kb", "whole", "--skip-errors"];
    let whole = place.train("bad.jsonl", &whole).output().unwrap();

    let arguments = ["--skip-errors", "--max-errors", "1", "--quiet"];
    let output = place.train("bad.jsonl", &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    let counted = told
        .strip_prefix("error: documents and records that failed: ")
        .and_then(|rest| rest.split_once(','));
    let (counted, rest) = counted.unwrap();
    assert!(rest.starts_with(" and 1 may"), "{told}");
    // What the error counts is what there is to look at.
    let (documents, records) = ledger(&place, "kato-kb");
    assert_eq!((documents.len() + records.len()).to_string(), counted);
    assert_eq!(place.run("kato-kb")["manifest"]["state"], "interrupted");

    let arguments = ["--skip-errors", "--max-errors", "5", "--resume"];
    let output = place.train("bad.jsonl", &arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(counters(&output), counters(&whole));
    assert_eq!(place.exported("kato-kb"), place.exported("whole"));
    let sorted = |kb| {
        let (mut documents, records) = ledger(&place, kb);
        documents.sort_by_key(|entry| entry["document_idx"].as_u64());
        (documents, records)
    };
    assert_eq!(sorted("kato-kb"), sorted("whole"));
}

#[test]
fn one_failure_of_each_kind_is_told_as_one() {
    let place = Place::new();
    let good = fs::read_to_string(place.path("corpus.jsonl")).unwrap();
    fs::write(place.path("torn.jsonl"), format!("{good}{{\n")).unwrap();
    let words = ["torn.jsonl", "--tokenizer", "tokenizer.json", "--quiet"];
    let words = [&words[..], &["--levels", "3,2", "--skip-errors"]].concat();
    let output = place.command("train", &words).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("1 error (1 unreadable record), listed in "),
        "{text}"
    );
}

/// Checks that a run over a damaged corpus fails, tells why, and leaves the directory as it was, missing or
/// empty; and that the same command learns the corpus when it is mended.
#[track_caller]
fn leaves_nothing(damaged: &str, options: &[&str], why: &str) {
    let place = Place::new();
    let good = fs::read_to_string(place.path("corpus.jsonl")).unwrap();
    fs::create_dir(place.path("empty")).unwrap();
    for kb in ["new", "not/there/new", "empty"] {
        let arguments = [&["--kb", kb, "--quiet"], options].concat();
        fs::write(place.path("torn.jsonl"), damaged).unwrap();
        let output = place.train("torn.jsonl", &arguments).output().unwrap();
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        // Why, also where the list of what was skipped goes with the directory.
        assert!(told.contains(why), "{arguments:?}: {told}");
        let left = fs::read_dir(place.path(kb)).map(Iterator::count);
        match kb {
            "empty" => assert_eq!(left.unwrap(), 0, "{arguments:?}"),
            _ => assert!(left.is_err(), "{arguments:?}: {left:?}"),
        }
        if kb.starts_with("not") {
            assert!(!place.path("not").exists(), "{arguments:?}");
        }
        fs::write(place.path("torn.jsonl"), &good).unwrap();
        let output = place.train("torn.jsonl", &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn a_run_that_could_read_nothing_leaves_its_directory_as_it_was() {
    leaves_nothing("{\n", &[], "EOF while parsing");
    // All that is read with --skip-errors, so that it ends there, too.
    leaves_nothing("{\n", &["--skip-errors"], "EOF while parsing");
}

#[test]
fn a_run_whose_first_document_cannot_be_learned_leaves_its_directory_as_it_was() {
    let damaged = json!({"id": "d0", "text": UNLEARNABLE}).to_string() + "\n";
    leaves_nothing(&damaged, &[], "no unknown-token");
}

#[test]
fn a_run_that_too_many_failures_end_at_once_leaves_its_directory_as_it_was() {
    let options = ["--skip-errors", "--max-errors", "1"];
    // The list of errors, of which the error speaks, goes with the directory.
    leaves_nothing("{\n{\n", &options, "documents and records that failed: 2");
    leaves_nothing("{\n{\n", &options, "begin again, without --resume");
    leaves_nothing("{\n{\n", &options, "EOF while parsing");
    // Documents, too, of which the position is behind.
    let damaged = json!({"id": "d0", "text": UNLEARNABLE}).to_string() + "\n";
    leaves_nothing(
        &damaged.repeat(2),
        &options,
        "begin again, without --resume",
    );
}

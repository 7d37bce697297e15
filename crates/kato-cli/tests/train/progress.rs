//! What is told while a run goes on.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::place::{N_SAMPLES, Place};
use crate::report::stderr;

/// Standard error of a training with this kind of progress.
fn told(place: &Place, kb: &str, mode: &str) -> String {
    let arguments = ["--kb", kb, "--progress", mode, "--commit-interval", "0"];
    let output = place.train("corpus.jsonl", &arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stderr(&output)
}

#[test]
fn a_run_whose_result_nobody_reads_is_done_all_the_same() {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut training = place.train("corpus.jsonl", &["--kb", "kb", "--quiet"]);
    let output = training.stdout(writer).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn json_is_an_object_a_line_with_the_documented_keys() {
    let text = told(&Place::new(), "kb", "json");
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let documented = include_str!("../../../../docs/training.md");
    let mut kinds = BTreeSet::new();
    for event in &events {
        let keys: Vec<&str> = event
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let kind = event["event"].as_str().unwrap();
        kinds.insert(kind);
        for key in keys.iter().filter(|&&key| key != "event") {
            let row = documented
                .lines()
                .find(|line| line.starts_with(&format!("| `{kind}` |")));
            assert!(
                row.is_some_and(|row| row.contains(&format!("`{key}`"))),
                "docs/training.md tells nothing of {key} of {kind}"
            );
        }
    }
    assert!(
        kinds.is_superset(&["progress", "committed", "counting"].into()),
        "{text}"
    );
    let committed = events.iter().rfind(|event| event["event"] == "committed");
    assert_eq!(committed.unwrap()["documents"], N_SAMPLES);
    let progress: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "progress")
        .collect();
    for pair in progress.windows(2) {
        assert!(pair[0]["documents"].as_u64() <= pair[1]["documents"].as_u64());
        assert!(pair[0]["elapsed"].as_f64() <= pair[1]["elapsed"].as_f64());
    }
}

/// The events that a command tells machines of, each with its text.
fn events(text: &str) -> Vec<(String, String)> {
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).expect(line);
        let text = event["text"].as_str().unwrap_or_default().to_owned();
        (event["event"].as_str().expect(line).to_owned(), text)
    };
    text.lines().map(event).collect()
}

#[test]
fn machines_are_told_everything_in_their_form() {
    let place = Place::new();
    for (arguments, code, kind, told) in [
        (
            &["--max-samples", "2"][..],
            0,
            "notice",
            "is called --max-documents now",
        ),
        (
            &["--max-paragraph-tokens", "9"],
            0,
            "notice",
            "not learned, as",
        ),
        (&["--workers", "none"], 2, "error", "invalid value 'none'"),
        (&["--run", "one"], 2, "error", "--run"),
        (
            &["--settings", "missing.toml"],
            1,
            "error",
            "--settings missing.toml",
        ),
    ] {
        let kb = format!("kb{}", arguments[0]);
        let rest = ["--kb", &kb, "--progress", "json"];
        let mut training = place.train("corpus.jsonl", &[arguments, &rest].concat());
        let output = training.output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        let events = events(&text);
        let is_told = |(event, text): &(String, String)| event == kind && text.contains(told);
        assert!(events.iter().any(is_told), "{arguments:?}: {text}");
    }
}

#[test]
fn machines_are_told_what_is_waited_for() {
    let place = Place::new();
    let pipe = place.path("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let mut training = place.train("pipe", &["--kb", "kb", "--progress=json"]);
    let training = training.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut training = training.spawn().unwrap();
    let mut told = BufReader::new(training.stderr.take().unwrap());
    let mut first = String::new();
    told.read_line(&mut first).unwrap();
    fs::write(&pipe, "the old sea sings at night\n").unwrap();
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert!(training.wait().unwrap().success(), "{first}{rest}");
    let events = events(&format!("{first}{rest}"));
    assert_eq!(events[0].0, "notice");
    assert!(events[0].1.starts_with("waiting for "), "{events:?}");
}

#[test]
fn other_modes_say_as_much_as_their_names() {
    let place = Place::new();
    assert_eq!(told(&place, "silent", "silent"), "");
    // Shorter than the ten seconds between two lines.
    assert_eq!(told(&place, "summary", "summary"), "");
    assert_eq!(told(&place, "bar", "bar"), "");
    let text = told(&place, "detailed", "detailed");
    assert!(
        text.ends_with(&format!("committed up to document {N_SAMPLES}\n")),
        "{text}"
    );
    let quiet = ["--quiet", "--progress", "detailed", "--kb", "quiet"];
    place.trained("corpus.jsonl", &quiet[1..]);
}

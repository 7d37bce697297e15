//! A profiled run learns the same, and tells what bounds it in every form that was asked for.

use serde_json::Value;

use crate::place::Place;

const REPORTS: [&str; 4] = ["run.html", "run.json", "run.csv", "run.prom"];

#[test]
fn a_profiled_run_learns_the_same_and_writes_every_report() {
    let place = Place::new(600);
    let mut arguments = vec![
        "corpus.jsonl",
        "--kb",
        "profiled",
        "--json",
        "--quiet",
        "--profile",
    ];
    arguments.extend(REPORTS.iter().flat_map(|report| ["--report", report]));
    let profiled = place.json_of("train", &arguments);
    let plain = place.json_of(
        "train",
        &["corpus.jsonl", "--kb", "plain", "--json", "--quiet"],
    );
    assert_eq!(profiled["levels"], plain["levels"]);
    assert_eq!(plain["profile"], Value::Null);

    let verdict = &profiled["profile"]["verdict"];
    assert!(verdict["advice"].is_string(), "{verdict}");
    assert!(verdict["confidence"].is_number(), "{verdict}");

    let report: Value = serde_json::from_str(&place.read("run.json")).unwrap();
    assert_eq!(&report["verdict"], verdict);
    let stages = report["stages"].as_array().unwrap();
    let names: Vec<_> = stages
        .iter()
        .map(|stage| stage["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["decode", "load", "learn", "stage", "commit"]);
    let learned = stages
        .iter()
        .find(|stage| stage["name"] == "learn")
        .unwrap();
    assert_eq!(learned["items"], plain["samples_processed"]);
    assert_eq!(report["throughput"]["samples"], plain["samples_processed"]);
    let nodes = report["nodes"].as_array().unwrap();
    let observations: Vec<_> = nodes.iter().map(|node| &node["learned"]).collect();
    let levels = plain["levels"].as_array().unwrap();
    assert_eq!(
        observations,
        levels
            .iter()
            .map(|level| &level["learns"])
            .collect::<Vec<_>>()
    );

    assert!(place.read("run.html").trim_end().ends_with("</html>"));
    assert!(place.read("run.csv").lines().count() >= 2);
    assert!(place.read("run.prom").contains("# TYPE "));
}

#[test]
fn the_verdict_is_told_in_words() {
    let place = Place::new(300);
    let output = place.run(
        "train",
        &["corpus.jsonl", "--quiet", "--profile", "--confirm"],
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("bounds the run") || text.contains("bound by"),
        "{text}"
    );
    // The run is over long before the experiment could begin.
    assert!(
        text.contains("The experiment says nothing: the run was over before it was"),
        "{text}"
    );
}

#[test]
fn reports_of_no_form_and_reports_without_a_profile_are_refused() {
    let place = Place::new(3);
    let form = place.refusal(
        "train",
        &["corpus.jsonl", "--profile", "--report", "run.pdf"],
        2,
    );
    assert!(form.contains(".html, .json, .csv or .prom"), "{form}");
    let alone = place.refusal("train", &["corpus.jsonl", "--report", "run.html"], 2);
    assert!(alone.contains("--profile"), "{alone}");
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_run() {
    let place = Place::new(30);
    let arguments = [
        "corpus.jsonl",
        "--quiet",
        "--profile",
        "--report",
        "no/such/folder/run.html",
    ];
    let told = place.refusal("train", &arguments, 1);
    let expected = "--report no/such/folder/run.html cannot be written: choose another place";
    assert!(told.contains(expected), "{told}");
    let told = place.refusal("inspect", &[], 1);
    assert!(told.contains("no knowledge base"), "{told}");
}

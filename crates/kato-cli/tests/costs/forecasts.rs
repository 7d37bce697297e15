//! Forecasts by the runs of a history.

#![cfg(feature = "history")]

use kato_planner::history::record::{LevelOutcome, Machine, Outcome, RunSettings};
use kato_planner::history::{NewRun, TrainingHistory};
use serde_json::json;

use crate::place::Place;

/// Records runs of several sizes, of so many seconds a learn call, and returns the id of the last.
fn record(
    history: &mut TrainingHistory,
    machine: &Machine,
    (backend, workers): (&str, u64),
    seconds: f64,
) -> String {
    let mut id = String::new();
    let largest: u64 = if backend == "embedded" { 1600 } else { 800 };
    for samples in [largest / 8, largest / 4, largest / 2, largest] {
        let learns = 20 * samples;
        let settings = RunSettings {
            backend: Some(backend.to_owned()),
            workers: Some(workers),
            ..RunSettings::new([5, 7])
        };
        let outcome = Outcome {
            complete: true,
            samples,
            levels: vec![LevelOutcome::new("node0", learns)],
            ..Outcome::new(seconds * learns as f64)
        };
        let run = NewRun {
            machine: machine.clone(),
            ..NewRun::new(settings, outcome)
        };
        id = history.record(&run).unwrap();
    }
    id
}

#[test]
fn a_forecast_is_of_one_machine_and_one_kind_of_place() {
    let place = Place::new(20);
    let train = [
        "corpus.jsonl",
        "--kb",
        "kb",
        "--history",
        "here.db",
        "--quiet",
        "--json",
    ];
    let trained = place.json_of("train", &train);
    let recorded = trained["recorded"].as_str().unwrap();
    let show = ["show", recorded, "--history", "here.db", "--json"];
    let here = place.json_of("history", &show)["machine"].clone();
    let here: Machine = serde_json::from_value(here).unwrap();
    let there = Machine {
        name: Some("another".to_owned()),
        ..Machine::default()
    };

    let open = |name: &str| TrainingHistory::open(place.path().join(name)).unwrap();
    let mut runs = open("runs.db");
    record(&mut runs, &here, ("embedded", 1), 0.001);
    record(&mut runs, &here, ("embedded", 2), 0.1);
    record(&mut runs, &here, ("kato", 1), 1.0);
    let of_another = record(&mut runs, &there, ("embedded", 1), 0.01);
    let words = ["forecast", "--levels", "5,7", "--documents", "1000"];
    let words = [&words[..], &["--history", "runs.db", "--workers", "1"]].concat();
    let ask = |more: &[&str]| {
        let answer = place.json_of("history", &[&words[..], &["--json"], more].concat());
        let seconds = answer["seconds"]["value"].as_f64().unwrap();
        (
            seconds.round(),
            answer["runs"].clone(),
            answer["left_out"].clone(),
        )
    };
    let left_out = |machine: u64, backend: u64, workers: u64| json!({"time": 0, "machine": machine, "backend": backend, "workers": workers});
    assert_eq!(ask(&[]), (20.0, json!(4), left_out(4, 4, 4)));
    let like = ["--like", &of_another];
    assert_eq!(ask(&like), (200.0, json!(4), left_out(12, 0, 0)));
    let told = String::from_utf8(place.run("history", &words).stdout).unwrap();
    let expected = "left out: 4 runs of another machine, 4 runs into another kind of place, 4 runs with another number of workers\n";
    assert!(told.ends_with(expected), "{told}");
    let learns =
        "by 4 runs; 20,000 learn calls in all, as many a document as run_c5-7_w1_s1600 tells\n";
    assert!(told.contains(learns), "{told}");
    let words_with = [&words[..], &["--learns", "30"]].concat();
    let told = String::from_utf8(place.run("history", &words_with).stdout).unwrap();
    let learns = "30,000 learn calls in all, as many a document as --learns tells\n";
    assert!(told.contains(learns), "{told}");

    // Of runs that are left out nothing is denied.
    for (levels, workers, expected) in [
        (
            "5,7",
            "3",
            "no run tells the time of this one; left out: 4 runs of another machine",
        ),
        (
            "9,9",
            "1",
            "no run that is not left out has these chunk sizes",
        ),
    ] {
        let words = ["forecast", "--levels", levels, "--documents", "1000"];
        let words = [&words[..], &["--history", "runs.db", "--workers", workers]].concat();
        let told = place.refusal("history", &words, 1);
        assert!(told.contains(expected), "{told}");
    }

    record(&mut open("there.db"), &there, ("embedded", 1), 0.01);
    let words = ["forecast", "--levels", "5,7", "--documents", "1000"];
    let words = [&words[..], &["--history", "there.db"]].concat();
    let told = place.refusal("history", &words, 1);
    assert!(
        told.contains("no run is of this machine: --like RUN"),
        "{told}"
    );
}

#[test]
fn earlier_runs_with_as_many_workers_foretell_a_run() {
    let place = Place::new(160);
    let corpus = place.read("corpus.jsonl");
    let lines: Vec<&str> = corpus.lines().collect();
    let train = |documents: usize, workers: &str| {
        let file = format!("{documents}.jsonl");
        std::fs::write(place.path().join(&file), lines[..documents].join("\n")).unwrap();
        let kb = format!("{documents}-{workers}");
        let words = [
            file.as_str(),
            "--kb",
            &kb,
            "--workers",
            workers,
            "--history",
            "runs.db",
            "--quiet",
            "--json",
        ];
        place.json_of("train", &words)["forecast"]["made_by"].clone()
    };
    for documents in [20, 40, 80] {
        assert_eq!(train(documents, "1"), json!(null));
    }
    // Those with one worker say nothing of two.
    assert_eq!(train(160, "2"), json!(null));
    assert_eq!(train(160, "1"), json!("history"));
    assert_eq!(train(160, "auto"), json!("history"));
}

//! `train` into a real KATO's stand-in: what was counted twice by trainers that trust a clock, and
//! servers that want nobody's good.

use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use kato_stock_server::{Generation, StockOptions, StockServer};
use serde_json::Value;

use crate::place::Place;
use crate::report::stderr;

/// Learn calls of the corpus, as this process counts them.
fn taught(place: &Place) -> u64 {
    let report = place.trained("corpus.jsonl", &["--kb", "here", "--metadata"]);
    let levels = report["levels"].as_array().unwrap();
    levels
        .iter()
        .map(|level| level["learns"].as_u64().unwrap())
        .sum()
}

fn arguments<'a>(backend: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["--backend", backend, "--run", "r", "--quiet", "--metadata"];
    [&fixed, more].concat()
}

fn report(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Many workers, a slow server, and time-outs where there was no fault at all.
#[test]
fn slowness_alone_counts_nothing_twice() {
    for generation in [Generation::V3_10, Generation::October2025] {
        let place = Place::new();
        let expected = taught(&place);
        let options = StockOptions::default()
            .generation(generation)
            .stall(40, 900);
        let server = StockServer::start(options.data(&place.path("data")));
        let backend = format!("kato:{}", server.url());
        let more = ["--workers", "21", "--timeout", "0.5", "--settle", "2"];
        let output = place
            .train("corpus.jsonl", &arguments(&backend, &more))
            .output();
        let report = report(&output.unwrap());
        let doubts = &report["server"]["doubts"];
        assert!(
            doubts["requests"].as_u64() > Some(0),
            "no answer was late: {doubts}"
        );
        assert_eq!(server.learned().total_learn_calls(), expected, "{doubts}");
    }
}

#[test]
fn a_server_that_dies_in_the_middle_and_comes_back_counts_nothing_twice() {
    let place = Place::new();
    let expected = taught(&place);
    let data = place.path("data");
    let options = || StockOptions::default().data(&data);
    let mut server = StockServer::start(options().die_after(47));
    let backend = format!("kato:{}", server.url());
    let arguments = arguments(&backend, &["--workers", "4", "--settle", "1"]);
    let trainer = place.train("corpus.jsonl", &arguments).spawn().unwrap();
    assert!(server.wait_ended(Duration::from_secs(60)).is_some());
    server.restart_with(options());
    let report = report(&trainer.wait_with_output().unwrap());
    let doubts = &report["server"]["doubts"];
    assert!(doubts["requests"].as_u64() > Some(0), "{doubts}");
    assert_eq!(server.learned().total_learn_calls(), expected, "{doubts}");
}

#[test]
fn a_trainer_that_is_killed_and_resumed_at_once_counts_nothing_twice() {
    let place = Place::new();
    let expected = taught(&place);
    let server = StockServer::start(StockOptions::default().data(&place.path("data")));
    let backend = format!("kato:{}", server.url());
    let more = ["--workers", "4", "--settle", "1"];
    for round in 0..3 {
        let mut arguments = arguments(&backend, &more);
        if round > 0 {
            arguments.push("--resume");
        }
        let mut trainer = place.train("corpus.jsonl", &arguments).spawn().unwrap();
        thread::sleep(Duration::from_millis(1_200));
        trainer.kill().unwrap();
        trainer.wait().unwrap();
    }
    let more = [&more[..], &["--resume"]].concat();
    let output = place
        .train("corpus.jsonl", &arguments(&backend, &more))
        .output();
    let report = report(&output.unwrap());
    assert_eq!(server.learned().total_learn_calls(), expected);
    // Far fewer questions than learn calls.
    let asked = report["server"]["calls"]["by_kind"]["node"]
        .as_u64()
        .unwrap();
    assert!(
        asked < expected / 2,
        "{asked} questions for {expected} learn calls"
    );
}

/// A real KATO shows a pattern up to 200 ms after it has learned it.
#[test]
fn a_run_that_is_resumed_before_its_patterns_show_goes_on() {
    let place = Place::new();
    let expected = taught(&place);
    let options = StockOptions::quick().visible_ms(3_000);
    let server = StockServer::start(options.data(&place.path("data")));
    let backend = format!("kato:{}", server.url());
    for more in [["--max-samples", "10"].as_slice(), &["--resume"]] {
        let output = place
            .train("corpus.jsonl", &arguments(&backend, more))
            .output();
        report(&output.unwrap());
    }
    assert_eq!(server.learned().total_learn_calls(), expected);
}

#[test]
fn patience_bounds_servers_that_never_come_to_an_end() {
    let place = Place::new();
    for (what, options) in [
        ("endless", StockOptions::quick().endless(true)),
        ("dribble", StockOptions::quick().dribble(true)),
        ("years", StockOptions::quick().retry_after(400_000_000)),
        ("hangs", StockOptions::quick().hang_after(5)),
    ] {
        let server = StockServer::start(options);
        let backend = format!("kato:{}", server.url());
        let more = ["--run", what, "--patience", "2"];
        let arguments = [&["--backend", backend.as_str(), "--quiet"][..], &more].concat();
        let start = Instant::now();
        let output = place.train("corpus.jsonl", &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{what}: {}", stderr(&output));
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{what}: {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn a_run_is_known_by_its_nodes() {
    for generation in [Generation::V3_10, Generation::October2025] {
        let place = Place::new();
        let server = StockServer::start(StockOptions::quick().generation(generation));
        let backend = format!("kato:{}", server.url());
        let unknown = place.train("corpus.jsonl", &arguments(&backend, &["--resume"]));
        let unknown = { unknown }.output().unwrap();
        assert_eq!(unknown.status.code(), Some(1));
        assert!(
            stderr(&unknown).contains("nobody knows what the nodes were taught"),
            "{}",
            stderr(&unknown)
        );

        let ten = place
            .train(
                "corpus.jsonl",
                &arguments(&backend, &["--max-samples", "10"]),
            )
            .output();
        report(&ten.unwrap());
        // The state is lost.
        let more = ["--state", "elsewhere.json"];
        let again = place
            .train("corpus.jsonl", &arguments(&backend, &more))
            .output();
        let again = again.unwrap();
        assert_eq!(again.status.code(), Some(1), "{generation:?}");
        assert!(
            stderr(&again).contains("knows patterns that this run has not taught"),
            "{}",
            stderr(&again)
        );
    }
}

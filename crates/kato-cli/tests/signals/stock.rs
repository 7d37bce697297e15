//! Training into a real KATO's stand-in, whose requests take as long as they like.

use std::time::{Duration, Instant};

use kato_stock_server::{Generation, Millis, StockOptions, StockServer};

use crate::interrupted::{interrupt, n_moments};
use crate::place::Place;
use crate::random::Random;
use crate::report::stderr;

fn arguments<'a>(backend: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["--backend", backend, "--run", "r", "--quiet", "--metadata"];
    [&fixed, more].concat()
}

#[test]
fn a_run_that_is_interrupted_at_any_moment_teaches_everything_once() {
    let mut random = Random::from_seed(39);
    let mut n_signals = 0;
    while n_signals < n_moments() {
        let generation = match random.next() < 0.5 {
            true => Generation::V3_10,
            false => Generation::October2025,
        };
        let place = Place::new();
        let expected = place.learns();
        let options = StockOptions::default().generation(generation);
        let server = StockServer::start(options.data(&place.path("data")));
        let backend = format!("kato:{}", server.url());
        let workers = random.pick(&["1", "4", "16"]);
        let more = ["--workers", workers, "--settle", "0.5"];
        loop {
            let mut arguments = arguments(&backend, &more);
            if place.path("r.kato-run.json").exists() {
                arguments.push("--resume");
            }
            let command = place.train("corpus.jsonl", &arguments);
            let after = random.delay(Duration::from_secs(4));
            if n_signals >= n_moments() {
                let output = { command }.output().unwrap();
                assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
                break;
            }
            let interrupted = interrupt(command, after, &mut random);
            if interrupted.was_over {
                let output = interrupted.output;
                assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
                break;
            }
            n_signals += 1;
        }
        assert_eq!(server.learned().total_learn_calls(), expected);
    }
}

/// The server neither answers nor closes: requests would take minutes.
#[test]
fn requests_without_an_end_are_given_up_and_found_again() {
    let place = Place::new();
    let expected = place.learns();
    let data = place.path("data");
    let mut server = StockServer::start(StockOptions::default().data(&data).hang_after(40));
    let backend = format!("kato:{}", server.url());
    let more = ["--workers", "8", "--settle", "0.5", "--timeout", "300"];
    // Without a name of its own.
    let unnamed = ["--backend", &backend, "--quiet", "--metadata"];
    let command = place.train("corpus.jsonl", &[&unnamed, &more[..]].concat());
    let mut random = Random::from_seed(1);
    let start = Instant::now();
    let interrupted = interrupt(command, Duration::from_secs(6), &mut random);
    assert!(start.elapsed() < Duration::from_secs(12));
    assert!(!interrupted.was_over);
    let told = stderr(&interrupted.output);
    assert!(told.starts_with("stopping: "), "{told}");
    // In an orderly way, and not by the clock.
    assert!(
        told.contains("interrupted; everything committed is safe"),
        "{told}"
    );
    let named = told.split_once("the same command and --run ");
    let (name, how) = named.and_then(|(_, how)| how.split_once(' ')).unwrap();
    assert!(how.starts_with("and --resume."), "{told}");
    server.restart_with(StockOptions::quick().data(&data));
    let more = [&more[..], &["--run", name, "--resume"]].concat();
    let output = place
        .train("corpus.jsonl", &[&unnamed, &more[..]].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(server.learned().total_learn_calls(), expected);
}

/// Every learn takes seconds, so that no request ends in time.
#[test]
fn a_server_that_goes_on_with_what_was_given_up_is_waited_for_when_the_run_is_resumed() {
    let place = Place::new();
    let expected = place.learns();
    let data = place.path("data");
    let slow = StockOptions::default().learn_ms(Millis::from(900..=1_100));
    let server = StockServer::start(slow.data(&data));
    let backend = format!("kato:{}", server.url());
    let more = ["--workers", "2", "--settle", "2", "--max-documents", "2"];
    let mut random = Random::from_seed(2);
    let command = place.train("corpus.jsonl", &arguments(&backend, &more));
    let interrupted = interrupt(command, Duration::from_secs(4), &mut random);
    assert!(!interrupted.was_over);
    let more = [&more[..4], &["--resume", "--max-documents", "2"]].concat();
    let output = place
        .train("corpus.jsonl", &arguments(&backend, &more))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let levels = report["levels"].as_array().unwrap();
    let learns = levels.iter().map(|level| level["learns"].as_u64().unwrap());
    assert_eq!(server.learned().total_learn_calls(), learns.sum::<u64>());
    assert!(server.learned().total_learn_calls() < expected);
}

//! `train` into a real KATO's stand-in: what was counted twice by trainers that trust a clock, and
//! servers that want nobody's good.

use std::fs;
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use kato_stock_server::{Generation, StockOptions, StockServer};
use serde_json::Value;

use crate::place::Place;
use crate::report::stderr;

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
        let expected = place.learns();
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

#[cfg(feature = "history")]
#[test]
fn the_history_has_how_many_documents_travel_together() {
    let place = Place::new();
    let server = StockServer::start(StockOptions::default().data(&place.path("data")));
    let backend = format!("kato:{}", server.url());
    let history = ["--history", "runs.db", "--batch", "3"];
    let output = place
        .train("corpus.jsonl", &arguments(&backend, &history))
        .output();
    let recorded = report(&output.unwrap())["recorded"].clone();
    let show = ["show", recorded.as_str().unwrap(), "--history", "runs.db"];
    assert_eq!(place.json("history", &show)["settings"]["batch_size"], 3);
}

#[test]
fn a_server_that_dies_in_the_middle_and_comes_back_counts_nothing_twice() {
    let place = Place::new();
    let expected = place.learns();
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
    let expected = place.learns();
    let server = StockServer::start(StockOptions::default().data(&place.path("data")));
    let backend = format!("kato:{}", server.url());
    let more = ["--workers", "4", "--settle", "1"];
    for round in 0..3 {
        let mut arguments = arguments(&backend, &more);
        if round > 0 {
            arguments.push("--resume");
        }
        let before = server.learned().total_learn_calls();
        let mut trainer = place.train("corpus.jsonl", &arguments).spawn().unwrap();
        // In the middle of its work, or after it.
        while server.learned().total_learn_calls() == before
            && trainer.try_wait().unwrap().is_none()
        {
            thread::yield_now();
        }
        trainer.kill().unwrap();
        trainer.wait().unwrap();
    }
    let more = [&more[..], &["--resume"]].concat();
    let output = place
        .train("corpus.jsonl", &arguments(&backend, &more))
        .output();
    let report = report(&output.unwrap());
    assert_eq!(server.learned().total_learn_calls(), expected);
    // Far fewer questions than learn calls, beside the 64 of each node in the end.
    let asked = report["server"]["calls"]["by_kind"]["node"]
        .as_u64()
        .unwrap();
    assert!(
        asked < expected / 2 + 2 * 64,
        "{asked} questions for {expected} learn calls"
    );
}

/// A real KATO shows a pattern up to 200 ms after it has learned it.
#[test]
fn a_run_that_is_resumed_before_its_patterns_show_goes_on() {
    let place = Place::new();
    let expected = place.learns();
    let options = StockOptions::quick().visible_ms(3_000);
    let server = StockServer::start(options.data(&place.path("data")));
    let backend = format!("kato:{}", server.url());
    for more in [["--max-documents", "10"].as_slice(), &["--resume"]] {
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
    for (what, code, options) in [
        // What sends so much is no KATO.
        ("endless", 1, StockOptions::quick().endless(true)),
        ("dribble", 4, StockOptions::quick().dribble(true)),
        ("years", 4, StockOptions::quick().retry_after(400_000_000)),
        ("hangs", 4, StockOptions::quick().hang_after(5)),
    ] {
        let server = StockServer::start(options);
        let backend = format!("kato:{}", server.url());
        // What is too long for an answer comes to its bound long before, also on a busy machine.
        let patience = if what == "endless" { "20" } else { "2" };
        let more = ["--run", what, "--patience", patience];
        let arguments = [&["--backend", backend.as_str(), "--quiet"][..], &more].concat();
        let start = Instant::now();
        let output = place.train("corpus.jsonl", &arguments).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{what}: {}",
            stderr(&output)
        );
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
                &arguments(&backend, &["--max-documents", "10"]),
            )
            .output();
        report(&ten.unwrap());
        // The state is lost. Of a run that is refused at once nothing stays, also where its only batch is
        // short, which is written down before it is sent: the same command can be tried again.
        let more = ["--state", "elsewhere.json", "--batch", "100"];
        for _ in 0..2 {
            let again = place
                .train("corpus.jsonl", &arguments(&backend, &more))
                .output();
            let again = again.unwrap();
            assert_eq!(again.status.code(), Some(6), "{generation:?}");
            assert!(
                stderr(&again).contains("knows patterns that this run has not taught"),
                "{}",
                stderr(&again)
            );
            let left = fs::read_dir(place.path(".")).unwrap();
            let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let left: Vec<String> = left.filter(|name| name.starts_with("else")).collect();
            assert!(left.is_empty(), "{generation:?}: {left:?}");
        }
    }
}

/// A server whose Redis keeps nothing, as KATO configures it, forgets what it was taught when it
/// restarts.
#[test]
fn a_server_that_loses_what_it_was_taught_ends_the_run_with_an_error() {
    let place = Place::new();
    let options = || {
        StockOptions::default()
            .data(&place.path("data"))
            .volatile(true)
    };
    let mut server = StockServer::start(options().die_after(60));
    let backend = format!("kato:{}", server.url());
    let arguments = arguments(&backend, &["--settle", "0.5"]);
    let trainer = place.train("corpus.jsonl", &arguments).spawn().unwrap();
    assert!(server.wait_ended(Duration::from_secs(60)).is_some());
    server.restart_with(options());
    let output = trainer.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(
        output.stdout.is_empty(),
        "a report of a run that has failed"
    );
    assert!(
        said.contains("has lost what it was taught") && said.contains("--run"),
        "{said}"
    );
}

#[test]
fn a_torn_learn_is_told_and_has_two_ways_out() {
    let place = Place::new();
    let expected = place.learns();
    let options = || StockOptions::quick().data(&place.path("data"));
    let mut server = StockServer::start(options().tear_after(90));
    let backend = format!("kato:{}", server.url());
    let more = ["--settle", "0.3", "--commit-interval", "0.01"];
    let trainer = place
        .train("corpus.jsonl", &arguments(&backend, &more))
        .spawn()
        .unwrap();
    assert!(server.wait_ended(Duration::from_secs(60)).is_some());
    server.restart_with(options());
    let output = trainer.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(6), "{said}");
    for way in ["--torn-learns keep", "--reteach"] {
        assert!(said.contains(way), "{said}");
    }

    // New nodes, which are taught what the run has learned, and then the rest of the corpus.
    let more = ["--settle", "0.3", "--reteach", "r.kato-run.json"];
    let fixed = [
        "--backend",
        &backend,
        "--run",
        "again",
        "--quiet",
        "--metadata",
    ];
    let output = place
        .train("corpus.jsonl", &[&fixed[..], &more].concat())
        .output();
    let again = report(&output.unwrap());
    assert_eq!(again["complete"], true);
    let learned = server.learned();
    let learns = learned
        .nodes
        .iter()
        .filter(|(id, _)| id.starts_with("again"));
    assert_eq!(
        learns.map(|(_, node)| node.learn_calls).sum::<u64>(),
        expected
    );
    // Of a run that is there already nothing is written over.
    let (list, other) = ["again", "r"]
        .map(|run| place.path(&format!("{run}.kato-run.errors.jsonl")))
        .into();
    fs::write(&list, "of this run").unwrap();
    fs::write(&other, "of the other").unwrap();
    let output = place
        .train("corpus.jsonl", &[&fixed[..], &more].concat())
        .output();
    assert_eq!(output.unwrap().status.code(), Some(6));
    assert_eq!(fs::read_to_string(&list).unwrap(), "of this run");
    fs::remove_file(other).unwrap();

    // Or without it.
    let more = ["--settle", "0.3", "--resume", "--torn-learns", "keep"];
    let output = place
        .train("corpus.jsonl", &arguments(&backend, &more))
        .output();
    let kept = report(&output.unwrap());
    assert_eq!(
        kept["server"]["torn"].as_array().map(Vec::len),
        Some(1),
        "{kept}"
    );
}

/// A database that restarts behind a living server is waited for.
#[test]
fn a_database_that_restarts_is_waited_for() {
    for generation in [Generation::V3_10, Generation::October2025] {
        let place = Place::new();
        let expected = place.learns();
        let options = StockOptions::quick()
            .generation(generation)
            .outage(30, 2_500);
        let server = StockServer::start(options.data(&place.path("data")));
        let backend = format!("kato:{}", server.url());
        let more = ["--settle", "0.5", "--patience", "20"];
        let output = place
            .train("corpus.jsonl", &arguments(&backend, &more))
            .output();
        report(&output.unwrap());
        assert_eq!(
            server.learned().total_learn_calls(),
            expected,
            "{generation:?}"
        );

        // Unless it takes too long, and then the error says in one line what the server says.
        let options = StockOptions::quick()
            .generation(generation)
            .outage(30, 600_000);
        let server = StockServer::start(options.data(&place.path("more")));
        let backend = format!("kato:{}", server.url());
        let more = ["--settle", "0.5", "--patience", "1", "--run", "s"];
        let fixed = ["--backend", &backend, "--quiet", "--metadata"];
        let output = place
            .train("corpus.jsonl", &[&fixed[..], &more].concat())
            .output()
            .unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(!said.contains("Traceback") && said.len() < 1_500, "{said}");
    }
}

//! Options that do not go together, and values that are none: exit code 2, with what is wrong.

use std::fs;

use crate::place::Place;
use crate::report::stderr;

#[track_caller]
fn refused(place: &Place, program: &str, arguments: &[&str], expected: &str) {
    let output = place.command(program, arguments).output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    // The program's name, not the package's.
    assert!(!message.contains("kato-cli"), "{message}");
    // clap breaks lines where it likes.
    let words: Vec<&str> = message.split_whitespace().collect();
    assert!(
        words.join(" ").contains(expected),
        "{arguments:?}: {message}"
    );
}

#[test]
fn destinations_that_do_not_go_together_are_refused() {
    let place = Place::new();
    let server = "kato:http://127.0.0.1:9";
    let database = "mongodb://127.0.0.1:9";
    let forms = "use embedded:DIR, kato:URL (http://… or https://…), or mongodb:URI";
    for (arguments, expected) in [
        (&["--backend", "my-kb"][..], forms),
        (&["--backend", "embedded:"], forms),
        (&["--backend", "kato:"], forms),
        (&["--backend", "mongodb:"], forms),
        (
            &["--backend", "mongodb"],
            "from KATO_MONGODB_URI, which is not set",
        ),
        (
            &["--backend", "embedded:a", "--kb", "b"],
            "cannot be used with",
        ),
        (
            &["--backend", "embedded:a", "--run", "wiki"],
            "--run has no effect: it is for kato and mongodb, and where the knowledge goes is",
        ),
        (
            &["--kb", "a", "--run", "wiki"],
            "--run has no effect: it is for kato and mongodb, and where the knowledge goes is",
        ),
        (
            &["--kb", "a", "--state", "s"],
            "--state has no effect: it is for kato, and where the knowledge goes is",
        ),
        (
            &["--backend", database, "--state", "s"],
            "--state has no effect: it is for kato, and where the knowledge goes is",
        ),
        (
            &["--kb", "a", "--sharded"],
            "--sharded has no effect: it is for mongodb, and where the knowledge goes is",
        ),
        (
            &["--kb", "a", "--patience", "3"],
            "--patience has no effect: it is for kato and mongodb, and where the knowledge goes is",
        ),
        (
            &["--backend", server, "--sharded"],
            "--sharded has no effect: it is for mongodb, and where the knowledge goes is",
        ),
        (
            &["--backend", server, "--resume"],
            "--resume and --add need the name of the run: --run NAME",
        ),
        (
            &["--backend", database, "--resume"],
            "--resume and --add need the name of the run: --run NAME",
        ),
        (
            &["--backend", server, "--run", "a-b"],
            "invalid value 'a-b' for '--run <NAME>'",
        ),
    ] {
        let arguments = [&["corpus.jsonl"], arguments].concat();
        refused(&place, "train", &arguments, expected);
    }
    let left: Vec<_> = std::fs::read_dir(place.path("")).unwrap().collect();
    assert_eq!(
        left.len(),
        2,
        "nothing but the corpus and the tokenizer: {left:?}"
    );
}

#[test]
fn values_that_are_none_are_refused() {
    let place = Place::new();
    for (arguments, expected) in [
        (
            &["--workers", "0"][..],
            "use auto, or a number from 1 to 1024",
        ),
        (
            &["--workers", "many"],
            "use auto, or a number from 1 to 1024",
        ),
        (
            &["--distribution", "random"],
            "use work-stealing, round-robin or contiguous",
        ),
        (
            &["--progress", "loud"],
            "[possible values: silent, summary, bar, detailed, json]",
        ),
        (
            &["--attempts", "0", "--skip-errors"],
            "invalid value '0' for '--attempts <N>'",
        ),
        (&["--max-errors", "3"], "--skip-errors"),
        (
            &["--memory", "10"],
            "that is 10 bytes: write the unit, as in 10MiB",
        ),
        (
            &["--levels", "0"],
            "--levels 0: chunk size 0 of node0 is too small: a pattern needs at least 2 symbols",
        ),
        (
            &["--levels", "-3"],
            "invalid value '-3' for '--levels': it takes no number below 0",
        ),
        (
            &["--hold-out", "1.5"],
            "invalid value '1.5' for '--hold-out <SHARE>'",
        ),
        (&["--fail-on-errors"], "--skip-errors"),
        (
            &["--stall-timeout", "soon"],
            "\"soon\" is no time: give seconds",
        ),
        (&["--commit-interval=-1"], "\"-1\" is no time: give seconds"),
        (&["--batch", "0"], "invalid value '0' for '--batch <N>'"),
    ] {
        let arguments = [&["corpus.jsonl"], arguments].concat();
        refused(&place, "train", &arguments, expected);
    }
}

#[test]
fn measurements_of_nothing_are_refused() {
    let place = Place::new();
    for (arguments, expected) in [
        (
            &["--workers", "0"][..],
            "invalid value '0' for '--workers <N,…>'",
        ),
        (&["--workers", ""], "invalid value '' for '--workers <N,…>'"),
        (&["--repeat", "0"], "invalid value '0' for '--repeat <N>'"),
        (&["--max-documents", "0"], "give a whole number from 1"),
        (&["--backends", "redis"], "use embedded, or another place"),
        (&["--backends", "embedded:kb"], "name none"),
        (
            &["--backends", "embedded,mongodb"],
            "from KATO_MONGODB_URI, which is not set",
        ),
    ] {
        let arguments = [&["corpus.jsonl"], arguments].concat();
        refused(&place, "bench", &arguments, expected);
    }
}

#[test]
fn more_workers_than_connections_are_refused_before_anything_is_made() {
    let place = Place::new();
    let server = ["--backend", "kato:http://127.0.0.1:9", "--run", "many"];
    let mut training = place.train(
        "corpus.jsonl",
        &[&server[..], &["--workers", "40"]].concat(),
    );
    let output = training.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "error: 40 workers with 2 connections each need 80, and the pool has 64; \
         use fewer workers, --workers, or open more connections, --connections\n"
    );
    let made = fs::read_dir(place.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(
        made.into_iter()
            .all(|name| !name.to_string_lossy().starts_with("many"))
    );
}

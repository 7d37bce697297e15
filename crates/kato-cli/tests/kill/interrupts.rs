//! Ctrl-C: the first commits and ends, the second ends at once.

use std::process::Stdio;
use std::time::Duration;

use kato_test_needs::{ends_within, wait_until};

use crate::report::{counters, stderr};
use crate::signal::signal;
use crate::workplace::Workplace;

/// Exit code of an interrupted run.
const INTERRUPTED: i32 = 130;

/// Interrupts a run once it has committed some documents, and expects it to commit the others that
/// it read.
fn check(name: &str, n_documents: u64, more: &[&str]) {
    let place = Workplace::new(3_000_000);
    let expected = place.undisturbed("corpus.jsonl");
    let arguments = [&["--workers", "1"], more].concat();
    // A machine that is busy elsewhere may let a run end before its signal arrives.
    for kb in ["kb1", "kb2", "kb3", "kb4", "kb5"] {
        let mut child = place.train("corpus.jsonl", kb, &arguments).spawn().unwrap();
        // The position is there once the run listens for signals.
        place.wait_for(kb, n_documents, &mut child);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        if output.status.code() == Some(0) {
            continue;
        }
        assert_eq!(
            output.status.code(),
            Some(INTERRUPTED),
            "{}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains("Go on with the same command and --resume"),
            "{}",
            stderr(&output)
        );
        let counters = counters(&output);
        assert_eq!(counters["complete"], false);
        assert_eq!(counters["samples_processed"].as_u64(), place.committed(kb));
        assert!(place.committed(kb).unwrap() < expected.samples());
        place.finish("corpus.jsonl", kb).assert_equals(&expected);
        return;
    }
    panic!("every run ended before its signal");
}

#[test]
fn ctrl_c_commits_what_was_read_and_the_run_goes_on_to_the_same_end() {
    check("INT", 1, &["--commit-interval", "0"]);
}

#[test]
fn so_does_a_request_to_terminate_before_the_first_commit() {
    check("TERM", 0, &["--memory", "1KB", "--commit-interval", "3600"]);
}

#[test]
fn a_second_signal_ends_a_run_that_waits_for_input() {
    let place = Workplace::new(1_000);
    let mut child = place
        .train("-", "kb", &[])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    place.wait_for("kb", 0, &mut child);
    // Not `wait`, which would close the input: that stays open and silent, so the run cannot end by
    // itself.
    wait_until("it ends", || {
        signal(&child, "INT");
        ends_within(&mut child, Duration::from_millis(100))
    });
    assert_eq!(child.wait().unwrap().code(), Some(INTERRUPTED));
    assert_eq!(place.committed("kb"), Some(0));
}

//! Training into a directory.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::interrupted::{INTERRUPTED, LONGEST, interrupt, n_moments};
use crate::knowledge::Knowledge;
use crate::random::Random;
use crate::report::{counters, stderr};
use crate::signal::signal;
use crate::workplace::Workplace;

#[test]
fn a_run_that_is_interrupted_at_any_moment_ends_like_one_that_is_not() {
    let place = Workplace::new(3_000_000);
    let start = Instant::now();
    let expected = place.undisturbed("corpus.jsonl");
    let whole = start.elapsed();
    let mut random = Random::from_seed(39);
    let (mut n_signals, mut kb) = (0, 0);
    while n_signals < n_moments() {
        let name = format!("kb{kb}");
        kb += 1;
        loop {
            let workers = random.pick(&["1", "2", "4"]);
            let interval = random.pick(&["0", "0.01", "10"]);
            let mut arguments = vec!["--workers", workers, "--commit-interval", interval];
            if place.is_begun(&name) {
                arguments.push("--resume");
            }
            let command = place.train("corpus.jsonl", &name, &arguments);
            let after = random.delay(whole.mul_f64(0.9));
            let interrupted = interrupt(command, after, &mut random);
            n_signals += usize::from(!interrupted.was_over);
            if interrupted.was_over {
                let output = interrupted.output;
                assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
                Knowledge::of(&place.path(&name), &output).assert_equals(&expected);
                break;
            }
            if n_signals >= n_moments() {
                place.finish("corpus.jsonl", &name).assert_equals(&expected);
                break;
            }
        }
    }
}

#[test]
fn a_run_that_waits_for_input_commits_what_it_was_given() {
    let place = Workplace::new(300_000);
    let lines = std::fs::read_to_string(place.path("corpus.jsonl")).unwrap();
    let mut child = place
        .train("-", "kb", &["--commit-interval", "3600"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // All of it, and then silence: the input stays open.
    let mut stdin = child.stdin.take().unwrap();
    let feeding = std::thread::spawn(move || {
        std::io::Write::write_all(&mut stdin, lines.as_bytes()).unwrap();
        stdin
    });
    let _stdin = feeding.join().unwrap();
    place.wait_for("kb", 0, &mut child);
    let sent = Instant::now();
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert!(sent.elapsed() < LONGEST, "{:?}", sent.elapsed());
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(INTERRUPTED), "{told}");
    assert!(told.starts_with("stopping: "), "{told}");
    assert!(told.contains("everything committed is safe"), "{told}");
    let committed = place.committed("kb").unwrap();
    assert_eq!(
        counters(&output)["samples_processed"].as_u64(),
        Some(committed)
    );
}

#[test]
fn machines_are_told_in_their_form() {
    let place = Workplace::new(1_000);
    let mut command = place.train("-", "kb", &["--progress", "json"]);
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let loud = arguments.iter().filter(|argument| *argument != "--quiet");
    let mut loud = {
        let mut command = Command::new(command.get_program());
        command.args(loud);
        command
    };
    let mut child = loud
        .current_dir(
            command
                .current_dir(place.path(""))
                .get_current_dir()
                .unwrap(),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _stdin = child.stdin.take();
    place.wait_for("kb", 0, &mut child);
    signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(INTERRUPTED), "{told}");
    let events = told.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).expect(line);
        event["event"].as_str().expect(line).to_owned()
    });
    let stopping = events.filter(|event| event == "stopping");
    assert_eq!(stopping.count(), 1, "{told}");
}

#[test]
fn the_first_signal_ends_what_has_nothing_to_put_in_order() {
    let place = Workplace::new(1_000);
    let mut random = Random::from_seed(7);
    // A pipe into which nobody writes.
    let status = Command::new("mkfifo").arg(place.path("pipe")).status();
    assert!(status.unwrap().success());
    let interrupted = interrupt(
        place.train("pipe", "kb", &[]),
        Duration::from_millis(700),
        &mut random,
    );
    assert!(!interrupted.was_over);
}

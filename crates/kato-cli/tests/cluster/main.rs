//! `kato cluster` with real processes over a directory and over an object store: workers are killed,
//! started again and run twice, and the knowledge base is that of `kato train`.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod bad_records;
mod forecast;
mod generations;
mod moments;
mod place;
#[path = "../support/program.rs"]
mod program;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use kato_test_needs::ends_within;
use serde_json::Value;

use crate::place::Place;

const TASKS: u32 = 3;
const RANGES: u32 = 2;
const LEVELS: u32 = 2;

/// Moments at which a process is killed, in milliseconds after its start: before it has read
/// anything, in the middle, and perhaps after its commit.
const KILLED_AFTER: [u64; 5] = [0, 20, 60, 150, 400];

/// Starts a program, kills it at each of the moments, and at last lets two of it run at once.
fn is_done_in_the_end(place: &Place, line: &str) {
    for moment in KILLED_AFTER {
        let mut child = place
            .command(line)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        ends_within(&mut child, Duration::from_millis(moment));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut twin = place.command(line).stdout(Stdio::null()).spawn().unwrap();
    place.succeeds(line);
    assert!(twin.wait().unwrap().success(), "{line}");
    assert!(place.succeeds(line).contains("before"), "{line}");
}

#[test]
fn killed_and_doubled_workers_end_in_what_one_machine_learns() {
    let place = Place::new();
    place.succeeds("train corpus --kb alone --levels 4,3 --workers 1 --quiet");
    place.succeeds(&format!(
        "cluster plan corpus --levels 4,3 --tasks {TASKS} --ranges {RANGES}"
    ));
    for task in 0..TASKS {
        is_done_in_the_end(&place, &format!("cluster learn --task {task} --workers 1"));
    }
    for piece in 0..RANGES * LEVELS {
        is_done_in_the_end(&place, &format!("cluster merge --piece {piece}"));
    }
    for range in 0..RANGES {
        is_done_in_the_end(&place, &format!("cluster seal --range {range}"));
    }
    place.succeeds("cluster gc");
    std::fs::create_dir(place.path("taken")).unwrap();
    std::fs::write(Path::new(&place.path("taken")).join("file"), "mine").unwrap();
    let said = place.fails("cluster publish --kb taken", 6);
    assert!(
        said.contains("choose an empty or a new directory"),
        "{said}"
    );
    place.succeeds("cluster publish --kb together");
    place.assert_equal_exports("alone", "together");
    let status: Value = serde_json::from_str(&place.succeeds("cluster status --json")).unwrap();
    assert_eq!(status["tasks_done"], TASKS);
    assert_eq!(status["documents"], 420);
    // Each of the tasks has learned something, so that there is something to put together.
    for task in 0..TASKS {
        let line = format!("cluster learn --task {task} --json");
        let answer: Value = serde_json::from_str(&place.succeeds(&line)).unwrap();
        assert!(
            answer["marker"]["counters"]["documents"].as_u64() > Some(0),
            "{answer}"
        );
    }
    // As good as any other: it answers, and training on it would go on.
    place.succeeds("predict --kb together --text w1 --json");
}

#[test]
fn what_is_missing_is_said() {
    let place = Place::new();
    let fails = |line: &str, code: i32, expected: &str| {
        let output = place.run(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {message}");
        assert!(message.contains(expected), "{line}: {message}");
    };
    fails("cluster learn --task 0", 1, "plan");
    fails("cluster plan - --levels 4,3 --tasks 2", 2, "standard input");
    place.succeeds("cluster plan corpus --levels 4,3 --tasks 2 --ranges 1");
    // The same plan is no error, another one is.
    place.succeeds("cluster plan corpus --levels 4,3 --tasks 2 --ranges 1");
    fails(
        "cluster plan corpus --levels 5,3 --tasks 2 --ranges 1",
        6,
        "plan",
    );
    fails("cluster learn", 2, "--task");
    fails("cluster learn --task 2", 2, "task");
    fails("cluster merge --all", 4, "task");
    fails("cluster seal --all", 4, "merges are not done");
    fails("cluster seal", 2, "--range");
    fails("cluster seal --range 1", 2, "range");
    fails("cluster publish --kb kb", 4, "tasks are not done");
    assert!(!Path::new(&place.path("kb")).exists());
    let mut command = place.command("cluster learn");
    let output = command.env("SLURM_ARRAY_TASK_ID", "x").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("SLURM_ARRAY_TASK_ID"));
    // By the number that a scheduler gives.
    let mut command = place.command("cluster learn --json");
    let output = command.env("JOB_COMPLETION_INDEX", "1").output().unwrap();
    assert!(output.status.success());
    let status = place.succeeds("cluster status");
    assert!(status.contains("not done: tasks 0"), "{status}");
}

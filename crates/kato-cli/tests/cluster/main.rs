//! `kato cluster` with real processes over a directory: workers are killed, started again and run
//! twice, and the knowledge base is that of `kato train`.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod forecast;
#[path = "../support/program.rs"]
mod program;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::kato;

const TASKS: u32 = 3;
const RANGES: u32 = 2;
const LEVELS: u32 = 2;

/// Moments at which a process is killed, in milliseconds after its start: before it has read
/// anything, in the middle, and perhaps after its commit.
const KILLED_AFTER: [u64; 5] = [0, 20, 60, 150, 400];

/// A folder with a corpus in which programs run.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("corpus")).unwrap();
        for file in 0..6_u32 {
            let mut lines = String::new();
            for document in 0..70_u32 {
                let word = |at| format!("w{}", (file * 7 + document * 31 + at * at) % 97);
                let words: Vec<String> = (0..120_u32).map(word).collect();
                let line = serde_json::json!({"text": words.join(" ") + "."});
                writeln!(lines, "{line}").unwrap();
            }
            fs::write(place.path(&format!("corpus/{file}.jsonl")), lines).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let mut command = kato(words.next().unwrap());
        command
            .args(words)
            .current_dir(self.0.path())
            .env("KATO_CLUSTER_STORE", "plan")
            .env_remove("JOB_COMPLETION_INDEX")
            .env_remove("SLURM_ARRAY_TASK_ID")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// What a program that must succeed prints.
    fn succeeds(&self, line: &str) -> String {
        let output = self.run(line);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {message}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts a program, kills it at each of the moments, and at last lets two of it run at once.
    fn is_done_in_the_end(&self, line: &str) {
        for moment in KILLED_AFTER {
            let mut child = self
                .command(line)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(moment));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let mut twin = self.command(line).stdout(Stdio::null()).spawn().unwrap();
        self.succeeds(line);
        assert!(twin.wait().unwrap().success(), "{line}");
        assert!(self.succeeds(line).contains("before"), "{line}");
    }

    fn export(&self, kb: &str, node: &str) -> String {
        self.succeeds(&format!("inspect --kb {kb} --node {node} --export -"))
    }
}

#[test]
fn killed_and_doubled_workers_end_in_what_one_machine_learns() {
    let place = Place::new();
    place.succeeds("train corpus --kb alone --levels 4,3 --workers 1 --quiet");
    place.succeeds(&format!(
        "cluster plan corpus --levels 4,3 --tasks {TASKS} --ranges {RANGES}"
    ));
    for task in 0..TASKS {
        place.is_done_in_the_end(&format!("cluster learn --task {task} --workers 1"));
    }
    for piece in 0..RANGES * LEVELS {
        place.is_done_in_the_end(&format!("cluster merge --piece {piece}"));
    }
    place.succeeds("cluster gc");
    place.succeeds("cluster publish --kb together");
    for node in ["node0", "node1"] {
        let alone = place.export("alone", node);
        assert!(alone.lines().count() > 90, "{alone}");
        assert!(alone == place.export("together", node), "{node}");
    }
    let status: Value = serde_json::from_str(&place.succeeds("cluster status --json")).unwrap();
    assert_eq!(status["tasks_done"], TASKS);
    assert_eq!(status["samples"], 420);
    // Each of the tasks has learned something, so that there is something to put together.
    for task in 0..TASKS {
        let line = format!("cluster learn --task {task} --json");
        let answer: Value = serde_json::from_str(&place.succeeds(&line)).unwrap();
        assert!(
            answer["marker"]["counters"]["samples"].as_u64() > Some(0),
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
    place.succeeds("cluster plan corpus --levels 4,3 --tasks 2 --ranges 1");
    // The same plan is no error, another one is.
    place.succeeds("cluster plan corpus --levels 4,3 --tasks 2 --ranges 1");
    fails(
        "cluster plan corpus --levels 5,3 --tasks 2 --ranges 1",
        1,
        "plan",
    );
    fails("cluster learn", 1, "--task");
    fails("cluster learn --task 2", 1, "task");
    fails("cluster merge --all", 1, "task");
    fails("cluster publish --kb kb", 1, "tasks are not done");
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

//! Replicas that are processes, as a user runs them: the bits of threads, killed and failing.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::program::{json, made, program, run, stderr, with_small};
use crate::support::{Done, State, state};

/// A pre-training by two replicas into a folder.
fn pretrain<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let flags = ["pretrain", "c/table.biom", "--tree", "c/tree.nwk", "--json"];
    let replicas = ["--replicas", "2", "--sharded", "--out", out];
    let often = ["--set", "training.save_steps=1"];
    with_small(&[&flags[..], &replicas, &often, more].concat())
}

#[test]
fn processes_give_the_bits_of_threads_killed_at_any_moment_or_not() -> Done {
    let folder = made()?;
    let at = folder.path();
    let ended = |out: &str| -> Result<State, Box<dyn std::error::Error>> { state(&at.join(out)) };
    json(&run(at, &pretrain("threads", &[]))?)?;
    json(&run(at, &pretrain("processes", &["--processes"]))?)?;
    assert!(ended("processes")? == ended("threads")?, "other bits");

    let mut child = started(at, &pretrain("killed", &["--processes"]))?;
    for milliseconds in [0, 40] {
        std::thread::park_timeout(Duration::from_millis(milliseconds));
        child.kill()?;
        child.wait()?;
        child = started(at, &["resume", "killed", "--threads", "2"])?;
    }
    assert!(child.wait()?.success());
    assert!(ended("killed")? == ended("threads")?, "other bits");
    Ok(())
}

/// Starts the program, and waits until there is a run that can be gone on with.
fn started(at: &Path, arguments: &[&str]) -> Result<Child, Box<dyn std::error::Error>> {
    let mut command = program(at, arguments);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    while !at.join("killed/run.json").exists() {
        if child.try_wait()?.is_some() {
            return Err(stderr(&child.wait_with_output()?).into());
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    Ok(child)
}

/// Begins a long pre-training, sends a signal to its second replica, and returns how it ended, and the replica.
#[cfg(target_os = "linux")]
fn signalled(
    signal: &str,
    silence_s: u32,
) -> Result<(std::process::Output, String), Box<dyn std::error::Error>> {
    let folder = made()?;
    let at = folder.path();
    let silence = format!("training.silence_s={silence_s}");
    let long = [
        "--processes",
        "--set",
        "training.epochs=1000",
        "--set",
        "training.patience=1000",
        "--set",
        silence.as_str(),
    ];
    let mut child = started(at, &pretrain("killed", &long))?;
    // Its second replica, as soon as there is one.
    let other = loop {
        let mut found = children(child.id())?;
        if let Some(other) = found.pop() {
            break other;
        }
        if child.try_wait()?.is_some() {
            return Err(stderr(&child.wait_with_output()?).into());
        }
        std::thread::park_timeout(Duration::from_millis(5));
    };
    let sent = std::process::Command::new("kill")
        .args([signal, &other])
        .status()?;
    assert!(sent.success());
    Ok((child.wait_with_output()?, other))
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_killed_ends_all_and_is_named() -> Done {
    let (output, _) = signalled("-KILL", 600)?;
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("replica 1 failed: signal: 9"),
        "{}",
        stderr(&output)
    );
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_stopped_ends_all_after_the_limit_and_is_named() -> Done {
    let (output, other) = signalled("-STOP", 4)?;
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains(&format!("replica 1, process {other}")) && said.contains("4 s"),
        "{said}"
    );
    // No process is left behind, stopped or not.
    assert!(!Path::new("/proc").join(&other).exists());
    Ok(())
}

/// Returns the processes that any thread of a process has started.
#[cfg(target_os = "linux")]
fn children(process: u32) -> std::io::Result<Vec<String>> {
    let mut all = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end meanwhile.
        let found = fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
        all.extend(found.split_whitespace().map(str::to_owned));
    }
    Ok(all)
}

#[test]
fn a_replica_without_a_training_says_so() -> Done {
    let folder = tempfile::tempdir()?;
    let output = program(folder.path(), &["follow", "x"])
        .stdin(Stdio::null())
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("a training starts"),
        "{}",
        stderr(&output)
    );
    Ok(())
}

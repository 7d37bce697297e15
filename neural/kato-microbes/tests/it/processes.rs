//! Replicas that are processes, as a user runs them: the bits of threads, killed and failing.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::program::{json, made, program, run, stderr, with_small};
use crate::support::{Done, State, state};

/// A pre-training by so many replicas into a folder.
fn pretrain<'a>(replicas: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let flags = ["pretrain", "c/table.biom", "--tree", "c/tree.nwk", "--json"];
    let replicas = ["--replicas", replicas, "--sharded", "--out", out];
    let often = ["--set", "training.save_steps=1"];
    with_small(&[&flags[..], &replicas, &often, more].concat())
}

#[test]
fn processes_give_the_bits_of_threads_killed_at_any_moment_or_not() -> Done {
    let folder = made()?;
    let at = folder.path();
    let ended = |out: &str| -> Result<State, Box<dyn std::error::Error>> { state(&at.join(out)) };
    json(&run(at, &pretrain("2", "threads", &[]))?)?;
    json(&run(at, &pretrain("2", "processes", &["--processes"]))?)?;
    assert!(ended("processes")? == ended("threads")?, "other bits");

    let mut child = started(at, &pretrain("2", "killed", &["--processes"]))?;
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

/// Begins a long pre-training, sends a signal to each replica but the first, and returns how it ended, and the
/// replicas.
#[cfg(target_os = "linux")]
fn signalled(
    signals: &[&str],
    silence_s: u32,
) -> Result<(std::process::Output, Vec<String>), Box<dyn std::error::Error>> {
    let folder = made()?;
    let at = folder.path();
    let silence = format!("training.silence_s={silence_s}");
    let replicas = (signals.len() + 1).to_string();
    let settings = ["training.epochs=1000", "training.patience=1000", &silence];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let long: Vec<&str> = ["--processes"].into_iter().chain(settings).collect();
    let mut child = started(at, &pretrain(&replicas, "killed", &long))?;
    // As soon as there are all of them.
    let others = loop {
        let found = replicas_of(child.id())?;
        if found.len() == signals.len() {
            break found;
        }
        if child.try_wait()?.is_some() {
            return Err(stderr(&child.wait_with_output()?).into());
        }
        std::thread::park_timeout(Duration::from_millis(5));
    };
    for (signal, other) in signals.iter().zip(&others) {
        let sent = std::process::Command::new("kill")
            .args([signal, other.as_str()])
            .status()?;
        assert!(sent.success());
    }
    let output = child.wait_with_output()?;
    for other in &others {
        let left = Path::new("/proc").join(other).exists();
        assert!(!left, "a process is left behind, stopped or not");
    }
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    Ok((output, others))
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_killed_ends_all_and_is_named() -> Done {
    let (output, _) = signalled(&["-KILL"], 600)?;
    let said = stderr(&output);
    assert!(said.contains("replica 1 failed: signal: 9"), "{said}");
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_stopped_ends_all_after_the_limit_and_is_named() -> Done {
    let (output, others) = signalled(&["-STOP"], 4)?;
    let said = stderr(&output);
    let named = format!("replica 1, process {}", others[0]);
    for word in [named.as_str(), "4 s", "training.silence_s"] {
        assert!(said.contains(word), "{said}");
    }
    Ok(())
}

/// Nobody waits for the one that is stopped: the limit is longer than any test.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_killed_beside_one_that_is_stopped_ends_all_at_once() -> Done {
    let (output, _) = signalled(&["-STOP", "-KILL"], 600_000)?;
    let said = stderr(&output);
    assert!(said.contains("failed: signal: 9"), "{said}");
    Ok(())
}

/// Returns the replicas that any thread of a process has started. One that is not yet the program that it is to
/// be is not among them: whoever starts it waits for that, and it cannot be stopped ahead of it.
#[cfg(target_os = "linux")]
fn replicas_of(process: u32) -> std::io::Result<Vec<String>> {
    let mut all = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end meanwhile, and so may a child.
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let found = read(&thread?.path().join("children"));
        let is_replica = |child: &&str| {
            let arguments = read(&Path::new("/proc").join(child).join("cmdline"));
            arguments.split('\0').any(|argument| argument == "follow")
        };
        all.extend(
            found
                .split_whitespace()
                .filter(is_replica)
                .map(str::to_owned),
        );
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

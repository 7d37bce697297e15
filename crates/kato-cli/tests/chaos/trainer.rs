//! A running `train`, and what it tells of itself.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kato_test_needs::ends_within;
use serde_json::Value;

use crate::signal::signal;

pub(crate) struct Trainer {
    child: Child,
    committed: Arc<AtomicU64>,
    /// What it says beside its progress.
    messages: Option<JoinHandle<String>>,
}

impl Trainer {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let committed = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&committed);
        let messages = thread::spawn(move || {
            let mut messages = String::new();
            for line in lines {
                let line = line.unwrap();
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                match event["documents"].as_u64() {
                    Some(documents) => told.store(documents, Ordering::Relaxed),
                    None if event["event"] == "progress" => {}
                    None => messages += &(line + "\n"),
                }
            }
            messages
        });
        Self {
            child,
            committed,
            messages: Some(messages),
        }
    }

    /// Documents of the last commit that this session has told of; 0 before.
    pub(crate) fn committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }

    /// Waits for its end, at most so long; whether it has ended.
    pub(crate) fn ends_within(&mut self, longest: Duration) -> bool {
        ends_within(&mut self.child, longest)
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn output(mut self) -> Output {
        let mut stdout = Vec::new();
        let mut pipe = self.child.stdout.take().unwrap();
        pipe.read_to_end(&mut stdout).unwrap();
        let messages = self.messages.take().unwrap().join().unwrap();
        Output {
            status: self.child.wait().unwrap(),
            stdout,
            stderr: messages.into_bytes(),
        }
    }
}

impl Drop for Trainer {
    fn drop(&mut self) {
        // A test that failed leaves no program behind; one that has ended already is left alone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

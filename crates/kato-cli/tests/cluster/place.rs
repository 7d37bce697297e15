//! A folder with a corpus in which programs run.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::kato;

/// A folder with a corpus, and the store of a plan.
pub(crate) struct Place {
    dir: TempDir,
    store: String,
    environment: Vec<(&'static str, String)>,
}

impl Place {
    /// Creates a folder in which the plan is a directory.
    pub(crate) fn new() -> Self {
        Self::over("plan", Vec::new())
    }

    /// Creates a folder whose plan lies at an address that programs reach in this environment.
    pub(crate) fn over(store: &str, environment: Vec<(&'static str, String)>) -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
            store: store.to_owned(),
            environment,
        };
        place.add_corpus("corpus", 0..6);
        place
    }

    /// Writes files of documents into a directory.
    pub(crate) fn add_corpus(&self, name: &str, files: std::ops::Range<u32>) {
        fs::create_dir(self.path(name)).unwrap();
        for file in files {
            let mut lines = String::new();
            for document in 0..70_u32 {
                let word = |at| format!("w{}", (file * 7 + document * 31 + at * at) % 97);
                let words: Vec<String> = (0..120_u32).map(word).collect();
                let line = serde_json::json!({"text": words.join(" ") + "."});
                writeln!(lines, "{line}").unwrap();
            }
            fs::write(self.path(&format!("{name}/{file}.jsonl")), lines).unwrap();
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let mut command = kato(words.next().unwrap());
        command
            .args(words)
            .current_dir(self.dir.path())
            .env("KATO_CLUSTER_STORE", &self.store)
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .env_remove("JOB_COMPLETION_INDEX")
            .env_remove("SLURM_ARRAY_TASK_ID")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// What a program that must succeed prints.
    pub(crate) fn succeeds(&self, line: &str) -> String {
        let output = self.run(line);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {message}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a program says that must fail with an exit code.
    pub(crate) fn fails(&self, line: &str, code: i32) -> String {
        let output = self.run(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {message}");
        message
    }

    /// The JSON object that a program that must succeed prints.
    pub(crate) fn answer(&self, line: &str) -> Value {
        serde_json::from_str(&self.succeeds(&format!("{line} --json"))).unwrap()
    }

    pub(crate) fn export(&self, kb: &str, node: &str) -> String {
        self.succeeds(&format!("inspect --kb {kb} --node {node} --export -"))
    }

    /// Compares two knowledge bases of two levels.
    pub(crate) fn assert_equal_exports(&self, left: &str, right: &str) {
        for node in ["node0", "node1"] {
            let alone = self.export(left, node);
            assert!(alone.lines().count() > 90, "{alone}");
            assert!(alone == self.export(right, node), "{node}");
        }
    }
}

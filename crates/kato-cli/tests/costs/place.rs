//! A folder with a corpus, in which programs are run.

use std::fmt::Write as _;
use std::process::{Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::kato;

/// A folder with `corpus.jsonl`: this repository's own words, drawn anew.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new(n_documents: usize) -> Self {
        let place = tempfile::tempdir().unwrap();
        let words: Vec<&str> = include_str!("../../../../README.md")
            .split_whitespace()
            .collect();
        // Words as often as Zipf's law says, with draws that are the same everywhere.
        let mut state = 7u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let share = (state >> 11) as f64 / (1u64 << 53) as f64;
            (words.len() as f64).powf(share) as usize - 1
        };
        let mut corpus = String::new();
        for document in 0..n_documents {
            let text: Vec<&str> = (0..30 + document % 220).map(|_| words[draw()]).collect();
            writeln!(corpus, "{}", serde_json::json!({"text": text.join(" ")})).unwrap();
        }
        std::fs::write(place.path().join("corpus.jsonl"), corpus).unwrap();
        Self(place)
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.0.path()
    }

    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.path().join(file)).unwrap()
    }

    pub(crate) fn run(&self, name: &str, arguments: &[&str]) -> Output {
        let mut command = kato(name);
        command.args(arguments).current_dir(self.path());
        command.stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn json_of(&self, name: &str, arguments: &[&str]) -> Value {
        let output = self.run(name, arguments);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Standard error of a program that must end with this exit code.
    pub(crate) fn refusal(&self, name: &str, arguments: &[&str], code: i32) -> String {
        let output = self.run(name, arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

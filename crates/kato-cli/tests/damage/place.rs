//! A folder with trained knowledge bases, copied for each trial.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::corpus::write_corpus_and_tokenizer;
use crate::files::copy;
use crate::program::kato;

/// A folder in which programs run.
pub(crate) struct Place(TempDir);

impl Place {
    /// Creates a folder with `corpus.jsonl`, `tokenizer.json` and `question.txt`.
    pub(crate) fn new(n_bytes: u64) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        write_corpus_and_tokenizer(place.path(), n_bytes);
        let question = "Some carry timber, some carry salt, and one carries letters.";
        std::fs::write(place.file("question.txt"), question).unwrap();
        place
    }

    /// Creates a copy of another folder.
    pub(crate) fn copy_of(other: &Self) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        copy(other.path(), place.path());
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// A command line of the program; words between quotes are one.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut quoted = false;
        let words: Vec<String> = line
            .split(|c| {
                quoted ^= c == '"';
                c == ' ' && !quoted
            })
            .map(|word| word.replace('"', ""))
            .collect();
        let mut command = kato(&words[0]);
        command
            .args(&words[1..])
            .current_dir(self.path())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// What a program prints that must succeed.
    pub(crate) fn succeeds(&self, line: &str) -> String {
        let output = self.run(line);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {error}");
        self.answer_of(&output)
    }

    /// What a program printed, without where it ran and what depends on the clock.
    pub(crate) fn answer_of(&self, output: &Output) -> String {
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().map(|line| match serde_json::from_str(line) {
            Ok(value) => timeless(value).to_string(),
            Err(_) => line.to_owned(),
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        text.replace(self.path().to_str().unwrap(), "PLACE")
    }

    /// Trains a knowledge base on the corpus.
    pub(crate) fn train(&self, kb: &str, more: &str) {
        self.succeeds(&train(kb, more));
    }
}

/// The command line that trains a knowledge base.
pub(crate) fn train(kb: &str, more: &str) -> String {
    format!(
        "train corpus.jsonl --kb {kb} --tokenizer tokenizer.json --levels 4,3,2 --id-field id --metadata --skip-errors --quiet --json {more}"
    )
}

/// A JSON value without the figures that depend on the clock and on the machine.
fn timeless(value: Value) -> Value {
    let depends = |key: &str| {
        ["seconds", "rate", "bytes", "per_second", "share"]
            .iter()
            .any(|part| key.contains(part))
    };
    match value {
        Value::Array(values) => values.into_iter().map(timeless).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(key, _)| !depends(key))
            .map(|(key, value)| (key, timeless(value)))
            .collect(),
        value => value,
    }
}

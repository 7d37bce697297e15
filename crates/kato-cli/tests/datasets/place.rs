//! Running the programs in a folder of their own, with a Hub of their own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use kato_hub_standin::{Dataset, HubStandin, parquet_of};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::kato;
use crate::waits::beside_waits;

/// Rows of the dataset `me/corpus` and of its local copy.
pub(crate) const N_ROWS: usize = 60;

/// A folder in which programs run, and the Hub that they see.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) hub: HubStandin,
}

impl Place {
    /// A folder with `corpus.parquet`; the Hub has the same file as the conversion of `me/corpus`.
    pub(crate) fn new() -> Self {
        let texts: Vec<_> = (0..N_ROWS).map(text).collect();
        let parquet = parquet_of(&texts, 10).unwrap();
        let dataset = Dataset::new("me/corpus").converted("default/train/0000.parquet", &*parquet);
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
            hub: HubStandin::builder().dataset(dataset).start().unwrap(),
        };
        place.write("corpus.parquet", &parquet);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// What a program that must succeed prints as JSON.
    pub(crate) fn json(&self, name: &str, line: &str) -> Value {
        let text = self.succeeds(name, &format!("{line} --json"));
        assert_eq!(text.lines().count(), 1, "one object on one line: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Standard output of a program that must succeed and say nothing on standard error.
    pub(crate) fn succeeds(&self, name: &str, line: &str) -> String {
        let output = self.run(name, line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{name} {line}: {stderr}");
        assert_eq!(beside_waits(&stderr), "", "{name} {line}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit code and standard error of a program that must print no result.
    pub(crate) fn fails(&self, name: &str, line: &str) -> (i32, String) {
        let output = self.run(name, line);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{line}");
        let message = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), message)
    }

    fn run(&self, name: &str, line: &str) -> Output {
        self.command(name, line).output().unwrap()
    }

    /// A program with words as its arguments; it sees no Hub but ours and nobody's token.
    pub(crate) fn command(&self, name: &str, line: &str) -> Command {
        let mut command = kato(name);
        command
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .env("HF_ENDPOINT", self.hub.url())
            .env("HF_HOME", self.path("hub-home"))
            .env_remove("HF_TOKEN")
            .env_remove("HF_TOKEN_PATH")
            .env_remove("KATO_DATASETS")
            .env_remove("COLUMNS")
            .stdin(Stdio::null());
        command
    }
}

/// The text of a row.
pub(crate) fn text(row: usize) -> String {
    let who = ["The cat", "A dog", "The old man", "Nobody", "My sister"];
    let what = ["sat on the mat", "looked at the sea", "went home"];
    let when = ["in the morning", "at night", "all day long", "on Sunday"];
    let sentence = |n: usize| format!("{} {} {}.", who[n % 5], what[n % 3], when[n % 4]);
    format!("{} {} Row {row}.", sentence(row), sentence(row * row + 1))
}

/// The rows as JSON Lines.
pub(crate) fn json_lines(rows: impl Iterator<Item = usize>) -> String {
    rows.map(|row| json!({"text": text(row)}).to_string() + "\n")
        .collect()
}

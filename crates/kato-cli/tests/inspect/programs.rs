//! Running commands on a small corpus, in a folder of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::kato;
use crate::waits::beside_waits;

/// A folder with a corpus; programs run in it, so that their output names no path of this machine.
pub(crate) struct Workplace(TempDir);

impl Workplace {
    /// A folder with `corpus.jsonl`, and `empty.txt` that holds nothing.
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.path("corpus.jsonl"), corpus()).unwrap();
        fs::write(place.path("empty.txt"), "").unwrap();
        place
    }

    /// A folder whose `kb` has learned the corpus with provenance and metadata.
    pub(crate) fn trained() -> Self {
        // Learned once; every test has its copy.
        static TRAINED: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
            let place = Workplace::new();
            place.train("corpus.jsonl", "kb");
            let segments = fs::read_dir(place.path("kb/segments")).unwrap();
            let segments =
                segments.map(|entry| Path::new("kb/segments").join(entry.unwrap().file_name()));
            let files = segments.chain([PathBuf::from("kb/MANIFEST")]);
            files
                .map(|file| (file.clone(), fs::read(place.0.path().join(file)).unwrap()))
                .collect()
        });
        let place = Self::new();
        fs::create_dir_all(place.path("kb/segments")).unwrap();
        for (file, bytes) in &*TRAINED {
            fs::write(place.0.path().join(file), bytes).unwrap();
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Files that were begun and are not in their places.
    pub(crate) fn parts(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".part"))
            .collect()
    }

    /// Trains `kb` and returns what `train --json` says.
    pub(crate) fn train(&self, corpus: &str, kb: &str) -> Value {
        let fixed = "--levels 3,2,2 --provenance --metadata --min-paragraph-chars 5 --workers 1 --json --quiet --allow-empty";
        let mut arguments: Vec<&str> = fixed.split(' ').collect();
        // Plain text has no fields.
        if corpus.ends_with(".jsonl") {
            arguments.extend(["--id-field", "id"]);
        }
        arguments.extend(["--commit-interval", "3600", "--kb", kb, corpus]);
        let output = self.run("train", &arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {told}");
        // Also where no progress is shown.
        let left_out = "not learned, as the options say: paragraphs of fewer than 5 characters";
        assert_eq!(beside_waits(&told), left_out);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn inspect(&self, arguments: &[&str]) -> String {
        self.succeeds("inspect", arguments)
    }

    pub(crate) fn inspect_json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let text = self.inspect(&arguments);
        assert_eq!(text.lines().count(), 1, "one object on one line: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The exported lines of a node of `kb`.
    pub(crate) fn exported(&self, node: &str) -> Vec<Value> {
        let text = self.inspect(&["--kb", "kb", "--node", node, "--export", "-"]);
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Standard output of a program that must succeed and say nothing on standard error.
    pub(crate) fn succeeds(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.run(name, arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{name} {arguments:?}: {stderr}");
        assert_eq!(beside_waits(&stderr), "", "{name} {arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit code and standard error of `inspect` where it must print no result.
    pub(crate) fn inspect_fails(&self, arguments: &[&str]) -> (i32, String) {
        self.fails("inspect", arguments)
    }

    /// Exit code and standard error of a program that must print no result.
    pub(crate) fn fails(&self, name: &str, arguments: &[&str]) -> (i32, String) {
        let output = self.run(name, arguments);
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "",
            "{arguments:?}"
        );
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    pub(crate) fn run(&self, name: &str, arguments: &[&str]) -> Output {
        self.command(name, arguments).output().unwrap()
    }

    pub(crate) fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = kato(name);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("COLUMNS")
            .stdin(Stdio::null());
        command
    }
}

/// Sixty documents of a few short sentences, with phrases that come again and again.
fn corpus() -> String {
    let who = [
        "The cat",
        "A dog",
        "The old man",
        "Nobody",
        "My naïve sister",
    ];
    let what = [
        "sat on the mat",
        "looked at the sea",
        "said \"no\"",
        "went home",
    ];
    let when = ["in the morning", "at night", "all day long"];
    let document = |idx: usize| {
        let sentence = |n: usize| format!("{} {} {}.", who[n % 5], what[n % 4], when[n % 3]);
        let text = format!(
            "{} {}\n\n{}",
            sentence(idx),
            sentence(idx * idx),
            sentence(idx / 3)
        );
        json!({"id": format!("d{idx}"), "text": text}).to_string() + "\n"
    };
    (0..60).map(document).collect()
}

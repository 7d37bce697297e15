//! A folder with a corpus and a tokenizer of few words, in which programs run.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::kato;
use crate::report::stderr;
use crate::waits::beside_waits;

const WORDS: [&str; 6] = ["the", "old", "sea", "sings", "at", "night"];

/// A document that the tokenizer cannot tokenize: it has no word for it, and none for what it does
/// not know.
pub(crate) const UNLEARNABLE: &str = "a gull cries over the harbour";

/// Samples of [`Place::new`].
pub(crate) const N_SAMPLES: u64 = 60;

pub(crate) struct Place(TempDir);

impl Place {
    /// A folder with `corpus.jsonl` of [`N_SAMPLES`] documents, and `tokenizer.json`.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let vocabulary: serde_json::Map<String, Value> = WORDS
            .iter()
            .zip(0..)
            .map(|(&word, id)| (word.to_owned(), json!(id)))
            .collect();
        let tokenizer = json!({
            "version": "1.0",
            "added_tokens": [],
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
        });
        fs::write(dir.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
        let lines = (0..N_SAMPLES as usize).map(line);
        fs::write(dir.path().join("corpus.jsonl"), lines.collect::<String>()).unwrap();
        Self(dir)
    }

    /// Writes `bad.jsonl`: the corpus with three unlearnable documents and two broken records.
    pub(crate) fn with_bad_records(self) -> Self {
        let lines = (0..N_SAMPLES as usize).map(|idx| match idx {
            7 | 20 | 41 => {
                let id = format!("d{idx}");
                json!({"id": id, "text": UNLEARNABLE}).to_string() + "\n"
            }
            11 | 30 => "{\"id\":\n".to_owned(),
            idx => line(idx),
        });
        fs::write(self.path("bad.jsonl"), lines.collect::<String>()).unwrap();
        self
    }

    /// Writes the corpus in three parts, `a.jsonl` to `c.jsonl`.
    pub(crate) fn in_parts(self) -> Self {
        let corpus = fs::read_to_string(self.path("corpus.jsonl")).unwrap();
        let lines: Vec<&str> = corpus.split_inclusive('\n').collect();
        for (name, part) in ["a.jsonl", "b.jsonl", "c.jsonl"]
            .iter()
            .zip(lines.chunks(20))
        {
            fs::write(self.path(name), part.concat()).unwrap();
        }
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A program in this folder.
    pub(crate) fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = kato(name);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("COLUMNS")
            .env_remove("KATO_MONGODB_URI")
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// `train` with the tokenizer and levels of all runs here.
    pub(crate) fn train(&self, input: &str, more: &[&str]) -> Command {
        let fixed = [
            input,
            "--tokenizer",
            "tokenizer.json",
            "--levels",
            "3,2",
            "--id-field",
            "id",
            "--json",
        ];
        self.command("train", &[&fixed, more].concat())
    }

    /// What a training prints that must be done; standard error must be empty with `--quiet`.
    pub(crate) fn trained(&self, input: &str, more: &[&str]) -> Value {
        let output = self
            .train(input, &[&["--quiet"], more].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{more:?}: {}", stderr(&output));
        assert_eq!(beside_waits(&stderr(&output)), "", "{more:?}");
        object(&output)
    }

    /// Learn calls of the corpus with its metadata, as this process counts them.
    pub(crate) fn learns(&self) -> u64 {
        let report = self.trained("corpus.jsonl", &["--kb", "here", "--metadata"]);
        let levels = report["levels"].as_array().unwrap();
        levels
            .iter()
            .map(|level| level["learns"].as_u64().unwrap())
            .sum()
    }

    /// What another program prints with `--json`.
    pub(crate) fn json(&self, name: &str, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        let output = self.command(name, &arguments).output().unwrap();
        assert!(
            output.status.success(),
            "{name} {arguments:?}: {}",
            stderr(&output)
        );
        object(&output)
    }

    /// The patterns of both levels of a knowledge base in a directory.
    pub(crate) fn exported(&self, kb: &str) -> [String; 2] {
        ["node0", "node1"].map(|node| {
            let arguments = ["--kb", kb, "--node", node, "--export", "-"];
            let output = self.command("inspect", &arguments).output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            String::from_utf8(output.stdout).unwrap()
        })
    }

    /// What `runs` tells of a run in this folder.
    pub(crate) fn run(&self, name: &str) -> Value {
        self.json("runs", &["show", name])
    }
}

/// The one object on standard output.
pub(crate) fn object(output: &Output) -> Value {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "one object on one line: {text}");
    serde_json::from_str(text).unwrap()
}

fn line(idx: usize) -> String {
    let word = |n: usize| WORDS[(idx * idx / 3 + n * (1 + idx % 4)) % WORDS.len()];
    let text: Vec<&str> = (0..7 + idx % 9).map(word).collect();
    json!({"id": format!("d{idx}"), "text": text.join(" ")}).to_string() + "\n"
}

//! A folder with a corpus in which `train` runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kato_examples::corpus::{CorpusModel, write_corpus};
use kato_scheduler::Checkpoint;
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::json;
use tempfile::TempDir;

use crate::knowledge::Knowledge;

/// What the corpus is like.
const SAMPLE: &str = "A lighthouse keeper counts the ships that pass at night. Some carry timber, some carry salt, and \
one, every third week, carries nothing but letters. He writes their names in a book with a green cover.\n\nWhen the fog \
comes he cannot see the ships, so he listens: the timber ships groan, the salt ships hiss, and the ship of letters is as \
quiet as the paper in its hold. \"Seventeen,\" he writes, \"and perhaps one more.\"\n\nIn spring the book is full. He \
begins another, with a red cover, and counts from one again; nobody has ever asked him for the sum.";

pub(crate) struct Workplace(TempDir);

impl Workplace {
    /// A folder with `corpus.jsonl` of about `n_bytes`, in which some records are blank and some broken.
    pub(crate) fn new(n_bytes: u64) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let model = CorpusModel::from_text(SAMPLE).unwrap();
        let mut lines = Vec::new();
        write_corpus(&model, 1, n_bytes, &mut lines).unwrap();
        let mut file = fs::File::create(place.path("corpus.jsonl")).unwrap();
        for (idx, line) in lines.split_inclusive(|&byte| byte == b'\n').enumerate() {
            file.write_all(line).unwrap();
            match idx % 50 {
                7 => writeln!(file, r#"{{"id":"blank","text":"  "}}"#).unwrap(),
                19 => writeln!(file, r#"{{"id":"broken","text":"number {idx}"#).unwrap(),
                _ => {}
            }
        }
        fs::write(place.path("tokenizer.json"), byte_tokenizer()).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `train` on an input, with all that can be recorded and skipped, and more arguments, which may name another tokenizer
    /// and other levels.
    pub(crate) fn train(&self, input: &str, kb: &str, more: &[&str]) -> Command {
        let mut command = Command::new(program());
        for (option, value) in [("--tokenizer", "tokenizer.json"), ("--levels", "4,3,2,2")] {
            if !more.contains(&option) {
                command.args([option, value]);
            }
        }
        command
            .args([
                "--id-field",
                "id",
                "--provenance",
                "--metadata",
                "--skip-errors",
            ])
            .args(["--json", "--quiet", "--kb", kb, input])
            .args(more)
            .current_dir(self.0.path())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Goes on with a run to its end.
    pub(crate) fn finish(&self, input: &str, kb: &str) -> Knowledge {
        let output = self.train(input, kb, &["--resume"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        Knowledge::of(&self.path(kb), &output)
    }

    /// What one run learns that nothing disturbs.
    pub(crate) fn undisturbed(&self, input: &str) -> Knowledge {
        let output = self.train(input, "undisturbed", &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        Knowledge::of(&self.path("undisturbed"), &output)
    }

    /// Documents that are safe; `None` before there is a position.
    pub(crate) fn committed(&self, kb: &str) -> Option<u64> {
        let kb = self.path(kb);
        if !EmbeddedStore::exists(&kb) {
            return None;
        }
        let store = EmbeddedStore::open_read_only(&kb).unwrap();
        let checkpoint = Checkpoint::from_json(&store.checkpoint()).unwrap();
        checkpoint.map(|checkpoint| checkpoint.cursor.documents())
    }

    /// Waits until a running program has committed this many documents; its exit in between fails the test.
    pub(crate) fn wait_for(&self, kb: &str, n_documents: u64, child: &mut Child) {
        let start = Instant::now();
        while self
            .committed(kb)
            .is_none_or(|committed| committed < n_documents)
        {
            assert_eq!(child.try_wait().unwrap(), None, "it ended too early");
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "it commits nothing"
            );
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Every file of a knowledge base with its bytes.
    pub(crate) fn files(&self, kb: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut dirs = vec![self.path(kb)];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => dirs.push(path),
                    false => drop(files.insert(path.clone(), fs::read(path).unwrap())),
                }
            }
        }
        files
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The path of `train`, which `cargo test` builds beside the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile
        .join("examples")
        .join(format!("train{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "build the examples first: cargo build -p kato-examples --examples"
    );
    program
}

/// A tokenizer that takes every byte for a token: it loads at once, so that the program is killed at its work.
fn byte_tokenizer() -> String {
    // The visible bytes stand for themselves, the others for the code points from 256 on, as in GPT-2.
    let is_visible = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let mut hidden = 256..;
    let symbol = |byte: u8| match is_visible(byte) {
        true => char::from(byte),
        false => hidden.next().and_then(char::from_u32).unwrap(),
    };
    let vocabulary: serde_json::Map<String, serde_json::Value> = (0..=255u8)
        .map(symbol)
        .zip(0..)
        .map(|(symbol, id)| (symbol.to_string(), json!(id)))
        .collect();
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    json!({
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    })
    .to_string()
}

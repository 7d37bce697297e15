//! A folder with a corpus in which `train` runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use kato_scheduler::Checkpoint;
use kato_store::{EmbeddedStore, PatternStore};
use kato_test_needs::wait_until;
use tempfile::TempDir;

use crate::corpus::write_corpus_and_tokenizer;
use crate::knowledge::Knowledge;
use crate::program::kato;
use crate::report::stderr;

pub(crate) struct Workplace(TempDir);

impl Workplace {
    /// A folder with `corpus.jsonl` of about `n_bytes`, in which some records are blank and some
    /// broken.
    pub(crate) fn new(n_bytes: u64) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        write_corpus_and_tokenizer(place.0.path(), n_bytes);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `train` on an input, with all that can be recorded and skipped, and more arguments, which
    /// may name another tokenizer and other levels.
    pub(crate) fn train(&self, input: &str, kb: &str, more: &[&str]) -> Command {
        let mut command = kato("train");
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

    /// Whether a run has begun to make its knowledge base, so that the next session resumes it.
    pub(crate) fn is_begun(&self, kb: &str) -> bool {
        std::fs::read_dir(self.path(kb)).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Goes on with a run to its end, or begins it.
    pub(crate) fn finish(&self, input: &str, kb: &str) -> Knowledge {
        let resume: &[&str] = match self.is_begun(kb) {
            true => &["--resume"],
            false => &[],
        };
        let output = self.train(input, kb, resume).output().unwrap();
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

    /// Waits until a running program has committed this many documents; its exit in between fails
    /// the test.
    pub(crate) fn wait_for(&self, kb: &str, n_documents: u64, child: &mut Child) {
        wait_until("it commits", || {
            assert_eq!(child.try_wait().unwrap(), None, "it ended too early");
            self.committed(kb)
                .is_some_and(|committed| committed >= n_documents)
        });
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

//! A folder in which a run trains.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kato_mongodb::MongoStore;
use tempfile::TempDir;

use crate::backends::Backend;
use crate::corpus::write_corpus_and_tokenizer;
use crate::program::kato;

/// Chunk sizes of the levels.
const LEVELS: &str = "4,3,2";
pub(crate) const N_LEVELS: usize = 3;
/// Seconds: longer than a machine stands still that is busy with writing what was built, shorter
/// than a session that hangs.
const PATIENCE: &str = "90";

pub(crate) struct Place {
    dir: TempDir,
    backend: Backend,
    /// Name of the run, or of the directory that is its knowledge base.
    run: String,
}

impl Place {
    pub(crate) fn new(backend: Backend, run: String) -> Self {
        Self::with_records(backend, run, backend.n_records())
    }

    pub(crate) fn with_records(backend: Backend, run: String, n_records: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        write_corpus_and_tokenizer(dir.path(), n_records);
        Self { dir, backend, run }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// Leaves the folder behind.
    pub(crate) fn keep(&mut self) -> &Path {
        self.dir.disable_cleanup(true);
        self.dir.path()
    }

    /// Whether a session has begun the run, so that the next one resumes it.
    /// `mongodb` is the address of the server, where it is in one.
    pub(crate) fn is_begun(&self, mongodb: Option<&str>) -> bool {
        match self.backend {
            Backend::Embedded => {
                let made = fs::read_dir(self.dir().join(&self.run));
                made.is_ok_and(|mut entries| entries.next().is_some())
            }
            Backend::Mongodb => mongodb.is_some_and(|uri| {
                let run = MongoStore::builder(uri, self.run.parse().unwrap());
                run.exists().unwrap()
            }),
            _ => self.state().exists(),
        }
    }

    fn state(&self) -> PathBuf {
        self.dir().join(format!("{}.kato-run.json", self.run))
    }

    /// The newest checkpoint and the one before it, where they are files.
    pub(crate) fn checkpoints(&self) -> Option<[PathBuf; 2]> {
        let dir = self.dir();
        match self.backend {
            Backend::Embedded => {
                Some(["MANIFEST", "MANIFEST.previous"].map(|name| dir.join(&self.run).join(name)))
            }
            Backend::Kato | Backend::Plain | Backend::Stock | Backend::October => {
                let state = self.state();
                Some([state.clone(), state.with_added_extension("previous")])
            }
            Backend::Mongodb => None,
        }
    }

    /// The lines of the ledger of what was skipped, sorted.
    pub(crate) fn skipped(&self) -> Vec<String> {
        let path = match self.backend {
            Backend::Embedded => format!("{}/errors.jsonl", self.run),
            backend if backend.is_served() => format!("{}.kato-run.errors.jsonl", self.run),
            _ => format!("{}.errors.jsonl", self.run),
        };
        let ledger = fs::read_to_string(self.dir().join(path)).unwrap();
        let mut lines: Vec<String> = ledger.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    /// `train` with the options of all runs, into the run's knowledge base at a place.
    pub(crate) fn train(&self, place: &str, more: &[&str]) -> Command {
        let mut command = kato("train");
        command
            .args(["corpus.jsonl", "--tokenizer", "tokenizer.json"])
            .args(["--levels", LEVELS, "--id-field", "id", "--metadata"])
            .args(["--skip-errors", "--json", "--progress", "json"]);
        match self.backend {
            Backend::Embedded => command.args(["--kb", &self.run]),
            _ => command.args([
                "--backend",
                place,
                "--run",
                &self.run,
                "--patience",
                PATIENCE,
            ]),
        };
        if self.backend.is_ours() {
            // What had no answer is sent again or asked for within the patience, also when a disk
            // stood still.
            command.args(["--timeout", "20"]);
        }
        if self.backend.keeps_sightings() {
            command.arg("--provenance");
        }
        command.args(more).current_dir(self.dir());
        command
    }
}

//! A folder with a corpus, a server's data and the states of runs.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use kato_model::naming::processor_id;
use kato_store::contract::Totals;
use kato_store::{EmbeddedStore, KnowledgeBase};
use serde_json::Value;
use tempfile::TempDir;

use crate::address::free_address;
use crate::corpus::write_corpus_and_tokenizer;
use crate::program::kato;
use crate::report::{counters, stderr};
use crate::server::Server;

const LEVELS: &str = "4,3,2,2";
const N_LEVELS: usize = 4;

pub(crate) struct Place {
    dir: TempDir,
    addr: SocketAddr,
    serve: Vec<&'static str>,
}

/// What a finished run leaves behind.
pub(crate) struct Learned {
    /// One a level.
    pub(crate) nodes: Vec<Node>,
    /// What `--json` counts over all sessions.
    pub(crate) counters: Value,
    /// Lines of the ledger of skipped records, sorted.
    pub(crate) skipped: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) export: Vec<Value>,
    pub(crate) totals: Totals,
}

impl Place {
    /// Whether a trainer has begun a run, so that the next one resumes it.
    pub(crate) fn is_begun(&self, run: &str) -> bool {
        self.dir
            .path()
            .join(format!("{run}.kato-run.json"))
            .exists()
    }

    /// A folder with a corpus of about `n_bytes`, and an address for its server, which is started
    /// with these options.
    pub(crate) fn new(n_bytes: u64, serve: &[&'static str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        write_corpus_and_tokenizer(dir.path(), n_bytes);
        Self {
            dir,
            addr: free_address(),
            serve: serve.to_vec(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts the server, always on the same address and data.
    pub(crate) fn serve(&self) -> Server {
        let addr = self.addr.to_string();
        let fixed = ["--data", "data", "--addr", &addr];
        let server = Server::start(self.dir.path(), &[&fixed, self.serve.as_slice()].concat());
        assert_eq!(server.addr(), self.addr);
        server
    }

    /// `train` with the options of all runs.
    fn train(&self, more: &[&str]) -> Command {
        let mut command = kato("train");
        command
            .args(["corpus.jsonl", "--tokenizer", "tokenizer.json"])
            .args(["--levels", LEVELS, "--id-field", "id", "--metadata"])
            .args(["--skip-errors", "--json", "--quiet"])
            .args(more)
            .current_dir(self.dir.path())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// `train` into the server.
    pub(crate) fn train_there(&self, run: &str, more: &[&str]) -> Command {
        let url = format!("http://{}", self.addr);
        let wire = [
            "--backend",
            &format!("kato:{url}"),
            "--run",
            run,
            "--batch",
            "2",
        ];
        self.train(&[&wire, more].concat())
    }

    /// What one run learns in its own process.
    pub(crate) fn trained_here(&self) -> Learned {
        let output = self.train(&["--kb", "kb"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let store = EmbeddedStore::open_read_only(self.path("kb")).unwrap();
        let nodes = KnowledgeBase::all(&store).map(|node| Node::of(&node));
        Learned::of(nodes.collect(), &output, &self.path("kb/errors.jsonl"))
    }

    /// What a finished run has left with the server, which must not run any more.
    pub(crate) fn trained_there(&self, run: &str, output: &Output) -> Learned {
        let node = |node_idx: usize| {
            let id = processor_id(&format!("{run}_node{node_idx}"), "kato");
            let dir = self.path("data/nodes").join(id);
            let store = EmbeddedStore::open_read_only(&dir).unwrap();
            Node::of(&KnowledgeBase::at(&store, 0).unwrap())
        };
        let ledger = self.path(&format!("{run}.kato-run.errors.jsonl"));
        Learned::of((0..N_LEVELS).map(node).collect(), output, &ledger)
    }
}

impl Node {
    fn of(node: &KnowledgeBase<'_>) -> Self {
        let mut export = Vec::new();
        node.export(&mut export).unwrap();
        let lines = export.split(|&byte| byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        Self {
            export: lines
                .map(|line| serde_json::from_slice(line).unwrap())
                .collect(),
            totals: node.totals().unwrap(),
        }
    }
}

impl Learned {
    fn of(nodes: Vec<Node>, output: &Output, ledger: &Path) -> Self {
        let ledger = fs::read_to_string(ledger).unwrap();
        let mut skipped: Vec<String> = ledger.lines().map(str::to_owned).collect();
        skipped.sort();
        Self {
            nodes,
            counters: counters(output),
            skipped,
        }
    }

    /// Compares piece by piece, because whole knowledge bases are too long for a message.
    pub(crate) fn assert_equals(&self, expected: &Self) {
        for (node_idx, (found, expected)) in self.nodes.iter().zip(&expected.nodes).enumerate() {
            let lines = || found.export.iter().zip(&expected.export);
            let n_differing = lines().filter(|(a, b)| a != b).count();
            let differing = lines().find(|(a, b)| a != b);
            assert_eq!(differing, None, "node {node_idx}, {n_differing} patterns");
            assert_eq!(found.totals, expected.totals, "node {node_idx}");
            assert!(found == expected, "node {node_idx} has other patterns");
        }
        assert_eq!(self.nodes.len(), expected.nodes.len());
        assert_eq!(self.counters, expected.counters);
        assert_eq!(self.skipped, expected.skipped);
    }
}

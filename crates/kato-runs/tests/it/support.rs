//! Directories of runs, trained and made by hand.

use std::fs;
use std::path::{Path, PathBuf};

use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoader;
use kato_model::batch::BatchSymbol;
use kato_model::{LearnBatch, PatternName, RunName};
use kato_runs::{ManifestFile, RunManifest, Runs, RunsError};
use kato_scheduler::{
    RunConfiguration, TrainingOptions, TrainingReport, loader_at_checkpoint, train_parallel,
};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};
use kato_tokenizer::Whitespace;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const N_DOCUMENTS: u64 = 40;

const WORDS: [&str; 7] = ["a", "cat", "the", "sat", "on", "mat", "sea"];

/// A directory with `runs`, and `corpus.jsonl`.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("runs")).unwrap();
        let lines = (0..N_DOCUMENTS as usize).map(|idx| {
            let words = (0..30).map(|n| WORDS[(idx * idx + n * (idx % 5 + 1)) % WORDS.len()]);
            json!({"text": words.collect::<Vec<_>>().join(" ")}).to_string() + "\n"
        });
        fs::write(place.path("corpus.jsonl"), lines.collect::<String>()).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn runs(&self) -> Runs {
        Runs::in_directory(self.path("runs")).unwrap()
    }

    /// A run made by hand, of one node with these patterns of two symbols each.
    pub(crate) fn by_hand(&self, dir: &str, firsts: &[&str]) {
        let dir = self.path("runs").join(dir);
        fs::create_dir_all(dir.parent().unwrap()).unwrap();
        let store = EmbeddedStore::create(&dir, &["node0"], json!({"by": "hand"})).unwrap();
        learn(&store, firsts);
    }

    /// Trains a run up to a number of documents; goes on with it if it is there.
    pub(crate) fn train(&self, dir: &str, documents: u64) -> TrainingReport {
        let learner = learner();
        let dir = self.path("runs").join(dir);
        let configuration = RunConfiguration::from_learner(&learner);
        let store = match EmbeddedStore::exists(&dir) {
            true => EmbeddedStore::open(&dir).unwrap(),
            false => {
                EmbeddedStore::create(&dir, &learner.node_names(), configuration.to_json()).unwrap()
            }
        };
        self.train_into(&store, documents)
    }

    pub(crate) fn train_into(&self, store: &dyn PatternStore, documents: u64) -> TrainingReport {
        let builder = StreamingDatasetLoader::builder()
            .with_input(self.path("corpus.jsonl"))
            .with_max_documents(documents);
        let mut loader = loader_at_checkpoint(builder, &store.checkpoint()).unwrap();
        let options = TrainingOptions::default();
        train_parallel(&mut loader, &learner(), store, &options, |_event| {}).unwrap()
    }

    pub(crate) fn content(&self, dir: &str) -> (Value, Vec<String>) {
        content(&EmbeddedStore::open_read_only(self.path("runs").join(dir)).unwrap())
    }
}

pub(crate) fn learner() -> HierarchicalConceptLearner {
    HierarchicalConceptLearner::builder(Whitespace::from_texts(WORDS))
        .with_chunk_sizes([3, 2])
        .build()
        .unwrap()
}

/// Learns patterns and commits.
pub(crate) fn learn(store: &dyn PatternStore, firsts: &[&str]) {
    let mut batch = LearnBatch::new(store.nodes().len());
    for first in firsts {
        let name = PatternName::of_events(&[[*first], ["z"]]);
        let symbols = [first, "z"].map(|text| BatchSymbol::Literal(batch.literal(text)));
        batch.learn(0, name, symbols);
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], store.checkpoint()).unwrap();
}

/// Checkpoint, and the export of every node.
pub(crate) fn content(store: &dyn PatternStore) -> (Value, Vec<String>) {
    let nodes = KnowledgeBase::all(store).map(|node| {
        let mut lines = Vec::new();
        node.export(&mut lines).unwrap();
        String::from_utf8(lines).unwrap()
    });
    (store.checkpoint(), nodes.collect())
}

pub(crate) fn name(name: &str) -> RunName {
    name.parse().unwrap()
}

pub(crate) fn names(runs: &Runs) -> Vec<String> {
    let runs = runs.list().unwrap();
    runs.iter()
        .map(|run| run.manifest.name.to_string())
        .collect()
}

pub(crate) fn recorded(dir: &Path) -> Option<RunManifest> {
    ManifestFile::in_knowledge_base(dir).read().unwrap()
}

/// The message of an error with its causes.
pub(crate) fn message<T: std::fmt::Debug>(result: Result<T, RunsError>) -> String {
    let error = result.unwrap_err();
    let causes = std::iter::successors(std::error::Error::source(&error), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

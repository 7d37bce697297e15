//! Corpora, learners, settings and the sequential oracle that the tests share.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{fs, thread};

use kato_learner::config::Recording;
use kato_learner::{Dropped, HierarchicalConceptLearner, LearnError, TextDocument};
use kato_loader::{OnBadRecord, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_scheduler::failure::OnFailure;
use kato_scheduler::{
    RunConfiguration, TrainError, TrainingEvent, TrainingOptions, TrainingReport, WorkDistribution,
    Workers, loader_at_checkpoint, train_parallel,
};
use kato_store::conformance::assert_same_content;
use kato_store::embedded::EmbeddedOptions;
use kato_store::{EmbeddedStore, KnowledgeBase, MemoryStore, PatternStore};
use kato_tokenizer::Whitespace;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Words that the tests' learners know; everything else cannot be learned.
pub(crate) const WORDS: [&str; 9] = ["a", "b", "the", "cat", "sat", "on", "mat", "x'y", "ü"];

/// Three small levels over [`WORDS`], with everything recorded that can be.
pub(crate) static LEARNER: LazyLock<HierarchicalConceptLearner> =
    LazyLock::new(|| learner(&[3, 2, 2]));

pub(crate) fn learner(chunk_sizes: &[usize]) -> HierarchicalConceptLearner {
    HierarchicalConceptLearner::builder(Whitespace::from_texts(WORDS))
        .with_chunk_sizes(chunk_sizes.iter().copied())
        .with_min_paragraph_chars(3)
        .with_recording(recording())
        .build()
        .unwrap()
}

pub(crate) fn recording() -> Recording {
    Recording {
        provenance: true,
        metadata: true,
    }
}

/// One line of a JSON Lines file.
#[derive(Debug, Clone)]
pub(crate) enum Record {
    /// A document of these words; `None` ends a paragraph.
    Text(Vec<Option<usize>>),
    /// No text.
    Blank,
    /// A document with a word that the learner does not know.
    Unlearnable,
    /// A line that is no JSON.
    Broken,
}

impl Record {
    fn line(&self, idx: usize) -> String {
        let text = match self {
            Self::Text(words) => {
                let words = words
                    .iter()
                    .map(|word| word.map_or("\n\n", |word| WORDS[word]));
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Blank => "  ".to_owned(),
            Self::Unlearnable => "the cat sat on a dog".to_owned(),
            Self::Broken => return "{\"text\": \"the".to_owned(),
        };
        json!({"id": format!("d{}", idx % 17), "text": text}).to_string()
    }
}

/// Documents of up to some 60 words, now and then a record that is none.
pub(crate) fn records(most: usize) -> impl Strategy<Value = Vec<Record>> {
    let word = prop_oneof![12 => (0..WORDS.len()).prop_map(Some), 1 => Just(None)];
    let record = prop_oneof![
        12 => prop::collection::vec(word, 1..60).prop_map(Record::Text),
        1 => Just(Record::Blank),
        1 => Just(Record::Unlearnable),
        1 => Just(Record::Broken),
    ];
    prop::collection::vec(record, 0..most)
}

/// Documents that differ from each other, without a bad one among them.
pub(crate) fn plain_records(n: usize) -> Vec<Record> {
    let word = |idx: usize| (idx % 11 != 10).then_some(idx * idx / 3 % WORDS.len());
    let words = |at: usize| (7 * at..7 * at + 5 + at % 40).map(word).collect();
    (0..n).map(|at| Record::Text(words(at))).collect()
}

/// Records in two files.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) dir: TempDir,
}

impl Corpus {
    pub(crate) fn new(records: &[Record]) -> Self {
        let corpus = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        let (first, second) = records.split_at(records.len() / 3);
        corpus.write("one.jsonl", first);
        corpus.write("two.jsonl", second);
        corpus
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    pub(crate) fn write(&self, file: &str, records: &[Record]) {
        let lines = records
            .iter()
            .enumerate()
            .map(|(idx, record)| record.line(idx) + "\n");
        fs::write(self.path(file), lines.collect::<String>()).unwrap();
    }

    /// A loader of both files that ends at bad records.
    pub(crate) fn strict(&self) -> StreamingDatasetLoaderBuilder {
        StreamingDatasetLoader::builder()
            .allow_empty()
            .with_inputs([self.path("one.jsonl"), self.path("two.jsonl")])
            .with_id_field("id")
    }

    /// A loader of both files that skips bad records.
    pub(crate) fn lenient(&self) -> StreamingDatasetLoaderBuilder {
        self.strict().on_bad_record(OnBadRecord::Skip)
    }
}

/// What must not change what is learned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) distribution: WorkDistribution,
    pub(crate) batch_bytes: usize,
    pub(crate) memory_budget: usize,
    pub(crate) commit_interval: Duration,
}

impl Settings {
    /// Commits after every document.
    pub(crate) const EAGER: Self = Self {
        workers: 3,
        distribution: WorkDistribution::WorkStealing,
        batch_bytes: 1,
        memory_budget: 0,
        commit_interval: Duration::ZERO,
    };

    pub(crate) fn options(&self) -> TrainingOptions {
        let mut options = TrainingOptions::default();
        options.n_workers = Workers::Exactly(NonZeroUsize::new(self.workers).unwrap());
        options.distribution = self.distribution;
        options.batch_bytes = self.batch_bytes;
        options.memory_budget = self.memory_budget;
        options.commit_interval = self.commit_interval;
        options.progress_interval = Duration::ZERO;
        options
    }

    /// Skips what cannot be learned, as [`Corpus::lenient`] skips what cannot be read.
    pub(crate) fn lenient(&self) -> TrainingOptions {
        let mut options = self.options();
        options.failures.on_failure = OnFailure::Skip;
        options
    }
}

pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    let defaults = TrainingOptions::default();
    let parts = (
        prop::sample::select(vec![1, 2, 3, 8]),
        prop::sample::select(WorkDistribution::ALL.to_vec()),
        prop_oneof![Just(1), 50..1_000usize, Just(defaults.batch_bytes)],
        prop_oneof![Just(0), 1_000..100_000usize, Just(defaults.memory_budget)],
        prop::sample::select(vec![Duration::ZERO, defaults.commit_interval]),
    );
    parts.prop_map(
        |(workers, distribution, batch_bytes, memory_budget, commit_interval)| Settings {
            workers,
            distribution,
            batch_bytes,
            memory_budget,
            commit_interval,
        },
    )
}

pub(crate) fn memory_store(learner: &HierarchicalConceptLearner) -> MemoryStore {
    MemoryStore::new(
        &learner.node_names(),
        RunConfiguration::from_learner(learner).to_json(),
    )
}

/// An embedded store that merges all the time.
pub(crate) fn embedded_store(dir: &TempDir, learner: &HierarchicalConceptLearner) -> EmbeddedStore {
    let configuration = RunConfiguration::from_learner(learner).to_json();
    let nodes = learner.node_names();
    EmbeddedStore::create_with(dir.path().join("kb"), &nodes, configuration, merging()).unwrap()
}

pub(crate) fn merging() -> EmbeddedOptions {
    let mut options = EmbeddedOptions::default();
    options.max_segments = 4;
    options
}

/// Trains on from where the store's run ended.
pub(crate) fn go_on(
    builder: StreamingDatasetLoaderBuilder,
    learner: &HierarchicalConceptLearner,
    store: &dyn PatternStore,
    options: &TrainingOptions,
    on_event: impl FnMut(TrainingEvent),
) -> Result<TrainingReport, TrainError> {
    let mut loader = loader_at_checkpoint(builder, &store.checkpoint())?;
    train_parallel(&mut loader, learner, store, options, on_event)
}

/// Everything that a report counts over all sessions of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) documents: u64,
    pub(crate) attempted: u64,
    pub(crate) errors: u64,
    pub(crate) tokens: u64,
    pub(crate) dropped: Dropped,
    pub(crate) blank: u64,
    pub(crate) short: u64,
    /// Learn calls and distinct patterns.
    pub(crate) levels: Vec<(u64, u64)>,
    pub(crate) complete: bool,
}

impl From<&TrainingReport> for Outcome {
    fn from(report: &TrainingReport) -> Self {
        let levels = report
            .levels
            .iter()
            .map(|level| (level.learns, level.unique_patterns.unwrap()));
        Self {
            documents: report.documents_processed,
            attempted: report.documents_attempted,
            errors: report.errors,
            tokens: report.tokens,
            dropped: report.dropped,
            blank: report.blank_records,
            short: report.short_records,
            levels: levels.collect(),
            complete: report.complete,
        }
    }
}

/// What one thread learns that takes one document after the other and knows nothing of batches,
/// epochs and positions.
#[derive(Debug)]
pub(crate) struct Oracle {
    pub(crate) store: MemoryStore,
    pub(crate) outcome: Outcome,
    /// Every entry of the ledger, sorted.
    pub(crate) skipped: Vec<Value>,
}

impl Oracle {
    pub(crate) fn of(
        learner: &HierarchicalConceptLearner,
        builder: StreamingDatasetLoaderBuilder,
    ) -> Self {
        let mut loader = builder.on_bad_record(OnBadRecord::Skip).build().unwrap();
        let store = memory_store(learner);
        let mut batch = learner.new_batch_with_limits(store.attribute_limits());
        let mut scratch = learner.new_scratch();
        let (mut documents, mut failed, mut tokens) = (0, 0, 0);
        let mut dropped = Dropped::default();
        let mut skipped = Vec::new();
        for document in loader.by_ref() {
            let document = document.unwrap();
            let id = document.id.to_string();
            let text = TextDocument {
                document_idx: document.index,
                id: &id,
                text: &document.text,
                metadata: &[("title", &id), ("author", "Unknown"), ("book_idx", "1")],
            };
            match learner.learn(text, &mut batch, &mut scratch) {
                Ok(()) => {
                    documents += 1;
                    tokens += scratch.plan().n_tokens() as u64;
                    dropped.merge(scratch.plan().dropped());
                }
                Err(error) => {
                    failed += 1;
                    let LearnError::Tokenize { source, .. } = &error else {
                        panic!("{error}")
                    };
                    let reason = format!("{error}: {source}");
                    skipped.push(json!({
                        "document": id, "document_idx": document.index, "kind": "unlearnable", "level": 0,
                        "attempts": 1, "reason": reason,
                    }));
                }
            }
        }
        let bad = loader.take_bad_records();
        skipped.extend(
            bad.iter()
                .map(|record| serde_json::to_value(record).unwrap()),
        );
        skipped.sort_by_key(Value::to_string);
        let staged = store.stage(batch.seal()).unwrap();
        store.commit(vec![staged], Value::Null).unwrap();
        let counts = loader.counts();
        let level = |node: KnowledgeBase<'_>| {
            (
                node.totals().unwrap().learns,
                node.count_patterns().unwrap(),
            )
        };
        let outcome = Outcome {
            documents,
            attempted: documents + failed + counts.bad,
            errors: failed + counts.bad,
            tokens,
            dropped,
            blank: counts.blank,
            short: counts.short,
            levels: KnowledgeBase::all(&store).map(level).collect(),
            complete: true,
        };
        Self {
            store,
            outcome,
            skipped,
        }
    }

    /// Compares a trained store byte by byte, and by everything that exports do not show.
    pub(crate) fn assert_learned(&self, store: &dyn PatternStore) {
        assert_eq!(exports(store), exports(&self.store));
        assert_same_content(store, &self.store, self.outcome.attempted);
    }
}

/// The export of every node.
pub(crate) fn exports(store: &dyn PatternStore) -> Vec<String> {
    let export = |node: KnowledgeBase<'_>| {
        let mut lines = Vec::new();
        node.export(&mut lines).unwrap();
        String::from_utf8(lines).unwrap()
    };
    KnowledgeBase::all(store).map(export).collect()
}

/// The entries of a ledger, sorted: documents that cannot be learned are found by several threads.
pub(crate) fn ledger_entries(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let mut entries: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    entries.sort_by_key(Value::to_string);
    entries
}

/// An error with all its causes, as a program shows it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// Fails a test whose body does not end, and hands on its result or its panic.
pub(crate) fn in_time<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        let result = body();
        // The receiver is gone only when the test has failed already.
        let _ = sender.send(());
        result
    });
    if receiver.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
        panic!("the run hangs");
    }
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

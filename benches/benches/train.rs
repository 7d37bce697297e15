//! Text to durable knowledge base, end to end. Bound by the workers: tokenizer, SHA-1, and memory
//! when batches are sealed; reading and committing run beside them. The limit is a bare loop over the
//! same documents in memory that learns, seals and stages them on one thread; for N workers, an Nth of its time.
//!
//! A run ends before its first commit but the last, and merges nothing: `scale.sh` measures runs that
//! do. Throughput counts tokens that are part of a pattern, and bytes of the documents' text. The budget of a token by stage is printed
//! after each run of the bench, in thread time. docs/benchmarks.md says what was measured.
#![expect(clippy::print_stderr, reason = "a bench reports to its user")]

use std::num::NonZeroUsize;
use std::path::Path;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::{json_lines, sized, texts};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoader;
use kato_scheduler::report::StageSeconds;
use kato_scheduler::{RunConfiguration, TrainingOptions, TrainingReport, Workers, train_parallel};
use kato_store::{EmbeddedStore, PatternStore};
use kato_tokenizer::gpt2;

const CORPUS_BYTES: u64 = 20_000_000;
/// Memory of the bare loop's batch when it is staged.
const BATCH_BYTES: usize = 256 << 20;

fn train_all(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let corpus = dir.path().join("corpus.jsonl");
    let lines = json_lines(sized(CORPUS_BYTES));
    std::fs::write(&corpus, &lines).expect("the temporary folder has room");
    let texts = texts(&lines);
    let bytes = texts.iter().map(String::len).sum::<usize>() as u64;
    let learner = HierarchicalConceptLearner::builder(gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()
        .expect("three levels are a hierarchy");

    let mut group = c.benchmark_group("train 20 MB");
    group.sample_size(10);
    for n_workers in [NonZeroUsize::MIN, NonZeroUsize::MIN.saturating_add(1)] {
        let mut report = run(&learner, &corpus, &dir.path().join("first"), n_workers);
        std::fs::remove_dir_all(dir.path().join("first")).expect("the knowledge base was made");
        group.throughput(Throughput::ElementsAndBytes {
            elements: report.tokens,
            bytes,
        });
        group.bench_function(format!("{n_workers} workers"), |b| {
            b.iter_batched(
                || tempfile::tempdir_in(dir.path()).expect("a temporary folder"),
                |kb| {
                    report = run(&learner, &corpus, &kb.path().join("kb"), n_workers);
                    kb
                },
                BatchSize::PerIteration,
            );
        });
        print_budget(n_workers, &report);
    }
    group.bench_function("limit: a bare loop of one thread", |b| {
        b.iter_batched(
            || tempfile::tempdir_in(dir.path()).expect("a temporary folder"),
            |kb| {
                bare_loop(&learner, &texts, &kb.path().join("kb"));
                kb
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// Learns documents in memory and writes what they taught, in batches of a run's size, without a commit.
fn bare_loop(learner: &HierarchicalConceptLearner, texts: &[String], kb: &Path) {
    let store = create(learner, kb);
    let (mut scratch, mut batch) = (learner.new_scratch(), learner.new_batch());
    for text in texts {
        learner
            .learn(text.as_str(), &mut batch, &mut scratch)
            .expect("GPT-2 has ids for all text");
        if batch.heap_bytes() >= BATCH_BYTES {
            let full = std::mem::replace(&mut batch, learner.new_batch());
            drop(store.stage(full.seal()).expect("the disk has room"));
        }
    }
    drop(store.stage(batch.seal()).expect("the disk has room"));
}

fn create(learner: &HierarchicalConceptLearner, kb: &Path) -> EmbeddedStore {
    let configuration = RunConfiguration::from_learner(learner).to_json();
    EmbeddedStore::create(kb, &learner.node_names(), configuration).expect("the folder is empty")
}

fn run(
    learner: &HierarchicalConceptLearner,
    corpus: &Path,
    kb: &Path,
    n_workers: NonZeroUsize,
) -> TrainingReport {
    let store = create(learner, kb);
    let mut loader = StreamingDatasetLoader::builder()
        .with_input(corpus)
        .build()
        .expect("the corpus was written");
    let mut options = TrainingOptions::default();
    options.n_workers = Workers::Exactly(n_workers);
    train_parallel(&mut loader, learner, &store, &options, |_event| {}).expect("the disk has room")
}

/// Thread time of the last run by stage, in nanoseconds a token.
fn print_budget(n_workers: NonZeroUsize, report: &TrainingReport) {
    let StageSeconds {
        load,
        load_blocked,
        learn,
        stage,
        starved,
        commit,
        merge,
        count_patterns,
        ..
    } = report.stage_seconds;
    let ns = |seconds: f64| 1e9 * seconds / report.tokens.max(1) as f64;
    eprintln!(
        "{n_workers} workers, ns a token: load {:.1} (waiting {:.1}), learn {:.1}, stage {:.1}, starved {:.1}, \
         commit {:.1}, merge {:.1}, count patterns {:.1}; wall clock {:.1}",
        ns(load),
        ns(load_blocked),
        ns(learn),
        ns(stage),
        ns(starved),
        ns(commit),
        ns(merge),
        ns(count_patterns),
        ns(report.total_time_seconds),
    );
}

criterion_group!(benches, train_all);
criterion_main!(benches);

//! Work of one's own has what learning has: one result for any number of workers and any
//! interruptions.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use kato_learner::TextDocument;
use kato_loader::{Split, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_scheduler::failure::OnFailure;
use kato_scheduler::own_work::{OwnWork, WorkError};
use kato_scheduler::{
    SessionEnd, TrainError, TrainingOptions, WorkDistribution, Workers, loader_at_checkpoint,
    work_parallel,
};
use proptest::prelude::*;
use serde_json::Value;

type Words = BTreeMap<String, u64>;

/// Counts words, documents apart by their ids.
#[derive(Default)]
struct Counting {
    state: Mutex<(Words, Value)>,
    /// Whether the next document makes its worker panic.
    panics: AtomicBool,
    /// Whether commits fail.
    is_full: AtomicBool,
}

impl OwnWork for Counting {
    type Part = Words;

    fn work(&self, document: TextDocument<'_>, words: &mut Words) -> Result<(), WorkError> {
        assert!(!self.panics.swap(false, Ordering::Relaxed), "by intent");
        if document.text.contains("poison") {
            return Err(format!("{} holds poison", document.id).into());
        }
        *words.entry(document.id.to_owned()).or_default() += 1;
        for word in document.text.split(' ') {
            *words.entry(word.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    fn checkpoint(&self) -> Value {
        self.state.lock().unwrap().1.clone()
    }

    fn commit(&self, parts: Vec<Words>, checkpoint: Value) -> Result<(), WorkError> {
        if self.is_full.load(Ordering::Relaxed) {
            return Err("no room".into());
        }
        let mut state = self.state.lock().unwrap();
        for (word, n) in parts.into_iter().flatten() {
            *state.0.entry(word).or_default() += n;
        }
        state.1 = checkpoint;
        Ok(())
    }

    fn heap_bytes(&self, words: &Words) -> usize {
        words.len() * 64
    }
}

impl Counting {
    fn words(&self) -> Words {
        self.state.lock().unwrap().0.clone()
    }
}

const DOCUMENTS: usize = 60;

fn texts() -> impl Iterator<Item = (String, String)> {
    (0..DOCUMENTS).map(|n| (format!("id {n}"), format!("w{} w{} w", n % 7, n % 3)))
}

fn corpus() -> StreamingDatasetLoaderBuilder {
    StreamingDatasetLoader::builder().with_documents("texts", texts())
}

fn on(n_workers: usize) -> TrainingOptions {
    let mut options = TrainingOptions::default();
    options.n_workers = Workers::Exactly(NonZeroUsize::new(n_workers).unwrap());
    options.batch_bytes = 20;
    options
}

fn run(
    work: &Counting,
    corpus: StreamingDatasetLoaderBuilder,
    options: &TrainingOptions,
) -> Result<kato_scheduler::TrainingReport, TrainError> {
    let mut loader = loader_at_checkpoint(corpus, &work.checkpoint())?;
    work_parallel(&mut loader, work, options, |_event| {})
}

/// Counts as one loop does.
fn counted() -> Words {
    let mut words = Words::new();
    for (id, text) in texts() {
        for word in [id.as_str()].into_iter().chain(text.split(' ')) {
            *words.entry(word.to_owned()).or_default() += 1;
        }
    }
    words
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_result_is_that_of_one_loop_however_it_is_cut(
        sessions in prop::collection::vec((1..5_usize, 0..25_u64), 0..4),
        last in 1..5_usize,
        distribution in prop::sample::select(vec![
            WorkDistribution::WorkStealing, WorkDistribution::RoundRobin, WorkDistribution::Contiguous,
        ]),
        budget in prop::sample::select(vec![1_usize, 4 << 10, 64 << 20]),
    ) {
        let work = Counting::default();
        let mut options = on(last);
        options.distribution = distribution;
        options.memory_budget = budget;
        let mut most = 0;
        for (n_workers, documents) in sessions {
            most += documents;
            options.n_workers = on(n_workers).n_workers;
            run(&work, corpus().with_max_documents(most), &options).unwrap();
        }
        options.n_workers = on(last).n_workers;
        let report = run(&work, corpus(), &options).unwrap();
        prop_assert_eq!(report.ended, SessionEnd::Complete);
        prop_assert_eq!(report.documents_processed, DOCUMENTS as u64);
        prop_assert!(report.levels.is_empty());
        prop_assert_eq!(work.words(), counted());
        // Once more: nothing is done twice.
        run(&work, corpus(), &options).unwrap();
        prop_assert_eq!(work.words(), counted());
    }
}

#[test]
fn a_worker_that_dies_costs_nothing() {
    let work = Counting::default();
    work.panics.store(true, Ordering::Relaxed);
    let report = run(&work, corpus(), &on(2)).unwrap();
    assert_eq!(report.worker_restarts, 1);
    assert_eq!(work.words(), counted());
}

#[test]
fn a_document_that_cannot_be_worked_on_ends_the_run_or_is_listed() {
    let poisoned = || {
        let texts = [("a", "good"), ("b", "poison"), ("c", "good")];
        StreamingDatasetLoader::builder().with_documents("texts", texts)
    };
    let work = Counting::default();
    let error = run(&work, poisoned(), &on(2)).unwrap_err();
    assert!(
        matches!(&error, TrainError::Refused { document, reason }
            if document == "b" && reason == "b holds poison"),
        "{error:?}"
    );

    let work = Counting::default();
    let mut options = on(2);
    options.failures.on_failure = OnFailure::Skip;
    let report = run(&work, poisoned(), &options).unwrap();
    assert_eq!((report.documents_processed, report.errors), (2, 1));
    assert_eq!(work.words()["good"], 2);
}

#[test]
fn a_commit_that_fails_leaves_the_last_one() {
    let work = Counting::default();
    run(&work, corpus().with_max_documents(10), &on(2)).unwrap();
    let before = work.words();
    work.is_full.store(true, Ordering::Relaxed);
    let error = run(&work, corpus(), &on(2)).unwrap_err();
    assert!(error.to_string().contains("no room"), "{error}");
    assert_eq!(work.words(), before);
    work.is_full.store(false, Ordering::Relaxed);
    run(&work, corpus(), &on(2)).unwrap();
    assert_eq!(work.words(), counted());
}

#[test]
fn another_corpus_or_split_is_refused() {
    let work = Counting::default();
    run(&work, corpus().with_max_documents(10), &on(2)).unwrap();
    let other = StreamingDatasetLoader::builder().with_documents("others", texts());
    let error = run(&work, other, &on(2)).unwrap_err();
    assert!(matches!(error, TrainError::OtherCorpus { .. }), "{error:?}");
    let split = corpus().with_split(Split::training(0.5, 1));
    let error = run(&work, split, &on(2)).unwrap_err();
    let expected = "held-out documents: it was none, now it is a share of 0.5 with seed 1";
    assert!(error.to_string().contains(expected), "{error}");
}

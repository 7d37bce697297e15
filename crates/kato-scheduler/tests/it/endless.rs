//! A corpus without an end: whatever goes wrong in one thread ends the whole run at once, and does
//! not hang it.

use std::collections::VecDeque;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use kato_learner::HierarchicalConceptLearner;
use kato_loader::{StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_scheduler::{
    Checkpoint, TrainError, TrainingEvent, TrainingOptions, TrainingReport, train_parallel,
};
use kato_store::{MemoryStore, PatternStore};

use crate::faults::{Fault, Faulty};
use crate::support::{LEARNER, Oracle, Settings, WORDS, in_time, memory_store};

/// Lines without end, of which one is other than the rest.
struct Endless {
    n_lines: u64,
    odd: Option<(u64, &'static str)>,
    bytes: VecDeque<u8>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.bytes.len() < buffer.len() {
            let line = self.n_lines;
            let words = (0..10).map(|at| WORDS[((line + at) * (at + 1) % 7) as usize]);
            let text = match self.odd {
                Some((at, text)) if at == line => text.to_owned(),
                _ => words.collect::<Vec<_>>().join(" "),
            };
            self.bytes.extend(text.bytes().chain([b'\n']));
            self.n_lines += 1;
        }
        self.bytes.read(buffer)
    }
}

fn endless(odd: Option<(u64, &'static str)>) -> StreamingDatasetLoaderBuilder {
    let lines = Endless {
        n_lines: 0,
        odd,
        bytes: VecDeque::new(),
    };
    StreamingDatasetLoader::builder()
        .with_reader("endless.txt", lines)
        .with_text_unit(kato_loader::TextUnit::Line)
}

/// Small batches for four threads.
fn options(settings: Settings) -> TrainingOptions {
    Settings {
        workers: 4,
        batch_bytes: 500,
        ..settings
    }
    .options()
}

/// Everything in one commit that never comes.
const LAZY: Settings = Settings {
    memory_budget: usize::MAX,
    commit_interval: Duration::MAX,
    ..Settings::EAGER
};

fn run(
    learner: &HierarchicalConceptLearner,
    store: &dyn PatternStore,
    odd: Option<(u64, &'static str)>,
    settings: Settings,
) -> Result<TrainingReport, TrainError> {
    let mut loader = endless(odd).build().unwrap();
    train_parallel(&mut loader, learner, store, &options(settings), |_| {})
}

/// What is committed is the beginning of the corpus, and how much of it.
fn committed_prefix(store: &dyn PatternStore) -> u64 {
    let checkpoint = Checkpoint::from_json(&store.checkpoint()).unwrap().unwrap();
    let n_documents = checkpoint.cursor.documents();
    if n_documents < 2_000 {
        Oracle::of(&LEARNER, endless(None).with_max_documents(n_documents)).assert_learned(store);
    }
    n_documents
}

#[test]
fn a_stage_that_fails_once() {
    for at in [0, 1, 7, 50] {
        in_time(move || {
            let store = Faulty::new(memory_store(&LEARNER), Some(Fault::Stage(at)));
            let error = run(&LEARNER, &store, None, Settings::EAGER).unwrap_err();
            assert!(matches!(error, TrainError::Store(_)), "{error}");
            committed_prefix(&store);
        });
    }
}

#[test]
fn a_commit_that_fails_once() {
    // The first commit notes the corpus, before there are threads.
    for at in [0, 1, 2, 20] {
        in_time(move || {
            let store = Faulty::new(memory_store(&LEARNER), Some(Fault::Commit(at)));
            let error = run(&LEARNER, &store, None, Settings::EAGER).unwrap_err();
            assert!(matches!(error, TrainError::Store(_)), "{error}");
            assert_eq!(store.checkpoint().is_null(), at == 0);
            if at > 0 {
                committed_prefix(&store);
            }
        });
    }
}

#[test]
fn a_document_that_cannot_be_learned() {
    for settings in [Settings::EAGER, LAZY] {
        in_time(move || {
            let store = memory_store(&LEARNER);
            let error = run(&LEARNER, &store, Some((300, "the dog")), settings).unwrap_err();
            assert!(
                matches!(&error, TrainError::Learn { document, .. } if document == "endless.txt#301"),
                "{error}"
            );
            assert!(committed_prefix(&store) <= 300);
        });
    }
}

/// Expects a panic that comes through to the caller, and that what was committed before it can be
/// gone on from.
fn panics(
    expected: &str,
    store: MemoryStore,
    fault: Option<Fault>,
    on_event: impl FnMut(TrainingEvent),
) {
    let store = Faulty::new(store, fault);
    let mut loader = endless(None).build().unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        train_parallel(
            &mut loader,
            &LEARNER,
            &store,
            &options(Settings::EAGER),
            on_event,
        )
    }))
    .unwrap_err();
    let message = panic.downcast_ref::<&str>().map(ToString::to_string);
    assert_eq!(message.as_deref(), Some(expected));
    // What was committed is whole documents from the beginning.
    committed_prefix(&store);
}

#[test]
fn panics_of_the_committer_and_the_caller_come_through() {
    let store = || memory_store(&LEARNER);
    in_time(move || {
        panics(
            "the store's commit panics",
            store(),
            Some(Fault::CommitPanic(3)),
            |_| {},
        )
    });
    let mut n_events = 0;
    in_time(move || {
        panics("the listener panics", store(), None, |_| {
            n_events += 1;
            assert!(n_events < 5, "the listener panics");
        });
    });
}

#[test]
fn a_stop_from_another_thread() {
    for settings in [Settings::EAGER, LAZY] {
        in_time(move || {
            let store = memory_store(&LEARNER);
            let mut options = options(settings);
            // However seldom a listener wants to hear of progress.
            options.progress_interval = Duration::MAX;
            let stop = options.stop.clone();
            thread::spawn(move || {
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(30) {
                    thread::yield_now();
                }
                stop.stop();
            });
            let mut loader = endless(None).build().unwrap();
            let report = train_parallel(&mut loader, &LEARNER, &store, &options, |_| {}).unwrap();
            assert!(!report.complete && report.documents_processed > 0);
            assert_eq!(committed_prefix(&store), report.documents_processed);
        });
    }
}

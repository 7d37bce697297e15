//! The calls of the facade, as a program that embeds them would make them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod destinations;
mod errors;
mod learning;
mod opening;
mod preparation;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato::IndexPolicy;
use kato::prelude::*;
use kato::scheduler::{RunConfiguration, TrainError, train_parallel};
use kato::store::MemoryStore;
use kato::tokenizer::Whitespace;
use tempfile::TempDir;

/// Documents that repeat each other in part.
fn corpus(place: &TempDir) -> PathBuf {
    let path = place.path().join("corpus.jsonl");
    let line = |n: usize| {
        let text = format!("the {} cat sat on the {} mat and slept there", n % 3, n % 7);
        format!("{{\"text\":\"{text}\"}}\n")
    };
    fs::write(&path, (0..60).map(line).collect::<String>()).unwrap();
    path
}

fn training<'a>(kb: &Path, source: &Path) -> Training<'a> {
    Training::new(kb)
        .with_source(source)
        .with_chunk_sizes([3, 2])
}

/// Names and frequencies of all patterns.
fn knowledge(kb: &Path) -> Vec<Vec<(String, u64)>> {
    knowledge_of(&EmbeddedStore::open_read_only(kb).unwrap())
}

fn knowledge_of(store: &dyn PatternStore) -> Vec<Vec<(String, u64)>> {
    let level = |idx| {
        let patterns = store.scan_frequencies(idx).unwrap().map(Result::unwrap);
        patterns
            .map(|(name, frequency)| (name.to_string(), frequency))
            .collect()
    };
    (0..store.nodes().len()).map(level).collect()
}

#[test]
fn a_run_that_is_stopped_again_and_again_ends_as_one_that_is_not() {
    let place = tempfile::tempdir().unwrap();
    let (source, stopped, whole) = (
        corpus(&place),
        place.path().join("a"),
        place.path().join("b"),
    );
    let mut sessions = 0;
    loop {
        let stop = StopSignal::default();
        let switch = stop.clone();
        let mut options = TrainingOptions::default();
        options.progress_interval = std::time::Duration::ZERO;
        // A few bytes, so that there is something between one document and all.
        options.batch_bytes = 1;
        let report = training(&stopped, &source)
            .with_options(options)
            .with_stop(stop)
            .on_event(move |event| match event {
                TrainingEvent::Progress(progress) if progress.session_documents > 7 => {
                    switch.stop()
                }
                _ => {}
            })
            .run()
            .unwrap();
        sessions += 1;
        if report.complete {
            assert_eq!(report.documents_processed, 60);
            break;
        }
    }
    let report = training(&whole, &source).run().unwrap();
    assert!(report.complete && sessions > 1, "{sessions}");
    assert_eq!(knowledge(&stopped), knowledge(&whole));
}

#[test]
fn what_does_not_fit_the_run_is_refused_and_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (source, kb) = (corpus(&place), place.path().join("kb"));

    let missing = training(&kb, &place.path().join("nowhere.txt")).run();
    assert!(matches!(missing, Err(Error::Source(_))), "{missing:?}");
    assert!(
        !kb.exists(),
        "a source that is not there leaves nothing behind"
    );
    let impossible = training(&kb, &source).with_chunk_sizes([1]).run();
    assert!(
        matches!(impossible, Err(Error::Settings(_))),
        "{impossible:?}"
    );
    assert!(!kb.exists());

    training(&kb, &source).run().unwrap();
    let before = knowledge(&kb);
    let other_levels = training(&kb, &source).with_chunk_sizes([3, 3]).run();
    assert!(
        matches!(
            other_levels,
            Err(Error::Train(TrainError::OtherConfiguration { .. }))
        ),
        "{other_levels:?}"
    );
    let other = place.path().join("other.txt");
    fs::write(&other, "another text").unwrap();
    let other_corpus = training(&kb, &other).run();
    assert!(
        matches!(
            other_corpus,
            Err(Error::Train(TrainError::OtherCorpus { .. }))
        ),
        "{other_corpus:?}"
    );
    assert_eq!(knowledge(&kb), before);
}

#[test]
fn documents_that_are_held_out_are_not_learned() {
    let place = tempfile::tempdir().unwrap();
    let (source, kb) = (corpus(&place), place.path().join("kb"));
    let split = Split::training(0.5, 1);
    let report = training(&kb, &source).with_split(split).run().unwrap();
    assert_eq!(report.documents_processed + report.held_out_documents, 60);
    assert!(report.held_out_documents > 10);
}

#[test]
fn what_was_not_trained_here_cannot_be_asked() {
    let place = tempfile::tempdir().unwrap();
    let nowhere = kato::open(place.path().join("kb"));
    assert!(matches!(nowhere, Err(Error::Store { .. })), "{nowhere:?}");
    let foreign = MemoryStore::new(&["node0"], serde_json::json!({"by": "somebody else"}));
    let foreign = kato::OpenOptions::new().open_store(Arc::new(foreign));
    assert!(
        matches!(foreign, Err(Error::NotTrained { .. })),
        "{foreign:?}"
    );
}

#[test]
fn a_tokenizer_that_is_not_at_hand_is_named() {
    let words = Whitespace::from_texts(["a b c"]);
    let learner = HierarchicalConceptLearner::builder(words)
        .with_chunk_sizes([2])
        .build()
        .unwrap();
    let store = MemoryStore::new(
        &learner.node_names(),
        RunConfiguration::from_learner(&learner).to_json(),
    );
    let mut loader = StreamingDatasetLoader::builder()
        .with_reader("text.txt", &b"a b c a b"[..])
        .build()
        .unwrap();
    let options = TrainingOptions::default();
    train_parallel(&mut loader, &learner, &store, &options, |_event| {}).unwrap();
    let error = kato::OpenOptions::new()
        .open_store(Arc::new(store))
        .unwrap_err();
    assert!(
        matches!(error, Error::Tokenizer(_) | Error::OtherTokenizer { .. }),
        "{error:?}"
    );
}

/// A text of so many patterns of two tokens that one would not load them without an index.
fn much_text(place: &TempDir) -> PathBuf {
    let path = place.path().join("much.txt");
    let words = (0..250_000_u64).map(|n| format!("{} {} ", n % 499, n / 499));
    fs::write(&path, words.collect::<String>()).unwrap();
    path
}

#[test]
fn a_run_leaves_an_index_and_one_that_is_missing_is_written_at_the_first_question() {
    let place = tempfile::tempdir().unwrap();
    let (source, kb) = (much_text(&place), place.path().join("kb"));
    let words: Vec<String> = (0..510).map(|n: u32| n.to_string()).collect();
    let learner = || {
        HierarchicalConceptLearner::builder(Arc::new(Whitespace::from_texts([words.join(" ")])))
            .with_chunk_sizes([2])
            .build()
            .unwrap()
    };
    let train = |kb: &Path, is_wanted: bool| {
        let run = Training::new(kb)
            .with_source(&source)
            .with_learner(learner());
        run.with_index(is_wanted).run().unwrap();
    };
    train(&kb, true);
    assert!(kb.join("index").exists());
    let n_indexed = |policy: IndexPolicy| {
        let options = kato::OpenOptions::default().with_index(policy);
        let store = Arc::new(EmbeddedStore::open_read_only(&kb).unwrap());
        let engine = options.open_engine(store).unwrap();
        engine.nodes().map(|node| node.n_indexed()).sum::<usize>()
    };
    let all = n_indexed(IndexPolicy::Never);
    assert!(all >= 100_000, "{all}");
    fs::remove_dir_all(&kb).unwrap();
    train(&kb, false);
    assert!(!kb.join("index").exists());
    assert_eq!(n_indexed(IndexPolicy::Never), 0);
    assert_eq!(n_indexed(IndexPolicy::Auto), all);
    assert!(kb.join("index").exists());
    // Where it cannot be written, all is loaded, or that is an error.
    fs::remove_dir_all(kb.join("index")).unwrap();
    fs::write(kb.join("index"), "no directory").unwrap();
    assert_eq!(n_indexed(IndexPolicy::Auto), 0);
    let store = Arc::new(EmbeddedStore::open_read_only(&kb).unwrap());
    let required = kato::OpenOptions::default().with_index(IndexPolicy::Require);
    assert!(matches!(
        required.open_engine(store),
        Err(kato::Error::Index(_))
    ));
}

#[test]
fn a_head_is_opened_over_its_counts_and_what_came_later() {
    let place = tempfile::tempdir().unwrap();
    let (kb, source) = (place.path().join("kb"), corpus(&place));
    training(&kb, &source).run().unwrap();
    let open = || kato::open_head(&kb, HeadOptions::default()).unwrap();
    let text = "the 1 cat sat on the";
    // Little is counted in memory, and nothing is written.
    let counted = open();
    assert!(!counted.head().is_on_disk() && !kb.join("head").exists());
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let options = kato::head::disk::CountsOptions::default();
    kato::head::disk::build(&store, &options).unwrap();
    let opened = open();
    assert!(opened.head().is_on_disk());
    assert_eq!(
        opened.next(text, 50).unwrap(),
        counted.next(text, 50).unwrap()
    );
    let (score, expected) = (opened.score(text).unwrap(), counted.score(text).unwrap());
    assert_eq!(score, expected);
    let whole = kato::open(&kb)
        .unwrap()
        .head(HeadOptions::default())
        .unwrap();
    assert_eq!(
        opened.next(text, 50).unwrap(),
        whole.next(text, 50).unwrap()
    );
    // Other counts than those on the disk are made in memory.
    let fewer = HeadOptions::default().with_levels(1);
    assert!(!kato::open_head(&kb, fewer).unwrap().head().is_on_disk());
}

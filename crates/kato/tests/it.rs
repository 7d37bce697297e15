//! The calls of the facade, as a program that embeds them would make them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    let store = EmbeddedStore::open_read_only(kb).unwrap();
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
    assert!(matches!(nowhere, Err(Error::Store(_))), "{nowhere:?}");
    let foreign = MemoryStore::new(&["node0"], serde_json::json!({"by": "somebody else"}));
    let foreign = kato::from_store(Arc::new(foreign));
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
    let error = kato::from_store(Arc::new(store)).unwrap_err();
    assert!(
        matches!(error, Error::Tokenizer(_) | Error::OtherTokenizer { .. }),
        "{error:?}"
    );
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
    let options = kato::head::disk::BuildOptions::default();
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

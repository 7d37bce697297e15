//! Corpora and hierarchies at the edges: nothing at all, next to nothing, as many levels as there
//! may be.

use kato_learner::config::MAX_NODES;
use kato_loader::Order;
use kato_scheduler::{Counters, train_parallel};

use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Record, Settings, go_on, learner, memory_store, plain_records,
};

/// Trains with few and with many threads, each after a stop that came before everything.
fn check(records: &[Record], chunk_sizes: &[usize]) -> Outcome {
    let learner = learner(chunk_sizes);
    let corpus = Corpus::new(records);
    let oracle = Oracle::of(&learner, corpus.strict());
    for workers in [1, 4, 16] {
        let settings = Settings {
            workers,
            ..Settings::EAGER
        };
        let store = memory_store(&learner);
        let mut loader = corpus.strict().build().unwrap();
        let stopped = settings.options();
        stopped.stop.stop();
        let report = train_parallel(&mut loader, &learner, &store, &stopped, |_| {}).unwrap();
        assert_eq!((report.documents_attempted, report.complete), (0, false));

        let report =
            train_parallel(&mut loader, &learner, &store, &settings.options(), |_| {}).unwrap();
        assert_eq!(Outcome::from(&report), oracle.outcome);
        oracle.assert_learned(&store);
    }
    oracle.outcome
}

fn words(n: usize) -> Record {
    Record::Text((0..n).map(|at| Some(at * at % 7)).collect())
}

#[test]
fn an_empty_corpus_is_complete() {
    let outcome = check(&[], &[3, 2]);
    assert_eq!((outcome.attempted, outcome.levels), (0, vec![(0, 0); 2]));
}

#[test]
fn blank_records_are_counted_and_are_no_samples() {
    let outcome = check(&vec![Record::Blank; 50], &[3, 2]);
    assert_eq!((outcome.attempted, outcome.blank), (0, 50));
}

#[test]
fn one_document() {
    let outcome = check(&[words(13)], &[3, 2, 2]);
    assert_eq!((outcome.documents, outcome.tokens), (1, 13));
    assert_eq!(outcome.levels, [(4, 4), (2, 2), (1, 1)]);
}

#[test]
fn documents_of_one_token_are_samples_without_patterns() {
    let records: Vec<_> = (0..50)
        .map(|at| Record::Text(vec![Some(2 + at % 3)]))
        .collect();
    let outcome = check(&records, &[3, 2]);
    assert_eq!(
        (outcome.documents, outcome.tokens, outcome.levels),
        (50, 0, vec![(0, 0); 2])
    );
    assert_eq!(outcome.dropped.single_token_chunks, 50);
}

#[test]
fn as_many_levels_as_there_may_be() {
    let outcome = check(
        &[words(2_000), words(1), words(2_000), words(700)],
        &[2; MAX_NODES],
    );
    let n_empty = outcome
        .levels
        .iter()
        .filter(|level| **level == (0, 0))
        .count();
    assert!((5..15).contains(&n_empty), "{:?}", outcome.levels);
}

#[test]
fn more_threads_than_documents_and_than_cores() {
    let learner = learner(&[3, 2]);
    let corpus = Corpus::new(&[words(20), words(30)]);
    let store = memory_store(&learner);
    let mut loader = corpus.strict().build().unwrap();
    let options = Settings {
        workers: 200,
        ..Settings::EAGER
    }
    .options();
    let report = train_parallel(&mut loader, &learner, &store, &options, |_| {}).unwrap();
    assert_eq!(report.n_workers, 200);
    Oracle::of(&learner, corpus.strict()).assert_learned(&store);
}

#[test]
fn a_new_run_begins_where_a_shuffled_order_begins() {
    let corpus = Corpus::new(&plain_records(30));
    let shuffled = || corpus.strict().with_order(Order::shuffled(7));
    let store = memory_store(&LEARNER);
    let options = Settings::EAGER.options();
    let half = shuffled().with_max_documents(10);
    go_on(half, &LEARNER, &store, &options, |_| {}).unwrap();
    let report = go_on(shuffled(), &LEARNER, &store, &options, |_| {}).unwrap();
    assert_eq!((report.documents_processed, report.complete), (30, true));
}

#[test]
fn counts_are_read_under_their_former_name() {
    // A name that nobody knows would leave the count at zero, and the run would go on from there.
    let former = r#"{"samples":3,"failed":1,"tokens":7}"#;
    let counters: Counters = serde_json::from_str(former).unwrap();
    assert_eq!(
        (counters.documents, counters.failed, counters.tokens),
        (3, 1, 7)
    );
}

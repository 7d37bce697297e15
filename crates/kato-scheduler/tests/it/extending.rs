//! A corpus that was read to its end goes on with files that are added, as if they had been there from the
//! beginning.

use kato_loader::{LoadError, Order, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_model::PatternName;
use kato_scheduler::{TrainError, loader_behind, train_parallel};
use kato_store::{PatternStore, Tombstones};
use serde_json::Value;

use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Record, Settings, go_on, memory_store, plain_records,
};

fn open(corpus: &Corpus, files: &[&str]) -> StreamingDatasetLoaderBuilder {
    let builder = StreamingDatasetLoader::builder().allow_empty();
    let files = files.iter().map(|file| corpus.path(file));
    builder.with_inputs(files).with_id_field("id")
}

/// What is said where no corpus goes on, without what it is about.
fn refused(builder: StreamingDatasetLoaderBuilder, checkpoint: &Value) -> String {
    match loader_behind(builder, checkpoint).unwrap_err() {
        TrainError::NotExtendable { reason, .. } => reason.to_owned(),
        TrainError::OtherCorpus { differences } => differences.join("; "),
        error => error.to_string(),
    }
}

#[test]
fn files_that_are_added_are_learned_behind_the_others() {
    let records = plain_records(45);
    let corpus = Corpus::new(&records[..30]);
    corpus.write("three.jsonl", &records[30..]);
    let store = memory_store(&LEARNER);
    let options = Settings::EAGER.options();
    go_on(corpus.strict(), &LEARNER, &store, &options, |_| {}).unwrap();
    let added = open(&corpus, &["three.jsonl"]);
    let mut loader = loader_behind(added, &store.checkpoint()).unwrap();
    let report = train_parallel(&mut loader, &LEARNER, &store, &options, |_| {}).unwrap();
    let all = open(&corpus, &["one.jsonl", "two.jsonl", "three.jsonl"]);
    let oracle = Oracle::of(&LEARNER, all);
    assert_eq!(Outcome::from(&report), oracle.outcome);
    oracle.assert_learned(&store);
}

#[test]
fn what_cannot_be_added_leaves_the_run_as_it_was() {
    let records = plain_records(45);
    let corpus = Corpus::new(&records[..30]);
    corpus.write("bad.jsonl", &[Record::Broken]);
    corpus.write("retired.jsonl", &records[30..31]);
    corpus.write("three.jsonl", &records[30..]);
    let store = memory_store(&LEARNER);
    let options = Settings::EAGER.options();
    go_on(corpus.strict(), &LEARNER, &store, &options, |_| {}).unwrap();
    let held = Oracle::of(&LEARNER, open(&corpus, &["retired.jsonl"]));
    let names = held.store.scan_frequencies(0).unwrap();
    let mut names = names.map(|item| item.unwrap().0);
    let is_new = |name: &PatternName| store.pattern(0, name).unwrap().is_none();
    let pattern = names.find(is_new).unwrap();
    let bury = |tombstones: Tombstones| {
        let mut all = vec![Tombstones::default(); LEARNER.nodes().len()];
        let nothing = vec![Vec::new(); all.len()];
        all[0] = tombstones;
        store.bury(all, &nothing, store.checkpoint()).unwrap();
    };
    let add = |file: &str| {
        let mut loader = loader_behind(open(&corpus, &[file]), &store.checkpoint())?;
        train_parallel(&mut loader, &LEARNER, &store, &options, |_| {})
    };

    let before = store.checkpoint();
    let error = add("bad.jsonl").unwrap_err();
    assert!(matches!(error, TrainError::Load(_)), "{error:?}");
    assert_eq!(store.checkpoint(), before);
    let mut retired = Tombstones::default();
    retired.retire(pattern);
    bury(retired);
    let error = add("retired.jsonl").unwrap_err();
    assert!(matches!(error, TrainError::Retired(_)), "{error:?}");
    assert_eq!(store.checkpoint(), before);
    bury(Tombstones::default());
    let report = add("three.jsonl").unwrap();
    let all = open(&corpus, &["one.jsonl", "two.jsonl", "three.jsonl"]);
    let oracle = Oracle::of(&LEARNER, all);
    assert_eq!(Outcome::from(&report), oracle.outcome);
    oracle.assert_learned(&store);
}

#[test]
fn what_has_no_end_to_go_on_from_is_refused() {
    let corpus = Corpus::new(&plain_records(30));
    corpus.write("three.jsonl", &plain_records(3));
    let added = || open(&corpus, &["three.jsonl"]);
    let options = Settings::EAGER.options();
    let checkpoint_of = |builder| {
        let store = memory_store(&LEARNER);
        go_on(builder, &LEARNER, &store, &options, |_| {}).unwrap();
        store.checkpoint()
    };
    let whole = checkpoint_of(corpus.strict());
    let part = checkpoint_of(corpus.strict().with_max_documents(3));
    let shuffled = checkpoint_of(corpus.strict().with_order(Order::shuffled(1)));
    let expected = [
        (added(), &Value::Null, "no training is in it: learn"),
        (added(), &part, "not read to its end: resume"),
        (added(), &shuffled, "to go on from: train all of it"),
        (
            open(&corpus, &["two.jsonl"]),
            &whole,
            "in its corpus already: leave it out",
        ),
        (added().with_min_chars(9), &whole, "minimum characters"),
    ];
    for (builder, checkpoint, expected) in expected {
        let said = refused(builder, checkpoint);
        assert!(said.contains(expected), "{said} and not {expected}");
    }
    let twice = open(&corpus, &["three.jsonl", "three.jsonl"]);
    let said = loader_behind(twice, &whole).unwrap_err();
    assert!(
        matches!(said, TrainError::Load(LoadError::DuplicateFile { .. })),
        "{said:?}"
    );
    corpus.write("one.jsonl", &plain_records(4));
    let said = refused(added(), &whole);
    assert!(said.contains("not there as they were"), "{said}");
}

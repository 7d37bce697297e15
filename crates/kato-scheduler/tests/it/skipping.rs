//! Records that cannot be read and documents that cannot be learned: an end with an error, or each
//! listed once.

use std::cell::RefCell;
use std::fs;

use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoader;
use kato_scheduler::{Checkpoint, TrainError, TrainingEvent, TrainingOptions};
use kato_store::PatternStore;
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Record, Settings, chain, go_on, ledger_entries, memory_store,
    plain_records, settings,
};

/// Documents of which the n-th is replaced.
fn with_one(n: usize, at: usize, record: &Record) -> Vec<Record> {
    let mut records = plain_records(n);
    records[at] = record.clone();
    records
}

fn committed(store: &dyn PatternStore) -> Checkpoint {
    Checkpoint::from_json(&store.checkpoint()).unwrap().unwrap()
}

fn with_ledger(mut options: TrainingOptions, corpus: &Corpus) -> TrainingOptions {
    options.ledger = Some(corpus.path("skipped"));
    options
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_bad_record_ends_the_run_behind_everything_before_it(at in 0..30usize, settings in settings()) {
        let corpus = Corpus::new(&with_one(30, at, &Record::Broken));
        let store = memory_store(&LEARNER);
        for _ in 0..2 {
            let error = go_on(corpus.strict(), &LEARNER, &store, &settings.options(), |_| {}).unwrap_err();
            let message = chain(&error);
            prop_assert!(message.contains(".jsonl, line "), "{}", message);
            prop_assert_eq!(committed(&store).cursor.documents(), at as u64);
            Oracle::of(&LEARNER, corpus.strict().with_max_documents(at as u64)).assert_learned(&store);
        }
        let options = with_ledger(settings.lenient(), &corpus);
        let report = go_on(corpus.lenient(), &LEARNER, &store, &options, |_| {}).unwrap();
        let oracle = Oracle::of(&LEARNER, corpus.lenient());
        prop_assert_eq!(Outcome::from(&report), oracle.outcome.clone());
        prop_assert_eq!(&ledger_entries(&corpus.path("skipped")), &oracle.skipped);
        oracle.assert_learned(&store);
    }

    #[test]
    fn an_unlearnable_document_ends_the_run_at_a_commit_before_it(at in 0..30usize, settings in settings()) {
        let corpus = Corpus::new(&with_one(30, at, &Record::Unlearnable));
        let store = memory_store(&LEARNER);
        for _ in 0..2 {
            let error = go_on(corpus.strict(), &LEARNER, &store, &settings.options(), |_| {}).unwrap_err();
            let is_named = matches!(&error, TrainError::Learn { document, .. } if document.starts_with('d'));
            prop_assert!(is_named, "{}", error);
            prop_assert!(chain(&error).contains("tokenize word `dog`"), "{}", chain(&error));
            let n_committed = committed(&store).cursor.documents();
            prop_assert!(n_committed <= at as u64);
            Oracle::of(&LEARNER, corpus.strict().with_max_documents(n_committed)).assert_learned(&store);
        }
        let options = with_ledger(settings.lenient(), &corpus);
        let report = go_on(corpus.strict(), &LEARNER, &store, &options, |_| {}).unwrap();
        let oracle = Oracle::of(&LEARNER, corpus.strict());
        prop_assert_eq!(Outcome::from(&report), oracle.outcome.clone());
        prop_assert_eq!(&ledger_entries(&corpus.path("skipped")), &oracle.skipped);
        oracle.assert_learned(&store);
    }

    #[test]
    fn too_many_failures_end_the_run_with_all_of_them_in_the_ledger(
        bad in prop::collection::btree_map(0..30usize, prop::bool::ANY, 1..8),
        most in 0..8u64,
        settings in settings(),
    ) {
        let mut records = plain_records(30);
        for (at, is_broken) in &bad {
            records[*at] = if *is_broken { Record::Broken } else { Record::Unlearnable };
        }
        let corpus = Corpus::new(&records);
        let store = memory_store(&LEARNER);
        let mut options = with_ledger(settings.lenient(), &corpus);
        options.failures.most_failures = Some(most);
        let listed = || ledger_entries(&corpus.path("skipped")).len() as u64;
        let mut before = 0;
        // Each session goes on behind what the one before has committed and listed.
        let report = loop {
            match go_on(corpus.lenient(), &LEARNER, &store, &options, |_| {}) {
                Ok(report) => break report,
                Err(TrainError::TooManyFailures { failures, most: told }) => {
                    prop_assert_eq!(told, most);
                    prop_assert!(failures > most);
                    prop_assert_eq!(listed() - before, failures);
                    prop_assert!(!committed(&store).complete);
                    before = listed();
                }
                Err(error) => return Err(TestCaseError::fail(chain(&error))),
            }
        };
        let oracle = Oracle::of(&LEARNER, corpus.lenient());
        prop_assert_eq!(Outcome::from(&report), oracle.outcome.clone());
        prop_assert_eq!(&ledger_entries(&corpus.path("skipped")), &oracle.skipped);
        oracle.assert_learned(&store);
    }
}

#[test]
fn entries_say_what_was_skipped_and_why() {
    let corpus = Corpus::new(&[
        Record::Text(vec![Some(2); 5]),
        Record::Unlearnable,
        Record::Broken,
    ]);
    let store = memory_store(&LEARNER);
    let options = with_ledger(Settings::EAGER.lenient(), &corpus);
    let report = go_on(corpus.lenient(), &LEARNER, &store, &options, |_| {}).unwrap();
    assert_eq!(
        (
            report.documents_processed,
            report.errors,
            report.documents_attempted
        ),
        (1, 2, 3)
    );
    let [document, record]: [Value; 2] =
        ledger_entries(&corpus.path("skipped")).try_into().unwrap();
    assert_eq!(document["document"], "d0");
    assert_eq!(document["document_idx"], 1);
    assert_eq!(document["kind"], "unlearnable");
    assert_eq!(report.failures.unlearnable, 1);
    assert_eq!(report.bad_records, 1);
    let reason = document["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("failed to tokenize the paragraph at byte 0: tokenize word `dog`"),
        "{reason}"
    );
    assert_eq!(record["reason"], "malformed_json");
    assert_eq!(record["line"], 2);
}

#[test]
fn a_ledger_that_was_moved_away_begins_anew_and_one_that_was_cut_is_refused() {
    let corpus = Corpus::new(&with_one(20, 3, &Record::Broken));
    let ledger = corpus.path("skipped");
    let store = memory_store(&LEARNER);
    let options = with_ledger(Settings::EAGER.lenient(), &corpus);
    let told = RefCell::new(Vec::new());
    let session = |max_documents| {
        let builder = corpus.lenient().with_max_documents(max_documents);
        go_on(builder, &LEARNER, &store, &options, |event| {
            if let TrainingEvent::Notice { text } = event {
                told.borrow_mut().push(text);
            }
        })
    };
    session(10).unwrap();
    let entries = fs::read(&ledger).unwrap();

    fs::write(&ledger, &entries[..entries.len() - 1]).unwrap();
    let checkpoint = store.checkpoint();
    let error = session(12).unwrap_err();
    let lengths = format!(
        "has {} bytes, and the run wrote {}",
        entries.len() - 1,
        entries.len()
    );
    assert!(error.to_string().contains(&lengths), "{error}");
    assert_eq!(store.checkpoint(), checkpoint);
    assert_eq!(fs::read(&ledger).unwrap().len(), entries.len() - 1);

    assert!(told.borrow().is_empty(), "{told:?}");
    fs::remove_file(&ledger).unwrap();
    session(12).unwrap();
    let place = format!("skipped so far is not at {}", ledger.display());
    assert!(told.borrow()[0].contains(&place), "{told:?}");
    assert_eq!(fs::read(&ledger).unwrap(), b"");

    fs::write(&ledger, b"what a crash left").unwrap();
    assert_eq!(session(u64::MAX).unwrap().errors, 1);
    assert_eq!(fs::read(&ledger).unwrap(), b"");
}

#[test]
fn a_session_without_a_ledger_counts_what_it_skips() {
    let corpus = Corpus::new(&with_one(20, 3, &Record::Unlearnable));
    let store = memory_store(&LEARNER);
    let report = go_on(
        corpus.lenient(),
        &LEARNER,
        &store,
        &Settings::EAGER.lenient(),
        |_| {},
    )
    .unwrap();
    assert_eq!((report.documents_processed, report.errors), (19, 1));
}

#[test]
fn a_ledger_that_cannot_be_written_ends_the_run() {
    let corpus = Corpus::new(&with_one(5, 3, &Record::Broken));
    let store = memory_store(&LEARNER);
    let mut options = Settings::EAGER.lenient();
    options.ledger = Some(corpus.path("no/such/folder/skipped"));
    let error = go_on(corpus.lenient(), &LEARNER, &store, &options, |_| {}).unwrap_err();
    assert!(matches!(error, TrainError::Ledger { .. }), "{error}");
    // The device takes no byte, so the first entry fails and not the opening.
    if cfg!(target_os = "linux") {
        options.ledger = Some("/dev/full".into());
        let error = go_on(corpus.lenient(), &LEARNER, &store, &options, |_| {}).unwrap_err();
        assert!(matches!(error, TrainError::Ledger { .. }), "{error}");
    }
    let options = with_ledger(Settings::EAGER.lenient(), &corpus);
    go_on(corpus.lenient(), &LEARNER, &store, &options, |_| {}).unwrap();
    assert_eq!(ledger_entries(&corpus.path("skipped")).len(), 1);
    Oracle::of(&LEARNER, corpus.lenient()).assert_learned(&store);
}

#[test]
fn a_wrong_field_name_ends_the_run_before_memory_is_full_of_entries() {
    let corpus = Corpus::new(&plain_records(200));
    let learner: &HierarchicalConceptLearner = &LEARNER;
    let builder = || {
        StreamingDatasetLoader::builder()
            .with_input(corpus.path("two.jsonl"))
            .with_text_field("body")
            .on_bad_record(kato_loader::OnBadRecord::Skip)
            .with_ledger_capacity(50)
    };
    let store = memory_store(learner);
    let options = with_ledger(Settings::EAGER.lenient(), &corpus);
    let error = go_on(builder(), learner, &store, &options, |_| {}).unwrap_err();
    assert!(
        chain(&error).contains("field `body` is missing"),
        "{}",
        chain(&error)
    );
    assert_eq!(committed(&store).cursor.counts().bad, 50);
    assert_eq!(ledger_entries(&corpus.path("skipped")).len(), 50);
}

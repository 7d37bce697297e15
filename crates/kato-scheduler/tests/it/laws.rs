//! One result for any number of threads, any sizes and any store.

use kato_scheduler::train_parallel;
use kato_store::{EmbeddedStore, PatternStore};
use proptest::prelude::*;

use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Record, Settings, embedded_store, ledger_entries,
    memory_store, merging, records, settings,
};

/// Trains in one session and compares with the oracle.
fn check(records: &[Record], settings: &Settings, store: &dyn PatternStore) {
    let corpus = Corpus::new(records);
    let oracle = Oracle::of(&LEARNER, corpus.lenient());
    let mut options = settings.lenient();
    options.ledger = Some(corpus.path("skipped"));
    let mut loader = corpus.lenient().build().unwrap();
    let report = train_parallel(&mut loader, &LEARNER, store, &options, |_| {}).unwrap();
    assert_eq!(Outcome::from(&report), oracle.outcome);
    assert_eq!(report.session_documents, report.documents_processed);
    assert_eq!(ledger_entries(&corpus.path("skipped")), oracle.skipped);
    oracle.assert_learned(store);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn settings_do_not_change_what_is_learned(records in records(30), settings in settings()) {
        check(&records, &settings, &memory_store(&LEARNER));
    }
}

proptest! {
    // Every commit waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nor_does_the_disk(records in records(16), settings in settings()) {
        let dir = tempfile::tempdir().unwrap();
        check(&records, &settings, &embedded_store(&dir, &LEARNER));
    }
}

#[test]
fn a_reopened_store_holds_all_of_it() {
    let corpus = Corpus::new(&crate::support::plain_records(60));
    let dir = tempfile::tempdir().unwrap();
    let store = embedded_store(&dir, &LEARNER);
    let mut loader = corpus.strict().build().unwrap();
    train_parallel(
        &mut loader,
        &LEARNER,
        &store,
        &Settings::EAGER.options(),
        |_| {},
    )
    .unwrap();
    let path = store.dir().to_owned();
    drop(store);
    let store = EmbeddedStore::open_with(&path, merging()).unwrap();
    Oracle::of(&LEARNER, corpus.strict()).assert_learned(&store);
}

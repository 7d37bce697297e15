//! A run that is stopped and resumed, any number of times and with other settings each time, ends
//! like one that was not.

use std::fs::OpenOptions;
use std::io::Write;

use kato_scheduler::event::Progress;
use kato_scheduler::{StopSignal, TrainingEvent, TrainingOptions, TrainingReport};
use kato_store::{EmbeddedStore, PatternStore};
use proptest::prelude::*;

use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Record, Settings, embedded_store, go_on, ledger_entries,
    memory_store, merging, records, settings,
};

/// A session that is stopped at the n-th event.
#[derive(Debug, Clone, Copy)]
struct Session {
    settings: Settings,
    n_events: usize,
}

fn sessions() -> impl Strategy<Value = Vec<Session>> {
    let session =
        (settings(), 0..40usize).prop_map(|(settings, n_events)| Session { settings, n_events });
    prop::collection::vec(session, 0..6)
}

/// Compares the last progress of a session with its report: whoever watches a run is told the same in the end.
fn assert_told(progress: &Progress, report: &TrainingReport, settings: &Settings) {
    assert_eq!(progress.documents, report.documents_processed);
    assert_eq!(progress.session_documents, report.session_documents);
    assert_eq!(progress.errors, report.errors);
    let learns = report.levels.iter().map(|level| level.learns);
    assert_eq!(progress.learns, learns.collect::<Vec<_>>());
    assert_eq!(progress.workers, settings.workers);
    if report.complete {
        assert_eq!(Some(progress.bytes_read), progress.total_bytes);
    }
}

/// Stops at the n-th event; at once for 0.
fn stopping_at(n_events: usize, stop: StopSignal) -> impl FnMut(TrainingEvent) {
    let mut seen = 0;
    move |_| {
        seen += 1;
        if seen >= n_events {
            stop.stop();
        }
    }
}

fn check<S: PatternStore>(
    records: &[Record],
    sessions: &[Session],
    store: S,
    reopen: impl Fn(S) -> S,
) {
    let corpus = Corpus::new(records);
    let oracle = Oracle::of(&LEARNER, corpus.lenient());
    let ledger = corpus.path("skipped");
    let options = |settings: &Settings| -> TrainingOptions {
        let mut options = settings.lenient();
        options.ledger = Some(ledger.clone());
        options
    };
    let (mut store, mut documents, mut tokens, mut complete) = (store, 0, 0, false);
    let mut last_progress = None;
    for session in sessions {
        let options = options(&session.settings);
        if session.n_events == 0 {
            options.stop.stop();
        }
        let mut stop = stopping_at(session.n_events, options.stop.clone());
        let on_event = |event: TrainingEvent| {
            if let TrainingEvent::Progress(progress) = &event {
                last_progress = Some(progress.clone());
            }
            stop(event);
        };
        let report = go_on(corpus.lenient(), &LEARNER, &store, &options, on_event).unwrap();
        // None where it was stopped before it had workers.
        if let Some(progress) = last_progress.take() {
            assert_told(&progress, &report, &session.settings);
            tokens += progress.session_tokens;
        }
        assert_eq!(report.tokens, tokens);
        documents += report.session_documents;
        assert_eq!(report.documents_processed, documents);
        assert!(
            report.complete || !complete,
            "a run that is complete stays so"
        );
        complete = report.complete;
        // What a crash leaves behind the last commit.
        let mut file = OpenOptions::new().append(true).open(&ledger).unwrap();
        file.write_all(b"{\"document\":\"never committed\"}\n{\"doc")
            .unwrap();
        store = reopen(store);
    }
    let last = options(&Settings {
        workers: 2,
        batch_bytes: 300,
        ..Settings::EAGER
    });
    let report = go_on(corpus.lenient(), &LEARNER, &store, &last, |_| {}).unwrap();
    assert_eq!(Outcome::from(&report), oracle.outcome);
    assert_eq!(
        documents + report.session_documents,
        oracle.outcome.documents
    );
    assert_eq!(ledger_entries(&ledger), oracle.skipped);
    oracle.assert_learned(&store);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn stops_do_not_change_what_is_learned(records in records(40), sessions in sessions()) {
        check(&records, &sessions, memory_store(&LEARNER), |store| store);
    }
}

proptest! {
    // Every commit waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn nor_on_the_disk(records in records(24), sessions in sessions()) {
        let dir = tempfile::tempdir().unwrap();
        check(&records, &sessions, embedded_store(&dir, &LEARNER), |store| {
            let path = store.dir().to_owned();
            drop(store);
            EmbeddedStore::open_with(&path, merging()).unwrap()
        });
    }
}

/// Every file of a directory with its bytes.
fn files(dir: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    files.sort();
    files
}

#[test]
fn resuming_a_complete_run_changes_no_byte() {
    let corpus = Corpus::new(&crate::support::plain_records(20));
    let dir = tempfile::tempdir().unwrap();
    let store = embedded_store(&dir, &LEARNER);
    let options = Settings::EAGER.options();
    let first = go_on(corpus.strict(), &LEARNER, &store, &options, |_| {}).unwrap();
    let before = files(dir.path());
    for _ in 0..2 {
        let again = go_on(corpus.strict(), &LEARNER, &store, &options, |_| {}).unwrap();
        assert_eq!(Outcome::from(&again), Outcome::from(&first));
        assert_eq!(again.session_documents, 0);
    }
    assert_eq!(files(dir.path()), before);
}

#[test]
fn a_limit_on_documents_is_a_stop_that_a_higher_limit_goes_on_from() {
    let corpus = Corpus::new(&crate::support::plain_records(30));
    let store = memory_store(&LEARNER);
    let options = Settings::EAGER.options();
    for limit in [1, 7, 7, 29] {
        let builder = corpus.strict().with_max_documents(limit);
        let report = go_on(builder, &LEARNER, &store, &options, |_| {}).unwrap();
        assert_eq!(
            (report.documents_processed, report.complete),
            (limit, false)
        );
        Oracle::of(&LEARNER, corpus.strict().with_max_documents(limit)).assert_learned(&store);
    }
    let report = go_on(corpus.strict(), &LEARNER, &store, &options, |_| {}).unwrap();
    assert_eq!(
        Outcome::from(&report),
        Oracle::of(&LEARNER, corpus.strict()).outcome
    );
}

#[test]
fn a_stop_commits_everything_that_was_read() {
    let corpus = Corpus::new(&crate::support::plain_records(60));
    let store = memory_store(&LEARNER);
    // Without the stop, there would be no commit before the end.
    let settings = Settings {
        commit_interval: std::time::Duration::MAX,
        ..Settings::EAGER
    };
    let options = settings.options();
    let on_event = stopping_at(9, options.stop.clone());
    let report = go_on(corpus.strict(), &LEARNER, &store, &options, on_event).unwrap();
    assert!(!report.complete);
    assert!((1..60).contains(&report.documents_processed));
    let learned = corpus
        .strict()
        .with_max_documents(report.documents_processed);
    Oracle::of(&LEARNER, learned).assert_learned(&store);
}

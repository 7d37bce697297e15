//! Workers that panic: others take over their documents, and a document that takes workers down is
//! listed, not lost in silence.

use kato_learner::HierarchicalConceptLearner;
use kato_scheduler::failure::OnFailure;
use kato_scheduler::{TrainError, TrainingEvent, TrainingOptions, WorkDistribution};
use kato_store::PatternStore;
use kato_tokenizer::{Family, TokenizeError, Tokenizer, Vocabulary, Whitespace};
use proptest::prelude::*;

use crate::faults::{Fault, Faulty};
use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Record, Settings, WORDS, go_on, in_time, ledger_entries,
    memory_store, plain_records, settings,
};

/// Panics at a word, as no tokenizer should.
#[derive(Debug)]
struct Panicking(Whitespace);

impl Tokenizer for Panicking {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn fingerprint(&self) -> &str {
        self.0.fingerprint()
    }
    fn family(&self) -> Family {
        self.0.family()
    }
    fn vocabulary(&self) -> &Vocabulary {
        self.0.vocabulary()
    }
    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        assert!(!text.contains("dog"), "the tokenizer panics");
        self.0.encode_into(text, ids)
    }
    fn decode(&self, ids: &[u32]) -> String {
        self.0.decode(ids)
    }
}

fn panicking() -> HierarchicalConceptLearner {
    HierarchicalConceptLearner::builder(Panicking(Whitespace::from_texts(WORDS)))
        .with_config(LEARNER.config().clone())
        .build()
        .unwrap()
}

/// Documents of which some, at these places, take down every worker that looks at them.
fn with_deadly(n: usize, at: &[usize]) -> Vec<Record> {
    let mut records = plain_records(n);
    for &at in at {
        records[at] = Record::Unlearnable;
    }
    records
}

fn skipping(settings: &Settings, corpus: &Corpus) -> TrainingOptions {
    let mut options = settings.lenient();
    options.failures.worker_restarts = 1_000;
    options.ledger = Some(corpus.path("errors"));
    options
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // The oracle's learner refuses the very documents that take workers down here: what is learned from the rest is the same.
    #[test]
    fn what_a_dead_worker_had_goes_to_others(
        deadly in prop::collection::btree_set(0_usize..30, 0..4),
        settings in settings(),
    ) {
        in_time(move || {
            let deadly: Vec<usize> = deadly.into_iter().collect();
            let corpus = Corpus::new(&with_deadly(30, &deadly));
            let oracle = Oracle::of(&LEARNER, corpus.strict());
            let store = memory_store(&LEARNER);
            let mut deaths = 0;
            let report = go_on(corpus.strict(), &panicking(), &store, &skipping(&settings, &corpus), |event| {
                deaths += u32::from(matches!(event, TrainingEvent::WorkerDied { document: Some(_), .. }));
            })
            .unwrap();
            assert_eq!(Outcome::from(&report), oracle.outcome);
            oracle.assert_learned(&store);
            let n_deadly = deadly.len() as u64;
            assert_eq!((report.failures.worker_died, report.failures.total()), (n_deadly, n_deadly));
            assert_eq!((u64::from(report.worker_restarts), report.retries), (2 * n_deadly, n_deadly));
            assert_eq!(deaths, report.worker_restarts);
            let entries = ledger_entries(&corpus.path("errors"));
            let mut listed: Vec<u64> = entries.iter().map(|entry| entry["document_idx"].as_u64().unwrap()).collect();
            listed.sort_unstable();
            assert_eq!(listed, deadly.iter().map(|&at| at as u64).collect::<Vec<_>>());
            for entry in entries {
                assert_eq!((&entry["kind"], &entry["attempts"]), (&"worker_died".into(), &2.into()));
                assert_eq!(entry["reason"], "the tokenizer panics");
            }
        });
    }
}

#[test]
fn without_skipping_the_run_ends_with_the_sample_and_goes_on_once_it_is_mended() {
    in_time(|| {
        let corpus = Corpus::new(&with_deadly(40, &[25]));
        let store = memory_store(&LEARNER);
        let options = Settings::EAGER.options();
        let error = go_on(corpus.strict(), &panicking(), &store, &options, |_| {}).unwrap_err();
        let is_named = matches!(&error, TrainError::WorkerDied { document: Some(id), .. } if id.starts_with('d'));
        assert!(is_named, "{error}");
        let error = error.to_string();
        assert!(error.contains("the tokenizer panics"), "{error}");
        // Mended: a tokenizer that refuses instead.
        let mut options = Settings::EAGER.lenient();
        options.failures.most_failures = Some(1);
        go_on(corpus.strict(), &LEARNER, &store, &options, |_| {}).unwrap();
        Oracle::of(&LEARNER, corpus.strict()).assert_learned(&store);
    });
}

#[test]
fn a_worker_that_dies_while_it_stages_is_replaced() {
    for distribution in WorkDistribution::ALL {
        in_time(move || {
            let corpus = Corpus::new(&plain_records(60));
            for nth in 0..6 {
                let store = Faulty::new(memory_store(&LEARNER), Some(Fault::StagePanic(nth)));
                let settings = Settings {
                    distribution,
                    ..Settings::EAGER
                };
                let report = go_on(
                    corpus.strict(),
                    &LEARNER,
                    &store,
                    &settings.options(),
                    |_| {},
                )
                .unwrap();
                assert_eq!((report.worker_restarts, report.errors), (1, 0));
                // It died over no document, so none counts as tried again.
                assert_eq!(report.retries, 0);
                Oracle::of(&LEARNER, corpus.strict()).assert_learned(&store.healed());
            }
        });
    }
}

#[test]
fn limits_end_the_run() {
    in_time(|| {
        let corpus = Corpus::new(&with_deadly(60, &[10, 20, 30, 40]));
        let store = memory_store(&LEARNER);
        let mut options = skipping(&Settings::EAGER, &corpus);
        options.failures.worker_restarts = 3;
        let error = go_on(corpus.strict(), &panicking(), &store, &options, |_| {}).unwrap_err();
        assert!(matches!(error, TrainError::WorkerDied { .. }), "{error}");

        let mut options = Settings::EAGER.lenient();
        options.failures.most_failures = Some(2);
        let error = go_on(
            corpus.strict(),
            &LEARNER,
            &memory_store(&LEARNER),
            &options,
            |_| {},
        )
        .unwrap_err();
        let is_told =
            matches!(error, TrainError::TooManyFailures { failures, most: 2 } if failures > 2);
        assert!(is_told, "{error}");
        options.failures.on_failure = OnFailure::Skip;
        options.failures.most_failures = Some(4);
        let report = go_on(corpus.strict(), &LEARNER, &store, &options, |_| {}).unwrap();
        assert!(report.complete && store.checkpoint().is_object());
    });
}

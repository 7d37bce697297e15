//! Documents that are held out: never learned, whatever the threads and interruptions, and the same
//! ones on resume.

use kato_loader::Split;
use kato_scheduler::{RunConfiguration, TrainError};
use kato_store::{MemoryStore, PatternStore};
use proptest::prelude::*;

use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Settings, chain, go_on, plain_records, records, settings,
};

fn store(split: Split) -> MemoryStore {
    let configuration = RunConfiguration::from_learner(&LEARNER).with_split(Some(split));
    MemoryStore::new(&LEARNER.node_names(), configuration.to_json())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_held_out_is_not_learned(
        records in records(40),
        share in 0.05..0.95,
        seed in any::<u64>(),
        first in 0..30u64,
        sessions in prop::collection::vec(settings(), 2),
    ) {
        let corpus = Corpus::new(&records);
        let split = Split::training(share, seed);
        let store = store(split);
        let builder = || corpus.lenient().with_split(split);
        go_on(builder().with_max_documents(first), &LEARNER, &store, &sessions[0].lenient(), |_| {}).unwrap();
        let report = go_on(builder(), &LEARNER, &store, &sessions[1].lenient(), |_| {}).unwrap();

        let oracle = Oracle::of(&LEARNER, builder());
        prop_assert_eq!(Outcome::from(&report), oracle.outcome.clone());
        oracle.assert_learned(&store);
        let n_held_out = corpus.lenient().with_split(split.complement()).build().unwrap().count() as u64;
        prop_assert_eq!(report.held_out_documents, n_held_out);
    }
}

#[test]
fn another_split_is_refused() {
    let split = Split::training(0.3, 5);
    let corpus = Corpus::new(&plain_records(30));
    let store = store(split);
    let options = Settings::EAGER.options();
    let half = corpus.strict().with_split(split).with_max_documents(15);
    go_on(half, &LEARNER, &store, &options, |_| {}).unwrap();
    let before = store.checkpoint();
    let others = [
        Split::training(0.3, 6),
        Split::training(0.2, 5),
        split.complement(),
    ];
    let others = others.map(|other| corpus.strict().with_split(other));
    for builder in others.into_iter().chain([corpus.strict()]) {
        let error = go_on(builder, &LEARNER, &store, &options, |_| {}).unwrap_err();
        assert!(matches!(error, TrainError::OtherConfiguration { .. }));
        let message = chain(&error);
        let expected = "held-out documents: it was a share of 0.3 with seed 5, now it is";
        assert!(message.contains(expected), "{message}");
        assert_eq!(store.checkpoint(), before);
    }
}

//! Retired patterns: a corpus that holds one is not learned in silence.

use kato_learner::HierarchicalConceptLearner;
use kato_model::PatternName;
use kato_scheduler::{Checkpoint, TrainError};
use kato_store::{PatternStore, Tombstones};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Record, chain, exports, go_on, ledger_entries, memory_store,
    plain_records, settings,
};

/// The places and the ids of the documents that hold a pattern of a level.
fn holders(corpus: &Corpus, level: usize, pattern: PatternName) -> Vec<(usize, String)> {
    let learner: &HierarchicalConceptLearner = &LEARNER;
    let mut scratch = learner.new_scratch();
    let mut holds = |text: &str| {
        let plan = learner.plan(&text.into(), &mut scratch).unwrap();
        plan.calls(level).any(|call| call.name == Some(pattern))
    };
    let documents = corpus.strict().build().unwrap().map(Result::unwrap);
    let holders = documents.enumerate().filter(|(_, it)| holds(&it.text));
    holders
        .map(|(at, document)| (at, document.id.to_string()))
        .collect()
}

fn bury(store: &dyn PatternStore, tombstones: Vec<Tombstones>) {
    let nothing = vec![Vec::new(); tombstones.len()];
    store
        .bury(tombstones, &nothing, store.checkpoint())
        .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_retired_pattern_is_named_and_its_documents_are_not_learned(
        pick in any::<(Index, Index)>(),
        is_purged in any::<bool>(),
        settings in settings(),
    ) {
        let records = plain_records(30);
        let corpus = Corpus::new(&records);
        let oracle = Oracle::of(&LEARNER, corpus.strict());
        let n_levels = LEARNER.nodes().len();
        let level = pick.0.index(n_levels);
        let names: Vec<PatternName> =
            oracle.store.scan_frequencies(level).unwrap().map(|item| item.unwrap().0).collect();
        let pattern = *pick.1.get(&names);
        let holders = holders(&corpus, level, pattern);
        let mut tombstones = vec![Tombstones::default(); n_levels];
        match is_purged {
            true => tombstones[level].purge(pattern),
            false => drop(tombstones[level].retire(pattern)),
        }

        // The run ends before the first of them, and goes on once it is taken back.
        let store = memory_store(&LEARNER);
        bury(&store, tombstones.clone());
        for _ in 0..2 {
            let error = go_on(corpus.strict(), &LEARNER, &store, &settings.options(), |_| {}).unwrap_err();
            let TrainError::Retired(retired) = &error else {
                panic!("{error:?}");
            };
            prop_assert_eq!((&retired.node, retired.pattern), (&store.nodes()[level], pattern));
            prop_assert!(!retired.documents.is_empty());
            prop_assert!(retired.documents.iter().all(|id| holders.iter().any(|(_, holder)| holder == id)));
            prop_assert!(chain(&error).contains(", which document"));
            let n_committed = Checkpoint::from_json(&store.checkpoint()).unwrap().map_or(0, |it| it.cursor.documents());
            prop_assert!(n_committed <= holders[0].0 as u64);
            let until = Oracle::of(&LEARNER, corpus.strict().with_max_documents(n_committed));
            bury(&until.store, tombstones.clone());
            prop_assert_eq!(exports(&store), exports(&until.store));
        }
        bury(&store, vec![Tombstones::default(); n_levels]);
        let report = go_on(corpus.strict(), &LEARNER, &store, &settings.options(), |_| {}).unwrap();
        prop_assert_eq!(Outcome::from(&report), oracle.outcome.clone());
        oracle.assert_learned(&store);

        // Where such documents are skipped, they are listed, and nothing of them is learned.
        let store = memory_store(&LEARNER);
        bury(&store, tombstones.clone());
        let mut options = settings.lenient();
        options.ledger = Some(corpus.path("skipped"));
        let report = go_on(corpus.strict(), &LEARNER, &store, &options, |_| {}).unwrap();
        let listed = ledger_entries(&corpus.path("skipped"));
        prop_assert_eq!((report.errors, listed.len()), (holders.len() as u64, holders.len()));
        prop_assert!(listed.iter().all(|entry| entry["level"] == level && entry["reason"].as_str().unwrap().contains("has retired pattern")), "{:?}", listed);
        let skipped: Vec<Value> = holders.iter().map(|(at, _)| (*at).into()).collect();
        let mut found: Vec<Value> = listed.iter().map(|entry| entry["document_idx"].clone()).collect();
        found.sort_by_key(Value::as_u64);
        prop_assert_eq!(found, skipped);
        let mut others = records;
        holders.iter().for_each(|(at, _)| others[*at] = Record::Blank);
        let others = Corpus::new(&others);
        let others = Oracle::of(&LEARNER, others.strict());
        bury(&others.store, tombstones);
        prop_assert_eq!(exports(&store), exports(&others.store));
    }
}

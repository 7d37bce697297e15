//! Answers are distributions, whoever is asked, and functions of what was learned.

use std::collections::BTreeMap;

use kato_head::{Expert, Head, HeadError, HeadOptions, Weights};
use kato_model::Event;
use kato_store::{EmbeddedStore, PatternStore};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{
    Planned, WORDS, distribution, documents, head_of, learner, memory_store, plan, teach,
};

fn words() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 0..30)
}

fn experts() -> impl Strategy<Value = Vec<Expert>> {
    use Expert::{
        CachedPairs, CachedSymbols, CachedTriples, FittingSymbols, Ngrams, Outside, RecentSymbols,
    };
    let all = [
        Ngrams,
        CachedSymbols,
        RecentSymbols,
        FittingSymbols,
        CachedPairs,
        CachedTriples,
        Outside,
    ];
    prop::sample::subsequence(all.to_vec(), 0..=7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn everything_sums_to_one(
        documents in documents(),
        history in words(),
        experts in experts(),
        window in 1..40usize,
        order in 1..7usize,
        is_open in any::<bool>(),
        outside in prop::collection::vec((prop::sample::select(&WORDS[..]), 0.0..3.0f64), 0..4),
    ) {
        let learner = learner(&[3, 2]);
        let store = memory_store(&learner, &documents);
        let options = HeadOptions::default().with_experts(experts).with_cache_window(window).with_order(order);
        let head = match is_open {
            true => Head::from_store(&store, options).unwrap(),
            false => head_of(&store, &options),
        };
        let (mut read, mut weights) = (head.history(), Weights::new());
        let outside = head.outside(outside);
        for word in history {
            let next = head.next(&read, &weights, Some(&outside));
            let distribution = next.distribution();
            let sum: f64 = distribution.as_slice().iter().sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "{}", sum);
            prop_assert!(distribution.as_slice().iter().all(|&probability| probability > 0.0));
            let symbol = head.symbol(word);
            // One symbol alone and all together: the same bits.
            let alone = symbol.map_or(next.of_unknown(), |symbol| next.probability(symbol));
            let among_all = symbol.map_or(distribution.of_unknown(), |symbol| distribution.probability(symbol));
            prop_assert_eq!(alone.to_bits(), among_all.to_bits());
            drop(next);
            let coded = head.learn_weights(&mut weights, &read, Some(&outside), symbol);
            prop_assert_eq!(coded.unwrap_or(0.0).to_bits(), alone.to_bits());
            head.read(&mut read, word);
        }
    }

    #[test]
    fn a_lesson_is_as_good_as_a_store(documents in documents(), n_stored in 0..6usize, history in words()) {
        let learner = learner(&[3, 2, 2]);
        let n_stored = n_stored.min(documents.len());
        let all = head_of(&memory_store(&learner, &documents), &HeadOptions::default());
        let mut some = head_of(&memory_store(&learner, &documents[..n_stored]), &HeadOptions::default());
        let planned: Vec<Planned> = documents.iter().map(|document| plan(&learner, document)).collect();
        let events: BTreeMap<_, _> = planned.iter().flat_map(|document| &document.calls)
            .map(|call| ((call.level, call.name), &call.events)).collect();
        for call in planned[n_stored..].iter().flat_map(|document| &document.calls) {
            some.learn(call.level, &call.events, 1, |level, name| {
                Ok::<_, HeadError>(events.get(&(level, *name)).copied().cloned())
            }).unwrap();
        }
        prop_assert_eq!(distribution(&all, &history), distribution(&some, &history));
        some.clear();
        prop_assert_eq!(some.n_ngrams(), 0);
    }

    #[test]
    fn stores_and_orders_of_learning_make_no_difference(documents in documents(), history in words()) {
        let learner = learner(&[3, 2]);
        let memory = memory_store(&learner, &documents);
        let folder = tempfile::tempdir().unwrap();
        let disk = EmbeddedStore::create(folder.path().join("kb"), &learner.node_names(), json!(null)).unwrap();
        let backwards: Vec<String> = documents.iter().rev().cloned().collect();
        teach(&disk, &learner, &backwards);
        for options in [HeadOptions::default(), HeadOptions::default().with_levels(1)] {
            // Without a vocabulary symbols are numbered as they come.
            let heads = [&memory as &dyn PatternStore, &disk].map(|store| Head::from_store(store, options.clone()).unwrap());
            let [in_memory, on_disk] = &heads;
            prop_assert_eq!(distribution(in_memory, &history), distribution(on_disk, &history));
            let best = |head: &Head| -> Vec<String> {
                let mut read = head.history();
                history.iter().for_each(|word| head.read(&mut read, word));
                let next = head.next(&read, &Weights::new(), None).distribution();
                next.top(4).into_iter().filter_map(|(symbol, _)| head.text(symbol).map(str::to_owned)).collect()
            };
            prop_assert_eq!(best(in_memory), best(on_disk));
        }
    }
}

#[test]
fn what_was_said_before_is_expected_again() {
    let learner = learner(&[3, 2]);
    let text = ["a b c a b d a c b d".to_owned()];
    let head = head_of(&memory_store(&learner, &text), &HeadOptions::default());
    // "e f" was never learned, and comes twice.
    let after_e = |history: &[&str]| distribution(&head, history)[5];
    let (first, second) = (after_e(&["a", "e"]), after_e(&["e", "f", "b", "e"]));
    assert!(second > 3.0 * first, "{first} {second}");
}

#[test]
fn several_symbols_at_once_and_names_from_nowhere_are_counted_and_break_ngrams() {
    let mut head = Head::new(HeadOptions::default()).unwrap();
    let events = [vec!["a"], vec!["b", "c"], vec!["d"], vec!["e"]].map(Event::new);
    head.learn(0, &events, 1, |_, _| Ok::<_, HeadError>(None))
        .unwrap();
    let id = |head: &Head, word: &str| head.symbol(word).unwrap();
    let (a, d, e) = (id(&head, "a"), id(&head, "d"), id(&head, "e"));
    assert_eq!(
        (head.count(&[d, e]), head.count(&[a, d]), head.count(&[a])),
        (1, 0, 1)
    );
    assert_eq!((head.counted().wide_events, head.symbol("b")), (1, None));
    let unknown = Event::new(["PTRN|0123456789012345678901234567890123456789"]);
    head.learn(1, &[unknown.clone(), unknown], 1, |_, _| {
        Ok::<_, HeadError>(None)
    })
    .unwrap();
    assert_eq!(head.counted().unknown_names, 2);
}

#[test]
fn options_out_of_range_are_refused() {
    for options in [
        HeadOptions::default().with_order(0),
        HeadOptions::default().with_order(17),
        HeadOptions::default().with_levels(0),
        HeadOptions::default().with_cache_window(0),
    ] {
        let error = Head::new(options).unwrap_err();
        assert!(matches!(error, HeadError::Option { .. }), "{error}");
    }
}

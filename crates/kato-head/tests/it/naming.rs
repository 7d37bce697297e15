//! Which patterns are named does not depend on the parts in which a store shows them.

use kato_head::explanation::Explanation;
use kato_head::{Head, HeadOptions, Weights};
use kato_store::{EmbeddedStore, PatternStore};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{WORDS, head_of, learner, memory_store, orders_of, teach};

/// Explains every word, with the patterns of a store.
fn explained(
    head: &Head,
    store: &dyn PatternStore,
    history: &[&str],
    most: usize,
) -> Vec<Explanation> {
    let mut read = head.history();
    history.iter().for_each(|word| head.read(&mut read, word));
    let weights = Weights::new();
    let next = head.next(&read, &weights, None);
    let known = WORDS.iter().filter_map(|word| head.symbol(word));
    let mut why: Vec<Explanation> = known.map(|symbol| next.explain(symbol)).collect();
    head.name_patterns(store, &mut why, most).unwrap();
    why
}

/// Documents that teach more patterns than are kept while they are looked through, in builds for tests.
fn documents() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(&WORDS[..4]);
    let document = prop::collection::vec(word, 20..80).prop_map(|words| words.join(" "));
    prop::collection::vec(document, 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn patterns_in_many_parts_are_those_of_one(
        documents in documents(),
        history in prop::collection::vec(prop::sample::select(&WORDS[..4]), 0..4),
    ) {
        let learner = learner(&[3, 2, 2]);
        let whole = memory_store(&learner, &documents);
        let dir = tempfile::tempdir().unwrap();
        let nodes = learner.node_names();
        let parts = EmbeddedStore::create(dir.path().join("kb"), &nodes, json!(null)).unwrap();
        teach(&parts, &learner, &documents);
        let head = head_of(&whole, &HeadOptions::default());
        let all = explained(&head, &whole, &history, usize::MAX);
        for most in [usize::MAX, 3, 0] {
            let mut expected = all.clone();
            let orders = expected.iter_mut().flat_map(orders_of);
            orders.for_each(|order| order.patterns.truncate(most));
            prop_assert_eq!(&explained(&head, &parts, &history, most), &expected);
            prop_assert_eq!(&explained(&head, &whole, &history, most), &expected);
        }
    }
}

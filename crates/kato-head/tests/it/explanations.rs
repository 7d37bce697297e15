//! The parts of an explanation are the number that they explain.

use kato_head::explanation::{Counts, Explanation, Reason};
use kato_head::{Expert, HeadOptions, PatternNamer, Weights};
use kato_learner::config::Recording;
use kato_learner::{HierarchicalConceptLearner, TextDocument};
use kato_store::{MemoryStore, PatternStore};
use kato_tokenizer::Whitespace;
use proptest::prelude::*;

use crate::support::{WORDS, documents, head_of, learner, memory_store, orders_of};

/// Returns the probability that the n-grams give.
fn parts_of_ngrams(explanation: &Explanation) -> f64 {
    let part = explanation
        .parts
        .iter()
        .find(|part| part.expert == Expert::Ngrams);
    part.map_or(0.0, |part| part.probability)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_sum_of_the_parts_is_the_number(
        documents in documents(),
        history in prop::collection::vec(prop::sample::select(&WORDS[..4]), 0..25),
    ) {
        let learner = learner(&[3, 2, 2]);
        let store = memory_store(&learner, &documents);
        let head = head_of(&store, &HeadOptions::default().with_expert(Expert::Outside));
        let mut read = head.history();
        let mut weights = Weights::new();
        let outside = head.outside([("a", 2.0), ("c", 1.0)]);
        for word in &history {
            head.learn_weights(&mut weights, &read, Some(&outside), head.symbol(word));
            head.read(&mut read, word);
        }
        let next = head.next(&read, &weights, Some(&outside));
        let ids = WORDS.map(|word| head.symbol(word).unwrap());
        let mut explanations = ids.map(|id| next.explain(id));
        head.name_patterns(&store, &mut explanations, usize::MAX).unwrap();
        // One by one: the same patterns, whatever is listed of them.
        for most in [usize::MAX, 2, 0] {
            let mut one_by_one = ids.map(|id| next.explain(id));
            let mut namer = PatternNamer::new(&head, &one_by_one, most);
            for level in 0..3 {
                for pattern in store.scan(level).unwrap() {
                    let pattern = pattern.unwrap();
                    namer.add(level, &pattern.name, &pattern.events(), pattern.frequency).unwrap();
                }
            }
            namer.name(&mut one_by_one);
            let mut named = explanations.clone();
            for order in named.iter_mut().flat_map(orders_of) {
                order.patterns.truncate(most);
            }
            prop_assert_eq!(&one_by_one, &named);
        }
        for (id, explanation) in ids.into_iter().zip(&explanations) {
            prop_assert_eq!(explanation.probability.to_bits(), next.probability(id).to_bits());
            let sum: f64 = explanation.parts.iter().map(|part| part.contribution).sum();
            prop_assert_eq!(sum.to_bits(), explanation.probability.to_bits());
            for part in &explanation.parts {
                prop_assert_eq!(part.contribution, part.weight * part.probability);
                match &part.reason {
                    Reason::Ngrams { uniform, orders } => {
                        let sum = orders.iter().fold(*uniform, |sum, order| sum + order.term);
                        prop_assert_eq!(sum.to_bits(), part.probability.to_bits());
                        for order in orders {
                            let kept = order.count as f64 - order.discount;
                            let expected = order.reached * order.trust * kept / order.total as f64;
                            prop_assert!((order.term - expected).abs() < 1e-12);
                            // Every count is that of named patterns.
                            let counted: u64 = match order.counts {
                                Counts::Occurrences => order.patterns.iter().map(|pattern| pattern.count).sum(),
                                _ => {
                                    let mut before: Vec<&String> = order.patterns.iter().flat_map(|pattern| &pattern.before).collect();
                                    before.sort_unstable();
                                    before.dedup();
                                    before.len() as u64
                                }
                            };
                            prop_assert_eq!(counted, order.count);
                            let n_patterns = order.patterns.len() as u64;
                            prop_assert_eq!(order.n_patterns.unwrap_or(0), n_patterns);
                        }
                    }
                    Reason::Cache { weight, total, places } => {
                        let sum: f64 = places.iter().map(|place| place.weight).sum();
                        prop_assert_eq!(sum, *weight);
                        prop_assert_eq!(part.probability, weight / total);
                        if part.expert == Expert::FittingSymbols {
                            // The recent symbols, each times what the n-grams expect.
                            let expected = parts_of_ngrams(explanation);
                            let recent = explanation.parts.iter().find(|part| part.expert == Expert::RecentSymbols);
                            let Some(Reason::Cache { places: recent, .. }) = recent.map(|part| &part.reason) else {
                                return Err(TestCaseError::fail("no recent symbols"));
                            };
                            let fitting: Vec<(u64, f64)> = recent.iter().map(|place| (place.ago, place.weight * expected)).collect();
                            let found: Vec<(u64, f64)> = places.iter().map(|place| (place.ago, place.weight)).collect();
                            prop_assert_eq!(found, fitting);
                        }
                        for place in places {
                            let word = history[history.len() - place.ago as usize];
                            prop_assert_eq!(word, explanation.symbol.as_str());
                        }
                    }
                    Reason::Outside { weight, total } => prop_assert_eq!(part.probability, weight / total),
                    _ => prop_assert!(false),
                }
            }
        }
    }
}

#[test]
fn an_explanation_is_json() {
    let learner = learner(&[3, 2]);
    let store = memory_store(&learner, &["a b c a b d".to_owned()]);
    let head = head_of(&store, &HeadOptions::default());
    let mut history = head.history();
    ["a", "b"]
        .iter()
        .for_each(|word| head.read(&mut history, word));
    let weights = Weights::new();
    let next = head.next(&history, &weights, None);
    let mut why = [next.explain(head.symbol("c").unwrap())];
    head.name_patterns(&store, &mut why, 1).unwrap();
    let json = serde_json::to_value(&why[0]).unwrap();
    let orders = &json["parts"][0]["reason"]["orders"];
    assert_eq!(json["parts"][0]["reason"]["by"], "ngrams");
    // The empty context, "b" by symbols before it and by occurrences, and both.
    assert_eq!(orders[1]["counts"], "symbols_before");
    assert_eq!(orders[3]["context"], serde_json::json!(["a", "b"]));
    assert_eq!(orders[3]["counts"], "occurrences");
    assert_eq!(orders[3]["count"], 1);
    assert_eq!(orders[3]["patterns"].as_array().unwrap().len(), 1);
}

#[test]
fn named_patterns_say_where_they_were_first_seen() {
    let recording = Recording {
        provenance: true,
        ..Recording::default()
    };
    let learner = HierarchicalConceptLearner::builder(Whitespace::from_texts(WORDS))
        .with_chunk_sizes([3, 2])
        .with_min_paragraph_chars(0)
        .with_recording(recording)
        .build()
        .unwrap();
    let store = MemoryStore::new(&learner.node_names(), serde_json::json!(null));
    let (mut batch, mut scratch) = (learner.new_batch(), learner.new_scratch());
    for (document_idx, text) in ["d e f", "a b c a b d"].into_iter().enumerate() {
        let document = TextDocument {
            text,
            document_idx: document_idx as u64,
            id: ["one", "two"][document_idx],
            ..TextDocument::default()
        };
        learner.learn(document, &mut batch, &mut scratch).unwrap();
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], serde_json::json!(null)).unwrap();
    let head = head_of(&store, &HeadOptions::default());
    let mut history = head.history();
    head.read(&mut history, "b");
    let weights = Weights::new();
    let mut why = [head
        .next(&history, &weights, None)
        .explain(head.symbol("d").unwrap())];
    head.name_patterns(&store, &mut why, 1).unwrap();
    let last = why[0].patterns_mut().last().unwrap();
    let source = last.source.as_ref().unwrap();
    assert_eq!(
        (
            source.document.as_deref(),
            source.document_idx,
            source.token_idx
        ),
        (Some("two"), 1, 3)
    );
}

//! A head of patterns that were handed over one by one is the head of a store that holds them.

use kato_head::{Head, HeadBuilder, HeadError, HeadOptions};
use kato_model::{Event, PatternName};
use proptest::prelude::*;

use crate::support::{documents, learner, memory_store, plan};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn one_by_one_is_as_good_as_a_store(documents in documents(), levels in 1..4usize) {
        let learner = learner(&[3, 2, 2]);
        let options = HeadOptions::default().with_levels(levels);
        let stored = Head::from_store(&memory_store(&learner, &documents), options.clone()).unwrap();
        let mut calls: Vec<_> = documents.iter().flat_map(|document| plan(&learner, document).calls).collect();
        calls.sort_by_key(|call| call.level);
        let mut builder = HeadBuilder::new(options).unwrap();
        let mut last: Option<(usize, PatternName)> = None;
        calls.sort_by_key(|call| (call.level, call.name));
        for call in &calls {
            // All learns of a pattern at once.
            if last.replace((call.level, call.name)) == Some((call.level, call.name)) {
                continue;
            }
            let times = calls.iter().filter(|other| (other.level, other.name) == (call.level, call.name));
            builder.add(call.level, &call.name, &call.events, times.count() as u64).unwrap();
        }
        let built = builder.finish().unwrap();
        prop_assert_eq!(built.counted(), stored.counted());
        prop_assert_eq!(built.n_ngrams(), stored.n_ngrams());
        let said = |head: &Head| -> Vec<(String, f64)> {
            let mut read = head.history();
            ["a", "b"].iter().for_each(|word| head.read(&mut read, word));
            let next = head.next(&read, &kato_head::Weights::new(), None).distribution();
            let top = next.top(10).into_iter();
            top.map(|(symbol, p)| (head.text(symbol).unwrap().to_owned(), p)).collect()
        };
        prop_assert_eq!(said(&built), said(&stored));
    }
}

#[test]
fn a_name_that_is_learned_later_is_known_to_be_missing() {
    let events =
        |words: &[&str]| -> Vec<Event> { words.iter().map(|word| Event::new([*word])).collect() };
    let low = events(&["a", "b"]);
    let name = PatternName::of_events(&low);
    let high = events(&[&name.prefixed().to_string(), "nothing"]);
    let mut builder = HeadBuilder::new(HeadOptions::default()).unwrap();
    builder
        .add(1, &PatternName::of_events(&high), &high, 1)
        .unwrap();
    let back = builder.add(0, &name, &low, 1);
    assert!(matches!(
        back,
        Err(HeadError::LevelOrder { level: 0, after: 1 })
    ));
    let mut head = builder.finish().unwrap();
    assert!(head.is_missing(0, &name) && !head.is_missing(1, &name));
    head.learn(2, &high, 1, |_, _| Ok::<_, HeadError>(None))
        .unwrap();
    assert!(head.is_missing(1, &name) && !head.is_missing(2, &name));
    head.clear();
    assert!(!head.is_missing(0, &name));
}

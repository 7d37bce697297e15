//! What is learned later is written beside what is there, and together they are what counting all gives.

use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use kato_head::disk::{CountsError, CountsOptions};
use kato_head::{Head, HeadError, HeadOptions, disk};
use kato_model::batch::BatchSymbol;
use kato_model::{LearnBatch, PatternName};
use kato_store::PatternStore;
use proptest::prelude::*;
use serde_json::json;

use super::{Kb, check_equal, learn, levels, words};
use crate::support::{WORDS, documents, learner, plan, teach};

/// Returns how many counts lie beside a knowledge base.
fn n_units(kb: &Kb) -> usize {
    let entries = fs::read_dir(kb.dir.join("head")).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().path().is_dir())
        .count()
}

/// Returns a knowledge base of whose lessons each is far less than those before, with their counts in units.
pub(super) fn in_units() -> Kb {
    let kb = Kb::new(&levels(2));
    let mut words = (0..).map(|n| format!("w{n:03}"));
    for n_lessons in [200, 12, 4, 1] {
        let words: Vec<String> = words.by_ref().take(n_lessons).collect();
        let events = words
            .iter()
            .map(|word| [["the", word, "sat"], ["and", "the", word]]);
        let events: Vec<[[&str; 1]; 3]> = events
            .flatten()
            .map(|words| words.map(|word| [word]))
            .collect();
        let events: Vec<[&[&str]; 3]> = events
            .iter()
            .map(|words| words.each_ref().map(|word| &word[..]))
            .collect();
        let lessons: Vec<(usize, &[&[&str]])> =
            events.iter().map(|events| (0, &events[..])).collect();
        let names = learn(&kb.store, &lessons);
        let pairs: Vec<[[&str; 1]; 2]> = names
            .chunks(2)
            .map(|names| [[&*names[0]], [&*names[1]]])
            .collect();
        let pairs: Vec<[&[&str]; 2]> = pairs
            .iter()
            .map(|pair| pair.each_ref().map(|name| &name[..]))
            .collect();
        let lessons: Vec<(usize, &[&[&str]])> = pairs.iter().map(|pair| (1, &pair[..])).collect();
        learn(&kb.store, &lessons);
        kb.store.keep_segments(&kb.store.content().sources);
        kb.build(0);
    }
    kb
}

#[test]
fn what_is_new_is_all_that_is_written() {
    let kb = in_units();
    assert_eq!(n_units(&kb), 4);
    let head = kb.open(&HeadOptions::default()).unwrap();
    let counted = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
    let words = [
        "the", "w003", "sat", "and", "the", "w216", "sat", "w216", "nothing",
    ];
    check_equal(&head, &counted, &words).unwrap();
    assert!(kb.build(0).was_there);
    // As much again as the latest unit: it takes the place of that.
    let new: [&[&[&str]]; 2] = [&[&["w000"], &["the"], &["end"]], &[&["sat"], &["the"]]];
    learn(&kb.store, &new.map(|events| (0, events)));
    let report = kb.build(0);
    assert!(!report.was_there && n_units(&kb) == 4, "{}", n_units(&kb));
    let head = kb.open(&HeadOptions::default()).unwrap();
    let counted = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
    check_equal(&head, &counted, &words).unwrap();
    assert_eq!(report.ngrams, head.n_ngrams() as u64);
    // A unit without those below it is nothing.
    let units = fs::read_dir(kb.dir.join("head")).unwrap();
    let header = |dir: &std::path::Path| fs::read_to_string(dir.join("HEAD")).unwrap_or_default();
    let dirs = units.map(|entry| entry.unwrap().path());
    let first = dirs.filter(|dir| dir.is_dir() && !header(dir).contains("\"lower\""));
    fs::remove_dir_all(first.last().unwrap()).unwrap();
    assert!(kb.open(&HeadOptions::default()).is_none());
    kb.build(0);
    assert_eq!(n_units(&kb), 1);
    check_equal(&kb.open(&HeadOptions::default()).unwrap(), &counted, &words).unwrap();
}

#[test]
fn counting_what_is_new_ends_when_it_is_cancelled() {
    let kb = in_units();
    learn(&kb.store, &[(0, &[&["sat"], &["the"]])]);
    let n_asked = AtomicUsize::new(0);
    // Not before it begins.
    let is_cancelled = move || n_asked.fetch_add(1, Ordering::Relaxed) > 0;
    let options = CountsOptions::default().with_cancel(is_cancelled);
    let cancelled = disk::build(&kb.store, &options).unwrap_err();
    assert!(matches!(cancelled, CountsError::Cancelled), "{cancelled}");
    assert_eq!(n_units(&kb), 4);
}

#[test]
fn they_are_due_where_they_were_asked_for_and_much_is_new() {
    let kb = Kb::new(&levels(1));
    let learn_new = |ns: Range<usize>| {
        let mut batch = LearnBatch::new(1);
        for n in ns {
            let word = format!("w{n}");
            let events = [["the"], [&*word]];
            let symbols = events.map(|[symbol]| BatchSymbol::Literal(batch.literal(symbol)));
            batch.learn(0, PatternName::of_events(&events), symbols);
        }
        let staged = kb.store.stage(batch.seal()).unwrap();
        kb.store.commit(vec![staged], json!(null)).unwrap();
        kb.store.keep_segments(&kb.store.content().sources);
    };
    learn_new(0..10_000);
    assert!(!disk::is_due(&kb.store), "nobody has asked for any");
    kb.build(0);
    assert!(!disk::is_due(&kb.store));
    learn_new(10_000..10_001);
    assert!(
        !disk::is_due(&kb.store),
        "counted in a moment when it is opened"
    );
    learn_new(10_001..13_000);
    assert!(disk::is_due(&kb.store));
    kb.build(0);
    assert!(!disk::is_due(&kb.store));
}

#[test]
fn they_are_due_where_nobody_can_add_to_those_that_are_there() {
    let kb = Kb::new(&levels(1));
    let learn_pair = |word: &str| learn(&kb.store, &[(0, &[&["the"], &[word]])]).remove(0);
    let gone = learn_pair("cat");
    learn_pair("dog");
    kb.build(0);
    learn_pair("owl");
    kb.store.compact().unwrap();
    assert!(disk::is_due(&kb.store), "merged with what is new");
    kb.build(0);
    assert!(!disk::is_due(&kb.store));
    let gone = PatternName::from_symbol(&gone).unwrap();
    kb.store.forget(&[vec![gone]], json!("forgotten")).unwrap();
    assert!(disk::is_due(&kb.store), "of what is gone");
    kb.build(0);
    assert!(!disk::is_due(&kb.store));
    let counted = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
    let head = kb.open(&HeadOptions::default()).unwrap();
    check_equal(&head, &counted, &["the", "cat", "the", "owl"]).unwrap();
}

/// A document of few words, so that it is much less than what there is.
fn short() -> impl Strategy<Value = String> {
    let word = prop::sample::select(&WORDS[..]);
    prop::collection::vec(word, 0..7).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn units_are_what_counting_all_gives(
        first in prop::collection::vec(documents(), 3..6),
        more in prop::collection::vec((prop::collection::vec(short(), 1..3), any::<bool>()), 1..5),
        live in documents(),
        words in words(),
        order in 1..6usize,
        merged_after in prop::option::of(0..5usize),
    ) {
        let learner = learner(&[3, 2, 2]);
        let kb = Kb::of(&first.concat());
        let options = HeadOptions::default().with_order(order);
        kb.build(0);
        for (idx, (documents, is_spared)) in more.iter().enumerate() {
            if *is_spared {
                kb.store.keep_segments(&kb.store.content().sources);
            }
            teach(&kb.store, &learner, documents);
            if merged_after == Some(idx) {
                kb.store.compact().unwrap();
            }
            kb.build(0);
            let head = kb.open(&options).unwrap();
            let counted = Head::from_store(&kb.store, options.clone()).unwrap();
            check_equal(&head, &counted, &words)?;
            let vocabulary = disk::open(&kb.store, Some(&mut WORDS.into_iter()), options.clone());
            let counted = Head::from_store_with_vocabulary(&kb.store, WORDS, options.clone()).unwrap();
            check_equal(&vocabulary.unwrap().unwrap(), &counted, &words)?;
        }
        // Lessons on top of units.
        let mut head = kb.open(&options).unwrap();
        let calls: Vec<_> = live.iter().flat_map(|document| plan(&learner, document).calls).collect();
        for call in &calls {
            let below = |level: usize, name: &PatternName| {
                let new = calls.iter().find(|other| (other.level, other.name) == (level, *name));
                let stored = || kb.store.pattern(level, name).unwrap().map(|pattern| pattern.events());
                Ok::<_, HeadError>(new.map(|call| call.events.clone()).or_else(stored))
            };
            head.learn(call.level, &call.events, 1, below).unwrap();
        }
        teach(&kb.store, &learner, &live);
        let counted = Head::from_store(&kb.store, options).unwrap();
        check_equal(&head, &counted, &words)?;
    }
}

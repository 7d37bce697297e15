//! Counts on the disk give what counts in memory give, and what is damaged is noticed.

mod adding;
mod beside;
mod damage;
mod format;

use std::path::PathBuf;

use kato_columns::files::FileError;
use kato_head::disk::{self, CountsError, CountsOptions, CountsReport};
use kato_head::{Expert, Head, HeadError, HeadOptions, SymbolId, Weights};
use kato_model::batch::BatchSymbol;
use kato_model::{Attributes, Event, LearnBatch, PatternName};
use kato_store::{EmbeddedStore, PatternStore, Tombstones};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{Call, WORDS, documents, learner, plan, teach};

/// A knowledge base on the disk.
struct Kb {
    _folder: tempfile::TempDir,
    dir: PathBuf,
    store: EmbeddedStore,
}

impl Kb {
    fn new(nodes: &[impl AsRef<str>]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("kb");
        let store = EmbeddedStore::create(&dir, nodes, json!(null)).unwrap();
        Self {
            _folder: folder,
            dir,
            store,
        }
    }

    fn of(documents: &[String]) -> Self {
        let learner = learner(&[3, 2, 2]);
        let kb = Self::new(&learner.node_names());
        teach(&kb.store, &learner, documents);
        kb
    }

    fn build(&self, sort_bytes: usize) -> CountsReport {
        let options = CountsOptions::default().with_sort_bytes(sort_bytes);
        disk::build(&self.store, &options).unwrap()
    }

    fn open(&self, options: &HeadOptions) -> Option<Head> {
        disk::open(&self.store, None, options.clone()).unwrap()
    }
}

/// Returns everything that is counted, by the texts of the n-grams.
fn counts(head: &Head) -> Vec<(Vec<&'static str>, u64, u64)> {
    let known: Vec<(&str, SymbolId)> = WORDS
        .iter()
        .filter_map(|&word| Some((word, head.symbol(word)?)))
        .collect();
    let mut found = Vec::new();
    let mut ngrams: Vec<Vec<(&'static str, SymbolId)>> = vec![Vec::new()];
    while let Some(ngram) = ngrams.pop() {
        for &(word, symbol) in &known {
            let mut longer = ngram.clone();
            longer.push((word, symbol));
            let ids: Vec<SymbolId> = longer.iter().map(|&(_, id)| id).collect();
            let (count, n_before) = (head.count(&ids), head.n_before(&ids));
            if count > 0 || n_before > 0 {
                found.push((
                    longer.iter().map(|&(word, _)| word).collect(),
                    count,
                    n_before,
                ));
                ngrams.push(longer);
            }
        }
    }
    found.sort();
    found
}

/// Returns the bits that a head gives to words, with what it learns on the way, and what it says next.
fn said(head: &Head, words: &[&str]) -> (Vec<Option<u64>>, Weights, Vec<u64>) {
    let mut scorer = head.scorer(Weights::new());
    let mut scored = Vec::new();
    let symbols: Vec<_> = words.iter().map(|word| head.symbol(word)).collect();
    scorer.score_all(&symbols, |probability| {
        scored.push(probability.map(f64::to_bits))
    });
    let mut history = head.history();
    words.iter().for_each(|word| head.read(&mut history, word));
    let next = head.next(&history, scorer.weights(), None);
    let all = next.distribution();
    let of = |word: &&str| head.symbol(word).map(|id| all.probability(id).to_bits());
    let mut expected: Vec<u64> = WORDS.iter().filter_map(of).collect();
    expected.push(all.of_unknown().to_bits());
    (scored, scorer.into_weights(), expected)
}

/// Checks that the most probable symbols after words are those of the whole distribution.
fn check_top(head: &Head, words: &[&str]) -> Result<(), TestCaseError> {
    let mut history = head.history();
    for length in 0..=words.len().min(8) {
        let next = head.next(&history, &Weights::new(), None);
        let all = next.distribution();
        for n in [0, 1, 3, 9] {
            prop_assert_eq!(next.top(n), all.top(n));
        }
        head.read(&mut history, words.get(length).copied().unwrap_or("a"));
    }
    Ok(())
}

fn check_equal(one: &Head, other: &Head, words: &[&str]) -> Result<(), TestCaseError> {
    check_top(one, words)?;
    check_top(other, words)?;
    prop_assert_eq!(counts(one), counts(other));
    prop_assert_eq!(one.n_ngrams(), other.n_ngrams());
    prop_assert_eq!(one.n_outcomes(), other.n_outcomes());
    let symbols = |head: &Head| (head.counted().learns, head.counted().symbols);
    prop_assert_eq!(symbols(one), symbols(other));
    let unusual = |head: &Head| (head.counted().wide_events, head.counted().unknown_names);
    prop_assert_eq!(unusual(one), unusual(other));
    prop_assert_eq!(said(one, words), said(other, words));
    Ok(())
}

fn words() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(
        prop::sample::select(&["a", "b", "c", "d", "nothing"][..]),
        0..60,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn counts_in_files_are_those_in_memory(
        documents in documents(),
        words in words(),
        sort_bytes in prop_oneof![Just(0usize), Just(20_000), Just(1 << 20)],
        order in 1..6usize,
    ) {
        let kb = Kb::of(&documents);
        kb.build(sort_bytes);
        let options = HeadOptions::default().with_order(order);
        let frozen = kb.open(&options).unwrap();
        prop_assert!(frozen.is_on_disk());
        let counted = Head::from_store(&kb.store, options.clone()).unwrap();
        check_equal(&frozen, &counted, &words)?;
        let with_vocabulary = disk::open(&kb.store, Some(&mut WORDS.into_iter()), options.clone()).unwrap().unwrap();
        let counted = Head::from_store_with_vocabulary(&kb.store, WORDS, options).unwrap();
        check_equal(&with_vocabulary, &counted, &words)?;
        prop_assert_eq!(frozen.check().is_ok(), true);
    }

    #[test]
    fn lessons_are_counted_on_top(
        documents in documents(),
        more in documents(),
        words in words(),
    ) {
        let learner = learner(&[3, 2, 2]);
        let kb = Kb::of(&documents);
        kb.build(0);
        let mut frozen = kb.open(&HeadOptions::default()).unwrap();
        let calls: Vec<_> = more.iter().flat_map(|document| plan(&learner, document).calls).collect();
        for call in &calls {
            let below = |level: usize, name: &PatternName| {
                let new = calls.iter().find(|other| (other.level, other.name) == (level, *name));
                let stored = || kb.store.pattern(level, name).unwrap().map(|pattern| pattern.events());
                Ok::<_, HeadError>(new.map(|call| call.events.clone()).or_else(stored))
            };
            frozen.learn(call.level, &call.events, 1, below).unwrap();
        }
        teach(&kb.store, &learner, &more);
        let counted = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
        check_equal(&frozen, &counted, &words)?;
        // Whoever opens it now finds the same.
        if let Some(later) = kb.open(&HeadOptions::default()) {
            prop_assert!(later.is_on_disk());
            check_equal(&later, &counted, &words)?;
        } else {
            prop_assert!(counts(&Head::from_store(&Kb::of(&documents).store, HeadOptions::default()).unwrap()).is_empty());
        }
    }

    #[test]
    fn what_is_retired_was_never_counted(
        documents in documents(),
        words in words(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        sort_bytes in prop_oneof![Just(0usize), Just(1 << 20)],
    ) {
        let learner = learner(&[3, 2, 2]);
        let calls: Vec<_> = documents.iter().flat_map(|document| plan(&learner, document).calls).collect();
        prop_assume!(!calls.is_empty());
        let kb = Kb::new(&learner.node_names());
        // In one commit: of several each part tells of its own unknown names.
        learn_calls(&kb.store, &calls);
        kb.build(sort_bytes);
        let mut tombstones = vec![Tombstones::default(); 3];
        for pick in picks {
            let call = pick.get(&calls);
            tombstones[call.level].retire(call.name);
        }
        let bury = |tombstones: &[Tombstones]| {
            let nothing = vec![Vec::new(); 3];
            kb.store.bury(tombstones.to_vec(), &nothing, json!(null)).unwrap();
        };
        bury(&tombstones);
        let options = HeadOptions::default();
        prop_assert!(kb.open(&options).is_none(), "counts of what is retired");
        let never = Kb::new(&learner.node_names());
        learn_calls(&never.store, calls.iter().filter(|call| tombstones[call.level].get(&call.name).is_none()));
        let never = Head::from_store(&never.store, options.clone()).unwrap();
        let counted = Head::from_store(&kb.store, options.clone()).unwrap();
        check_equal(&counted, &never, &words)?;
        kb.build(sort_bytes);
        let frozen = kb.open(&options).unwrap();
        check_equal(&frozen, &never, &words)?;
        for call in &calls {
            prop_assert_eq!(frozen.is_missing(call.level, &call.name), never.is_missing(call.level, &call.name));
        }
        // More is not counted on top of them, nor is what is taken back.
        teach(&kb.store, &learner, &["a b c".to_owned()]);
        prop_assert!(kb.open(&options).is_none());
        bury(&vec![Tombstones::default(); 3]);
        prop_assert!(kb.open(&options).is_none());
    }

    #[test]
    fn reasons_are_the_same(documents in documents(), words in words()) {
        let kb = Kb::of(&documents);
        kb.build(0);
        let frozen = kb.open(&HeadOptions::default()).unwrap();
        let counted = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
        let explained = |head: &Head| {
            let mut history = head.history();
            words.iter().for_each(|word| head.read(&mut history, word));
            let weights = Weights::new();
            let next = head.next(&history, &weights, None);
            // One by one, so that most patterns have nothing to do with it.
            let known = WORDS.iter().filter_map(|word| head.symbol(word));
            let why = known.map(|symbol| {
                let mut why = [next.explain(symbol)];
                head.name_patterns(&kb.store, &mut why, 3).unwrap();
                why
            });
            why.collect::<Vec<_>>()
        };
        prop_assert_eq!(explained(&frozen), explained(&counted));
    }
}

/// Teaches a store learn calls of documents in one commit.
fn learn_calls<'a>(store: &EmbeddedStore, calls: impl IntoIterator<Item = &'a Call>) {
    let mut batch = LearnBatch::new(store.nodes().len());
    for call in calls {
        let symbols = call.events.iter().flat_map(Event::symbols);
        let symbols: Vec<BatchSymbol> = symbols
            .map(|symbol| BatchSymbol::Literal(batch.literal(symbol)))
            .collect();
        batch.learn(call.level, call.name, symbols);
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], json!(null)).unwrap();
}

/// Teaches a store patterns of events, at the levels given, and returns their names.
fn learn(store: &EmbeddedStore, lessons: &[(usize, &[&[&str]])]) -> Vec<String> {
    let mut batch = LearnBatch::new(store.nodes().len());
    let mut names = Vec::new();
    for &(level, events) in lessons {
        let name = PatternName::of_events(events);
        let symbols = events.iter().flat_map(|event| event.iter());
        let symbols: Vec<BatchSymbol> = symbols
            .map(|symbol| BatchSymbol::Literal(batch.literal(symbol)))
            .collect();
        let occurrence = batch.learn(level, name, symbols);
        if events.iter().any(|event| event.len() != 1) {
            let lengths = events.iter().map(|event| event.len() as u32);
            let attributes = Attributes {
                event_lengths: Some(lengths.collect()),
                ..Attributes::default()
            };
            batch.attach(level, occurrence, attributes);
        }
        names.push(name.prefixed().to_string());
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], json!(null)).unwrap();
    names
}

fn levels(n: usize) -> Vec<String> {
    (0..n).map(|level| format!("node{level}")).collect()
}

#[test]
fn what_a_lesson_refers_to_and_no_level_holds_is_behind_no_count() {
    let nowhere = "PTRN|0123456789012345678901234567890123456789";
    let kb = Kb::new(&levels(2));
    let names = learn(&kb.store, &[(0, &[&["a"], &["b"]]), (0, &[&["c"], &["a"]])]);
    kb.build(0);
    let mut taught = kb.open(&HeadOptions::default()).unwrap();
    let events = [nowhere, names[0].as_str()].map(|name| Event::new([name]));
    let learned = taught.learn(1, &events, 1, |level, name| {
        let stored = kb.store.pattern(level, name).unwrap();
        Ok::<_, HeadError>(stored.map(|stored| stored.events()))
    });
    learned.unwrap();
    learn(&kb.store, &[(1, &[&[nowhere], &[names[0].as_str()]])]);
    let counted = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
    let explained = |head: &Head| {
        let mut history = head.history();
        head.read(&mut history, "c");
        let weights = Weights::new();
        let next = head.next(&history, &weights, None);
        let mut why = [next.explain(head.symbol("a").unwrap())];
        head.name_patterns(&kb.store, &mut why, 3).unwrap();
        why
    };
    assert_eq!(explained(&taught), explained(&counted));
}

#[test]
fn what_is_unusual_is_counted_as_in_memory() {
    let nowhere = "PTRN|0123456789012345678901234567890123456789";
    let words = ["a", "b", "c", "a", "d", "a", "b"];
    let check = |kb: &Kb| {
        kb.build(0);
        let frozen = kb.open(&HeadOptions::default()).unwrap();
        let counted = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
        check_equal(&frozen, &counted, &words).unwrap();
        frozen
    };
    // Several symbols at once: those that are in no other event are no symbols of the head.
    let kb = Kb::new(&levels(2));
    let names = learn(
        &kb.store,
        &[
            (0, &[&["a"], &["b", "e"], &["c"], &["a"], &["b"]]),
            (0, &[&["c"], &["d"]]),
        ],
    );
    learn(
        &kb.store,
        &[(1, &[&[&names[0]], &[&names[1]], &[&names[0], &names[1]]])],
    );
    assert_eq!(check(&kb).symbol("e"), None);
    // A name that no level holds, a text where names belong, and a name of two levels below.
    let kb = Kb::new(&levels(3));
    let names = learn(&kb.store, &[(0, &[&["a"], &["b"]]), (0, &[&["c"], &["d"]])]);
    let above = learn(
        &kb.store,
        &[(1, &[&[&names[0]], &[nowhere], &["a"], &[&names[1]]])],
    );
    learn(
        &kb.store,
        &[(2, &[&[&above[0]], &[&names[0]], &[&names[1]]])],
    );
    let head = check(&kb);
    assert!(head.is_missing(0, &PatternName::from_symbol(nowhere).unwrap()));
    // Patterns of names at the lowest level, one of which a higher level holds as well.
    let kb = Kb::new(&levels(3));
    let names = learn(&kb.store, &[(0, &[&["a"], &["b"]]), (0, &[&["c"], &["d"]])]);
    let of_names: &[&[&str]] = &[&[&names[0]], &[&names[1]]];
    let twice = learn(&kb.store, &[(0, of_names), (1, of_names)]);
    learn(&kb.store, &[(2, &[&[&twice[0]], &[&twice[0]]])]);
    check(&kb);
    // Names that come later and stand for something else: the counts are no more.
    let kb = Kb::new(&levels(3));
    let names = learn(&kb.store, &[(0, &[&["a"], &["b"]]), (0, &[&["c"], &["d"]])]);
    let of_names: &[&[&str]] = &[&[&names[0]], &[&names[1]]];
    let above = learn(&kb.store, &[(1, of_names)]);
    learn(&kb.store, &[(2, &[&[&above[0]], &[&above[0]]])]);
    check(&kb);
    learn(&kb.store, &[(0, of_names)]);
    assert!(kb.open(&HeadOptions::default()).is_none());
    check(&kb);
    // Nothing at all.
    check(&Kb::new(&levels(2)));
}

/// The bytes of all files below a directory.
fn bytes_below(dir: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    let bytes = entries.map(|entry| match entry.path().is_dir() {
        true => bytes_below(&entry.path()),
        false => entry.metadata().unwrap().len(),
    });
    bytes.sum()
}

#[test]
fn counts_are_of_what_the_store_holds_and_of_what_is_asked_for() {
    let kb = Kb::of(&["a b c a b d".to_owned()]);
    let options = HeadOptions::default();
    assert!(kb.open(&options).is_none());
    let built = kb.build(0);
    assert!(!built.was_there && built.ngrams > 0);
    // The columns: of so few patterns they are smaller than what says how they are to be read.
    let on_disk = bytes_below(&kb.dir.join("head"));
    assert!(
        (100..on_disk).contains(&built.bytes),
        "{} of {on_disk}",
        built.bytes
    );
    assert!(kb.open(&options).is_some() && kb.build(0).was_there);
    assert!(kb.open(&options.clone().with_levels(1)).is_none());
    assert!(kb.open(&options.clone().with_levels(3)).is_some());
    assert!(kb.open(&options.clone().with_order(6)).is_none());
    let only_ngrams = options.clone().with_experts([Expert::Ngrams]);
    assert!(kb.open(&only_ngrams).is_some());
    // As much again, so that all is written anew.
    teach(
        &kb.store,
        &learner(&[3, 2, 2]),
        &["d c b a d d c".to_owned()],
    );
    // On top of those that there are.
    assert!(kb.open(&options).is_some_and(|head| head.is_on_disk()));
    assert!(!kb.build(0).was_there);
    assert!(kb.open(&options).is_some());
    // What was before is gone, and nothing is left of the work.
    let left = std::fs::read_dir(kb.dir.join("head")).unwrap();
    let mut left: Vec<String> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.retain(|name| name != "LOCK");
    assert_eq!(left, [kb.store.content_digest().to_string()]);
}

#[test]
fn a_build_that_is_cut_off_leaves_nothing_that_is_believed() {
    let documents: Vec<String> = (0..40).map(|n| WORDS[n % 4..].join(" ")).collect();
    let kb = Kb::of(&documents);
    let options = CountsOptions::default().with_cancel(|| true);
    let cancelled = disk::build(&kb.store, &options).unwrap_err();
    assert!(matches!(cancelled, CountsError::Cancelled), "{cancelled}");
    assert!(kb.open(&HeadOptions::default()).is_none());
    assert!(!kb.dir.join("head/building").exists());
    // As if the process had been killed.
    std::fs::create_dir(kb.dir.join("head/building")).unwrap();
    std::fs::write(kb.dir.join("head/building/texts"), "half").unwrap();
    let lock = kato_columns::files::lock(kb.dir.join("head")).unwrap();
    let locked = disk::build(&kb.store, &CountsOptions::default()).unwrap_err();
    assert!(
        matches!(&locked, CountsError::File(FileError::Locked { .. })),
        "{locked}"
    );
    drop(lock);
    kb.build(0);
    assert!(kb.open(&HeadOptions::default()).is_some());
    assert!(!kb.dir.join("head/building").exists());
}

//! Made text, thousands of times as much as a scan for each question could go through.

use std::collections::HashMap;

use kato_learner::{ChunkRule, TailPolicy};
use kato_occurrences::{LessonShape, Occurrences};
use kato_random::SplitMix64;
use kato_random::corpus::{CorpusModel, write_corpus};
use kato_store::{KnowledgeBase, PatternStore};
use kato_test_needs::is_thorough;
use serde_json::Value;

use crate::support::{Corpus, Rules};

/// Texts that are counted, and patterns of each level that are traced.
const N_ASKED: usize = 1000;

/// Tokens of the longest text.
const LONGEST: usize = 12;

/// Makes documents that resemble this crate's first page.
fn made() -> Corpus {
    let n_bytes = if is_thorough() { 20_000_000 } else { 200_000 };
    let model = CorpusModel::from_text(include_str!("../../README.md")).unwrap();
    let mut lines = Vec::new();
    write_corpus(&model, 1, n_bytes, &mut lines).unwrap();
    let texts = lines.split(|&byte| byte == b'\n').filter_map(|line| {
        let document: Value = serde_json::from_slice(line).ok()?;
        Some(document["text"].as_str()?.to_owned())
    });
    let rules = Rules {
        sizes: vec![5, 7, 9],
        tail: TailPolicy::default(),
        rule: ChunkRule::default(),
    };
    Corpus::new(&rules, texts.collect())
}

/// Counts all texts of one length in one pass over the documents.
fn scan<'a>(
    documents: &[Vec<u32>],
    sought: &[&'a [u32]],
    length: usize,
) -> HashMap<&'a [u32], u64> {
    let of_length = sought.iter().filter(|tokens| tokens.len() == length);
    let mut counts: HashMap<&[u32], u64> = of_length.map(|&tokens| (tokens, 0)).collect();
    for window in documents.iter().flat_map(|tokens| tokens.windows(length)) {
        if let Some(count) = counts.get_mut(window) {
            *count += 1;
        }
    }
    counts
}

#[test]
fn random_texts_are_counted_as_by_a_scan_and_patterns_as_often_as_they_were_learned() {
    let corpus = made();
    // Some dozen units, where there are as many places.
    corpus.write(corpus.texts.len(), 1 << 18);
    let occurrences = corpus.open();
    let documents = corpus.tokens();
    let mut random = SplitMix64::from_seed(7);
    check_counts(&occurrences, &documents, &mut random);
    check_lessons(&corpus, &occurrences, &mut random);
}

/// Compares texts of all lengths: from a document, wherever chunks have their borders, or joined of two.
fn check_counts(occurrences: &Occurrences, documents: &[Vec<u32>], random: &mut SplitMix64) {
    let mut piece = |length: usize| {
        let document = &documents[random.below(documents.len())];
        let start = random.below(document.len().saturating_sub(length) + 1);
        document[start..document.len().min(start + length)].to_vec()
    };
    let asked: Vec<Vec<u32>> = (0..N_ASKED)
        .map(|number| match (1 + number % LONGEST, number % 5) {
            (length, 0) => [piece(length / 2), piece(length - length / 2)].concat(),
            (length, _) => piece(length),
        })
        .collect();
    let asked: Vec<&[u32]> = asked.iter().map(Vec::as_slice).collect();
    let counted = (1..=LONGEST).map(|length| scan(documents, &asked, length));
    let counted: Vec<_> = counted.collect();
    let mut n_absent = 0;
    for tokens in asked {
        let expected = counted[tokens.len() - 1][tokens];
        assert_eq!(occurrences.count(tokens).unwrap(), expected, "{tokens:?}");
        n_absent += usize::from(expected == 0);
    }
    assert!(n_absent > 0 && n_absent < N_ASKED / 4, "{n_absent}");
}

/// Compares patterns of every level with how often they were learned, one in so many that there are enough.
fn check_lessons(corpus: &Corpus, occurrences: &Occurrences, random: &mut SplitMix64) {
    let store = corpus.store();
    let vocabulary = corpus.learner.tokenizer().vocabulary();
    for level in 0..store.nodes().len() {
        let names = store.scan_frequencies(level).unwrap();
        let names: Vec<_> = names.map(Result::unwrap).collect();
        let node = KnowledgeBase::at(&store, level).unwrap();
        for _ in 0..N_ASKED.min(names.len()) {
            let (name, frequency) = names[random.below(names.len())];
            let trace = node.trace(&name).unwrap().unwrap();
            let shape = LessonShape::of(&trace, store.nodes(), |text| vocabulary.id(text)).unwrap();
            let (n_lessons, places) = occurrences.lessons(&shape, 0, 3).unwrap();
            assert_eq!(n_lessons, frequency, "{name} of level {level}");
            assert_eq!(places.len() as u64, frequency.min(3));
        }
    }
}

//! Answers are those of a scan over the documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use kato_learner::TextDocument;
use kato_model::PatternName;
use kato_occurrences::{LessonShape, Occurrences, TokenPlace, Writer};
use kato_store::{KnowledgeBase, PatternStore};
use kato_test_needs::is_thorough;
use proptest::prelude::*;

use crate::support::{Corpus, Rules, position, rules, texts};

/// Where a document is and a token of it.
type At = (String, u64);

fn scan(tokens: &[Vec<u32>], sought: &[u32]) -> Vec<At> {
    let mut found = Vec::new();
    for (number, tokens) in tokens.iter().enumerate() {
        for at in 0..(tokens.len() + 1).saturating_sub(sought.len()) {
            if &tokens[at..at + sought.len()] == sought {
                found.push((Corpus::id(number), at as u64));
            }
        }
    }
    found.sort();
    found
}

fn at(places: &[TokenPlace]) -> Vec<At> {
    let mut found: Vec<At> = places
        .iter()
        .map(|place| (place.document.id.clone(), place.token))
        .collect();
    found.sort();
    found
}

/// Returns a text of the corpus's tokens: part of a document, or tokens that need not follow each other.
fn sought(tokens: &[Vec<u32>], seed: usize, length: usize) -> Vec<u32> {
    let all: Vec<u32> = tokens.concat();
    if all.is_empty() {
        return vec![7; length];
    }
    let step = 1 + seed / 7 % 2 * (seed % 5);
    let token = |idx: usize| all[(seed + idx * step) % all.len()];
    (0..length).map(token).collect()
}

fn check_count_and_places(
    occurrences: &Occurrences,
    tokens: &[Vec<u32>],
    sought: &[u32],
) -> Result<(), TestCaseError> {
    let expected = scan(tokens, sought);
    prop_assert_eq!(occurrences.count(sought).unwrap(), expected.len() as u64);
    let places = occurrences.places(sought, 0, usize::MAX).unwrap();
    prop_assert_eq!(at(&places), expected);
    // Page by page the same.
    let mut pages = Vec::new();
    while pages.len() < places.len() {
        pages.extend(occurrences.places(sought, pages.len() as u64, 2).unwrap());
    }
    prop_assert_eq!(&pages, &places);
    prop_assert_eq!(
        occurrences.places(sought, pages.len() as u64, 2).unwrap(),
        []
    );
    Ok(())
}

/// A trace is the longest spans with the places of each.
fn check_trace(occurrences: &Occurrences, text: &[u32]) -> Result<(), TestCaseError> {
    for (min_tokens, after, limit) in [(0, 0, usize::MAX), (2, 0, 3), (1, 1, 2), (3, 2, 0)] {
        let traced = occurrences
            .trace(text, min_tokens, after, limit)
            .unwrap()
            .into_iter()
            .map(|traced| (traced.span, traced.places));
        let mut expected = Vec::new();
        for span in occurrences.spans(text).unwrap() {
            if span.tokens.len() >= min_tokens {
                let of_span = &text[span.tokens.clone()];
                let places = occurrences.places(of_span, after, limit).unwrap();
                expected.push((span, places));
            }
        }
        prop_assert_eq!(traced.collect::<Vec<_>>(), expected);
    }
    Ok(())
}

/// Every longest span, by trying all.
fn spans_of(tokens: &[Vec<u32>], text: &[u32]) -> Vec<(usize, usize, u64)> {
    let count = |start: usize, end: usize| scan(tokens, &text[start..end]).len() as u64;
    let mut spans = Vec::new();
    for start in 0..text.len() {
        let held = (start + 1..=text.len())
            .rev()
            .find(|&end| count(start, end) > 0);
        if let Some(end) = held
            && spans.last().is_none_or(|&(_, last, _)| end > last)
        {
            spans.push((start, end, count(start, end)));
        }
    }
    spans
}

/// Every learn call with a name: by level and name, where.
fn lessons(corpus: &Corpus) -> BTreeMap<(usize, PatternName), Vec<At>> {
    let mut found: BTreeMap<_, Vec<At>> = BTreeMap::new();
    let mut scratch = corpus.learner.new_scratch();
    for (number, text) in corpus.texts.iter().enumerate() {
        let plan = corpus
            .learner
            .plan(&TextDocument::from(&**text), &mut scratch);
        let plan = plan.unwrap();
        for level in 0..plan.n_nodes() {
            for call in plan.calls(level) {
                if let Some(name) = call.name {
                    let at = (Corpus::id(number), u64::from(call.first_token));
                    found.entry((level, name)).or_default().push(at);
                }
            }
        }
    }
    found.values_mut().for_each(|places| places.sort());
    found
}

fn check_lessons(corpus: &Corpus, occurrences: &Occurrences) -> Result<(), TestCaseError> {
    let (store, lessons) = (corpus.store(), lessons(corpus));
    let vocabulary = corpus.learner.tokenizer().vocabulary();
    let token = |text: &str| vocabulary.id(text);
    let text = |token: u32| vocabulary.get(token).unwrap();
    for ((level, name), expected) in &lessons {
        let node = KnowledgeBase::at(&store, *level).unwrap();
        let trace = node.trace(name).unwrap().unwrap();
        let shape = LessonShape::of(&trace, store.nodes(), token).unwrap();
        prop_assert_eq!(shape.name(text), *name);
        let (n, places) = occurrences.lessons(&shape, 0, usize::MAX).unwrap();
        prop_assert_eq!(n, trace.pattern().frequency);
        prop_assert_eq!(&at(&places), expected);
        let page = occurrences.lessons(&shape, 1, 1).unwrap();
        prop_assert_eq!(page, (n, places.into_iter().skip(1).take(1).collect()));
    }
    let calls = occurrences.written().calls;
    for (level, calls) in calls.iter().enumerate() {
        let of_level = lessons.iter().filter(|((of, _), _)| *of == level);
        let n: usize = of_level.map(|(_, places)| places.len()).sum();
        prop_assert_eq!(*calls, n as u64);
    }
    Ok(())
}

/// The learn call around each place of a sequence is the lowest one that holds it.
fn check_calls(
    corpus: &Corpus,
    occurrences: &Occurrences,
    sought: &[u32],
) -> Result<(), TestCaseError> {
    let mut scratch = corpus.learner.new_scratch();
    let vocabulary = corpus.learner.tokenizer().vocabulary();
    let text = |token: u32| vocabulary.get(token).unwrap();
    for place in occurrences.places(sought, 0, usize::MAX).unwrap() {
        let number = usize::try_from(place.document.number).unwrap();
        let document = TextDocument::from(&*corpus.texts[number]);
        let plan = corpus.learner.plan(&document, &mut scratch).unwrap();
        let mut expected = None;
        let mut ends: Vec<u32> = Vec::new();
        for level in 0..plan.n_nodes() {
            let mut n_symbols = 0;
            let mut own = Vec::new();
            for call in plan.calls(level) {
                n_symbols += call.symbols.len();
                let end = match level {
                    0 => n_symbols as u32,
                    // A name from further below is the last of the document.
                    _ => ends
                        .get(n_symbols - 1)
                        .copied()
                        .unwrap_or(plan.n_tokens() as u32),
                };
                own.push(end);
                let first = u64::from(call.first_token);
                let last = place.token + sought.len() as u64;
                if let Some(name) = call.name
                    && first <= place.token
                    && last <= u64::from(end)
                    && expected.is_none()
                {
                    expected = Some((level, first, name));
                }
            }
            ends = own;
        }
        let found = place
            .call
            .map(|(first, shape)| (shape.level(), first, shape.name(text)));
        prop_assert_eq!(found, expected);
    }
    Ok(())
}

/// The corpus of the first documents, which has another name with every one that is added.
fn of_first(end: usize) -> String {
    format!("the first {end}")
}

/// Writing waits for the disk some forty times a unit.
fn cases() -> u32 {
    if is_thorough() { 300 } else { 24 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn answers_are_those_of_a_scan(
        rules in rules(),
        texts in texts(14),
        unit_places in prop_oneof![Just(1), 10usize..200, Just(1 << 20)],
        seeds in prop::collection::vec((0usize..1000, 1usize..9), 8),
    ) {
        let corpus = Corpus::new(&rules, texts);
        let n = corpus.texts.len();
        let written = corpus.write(n, unit_places);
        let occurrences = corpus.open();
        prop_assert_eq!(&occurrences.written(), &written);
        let tokens = corpus.tokens();
        let sum: usize = tokens.iter().map(Vec::len).sum();
        prop_assert_eq!((written.documents, written.tokens), (n as u64, sum as u64));
        prop_assert_eq!(occurrences.count(&[]).unwrap(), sum as u64);
        for (seed, length) in seeds {
            let sought = sought(&tokens, seed, length);
            check_count_and_places(&occurrences, &tokens, &sought)?;
            check_calls(&corpus, &occurrences, &sought)?;
            let text = self::sought(&tokens, seed, 3 * length);
            let spans = occurrences.spans(&text).unwrap();
            let spans: Vec<_> = spans
                .iter()
                .map(|span| (span.tokens.start, span.tokens.end, span.count))
                .collect();
            prop_assert_eq!(spans, spans_of(&tokens, &text));
            check_trace(&occurrences, &text)?;
        }
        check_lessons(&corpus, &occurrences)?;
    }

    #[test]
    fn units_are_the_same_in_whatever_portions_they_are_written(
        rules in rules(),
        texts in texts(12),
        // Some where the smallest part has one place, and some where it has more than a document.
        unit_places in prop_oneof![20usize..120, Just(1 << 10), Just(1 << 16)],
        cuts in prop::collection::vec((0usize..12, any::<bool>()), 0..4),
        are_added in any::<bool>(),
    ) {
        let corpus = Corpus::new(&rules, texts);
        let n = corpus.texts.len();
        let whole = tempfile::tempdir().unwrap();
        let described = |end: usize| {
            let mut documents = corpus.describe(end, unit_places);
            if are_added {
                documents.source = of_first(end);
                documents.earlier = (0..end).map(of_first).collect();
            }
            documents
        };
        let written = corpus.write_described(whole.path(), n, described(n));
        // Also back to fewer documents, as where a commit was given up.
        for (end, is_whole) in cuts {
            let end = end.min(n);
            match is_whole {
                true => drop(corpus.write_described(&corpus.kb, end, described(end))),
                // Cut off behind what was appended.
                false => {
                    let mut writer = Writer::new(&corpus.kb, described(n)).unwrap();
                    let from = usize::try_from(writer.position().documents).unwrap();
                    corpus.push(&mut writer, from.max(end));
                }
            }
        }
        corpus.write_described(&corpus.kb, n, described(n));
        prop_assert_eq!(corpus.open().written(), written);
        prop_assert_eq!(files(&corpus.kb), files(whole.path()));
    }
}

/// Documents of the same few words, which fill no unit.
fn growing(n: usize) -> Corpus {
    let rules = Rules {
        sizes: vec![3, 2],
        tail: kato_learner::TailPolicy::Drop,
        rule: kato_learner::ChunkRule::default(),
    };
    let text = |n: usize| [" a b c d a b", " c a", " d d b a c b a"][n % 3].repeat(1 + n % 4);
    Corpus::new(&rules, (0..n).map(text).collect())
}

/// Names and times of the files of all units, by which one that was written again is known.
fn times(corpus: &Corpus) -> BTreeMap<PathBuf, SystemTime> {
    let units = corpus.units();
    let files = units.iter().flat_map(|unit| fs::read_dir(unit).unwrap());
    let file = files.map(|file| file.unwrap());
    file.map(|file| (file.path(), file.metadata().unwrap().modified().unwrap()))
        .collect()
}

#[test]
fn adding_costs_what_is_new_and_parts_stay_few() {
    let n = 150;
    let corpus = growing(n);
    let described = |end: usize| {
        let mut documents = corpus.describe(end, 1 << 16);
        documents.source = of_first(end);
        documents.with_earlier((0..end).map(of_first).collect())
    };
    let mut n_read = 0;
    for end in 1..=n {
        let mut writer = Writer::new(&corpus.kb, described(end)).unwrap();
        n_read += end - usize::try_from(writer.position().documents).unwrap();
        corpus.push(&mut writer, end);
        writer.finish(position(end)).unwrap();
        assert!(corpus.units().len() <= 6, "{end}");
    }
    // Written anew each time it would be 75 for each.
    assert!(n_read < 10 * n, "{n_read}");

    // Of a little that follows what is there stays.
    corpus.write_described(&corpus.kb, n - 1, described(n - 1));
    let before = times(&corpus);
    corpus.write_described(&corpus.kb, n, described(n));
    let mut kept = times(&corpus);
    kept.retain(|path, time| before.get(path) == Some(time) && path.ends_with("sequence"));
    assert!(!kept.is_empty());
}

#[test]
fn occurrences_of_what_was_a_single_part_are_gone_on_with() {
    let corpus = growing(60);
    // As earlier builds wrote them, which knew of no parts.
    let mut whole = corpus.describe(50, 1 << 10);
    whole.places = None;
    corpus.write_described(&corpus.kb, 50, whole);
    let n_before = corpus.units().len();
    // What is complete stays as it is.
    let writer = Writer::new(&corpus.kb, corpus.describe(50, 1 << 10)).unwrap();
    assert!(writer.is_complete());
    drop(writer);
    assert_eq!(corpus.units().len(), n_before);
    let written = corpus.write(60, 1 << 10);
    let other = tempfile::tempdir().unwrap();
    assert_eq!(corpus.write_to(other.path(), 60, 1 << 10), written);
    assert_eq!(files(&corpus.kb), files(other.path()));
}

fn files(kb: &std::path::Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let units = kb.join("occurrences");
    for unit in std::fs::read_dir(&units).unwrap() {
        let unit = unit.unwrap().path();
        if unit.is_dir() {
            for file in std::fs::read_dir(&unit).unwrap() {
                let path = file.unwrap().path();
                let bytes = std::fs::read(&path).unwrap();
                files.insert(path.strip_prefix(kb).unwrap().to_owned(), bytes);
            }
        }
    }
    files
}

#[test]
fn a_token_that_no_document_holds_is_nowhere() {
    let rules = Rules {
        sizes: vec![3],
        tail: kato_learner::TailPolicy::Drop,
        rule: kato_learner::ChunkRule::default(),
    };
    let corpus = Corpus::new(&rules, vec![" a b a b".to_owned()]);
    corpus.write(1, 100);
    let occurrences = corpus.open();
    for unknown in [50_000, u32::MAX, u32::MAX - 1] {
        assert_eq!(occurrences.count(&[unknown]).unwrap(), 0);
        assert_eq!(occurrences.places(&[unknown], 0, 9).unwrap(), []);
        assert_eq!(occurrences.spans(&[unknown]).unwrap(), []);
    }
    assert_eq!(occurrences.spans(&[]).unwrap(), []);
}

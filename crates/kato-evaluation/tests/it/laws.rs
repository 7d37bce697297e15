//! What holds for every corpus: equality with a naive reimplementation, and one report for any
//! number of threads.

use std::num::NonZeroUsize;

use kato_engine::{Engine, SessionConfig};
use kato_evaluation::{EvaluationOptions, EvaluationReport};
use kato_learner::ChunkRule;
use kato_learner::chunk::chunk_lengths;
use kato_model::{Event, PatternName};
use proptest::prelude::*;

use crate::support::{Lab, WORDS};

fn documents() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(&WORDS[..5]);
    let document = prop::collection::vec(word, 1..25).prop_map(|words| words.join(" "));
    prop::collection::vec(document, 1..6)
}

/// Documents of six words, of which two differ.
fn of_six_words(n: usize) -> Vec<String> {
    (0..n)
        .map(|n| format!("a b c {} {} e", WORDS[n % 5], WORDS[n / 5 % 5]))
        .collect()
}

fn lab(training: &[String], held_out: &[String]) -> Lab {
    Lab::new(training, held_out, &[3, 2])
}

/// Chunks of one level, as events; names of them make the level above.
fn chunks(symbols: &[String], size: usize, level: usize) -> Vec<Vec<Event>> {
    let events = |part: &[String]| {
        part.iter()
            .map(|symbol| Event::new([symbol]))
            .collect::<Vec<_>>()
    };
    if level == 0 {
        let size = NonZeroUsize::new(size).unwrap();
        let ranges = chunk_lengths(symbols.len(), size, ChunkRule::default());
        return ranges.map(|range| events(&symbols[range])).collect();
    }
    symbols
        .chunks(size)
        .filter(|part| part.len() > 1)
        .map(events)
        .collect()
}

/// Per level: questions, right at once, right among five, without an answer; known chunks.
type Counts = [(u64, u64, u64, u64, u64); 2];

fn naive(engine: &Engine, held_out: &[String]) -> Counts {
    let mut counts = Counts::default();
    for document in held_out {
        let mut symbols: Vec<String> = document.split(' ').map(str::to_owned).collect();
        for (level, size) in [3, 2].into_iter().enumerate() {
            let node = engine.node(&format!("node{level}")).unwrap();
            let (asked, first, five, nothing, known) = &mut counts[level];
            let mut names = Vec::new();
            for chunk in chunks(&symbols, size, level) {
                let name = PatternName::of_events(&chunk);
                *known += u64::from(node.events(&name).unwrap().is_some());
                names.push(name.prefixed().to_string());
                for k in 1..chunk.len() {
                    let mut expected: Vec<String> = Vec::new();
                    for prediction in node
                        .predict(&chunk[..k], &SessionConfig::default())
                        .unwrap()
                        .predictions
                    {
                        let next = prediction
                            .future
                            .first()
                            .map(|event| event.symbols()[0].clone());
                        expected.extend(next.filter(|next| !expected.contains(next)));
                    }
                    let right = &chunk[k].symbols()[0];
                    *asked += 1;
                    *first += u64::from(expected.first() == Some(right));
                    *five += u64::from(expected.iter().take(5).any(|next| next == right));
                    *nothing += u64::from(expected.is_empty());
                }
            }
            symbols = names;
        }
    }
    counts
}

fn counts(report: &EvaluationReport) -> Counts {
    [0, 1].map(|level| {
        let level = &report.levels[level];
        let next = &level.next;
        let known = level.coverage.known_chunks.count;
        (
            next.top_1.of,
            next.top_1.count,
            next.top_5.count,
            next.unanswered.count,
            known,
        )
    })
}

fn with_threads(threads: usize, max_questions: u64) -> EvaluationOptions {
    let mut options = EvaluationOptions::default();
    options.threads = NonZeroUsize::new(threads);
    options.max_questions = max_questions;
    options.bootstrap_samples = 20;
    options
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn counts_are_those_of_a_naive_evaluation(training in documents(), held_out in documents()) {
        let lab = lab(&training, &held_out);
        let Ok(report) = lab.evaluate(&with_threads(2, 50_000)) else {
            // Documents of one or two words are in no chunk.
            prop_assert!(held_out.iter().all(|document| document.split(' ').count() < 3));
            return Ok(());
        };
        prop_assert_eq!(counts(&report), naive(&lab.engine(), &held_out));
    }

    #[test]
    fn threads_change_nothing(training in documents(), held_out in documents(), max_questions in 1..80u64) {
        let lab = lab(&training, &held_out);
        let one = lab.evaluate(&with_threads(1, max_questions)).ok();
        let three = lab.evaluate(&with_threads(3, max_questions)).ok();
        prop_assert_eq!(one, three);
    }
}

#[test]
fn about_as_many_questions_are_asked_as_are_wanted() {
    let documents = of_six_words(300);
    let lab = lab(&documents[..100], &documents[100..]);
    let mut options = with_threads(2, 500);
    let report = lab.evaluate(&options).unwrap();
    let level = &report.levels[0];
    // 200 documents of 6 tokens and 2 chunks.
    assert_eq!(level.asked_share, 500.0 / 1200.0);
    let (next, whole) = (report.code_length.tokens, level.recognition.recognised.of);
    assert!((440..560).contains(&next), "{next}");
    assert!((130..200).contains(&whole), "{whole}");
    options.seed = 1;
    assert_ne!(lab.evaluate(&options).unwrap(), report);

    options.max_documents = Some(7);
    assert_eq!(lab.evaluate(&options).unwrap().documents, 7);
}

#[test]
fn levels_that_are_not_asked_change_nothing_below() {
    let documents = of_six_words(60);
    let lab = lab(&documents[..40], &documents[40..]);
    let mut options = with_threads(2, 500);
    let all = lab.evaluate(&options).unwrap();
    options.max_levels = NonZeroUsize::new(1);
    let lowest = lab.evaluate(&options).unwrap();
    assert_eq!(lowest.levels[0], all.levels[0]);
    assert_eq!(lowest.code_length, all.code_length);
    assert_eq!(lowest.levels[1].coverage, all.levels[1].coverage);
    assert_eq!(lowest.levels[1].asked_share, 0.0);
    assert_eq!(lowest.levels[1].next.top_1.of, 0);
    assert!(all.levels[1].next.top_1.of > 0);
}

#[test]
fn chunk_sizes_are_compared_on_the_same_tokens() {
    let documents: Vec<String> = (0..300)
        .map(|n| {
            let words: Vec<&str> = (0..24).map(|at| WORDS[(n / 3 + n * at) % 7]).collect();
            words.join(" ")
        })
        .collect();
    let of_sizes = |sizes: &[usize], max_questions: u64| {
        let lab = Lab::new(&documents[..100], &documents[100..], sizes);
        let report = lab.evaluate(&with_threads(2, max_questions)).unwrap();
        report.code_length
    };
    let three = of_sizes(&[3, 2], 600);
    // What sees the document and no chunk needs the same bits for the same tokens.
    for sizes in [&[4, 2][..], &[8], &[12, 2]] {
        let other = of_sizes(sizes, 600);
        assert_eq!(other.tokens, three.tokens);
        assert_eq!(other.ngram.bits_per_token, three.ngram.bits_per_token);
        assert_eq!(other.unigram.bits_per_token, three.unigram.bits_per_token);
        assert_ne!(other.tokens_in_context, three.tokens_in_context);
    }
    // A larger share holds the smaller one, so that every document of that is among its own.
    assert!(of_sizes(&[3, 2], 1_200).documents >= three.documents);
    assert!(three.tokens < 4_800);
}

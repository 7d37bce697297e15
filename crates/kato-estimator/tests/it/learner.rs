//! The sample's counts against the real learner.

use kato_estimator::{CorpusSample, EstimatedHierarchy, TextSampler};
use kato_learner::config::{ChunkSpan, TextMode};
use kato_learner::segment::{Delimiter, TokenLimit};
use kato_learner::{ChunkRule, HierarchicalConceptLearner, LearnError, TailPolicy};
use kato_model::SealedBatch;
use kato_tokenizer::{Whitespace, gpt2};
use proptest::prelude::*;

use crate::corpus;

/// Learns texts, each as a document of its own, by the real learner.
pub(crate) fn learn<'a>(
    learner: &HierarchicalConceptLearner,
    texts: impl IntoIterator<Item = &'a str>,
) -> SealedBatch {
    let (mut batch, mut scratch) = (learner.new_batch(), learner.new_scratch());
    for text in texts {
        learner.learn(text, &mut batch, &mut scratch).unwrap();
    }
    batch.seal()
}

#[track_caller]
fn assert_equal(sample: &CorpusSample, learned: &SealedBatch) {
    for (idx, level) in sample.levels.iter().enumerate() {
        let node = learned.node(idx);
        let mut frequencies: Vec<u64> = node.patterns().map(|pattern| pattern.frequency).collect();
        frequencies.sort_unstable();
        let counted: Vec<u64> = level
            .frequencies
            .iter()
            .flat_map(|(f, n)| std::iter::repeat_n(f, n as usize))
            .collect();
        assert_eq!(counted, frequencies, "level {idx}");
        assert_eq!(level.learns, frequencies.iter().sum::<u64>(), "level {idx}");
        let symbols: usize = node.patterns().map(|pattern| pattern.symbols().len()).sum();
        let mean = symbols as f64 / node.len().max(1) as f64;
        assert!(
            (level.symbols_per_pattern - mean).abs() < 1e-9,
            "level {idx}: {} symbols, not {mean}",
            level.symbols_per_pattern
        );
    }
}

fn rules() -> impl Strategy<Value = ChunkRule> {
    prop_oneof![
        (0..5usize).prop_map(|min_chunk| ChunkRule::Original { min_chunk }),
        (0..5usize).prop_map(|min_chunk| ChunkRule::Bounded { min_chunk }),
        Just(ChunkRule::Plain),
    ]
}

proptest! {
    #[test]
    fn random_text_makes_the_learn_calls_of_the_learner(
        texts in prop::collection::vec("[a-c]( [a-c]){0,40}(\n\n[a-c]( [a-c]){0,30}){0,3}", 1..12),
        sizes in prop::collection::vec(2..6usize, 1..5),
        rule in rules(),
        tail_policy in prop_oneof![Just(TailPolicy::Drop), Just(TailPolicy::Promote)],
        span in prop_oneof![Just(ChunkSpan::Paragraph), Just(ChunkSpan::Section)],
        max_tokens in 1..50usize,
    ) {
        let words = Whitespace::from_texts(["a b c"]);
        let learner = HierarchicalConceptLearner::builder(words)
            .with_chunk_sizes(sizes)
            .with_text_mode(TextMode::Chunks { rule })
            .with_tail_policy(tail_policy)
            .with_chunk_span(span)
            .with_token_limit(TokenLimit::Cut { max_tokens })
            .build()
            .unwrap();
        let mut sample = TextSampler::new(&learner).unwrap();
        for text in &texts {
            sample.add(text).unwrap();
        }
        let learned = learn(&learner, texts.iter().map(String::as_str));
        match sample.finish() {
            Ok(sample) => assert_equal(&sample, &learned),
            Err(_) => prop_assert_eq!(learned.node(0).len(), 0),
        }
    }
}

#[test]
fn pieces_of_text_make_the_learn_calls_of_the_learner() {
    let texts = [
        "The cat sat. The dog lay there. No. The end is near.",
        "The cat sat. The end is near. The dog lay there.",
    ];
    let segments = TextMode::Segments {
        delimiter: Delimiter::Bigram,
    };
    for mode in [TextMode::sentences(), segments] {
        let learner = HierarchicalConceptLearner::builder(gpt2())
            .with_chunk_sizes([5, 2])
            .with_text_mode(mode)
            .build()
            .unwrap();
        let mut sample = TextSampler::new(&learner).unwrap();
        for text in texts {
            sample.add(text).unwrap();
        }
        assert_equal(&sample.finish().unwrap(), &learn(&learner, texts));
    }
}

#[test]
fn a_text_that_cannot_be_tokenized_leaves_the_sample_as_it_was() {
    let words = Whitespace::from_texts(["one two three"]);
    let learner = HierarchicalConceptLearner::builder(words)
        .with_chunk_sizes([3])
        .build()
        .unwrap();
    let mut sample = TextSampler::new(&learner).unwrap();
    sample.add("one two three").unwrap();
    let error = sample.add("one two three\n\none two four").unwrap_err();
    assert!(
        matches!(error, LearnError::Tokenize { offset: 15, .. }),
        "{error:?}"
    );
    let sample = sample.finish().unwrap();
    assert_eq!((sample.documents, sample.tokens), (1, 3));
}

#[test]
fn real_text_makes_the_learn_calls_of_the_learner() {
    let Some(corpora) = corpus::real() else {
        return;
    };
    for (corpus, sizes) in [(&corpora[1], vec![5, 7, 9]), (&corpora[2], vec![3, 4])] {
        let documents = &corpus.documents[..corpus.documents.len() / 4];
        let learner = HierarchicalConceptLearner::builder(gpt2())
            .with_chunk_sizes(sizes)
            // The corpora are cut by its limits.
            .like_kato_lm()
            .build()
            .unwrap();
        let learned = learn(
            &learner,
            documents.iter().map(|document| document.text.as_str()),
        );
        let hierarchy = EstimatedHierarchy::from_config(learner.config()).unwrap();
        assert_equal(&corpus::sample(&hierarchy, documents), &learned);
    }
}

#[test]
fn any_number_of_threads_counts_the_same() {
    let learner = HierarchicalConceptLearner::builder(gpt2())
        .with_chunk_sizes([5, 3])
        .build()
        .unwrap();
    // More patterns than are counted one by one, and documents that repeat.
    let text = |number: usize| {
        let numbers = (0..800).map(|n| (number % 900 * 801 + n).to_string());
        numbers.collect::<Vec<_>>().join(" ")
    };
    for has_windows in [false, true] {
        let begin = || {
            TextSampler::new(&learner)
                .unwrap()
                .with_windows(has_windows)
        };
        let mut alone = begin();
        (0..1_000).for_each(|number| alone.add(&text(number)).unwrap());
        let mut together = begin();
        let mut counters = [together.counter(), together.counter(), together.counter()];
        for first in (0..1_000).step_by(10) {
            let counter = &mut counters[first / 10 % 3];
            (first..first + 10).for_each(|number| counter.count(&text(number)).unwrap());
            together.add_counted(counter.take());
        }
        let (alone, together) = (alone.finish().unwrap(), together.finish().unwrap());
        assert!(!alone.levels[0].is_exact);
        assert_eq!(alone, together);
        assert_eq!(alone.repeats.documents.distinct, 900);
    }
}

//! The sample's counts against the real learner.

use kato_estimator::{ChunkRule, CorpusSample, Hierarchy, SampleBuilder, TailPolicy};
use kato_learner::{HierarchicalConceptLearner, TextMode};
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
        assert_eq!(
            level.learn_calls,
            frequencies.iter().sum::<u64>(),
            "level {idx}"
        );
        let symbols: usize = node.patterns().map(|pattern| pattern.symbols().len()).sum();
        let mean = symbols as f64 / node.len().max(1) as f64;
        assert!(
            (level.symbols_per_pattern - mean).abs() < 1e-9,
            "level {idx}: {} symbols, not {mean}",
            level.symbols_per_pattern
        );
    }
}

fn rules() -> impl Strategy<Value = (ChunkRule, kato_learner::ChunkRule)> {
    prop_oneof![
        (0..5usize).prop_map(|min_chunk| (
            ChunkRule::Original { min_chunk },
            kato_learner::ChunkRule::Original { min_chunk }
        )),
        (0..5usize).prop_map(|min_chunk| (
            ChunkRule::Bounded { min_chunk },
            kato_learner::ChunkRule::Bounded { min_chunk }
        )),
        Just((ChunkRule::Plain, kato_learner::ChunkRule::Plain)),
    ]
}

fn tails() -> impl Strategy<Value = (TailPolicy, kato_learner::TailPolicy)> {
    prop_oneof![
        Just((TailPolicy::Drop, kato_learner::TailPolicy::Drop)),
        Just((TailPolicy::Promote, kato_learner::TailPolicy::Promote)),
    ]
}

proptest! {
    #[test]
    fn random_text_makes_the_learn_calls_of_the_learner(
        texts in prop::collection::vec("[a-c]( [a-c]){0,40}(\n\n[a-c]( [a-c]){0,30}){0,3}", 1..12),
        sizes in prop::collection::vec(2..6usize, 1..5),
        (rule, learner_rule) in rules(),
        (tail, learner_tail) in tails(),
    ) {
        let words = Whitespace::of_texts(["a b c"]);
        let learner = HierarchicalConceptLearner::builder(words)
            .chunk_sizes(sizes.clone())
            .text_mode(TextMode::Chunks { rule: learner_rule })
            .tail_policy(learner_tail)
            .min_paragraph_chars(0)
            .build()
            .unwrap();
        let mut sample = SampleBuilder::new(Hierarchy::new(sizes).unwrap().with_rule(rule).with_tail_policy(tail));
        for text in &texts {
            let mut paragraphs = Vec::new();
            for paragraph in text.split("\n\n") {
                let mut ids = Vec::new();
                learner.tokenizer().encode_into(paragraph, &mut ids).unwrap();
                paragraphs.push(ids);
            }
            sample.add(&paragraphs, text.len() as u64);
        }
        let learned = learn(&learner, texts.iter().map(String::as_str));
        match sample.finish() {
            Ok(sample) => assert_equal(&sample, &learned),
            Err(_) => prop_assert_eq!(learned.node(0).len(), 0),
        }
    }
}

#[test]
fn real_text_makes_the_learn_calls_of_the_learner() {
    let Some(corpora) = corpus::real() else {
        return;
    };
    for (corpus, sizes) in [(&corpora[1], vec![5, 7, 9]), (&corpora[2], vec![3, 4])] {
        let documents = &corpus.documents[..corpus.documents.len() / 4];
        let learner = HierarchicalConceptLearner::builder(gpt2())
            .chunk_sizes(sizes.clone())
            .build()
            .unwrap();
        let learned = learn(
            &learner,
            documents.iter().map(|document| document.text.as_str()),
        );
        assert_equal(
            &corpus::sample(&Hierarchy::new(sizes).unwrap(), documents),
            &learned,
        );
    }
}

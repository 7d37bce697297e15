//! Laws of learning: order, batches and grouping do not matter; nothing is lost without being
//! counted.

use std::num::NonZeroUsize;

use kato_learner::chunk::chunk_lengths;
use kato_learner::config::{ChunkSpan, Recording, TextMode};
use kato_learner::plan::PlannedSymbols;
use kato_learner::segment::{Delimiter, TokenLimit};
use kato_learner::{
    ChunkRule, HierarchicalConceptLearner, HierarchicalNode, LearnError, LearnScratch, TailPolicy,
    TextDocument,
};
use kato_model::SealedBatch;
use kato_model::batch::SealedSymbol;
use kato_tokenizer::{Tokenizer as _, Whitespace, gpt2};
use proptest::prelude::*;

fn words() -> Whitespace {
    Whitespace::from_texts(["a b c d e f g h i j"])
}

/// Every pattern of every node: name, frequency, symbols.
fn content(sealed: &SealedBatch) -> Vec<Vec<(String, u64, Vec<String>)>> {
    (0..sealed.n_nodes())
        .map(|node_idx| {
            let node = sealed.node(node_idx);
            let literals: Vec<&str> = node.dictionary().collect();
            (0..node.len())
                .map(|rank| {
                    let symbols = node.pattern(rank).symbols().map(|symbol| match symbol {
                        SealedSymbol::Literal(rank) => literals[rank as usize].to_owned(),
                        SealedSymbol::Child(rank) => sealed
                            .node(node_idx - 1)
                            .pattern(rank as usize)
                            .name
                            .prefixed()
                            .to_string(),
                    });
                    let pattern = node.pattern(rank);
                    (
                        pattern.name.to_string(),
                        pattern.frequency,
                        symbols.collect(),
                    )
                })
                .collect()
        })
        .collect()
}

fn learn(learner: &HierarchicalConceptLearner, texts: &[&String]) -> SealedBatch {
    let mut batch = learner.new_batch();
    let mut scratch = learner.new_scratch();
    for text in texts {
        learner
            .learn(text.as_str(), &mut batch, &mut scratch)
            .unwrap();
    }
    batch.seal()
}

/// The tokens of the learn calls of level 0.
fn planned_tokens(
    learner: &HierarchicalConceptLearner,
    text: &str,
    scratch: &mut LearnScratch,
) -> Vec<Vec<u32>> {
    let plan = learner.plan(&text.into(), scratch).unwrap();
    plan.calls(0)
        .filter_map(|call| match call.symbols {
            PlannedSymbols::Tokens(tokens) => Some(tokens.to_vec()),
            _ => None,
        })
        .collect()
}

proptest! {
    #[test]
    fn the_order_of_documents_does_not_matter(
        texts in prop::collection::vec("[a-c]( [a-c]){0,40}(\n\n[a-c]( [a-c]){0,30}){0,3}", 1..12),
        sizes in prop::collection::vec(2_usize..5, 1..5),
    ) {
        let learner = HierarchicalConceptLearner::builder(words()).with_chunk_sizes(sizes).with_min_paragraph_chars(0).build().unwrap();
        let forwards: Vec<&String> = texts.iter().collect();
        let backwards: Vec<&String> = texts.iter().rev().collect();
        prop_assert_eq!(content(&learn(&learner, &forwards)), content(&learn(&learner, &backwards)));
    }

    #[test]
    fn every_name_is_the_name_of_its_symbols(
        text in "[a-j]( [a-j]){0,80}(\n\n[a-j]( [a-j]){0,60}){0,3}",
        sizes in prop::collection::vec(2_usize..6, 1..6),
        promote in any::<bool>(),
    ) {
        let tail_policy = if promote { TailPolicy::Promote } else { TailPolicy::Drop };
        let learner =
            HierarchicalConceptLearner::builder(words()).with_chunk_sizes(sizes).with_tail_policy(tail_policy).build().unwrap();
        for patterns in content(&learn(&learner, &[&text])) {
            for (name, _, symbols) in patterns {
                let events: Vec<[&String; 1]> = symbols.iter().map(|symbol| [symbol]).collect();
                prop_assert_eq!(kato_model::PatternName::of_events(&events).to_string(), name);
            }
        }
    }

    #[test]
    fn every_token_is_learned_or_counted(
        text in "[a-j]( [a-j]){0,50}(\n\n[a-j]( [a-j]){0,30}){0,4}",
        chunk_size in 2_usize..9,
        max_tokens in 1_usize..40,
        rule in prop_oneof![
            Just(ChunkRule::original()), Just(ChunkRule::default()), Just(ChunkRule::Bounded { min_chunk: 3 }), Just(ChunkRule::Plain)
        ],
    ) {
        let learner = HierarchicalConceptLearner::builder(words())
            .with_chunk_sizes([chunk_size])
            .with_text_mode(TextMode::Chunks { rule })
            .with_token_limit(TokenLimit::Cut { max_tokens })
            .with_min_paragraph_chars(0)
            .build()
            .unwrap();
        let mut scratch = learner.new_scratch();
        let plan = learner.plan(&text.as_str().into(), &mut scratch).unwrap();
        let dropped = plan.dropped();
        let n_words = text.split_whitespace().count() as u64;
        let counted = dropped.tokens_over_limit + dropped.short_run_tokens + dropped.single_token_chunks;
        prop_assert_eq!(plan.n_tokens() as u64 + counted, n_words);
    }

    #[test]
    fn by_default_every_token_is_learned(
        text in "[a-j]( [a-j]){0,9}(\n\n[a-j]( [a-j]){0,3}){0,9}",
        chunk_size in 2_usize..9,
    ) {
        let learner =
            HierarchicalConceptLearner::builder(words()).with_chunk_sizes([chunk_size]).build().unwrap();
        let mut scratch = learner.new_scratch();
        let plan = learner.plan(&text.as_str().into(), &mut scratch).unwrap();
        let tokens: Vec<_> = text.split_whitespace().collect();
        // One token is no pattern.
        prop_assert_eq!(plan.n_tokens(), if tokens.len() < 2 { 0 } else { tokens.len() });
        prop_assert_eq!(plan.dropped().single_token_chunks, u64::from(tokens.len() == 1));
        // In the order in which they stand.
        let learned = planned_tokens(&learner, &text, &mut scratch).concat();
        let all = learner.tokenizer().encode(&text).unwrap();
        prop_assert_eq!(learned, if all.len() < 2 { vec![] } else { all });
    }

    #[test]
    fn the_runs_of_a_text_are_what_the_lowest_level_cuts(
        text in "[a-j]( [a-j]){0,50}(\n\n[a-j]( [a-j]){0,30}){0,4}",
        chunk_size in 2_usize..9,
        max_tokens in 1_usize..40,
        span in prop_oneof![Just(ChunkSpan::Paragraph), Just(ChunkSpan::Section)],
        rule in prop_oneof![Just(ChunkRule::default()), Just(ChunkRule::Plain)],
    ) {
        let learner = HierarchicalConceptLearner::builder(words())
            .with_chunk_sizes([chunk_size])
            .with_text_mode(TextMode::Chunks { rule })
            .with_chunk_span(span)
            .with_token_limit(TokenLimit::Cut { max_tokens })
            .build()
            .unwrap();
        let mut scratch = learner.new_scratch();
        let size = NonZeroUsize::new(chunk_size).unwrap();
        let mut cut = Vec::new();
        learner.token_runs(&text, &mut scratch, |run| {
            let chunks = chunk_lengths(run.len(), size, rule).filter(|chunk| chunk.len() >= 2);
            cut.extend(chunks.map(|chunk| run[chunk].to_vec()));
        }).unwrap();
        prop_assert_eq!(cut, planned_tokens(&learner, &text, &mut scratch));
    }

    #[test]
    fn every_name_goes_up_or_is_counted(
        text in "[a-j]( [a-j]){0,200}",
        sizes in prop::collection::vec(2_usize..5, 2..6),
        promote in any::<bool>(),
    ) {
        let tail_policy = if promote { TailPolicy::Promote } else { TailPolicy::Drop };
        let learner =
            HierarchicalConceptLearner::builder(words()).with_chunk_sizes(sizes.clone()).with_tail_policy(tail_policy).build().unwrap();
        let mut scratch = learner.new_scratch();
        let plan = learner.plan(&text.as_str().into(), &mut scratch).unwrap();
        let n_calls = |level: usize| plan.calls(level).len() as u64;
        let n_children = |level: usize| -> u64 {
            plan.calls(level)
                .map(|call| match call.symbols {
                    kato_learner::plan::PlannedSymbols::Children(children) => children.len() as u64,
                    _ => 0,
                })
                .sum()
        };
        let from_below: u64 = (0..sizes.len() - 1).map(n_calls).sum();
        let taken: u64 = (1..sizes.len()).map(n_children).sum();
        prop_assert_eq!(taken + plan.dropped().single_name_tails, from_below);
        if promote {
            prop_assert!(plan.dropped().single_name_tails <= 1, "only the top level has nowhere to promote to");
        }
    }
}

#[test]
fn promoted_names_are_symbols_two_levels_up() {
    let learner = HierarchicalConceptLearner::builder(words())
        .with_chunk_sizes([3, 2, 2])
        .with_tail_policy(TailPolicy::Promote)
        .build()
        .unwrap();
    // Three chunks: two make a pattern of level 1, the third is alone and goes up beside that
    // pattern.
    let sealed = learn(&learner, &[&"a b c d e f g h i".to_owned()]);
    let content = content(&sealed);
    assert_eq!(
        [content[0].len(), content[1].len(), content[2].len()],
        [3, 1, 1]
    );
    let names_below: Vec<String> = content[0]
        .iter()
        .map(|(name, ..)| format!("PTRN|{name}"))
        .collect();
    let top = &content[2][0].2;
    assert_eq!(top[0], format!("PTRN|{}", content[1][0].0));
    assert!(names_below.contains(&top[1]));
}

#[test]
fn sentences_and_segments_are_patterns_of_their_own() {
    let text = "The cat sat. The dog lay there. No. The end is near";
    let learner = HierarchicalConceptLearner::builder(gpt2())
        .with_chunk_sizes([5, 2])
        .with_text_mode(TextMode::sentences())
        .build()
        .unwrap();
    let mut scratch = learner.new_scratch();
    let plan = learner.plan(&text.into(), &mut scratch).unwrap();
    assert_eq!(plan.calls(0).len(), 3);
    assert_eq!(
        (
            plan.dropped().short_sentences,
            plan.dropped().short_sentence_tokens
        ),
        (1, 2)
    );

    let learner = HierarchicalConceptLearner::builder(gpt2())
        .with_chunk_sizes([5, 2])
        .with_text_mode(TextMode::Segments {
            delimiter: Delimiter::Bigram,
        })
        .build()
        .unwrap();
    let plan = learner.plan(&"one two three".into(), &mut scratch).unwrap();
    assert_eq!(plan.calls(0).len(), 2);
    assert_eq!(plan.dropped().short_run_tokens, 0);
    let plan = learner
        .plan(&"one two\n\nalone".into(), &mut scratch)
        .unwrap();
    assert_eq!(plan.calls(0).len(), 1);
    assert!(plan.dropped().short_run_tokens > 0);
}

#[test]
fn sentences_and_segments_are_runs_of_their_own() {
    let text = "The cat sat. The dog lay there. No. The end is near";
    let segments = TextMode::Segments {
        delimiter: Delimiter::Bigram,
    };
    for mode in [TextMode::sentences(), segments] {
        let learner = HierarchicalConceptLearner::builder(gpt2())
            .with_chunk_sizes([5])
            .with_text_mode(mode)
            .build()
            .unwrap();
        let mut scratch = learner.new_scratch();
        let mut runs = Vec::new();
        learner
            .token_runs(text, &mut scratch, |run| runs.push(run.to_vec()))
            .unwrap();
        assert!(runs.len() > 1, "{mode:?}");
        assert_eq!(runs, planned_tokens(&learner, text, &mut scratch));
    }
}

#[test]
fn a_whole_section_can_be_one_run() {
    let text = "tiny\n\nalso tiny\n\nand this";
    let learner = |span| {
        HierarchicalConceptLearner::builder(gpt2())
            .with_chunk_sizes([5])
            .like_kato_lm()
            .with_chunk_span(span)
            .build()
            .unwrap()
    };
    let mut scratch = learner(ChunkSpan::Paragraph).new_scratch();
    let by_paragraph = learner(ChunkSpan::Paragraph);
    assert_eq!(
        by_paragraph
            .plan(&text.into(), &mut scratch)
            .unwrap()
            .dropped()
            .short_paragraphs,
        3
    );
    let by_section = learner(ChunkSpan::Section);
    let plan = by_section.plan(&text.into(), &mut scratch).unwrap();
    let n_tokens = gpt2().encode(text).unwrap().len();
    assert_eq!(
        (plan.dropped().short_paragraphs, plan.n_tokens()),
        (0, n_tokens)
    );
}

#[test]
fn provenance_is_the_earliest_place() {
    let learner = HierarchicalConceptLearner::builder(words())
        .with_chunk_sizes([3, 2])
        .with_recording(Recording {
            provenance: true,
            metadata: true,
        })
        .build()
        .unwrap();
    let mut batch = learner.new_batch();
    let mut scratch = learner.new_scratch();
    for (document_idx, id, text) in [
        (7, "later", "a b c d e f"),
        (3, "earlier", "g h i a b c d e f"),
    ] {
        let metadata = [("title", id)];
        learner
            .learn(
                TextDocument {
                    document_idx,
                    id,
                    text,
                    metadata: &metadata,
                },
                &mut batch,
                &mut scratch,
            )
            .unwrap();
    }
    let sealed = batch.seal();
    assert_eq!(
        sealed.documents(),
        [(3, "earlier".to_owned()), (7, "later".to_owned())]
    );
    let node = sealed.node(0);
    let seen: Vec<_> = (0..node.len())
        .filter(|&rank| node.pattern(rank).frequency == 2)
        .map(|rank| node.pattern(rank).first_seen.unwrap())
        .map(|seen| (seen.document_idx, seen.token_idx))
        .collect();
    assert_eq!(seen.len(), 2);
    assert!(seen.contains(&(3, 3)) && seen.contains(&(3, 6)));
    let with_metadata = (0..node.len())
        .filter(|&rank| node.pattern(rank).attributes.is_some())
        .count();
    assert_eq!(with_metadata, 2, "the first pattern of each document");
}

#[test]
fn depths_and_sizes_are_checked() {
    let build = |sizes: &[usize]| {
        HierarchicalConceptLearner::builder(words())
            .with_chunk_sizes(sizes.iter().copied())
            .build()
    };
    assert!(build(&[2]).is_ok());
    assert!(build(&[5; 20]).is_ok());
    assert!(matches!(
        build(&[]),
        Err(LearnError::NodeCount { found: 0 })
    ));
    assert!(matches!(
        build(&[5; 21]),
        Err(LearnError::NodeCount { found: 21 })
    ));
    assert!(matches!(
        build(&[1, 5]),
        Err(LearnError::ChunkSize { chunk_size: 1, .. })
    ));
    assert!(matches!(
        build(&[5, 1]),
        Err(LearnError::ChunkSize { chunk_size: 1, .. })
    ));
    let twice = HierarchicalConceptLearner::builder(words())
        .with_node(HierarchicalNode::new("words", 5))
        .with_node(HierarchicalNode::new("words", 5))
        .build();
    assert!(matches!(twice, Err(LearnError::DuplicateName { .. })));
}

//! Generating text.

use kato_engine::{Engine, Observation, Sequence, SessionConfig};
use kato_hierarchy::generation::{Fit, GenerationEnd};
use kato_hierarchy::{GenerationOptions, Hierarchy, HierarchyError, Strategy};
use kato_learner::{HierarchicalConceptLearner, HierarchicalNode, LearnerConfig};
use kato_model::PatternName;
use kato_tokenizer::{Whitespace, gpt2};
use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use crate::support::{DOCUMENTS, learned, letters, trained};

fn greedy(hierarchy: &Hierarchy, prompt: &str) -> (String, GenerationEnd) {
    let generation = hierarchy.generate(prompt, &GenerationOptions::default());
    let generation = generation.unwrap();
    (generation.text, generation.end)
}

#[test]
fn what_was_learned_continues_verbatim_from_any_beginning_that_tells_the_document() {
    let hierarchy = letters();
    // After how many words no other document is the same.
    for (document, from) in DOCUMENTS.iter().zip([10, 10, 1]) {
        let words: Vec<&str> = document.split(' ').collect();
        for at in from..words.len() {
            let prompt = words[..at].join(" ");
            let (text, end) = greedy(&hierarchy, &prompt);
            assert_eq!(text, words[at..].join(" "), "after {prompt}");
            assert_eq!(end, GenerationEnd::Learned);
        }
        assert_eq!(
            greedy(&hierarchy, document),
            (String::new(), GenerationEnd::Learned)
        );
    }
}

#[test]
fn real_tokens_in_paragraphs_and_chunks_with_glued_ends_continue_verbatim() {
    let paragraphs = [
        "It was a bright cold day in April, and the clocks were striking thirteen.",
        "Winston Smith, his chin nuzzled into his breast in an effort to escape the vile wind, slipped quickly through.",
        "The hallway smelt of boiled cabbage and old rag mats.",
    ];
    let text = paragraphs.join("\n\n");
    let builder = HierarchicalConceptLearner::builder(gpt2()).with_chunk_sizes([5, 7, 9]);
    let hierarchy = learned(
        builder,
        &[
            &text,
            "The hallway was long and dark, and nobody was there.",
        ],
    );
    let (continuation, end) = greedy(&hierarchy, "It was a bright cold");
    // Blank lines are learned by no level.
    let expected = paragraphs.concat();
    assert_eq!(continuation, expected["It was a bright cold".len()..]);
    assert_eq!(end, GenerationEnd::Learned);
    for prompt in [
        "It was",
        "It was a bright cold day in April,",
        paragraphs[0],
    ] {
        assert_eq!(
            greedy(&hierarchy, prompt).0,
            expected[prompt.len()..],
            "{prompt}"
        );
    }
}

#[test]
fn the_levels_above_tell_chunks_apart_that_begin_alike() {
    // Fifty documents whose third chunk begins with the same two words: more than are weighed on a
    // level.
    let documents: Vec<String> = (0..50)
        .map(|n| format!("u{n} v{n} w{n} x y z{n}"))
        .collect();
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    let hierarchy = trained(&[3, 2], &documents);
    for n in 0..50 {
        let (text, _) = greedy(&hierarchy, &format!("u{n} v{n} w{n} x y"));
        assert_eq!(text, format!("z{n}"));
    }
}

#[test]
fn a_prompt_that_begins_in_the_middle_takes_on_the_alignment_of_what_it_finds() {
    let hierarchy = trained(&[3, 2], &["a b c d e f"]);
    let generation = hierarchy
        .generate("b", &GenerationOptions::default().with_bridges())
        .unwrap();
    // Level 0 answers a single symbol only from patterns that begin with it.
    assert_eq!(generation.text, "");
    let generation = hierarchy
        .generate("heard b", &GenerationOptions::default())
        .unwrap();
    assert_eq!(generation.text, "c d e f");
    let fits: Vec<Fit> = generation.spans.iter().map(|span| span.fit).collect();
    assert_eq!(fits, [Fit::Continues]);
}

#[test]
fn every_span_tells_where_it_is_from() {
    let hierarchy = letters();
    let prompt = "a b c d e f g h i j k";
    let generation = hierarchy
        .generate(prompt, &GenerationOptions::default())
        .unwrap();
    let [span] = &generation.spans[..] else {
        panic!("one span: {generation:?}")
    };
    assert_eq!((span.level, span.fit, span.n_choices), (2, Fit::Exact, 1));
    let source = span.source.as_ref().unwrap();
    assert_eq!(
        (source.document.as_deref(), source.document_idx),
        (Some("d0"), 0)
    );
    // The chunk in progress, the pair in progress, and the document's pattern.
    assert!(span.chain.iter().map(|link| link.level).eq([0, 1, 2]));
    let chunk = PatternName::of_events(&[["j"], ["k"], ["l"]]);
    assert_eq!(span.chain[0].pattern, chunk);
    assert_eq!(span.chain[2].pattern, span.prediction.name);
    assert!(span.prediction.potential > 0.0 && span.prediction.confidence > 0.0);

    // The parts are all tokens, in order; each leads to its document and to its pattern, which
    // holds them.
    let mut n_tokens = 0;
    for part in &span.parts {
        assert_eq!(part.tokens.start, n_tokens);
        n_tokens = part.tokens.end;
        let tokens = &span.tokens[part.tokens.clone()];
        assert_eq!(part.text, tokens.join(" "));
        let pattern = hierarchy.unravel(part.level, &part.pattern).unwrap();
        assert!(pattern.text.ends_with(&tokens.join(" ")), "{part:?}");
        let source = part.source.as_ref().unwrap();
        let document = DOCUMENTS[usize::try_from(source.document_idx).unwrap()];
        let words: Vec<&str> = document.split(' ').collect();
        let at = usize::try_from(source.token_idx).unwrap();
        assert!(words[at..].join(" ").starts_with(&pattern.text));
    }
    assert_eq!(n_tokens, span.tokens.len());
}

#[test]
fn a_level_can_be_fixed() {
    let hierarchy = letters();
    for level in 0..3 {
        let options = GenerationOptions::default().with_level(level);
        let generation = hierarchy.generate("a b c d e f g h i j", &options).unwrap();
        assert!(generation.spans.iter().all(|span| span.level == level));
        assert!(
            generation.text.starts_with("k l"),
            "{level}: {}",
            generation.text
        );
    }
    let error = hierarchy.generate("a", &GenerationOptions::default().with_level(3));
    assert!(matches!(
        error,
        Err(HierarchyError::UnknownLevel {
            level: 3,
            n_levels: 3
        })
    ));
}

#[test]
fn it_ends_at_the_tokens_and_texts_that_were_asked_for() {
    let hierarchy = letters();
    let prompt = "a b c d e f g h i j";
    let limited = GenerationOptions::default().with_max_tokens(4);
    let generation = hierarchy.generate(prompt, &limited).unwrap();
    assert_eq!(
        (generation.text.as_str(), generation.end),
        ("k l m n", GenerationEnd::MaxTokens)
    );
    assert_eq!(generation.spans[0].parts.last().unwrap().tokens.end, 4);

    let stopped = GenerationOptions::default()
        .with_stop("n o")
        .with_stop("zzz");
    let generation = hierarchy.generate(prompt, &stopped).unwrap();
    assert_eq!(generation.text, "k l m n o");
    assert_eq!(generation.end, GenerationEnd::StopText("n o".to_owned()));
    let parts = &generation.spans[0].parts;
    assert_eq!(parts.last().unwrap().tokens.end, 5);

    let none = GenerationOptions::default().with_max_tokens(0);
    let generation = hierarchy.generate(prompt, &none).unwrap();
    assert_eq!(
        (generation.tokens.len(), generation.end),
        (0, GenerationEnd::MaxTokens)
    );
}

#[test]
fn nothing_to_say_is_an_answer() {
    let hierarchy = letters();
    for (prompt, end) in [
        ("", GenerationEnd::NoAnswer),
        (" \n\n ", GenerationEnd::NoAnswer),
        ("never", GenerationEnd::NoAnswer),
        ("never heard of never heard of", GenerationEnd::NoAnswer),
    ] {
        assert_eq!(
            greedy(&hierarchy, prompt),
            (String::new(), end),
            "{prompt:?}"
        );
    }
}

#[test]
fn an_unknown_child_ends_the_text_and_is_named() {
    let engine = Engine::in_memory(&["node0", "node1"]);
    let learn = |node: &str, symbols: &[String]| {
        let mut session = engine.node(node).unwrap().session(SessionConfig::default());
        let events = symbols.iter().map(|symbol| Observation::strings([symbol]));
        session.observe_sequence(Sequence::new(events)).unwrap();
        session.learn().unwrap().to_string()
    };
    let chunk = learn("node0", &["x".to_owned(), "y".to_owned()]);
    let gone = PatternName::of_events(&[["gone"], ["too"]]);
    learn(
        "node1",
        &[chunk.clone(), chunk, gone.prefixed().to_string()],
    );
    let nodes = vec![
        HierarchicalNode::new("node0", 2),
        HierarchicalNode::new("node1", 3),
    ];
    let hierarchy = Hierarchy::new(
        engine,
        Whitespace::from_texts(["x y"]),
        LearnerConfig::new(nodes),
    )
    .unwrap();
    assert_eq!(
        greedy(&hierarchy, "x"),
        ("y x y".to_owned(), GenerationEnd::UnknownPattern(gone))
    );
    assert_eq!(
        greedy(&hierarchy, "x y x y"),
        (String::new(), GenerationEnd::UnknownPattern(gone))
    );
}

#[test]
fn bridges_go_on_and_circles_end() {
    let hierarchy = trained(&[3, 2], &["a b c d e f", "e f a b c d"]);
    assert_eq!(
        greedy(&hierarchy, "a b"),
        ("c d e f".to_owned(), GenerationEnd::Learned)
    );
    let options = GenerationOptions::default()
        .with_bridges()
        .with_max_tokens(1000);
    let generation = hierarchy.generate("a b", &options).unwrap();
    assert_eq!(generation.end, GenerationEnd::Repetition);
    assert!(
        generation.text.starts_with("c d e f a b c d"),
        "{}",
        generation.text
    );
    assert!(generation.spans.iter().any(|span| span.is_bridge));
    let more = hierarchy
        .generate("a b", &options.with_max_visits(3))
        .unwrap();
    assert!(more.tokens.len() > generation.tokens.len());
    assert!(more.text.starts_with(&generation.text));
}

#[test]
fn a_beam_follows_the_sequence_with_the_greatest_shares() {
    let hierarchy = letters();
    for width in [1, 3] {
        let options = GenerationOptions::default().with_strategy(Strategy::Beam { width });
        let generation = hierarchy.generate("a b c d e f g h i j", &options).unwrap();
        assert_eq!(generation.text, "k l m n o p q r s t u v w x");
        assert_eq!(generation.end, GenerationEnd::Learned);
    }
}

#[test]
fn sampling_finds_every_continuation_and_little_heat_the_best() {
    let hierarchy = trained(&[4], &["a b c d", "a b x y", "a b c d", "a b v w"]);
    let texts = |strategy: fn(u64) -> Strategy| {
        let text = |seed| {
            let options = GenerationOptions::default().with_strategy(strategy(seed));
            hierarchy.generate("a b", &options).unwrap().text
        };
        (0..60).map(text).collect::<std::collections::BTreeSet<_>>()
    };
    let all = texts(|seed| Strategy::Sample {
        temperature: 1.0,
        seed,
    });
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(texts(|seed| Strategy::TopN { n: 2, seed }).len(), 2);
    assert_eq!(texts(|seed| Strategy::TopN { n: 1, seed }).len(), 1);
}

#[test]
fn as_many_continuations_are_drawn_from_as_are_asked_for() {
    // More than are compared by default, and more than a level predicts by default.
    let documents: Vec<String> = (0..150).map(|n| format!("a b c w{n}")).collect();
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    let hierarchy = trained(&[4], &documents);
    for n in [3, 20, 140] {
        let options = GenerationOptions::default().with_strategy(Strategy::TopN { n, seed: 1 });
        let generation = hierarchy.generate("a b c", &options).unwrap();
        let spans: Vec<usize> = generation.spans.iter().map(|span| span.n_choices).collect();
        assert_eq!(spans, [n.max(10)]);
    }
}

#[test]
fn options_that_mean_nothing_are_refused_by_name() {
    let hierarchy = letters();
    let base = GenerationOptions::default;
    for (options, message) in [
        (
            base().with_strategy(Strategy::Sample {
                temperature: 0.0,
                seed: 1,
            }),
            "0 is no `temperature`: it must be a finite number above 0",
        ),
        (
            base().with_strategy(Strategy::TopN { n: 0, seed: 1 }),
            "0 is no `n`: it must be 1 to 1000",
        ),
        (
            base().with_strategy(Strategy::TopN { n: 1001, seed: 1 }),
            "1001 is no `n`: it must be 1 to 1000",
        ),
        (
            base().with_strategy(Strategy::Beam { width: 0 }),
            "0 is no `width`: it must be 1 to 1000",
        ),
        (
            base().with_candidates(0),
            "0 is no `candidates`: it must be 1 to 1000",
        ),
        (
            base().with_max_visits(0),
            "0 is no `max_visits`: it must be at least 1",
        ),
        (
            base().with_stop(""),
            "\"\" is no `stop text`: it must be not empty",
        ),
    ] {
        let error = hierarchy.generate("a", &options).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

fn strategies() -> impl proptest::strategy::Strategy<Value = Strategy> {
    prop_oneof![
        Just(Strategy::Greedy),
        (1_usize..5, any::<u64>()).prop_map(|(n, seed)| Strategy::TopN { n, seed }),
        (0.01..5.0, any::<u64>())
            .prop_map(|(temperature, seed)| Strategy::Sample { temperature, seed }),
        (1_usize..4).prop_map(|width| Strategy::Beam { width }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn equal_settings_give_equal_text_and_spans_are_the_text(
        documents in prop::collection::vec(prop::collection::vec(0_u8..6, 4..30), 1..6),
        prompt in prop::collection::vec(0_u8..6, 0..12),
        strategy in strategies(),
    ) {
        let text = |words: &Vec<u8>| words.iter().map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        let all: Vec<String> = documents.iter().map(text).chain(["w0 w1 w2 w3 w4 w5".to_owned()]).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let hierarchy = trained(&[3, 2, 2], &all);
        let options = GenerationOptions::default().with_strategy(strategy).with_bridges().with_max_tokens(40);
        let one = hierarchy.generate(&text(&prompt), &options).unwrap();
        prop_assert_eq!(&one, &hierarchy.generate(&text(&prompt), &options).unwrap());
        prop_assert!(one.tokens.len() <= 40);
        let spans: Vec<String> = one.spans.iter().flat_map(|span| span.tokens.clone()).collect();
        prop_assert_eq!(&spans, &one.tokens);
        for span in &one.spans {
            prop_assert!(!span.tokens.is_empty());
            let parts: usize = span.parts.iter().map(|part| part.tokens.len()).sum();
            prop_assert_eq!(parts, span.tokens.len());
            // Traceable: the tokens are in a document that was learned.
            let source = span.source.as_ref().unwrap();
            prop_assert!(source.document.is_some());
        }
    }
}

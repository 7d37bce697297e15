//! The head of a hierarchy: next tokens, scores, text by probabilities, and their reasons.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;

use kato_engine::{Engine, Observation, Sequence, SessionConfig};
use kato_head::{HeadError, disk};
use kato_hierarchy::head::{
    Counts, Expert, Reason, WriteEnd, WriteOptions, WriteStrategy, WrittenText,
};
use kato_hierarchy::{HeadOptions, Hierarchy, HierarchyError, TextHead};
use kato_learner::{HierarchicalConceptLearner, HierarchicalNode, LearnerConfig};
use kato_model::{Event, PatternName};
use kato_store::{EmbeddedStore, PatternStore};
use kato_tokenizer::{Tokenizer, Whitespace};

use crate::support::{DOCUMENTS, letters, trained};

fn head() -> TextHead {
    letters().head(HeadOptions::default()).unwrap()
}

fn words(writing: &WrittenText) -> Vec<&str> {
    writing
        .tokens
        .iter()
        .map(|token| token.token.as_str())
        .collect()
}

#[test]
fn the_next_token_has_a_probability() {
    let next = head().next("a b c d e", 100).unwrap();
    assert_eq!(next[0].token, "f");
    assert!(next[0].probability > 0.4, "{next:?}");
    // All tokens that there are, and they sum to 1.
    let sum: f64 = next.iter().map(|next| next.probability).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert!(next.is_sorted_by(|one, other| one.probability >= other.probability));
    assert_eq!(head().next("a b c d e", 2).unwrap(), next[..2]);
}

#[test]
fn many_texts_are_answered_like_one_after_the_other() {
    let head = head();
    let texts = || (0..50).map(|n| "a b c d e f".split_at(n % 11).0.to_owned());
    let expected: Vec<_> = texts().map(|text| head.next(&text, 3).unwrap()).collect();
    for threads in [1, 2, 5] {
        let mut answers = Vec::new();
        let threads = NonZeroUsize::new(threads).unwrap();
        let ended = head.next_many(texts(), 3, threads, |answer| match answer {
            Ok(next) => {
                answers.push(next);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        });
        assert!(ended.is_continue());
        assert_eq!(answers, expected);
    }
}

#[test]
fn ngrams_reach_across_chunks_only_with_the_levels_above() {
    // The chunks are of three words: "c d" lies in none of them, and in a pattern of node1.
    let after_c = |options: HeadOptions| letters().head(options).unwrap().next("b c", 1).unwrap();
    let ngrams = HeadOptions::default().with_experts([Expert::Ngrams]);
    let all = after_c(ngrams.clone()).remove(0);
    assert_eq!(all.token, "d");
    let one = after_c(ngrams.with_levels(1)).remove(0);
    assert!(one.probability < all.probability / 2.0, "{one:?} {all:?}");
}

#[test]
fn a_text_that_was_learned_is_less_surprising_than_its_words_in_another_order() {
    let head = head();
    let learned = head.score(DOCUMENTS[0]).unwrap();
    assert_eq!(learned.tokens.len(), 24);
    let backwards: Vec<&str> = DOCUMENTS[0].split(' ').rev().collect();
    let backwards = head.score(&backwards.join(" ")).unwrap();
    assert!(learned.perplexity() < backwards.perplexity());
    let bits: f64 = learned.tokens.iter().map(|token| token.bits).sum();
    assert_eq!(learned.bits, bits);
    for token in &learned.tokens {
        assert_eq!(token.bits, -libm::log2(token.probability));
    }
    // Scoring changes nothing.
    assert_eq!(head.score(DOCUMENTS[0]).unwrap(), learned);
    assert_eq!(head.score("").unwrap().perplexity(), None);
}

#[test]
fn trust_is_learned_from_texts() {
    let mut head = head();
    let text = "never heard of never heard of never heard of never heard of";
    let before = head.score(text).unwrap();
    assert_eq!(head.fit(text).unwrap(), 12);
    assert_eq!(head.weights().n_learned(), 12);
    // Such texts repeat themselves, so the cache is trusted more from the beginning.
    assert!(head.score(text).unwrap().bits < before.bits);
    let weights = head.weights().clone();
    let again = letters()
        .head(HeadOptions::default())
        .unwrap()
        .with_weights(weights);
    assert_eq!(again.score(text).unwrap(), head.score(text).unwrap());
}

#[test]
fn reasons_lead_to_patterns_and_places() {
    let hierarchy = letters();
    let head = hierarchy.head(HeadOptions::default()).unwrap();
    let why = head.explain("a b c d e", "f").unwrap().unwrap();
    let best = head.next("a b c d e", 1).unwrap();
    assert_eq!(why.probability, best[0].probability);
    let Reason::Ngrams { orders, .. } = &why.parts[0].reason else {
        panic!("{why:?}");
    };
    let longest = orders.last().unwrap();
    assert_eq!(
        (longest.context.join(" ").as_str(), longest.counts),
        ("b c d e", Counts::Occurrences)
    );
    // Twice in the documents, in one pattern of node1 that was learned twice.
    assert_eq!((longest.count, longest.n_patterns), (2, Some(1)));
    let pattern = &longest.patterns[0];
    assert_eq!((pattern.level, pattern.count), (1, 2));
    let text = hierarchy.unravel(1, &pattern.pattern).unwrap().text;
    assert_eq!(text, "a b c d e f");
    let json = serde_json::to_value(&why).unwrap();
    assert_eq!(json["symbol"], "f");
    assert_eq!(head.explain("a", "no such token").unwrap(), None);
}

#[test]
fn kato_is_an_expert_where_it_is_asked() {
    let options = HeadOptions::default().with_expert(Expert::Outside);
    let head = letters().head(options).unwrap();
    let why = head.explain("a b", "c").unwrap().unwrap();
    let part = why
        .parts
        .iter()
        .find(|part| part.expert == Expert::Outside)
        .unwrap();
    assert!(
        part.probability > 0.5 && part.contribution > 0.0,
        "{part:?}"
    );
    // At the beginning of a chunk nothing is predicted.
    let why = head.explain("a b c", "d").unwrap().unwrap();
    assert!(why.parts.iter().all(|part| part.expert != Expert::Outside));
}

#[test]
fn text_is_written_by_probabilities() {
    let head = head();
    // As far as one token is more probable than all others.
    let options = WriteOptions::default().with_max_tokens(5);
    let writing = head.write("a b c d", &options).unwrap();
    assert_eq!(words(&writing), ["e", "f", "g", "h", "i"]);
    assert_eq!(
        (writing.end.clone(), writing.prompt_tokens.len()),
        (WriteEnd::MaxTokens, 4)
    );
    assert!(writing.whole_text.starts_with("a b c d e f g h i"));

    // A beam of one sequence is greedy; a wide one is at least as probable.
    let with = |strategy| {
        head.write("a b c d", &options.clone().with_strategy(strategy))
            .unwrap()
    };
    assert_eq!(with(WriteStrategy::Beam { width: 1 }), writing);
    let bits = |writing: &WrittenText| -> f64 {
        writing
            .tokens
            .iter()
            .map(|token| -libm::log2(token.probability))
            .sum()
    };
    assert!(bits(&with(WriteStrategy::Beam { width: 8 })) <= bits(&writing));

    // Draws are those of their seed; the least top_p leaves the best.
    let sample = |seed, top_p| {
        with(WriteStrategy::Sample {
            temperature: 1.0,
            top_p,
            seed,
        })
    };
    assert_eq!(sample(7, 1.0), sample(7, 1.0));
    assert!((0..20).any(|seed| sample(seed, 1.0) != sample(7, 1.0)));
    assert_eq!(sample(7, 1e-9), writing);
    let cold = WriteStrategy::Sample {
        temperature: 0.01,
        top_p: 1.0,
        seed: 3,
    };
    assert_eq!(with(cold), writing);
}

#[test]
fn a_stop_text_ends_it_and_explanations_come_with_every_token() {
    let options = WriteOptions::default().with_stop("g h").with_explanations();
    let writing = head().write("a b c d", &options).unwrap();
    assert_eq!(words(&writing), ["e", "f", "g", "h"]);
    assert_eq!(writing.end, WriteEnd::StopText("g h".to_owned()));
    for token in &writing.tokens {
        let why = token.explanation.as_ref().unwrap();
        assert_eq!(
            (&why.symbol, why.probability),
            (&token.token, token.probability)
        );
    }
}

#[test]
fn settings_without_meaning_are_refused() {
    let head = head();
    let sample = |temperature, top_p| WriteStrategy::Sample {
        temperature,
        top_p,
        seed: 1,
    };
    for strategy in [
        sample(0.0, 1.0),
        sample(f64::NAN, 1.0),
        sample(1.0, 0.0),
        sample(1.0, 1.5),
        WriteStrategy::Beam { width: 0 },
    ] {
        let options = WriteOptions::default().with_strategy(strategy);
        let error = head.write("a", &options).unwrap_err();
        assert!(matches!(error, HierarchyError::Option { .. }), "{error}");
    }
    let error = head
        .write("a", &WriteOptions::default().with_stop(""))
        .unwrap_err();
    assert!(matches!(error, HierarchyError::Option { .. }), "{error}");
    let error = letters()
        .head(HeadOptions::default().with_order(0))
        .unwrap_err();
    assert!(matches!(error, HierarchyError::Head(_)), "{error}");
}

#[test]
fn a_head_learns_beside_a_session() {
    let engine = Engine::in_memory(&["node0", "node1"]);
    let settings = LearnerConfig::new(vec![
        HierarchicalNode::new("node0", 3),
        HierarchicalNode::new("node1", 2),
    ]);
    let tokenizer = Whitespace::from_texts(["a b c d e f"]);
    let hierarchy = Hierarchy::new(engine.clone(), tokenizer, settings).unwrap();
    let mut head = hierarchy.head(HeadOptions::default()).unwrap();
    let mut learn = |level: usize, symbols: Vec<String>| {
        let node = engine.nodes().nth(level).unwrap();
        let mut session = node.session(SessionConfig::default());
        session.record_lessons(true);
        let events = symbols
            .into_iter()
            .map(|symbol| Observation::strings([symbol]));
        let outcome = session
            .observe_sequence(Sequence::new(events).learn_at_end())
            .unwrap();
        assert_eq!(head.learn_from(&mut session).unwrap(), 1);
        let learned = outcome
            .final_learned
            .and_then(kato_engine::LearnOutcome::name);
        learned.unwrap().prefixed().to_string()
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let names = vec![learn(0, words("a b c")), learn(0, words("d e f"))];
    learn(1, names);
    let next = head.next("b c", 1).unwrap();
    assert_eq!(next[0].token, "d");
    // As a head of the stored hierarchy.
    let stored = trained(&[3, 2], &["a b c d e f"])
        .head(HeadOptions::default())
        .unwrap();
    let by_text = |text: &str| {
        let mut symbols = vec![stored.head().symbol(text)?];
        symbols.push(stored.head().symbol("d")?);
        Some(stored.head().count(&symbols))
    };
    assert_eq!(by_text("c"), Some(1));
    assert!(matches!(
        hierarchy.head(HeadOptions::default()),
        Err(HierarchyError::NotStored { learns: 2, .. })
    ));
}

#[test]
fn a_head_of_a_store_alone_is_that_of_the_hierarchy() {
    let hierarchy = letters();
    let store = Arc::clone(hierarchy.engine().store().unwrap());
    let words = DOCUMENTS.iter().copied().chain(["never heard of"]);
    let of_store = |options| {
        let tokenizer = Whitespace::from_texts(words.clone());
        let settings = hierarchy.settings().clone();
        TextHead::from_store(Arc::clone(&store), tokenizer, settings, options)
    };
    let mut alone = of_store(HeadOptions::default()).unwrap();
    let mut whole = hierarchy.head(HeadOptions::default()).unwrap();
    let prompt = "a b c d e";
    let same = |alone: &TextHead, whole: &TextHead| {
        assert_eq!(
            alone.next(prompt, 100).unwrap(),
            whole.next(prompt, 100).unwrap()
        );
        assert_eq!(
            alone.score(DOCUMENTS[0]).unwrap(),
            whole.score(DOCUMENTS[0]).unwrap()
        );
        let why = alone.explain(prompt, "f").unwrap().unwrap();
        assert_eq!(why, whole.explain(prompt, "f").unwrap().unwrap());
        why
    };
    let why = same(&alone, &whole);
    let Reason::Ngrams { orders, .. } = &why.parts[0].reason else {
        panic!("{why:?}")
    };
    assert!(orders.iter().any(|order| !order.patterns.is_empty()));
    // A lesson above refers to patterns that are in the store alone.
    let mut above = store.scan(1).unwrap();
    let events = above.next().unwrap().unwrap().events();
    drop(above);
    for head in [&mut alone, &mut whole] {
        head.learn(1, &events, 1000).unwrap();
    }
    same(&alone, &whole);
    let refused = of_store(HeadOptions::default().with_expert(Expert::Outside));
    assert!(matches!(
        refused,
        Err(HierarchyError::Option {
            option: "experts",
            ..
        })
    ));
}

#[test]
fn a_lesson_has_nothing_of_a_retired_pattern_that_it_refers_to() {
    let hierarchy = letters();
    let names = [[["a"], ["b"], ["c"]], [["d"], ["e"], ["f"]]];
    let names = names.map(|events| PatternName::of_events(&events));
    hierarchy.nodes()[0].retire(&names[..1]).unwrap();
    let store = Arc::clone(hierarchy.engine().store().unwrap());
    let words = DOCUMENTS.iter().copied().chain(["never heard of"]);
    let tokenizer = Whitespace::from_texts(words);
    let settings = hierarchy.settings().clone();
    let alone = TextHead::from_store(store, tokenizer, settings, HeadOptions::default()).unwrap();
    let whole = hierarchy.head(HeadOptions::default()).unwrap();
    let lesson = names.map(|name| Event::new([name.prefixed().to_string()]));
    for mut head in [alone, whole] {
        let pair = ["c", "d"].map(|word| head.head().symbol(word).unwrap());
        assert_eq!(head.head().count(&pair), 0);
        head.learn(1, &lesson, 1000).unwrap();
        assert_eq!(head.head().count(&pair), 0);
    }
}

/// The documents in a knowledge base on the disk, and a head over its counts there.
fn on_disk(dir: &std::path::Path) -> (Arc<EmbeddedStore>, TextHead) {
    let hierarchy = letters();
    let memory = hierarchy.engine().store().unwrap();
    let store = EmbeddedStore::create(dir, memory.nodes(), serde_json::json!(null)).unwrap();
    let store = Arc::new(store);
    let settings = hierarchy.settings().clone();
    let words = DOCUMENTS.iter().copied().chain(["never heard of"]);
    let tokenizer = Whitespace::from_texts(words);
    let learner = HierarchicalConceptLearner::builder(tokenizer.clone())
        .with_config(settings.clone())
        .build()
        .unwrap();
    let (mut batch, mut scratch) = (learner.new_batch(), learner.new_scratch());
    for text in DOCUMENTS {
        learner.learn(text, &mut batch, &mut scratch).unwrap();
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], serde_json::json!(null)).unwrap();
    disk::build(&store, &disk::CountsOptions::default()).unwrap();
    let tokens: Vec<String> = tokenizer
        .vocabulary()
        .iter()
        .map(|(_, token)| token.to_owned())
        .collect();
    let mut tokens = tokens.iter().map(String::as_str);
    let head = disk::open(&store, Some(&mut tokens), HeadOptions::default());
    let head = head.unwrap().unwrap();
    let opened: Arc<dyn PatternStore> = Arc::<EmbeddedStore>::clone(&store);
    let head = TextHead::from_head(head, opened, tokenizer, settings).unwrap();
    (store, head)
}

#[test]
fn counts_on_the_disk_answer_as_those_in_memory_also_when_they_are_damaged() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("kb");
    let (store, head) = on_disk(&dir);
    let expected = letters().head(HeadOptions::default()).unwrap();
    let options = WriteOptions::default().with_max_tokens(8);
    let check = |head: &TextHead| {
        let prompt = "a b c d e";
        let next = expected.next(prompt, 100).unwrap();
        assert_eq!(head.next(prompt, 100).unwrap(), next);
        let score = expected.score(DOCUMENTS[2]).unwrap();
        assert_eq!(head.score(DOCUMENTS[2]).unwrap(), score);
        let written = expected.write(prompt, &options).unwrap();
        assert_eq!(head.write(prompt, &options).unwrap(), written);
    };
    assert!(head.head().is_on_disk());
    check(&head);
    let counts = dir.join("head").join(store.content_digest().to_string());
    let path = counts.join("2.symbols");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    // From here on what was counted anew from the store.
    check(&head);
    assert!(!head.head().is_on_disk());
}

#[test]
fn lessons_are_counted_on_top_of_counts_that_are_whole() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("kb");
    let (store, mut head) = on_disk(&dir);
    let mut expected = letters().head(HeadOptions::default()).unwrap();
    let events = store.scan(0).unwrap().next().unwrap().unwrap().events();
    for head in [&mut head, &mut expected] {
        head.learn(0, &events, 50).unwrap();
    }
    let next = expected.next("a b", 100).unwrap();
    assert_eq!(head.next("a b", 100).unwrap(), next);
    // The lesson is nowhere else, so there is no going back to the store.
    let counts = dir.join("head").join(store.content_digest().to_string());
    std::fs::write(counts.join("2.symbols"), [7; 9]).unwrap();
    let lost = head.next("a b", 100).unwrap_err();
    assert!(
        matches!(lost, HierarchyError::Head(HeadError::Damaged { .. })),
        "{lost}"
    );
    // Counts that are not whole are not learned upon.
    let (_store, mut head) = on_disk(&place.path().join("other"));
    let whole = head.head().check();
    assert!(whole.is_ok());
    let counts = std::fs::read_dir(place.path().join("other/head")).unwrap();
    let counts = counts
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir());
    std::fs::write(counts.unwrap().join("3.counts"), [7; 9]).unwrap();
    assert!(head.learn(0, &events, 1).is_err());
}

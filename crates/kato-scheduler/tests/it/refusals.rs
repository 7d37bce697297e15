//! What cannot be resumed is refused before anything is changed, and the error names what differs.

use std::fs;

use kato_learner::config::{Recording, TextMode};
use kato_learner::{HierarchicalConceptLearner, LearnerBuilder, TailPolicy};
use kato_loader::StreamingDatasetLoaderBuilder;
use kato_scheduler::{TrainError, loader_at_checkpoint, train_parallel};
use kato_store::{MemoryStore, PatternStore};
use kato_tokenizer::Whitespace;
use serde_json::{Value, json};

use crate::support::{
    Corpus, LEARNER, Settings, WORDS, chain, embedded_store, exports, go_on, memory_store,
    plain_records, recording,
};

/// A corpus of which the first documents were learned.
fn half_trained(store: &dyn PatternStore) -> Corpus {
    let corpus = Corpus::new(&plain_records(30));
    let builder = corpus.strict().with_max_documents(15);
    go_on(builder, &LEARNER, store, &Settings::EAGER.options(), |_| {}).unwrap();
    corpus
}

/// All that a refusal must leave alone.
fn state(store: &dyn PatternStore) -> (Value, Vec<String>) {
    (store.checkpoint(), exports(store))
}

/// Tries to go on, with a ledger that holds what no commit counts.
fn refused(
    corpus: &Corpus,
    builder: StreamingDatasetLoaderBuilder,
    learner: &HierarchicalConceptLearner,
    store: &dyn PatternStore,
) -> String {
    let before = state(store);
    let ledger = corpus.path("skipped");
    fs::write(&ledger, "not ours").unwrap();
    let mut options = Settings::EAGER.lenient();
    options.ledger = Some(ledger.clone());
    let error = go_on(builder, learner, store, &options, |_| {}).unwrap_err();
    assert_eq!(state(store), before);
    assert_eq!(fs::read_to_string(&ledger).unwrap(), "not ours");
    chain(&error)
}

#[test]
fn other_settings_of_the_learner() {
    type Change = fn(LearnerBuilder) -> LearnerBuilder;
    let cases: [(Change, &str); 6] = [
        (
            |builder| builder.with_chunk_sizes([3, 2]),
            "chunk sizes of the levels: it was 3,2,2, now it is ",
        ),
        (
            |builder| builder.with_chunk_sizes([3, 2, 4]),
            "now it is 3,2,4",
        ),
        (
            |builder| builder.with_min_paragraph_chars(9),
            "min_paragraph_chars: it was 3, now it is 9",
        ),
        (
            |builder| builder.with_tail_policy(TailPolicy::Promote),
            "tail_policy: it was \"drop\", now it is \"promote\"",
        ),
        (
            |builder| builder.with_text_mode(TextMode::sentences()),
            "text_mode: it was {",
        ),
        (
            |builder| builder.with_recording(Recording::default()),
            "recording.provenance: it was true, now it is false",
        ),
    ];
    let dir = tempfile::tempdir().unwrap();
    let embedded = embedded_store(&dir, &LEARNER);
    for store in [&memory_store(&LEARNER) as &dyn PatternStore, &embedded] {
        let corpus = half_trained(store);
        for (change, expected) in cases {
            let same = HierarchicalConceptLearner::builder(Whitespace::from_texts(WORDS))
                .with_chunk_sizes([3, 2, 2])
                .with_min_paragraph_chars(3)
                .with_recording(recording());
            let message = refused(
                &corpus,
                corpus.strict(),
                &change(same).build().unwrap(),
                store,
            );
            assert!(message.contains(expected), "{message}");
            assert!(message.contains("trained with other settings"), "{message}");
        }
    }
}

#[test]
fn another_tokenizer() {
    let store = memory_store(&LEARNER);
    let corpus = half_trained(&store);
    let build = |builder: LearnerBuilder| {
        builder
            .with_config(LEARNER.config().clone())
            .build()
            .unwrap()
    };
    let gpt2 = build(HierarchicalConceptLearner::builder(kato_tokenizer::gpt2()));
    let message = refused(&corpus, corpus.strict(), &gpt2, &store);
    assert!(
        message.contains("tokenizer: it was \"whitespace\", now it is \"gpt2\""),
        "{message}"
    );

    let more_words = Whitespace::from_texts(WORDS.iter().chain(&["dog"]));
    let more_words = build(HierarchicalConceptLearner::builder(more_words));
    let message = refused(&corpus, corpus.strict(), &more_words, &store);
    assert!(message.contains("tokenizer"), "{message}");
}

#[test]
fn another_corpus() {
    let dir = tempfile::tempdir().unwrap();
    let embedded = embedded_store(&dir, &LEARNER);
    for store in [&memory_store(&LEARNER) as &dyn PatternStore, &embedded] {
        let corpus = half_trained(store);
        let check = |builder, expected: &str| {
            let message = refused(&corpus, builder, &LEARNER, store);
            assert!(message.contains(expected), "{message}");
            assert!(message.contains("another corpus"), "{message}");
        };
        corpus.write("three.jsonl", &plain_records(2));
        check(
            corpus.strict().with_input(corpus.path("three.jsonl")),
            "file added: `",
        );
        check(
            corpus.strict().with_text_field("body"),
            "text field: was `text`, is `body`",
        );
        check(
            corpus.strict().with_min_chars(5),
            "minimum characters: was `0`, is `5`",
        );
        let builder = kato_loader::StreamingDatasetLoader::builder;
        let (one, two) = (corpus.path("one.jsonl"), corpus.path("two.jsonl"));
        check(
            builder().with_inputs([&two, &one]).with_id_field("id"),
            "file order: `",
        );
        // The position lies in the second file, and behind the end of the third.
        check(
            builder().with_inputs([&one]).with_id_field("id"),
            "file missing: `",
        );
        check(
            builder()
                .with_inputs([&one, &corpus.path("three.jsonl")])
                .with_id_field("id"),
            "file added: `",
        );

        let text = fs::read_to_string(&two).unwrap();
        fs::write(&two, text.replacen("cat", "mat", 1)).unwrap();
        check(corpus.strict(), "content of `");
        fs::write(&two, format!("{text}\n")).unwrap();
        check(corpus.strict(), "size of `");
        fs::write(&two, "").unwrap();
        check(corpus.strict(), "size of `");

        fs::write(&two, text).unwrap();
        go_on(
            corpus.strict(),
            &LEARNER,
            store,
            &Settings::EAGER.options(),
            |_| {},
        )
        .unwrap();
    }
}

#[test]
fn a_loader_at_another_position() {
    let check = |store: &MemoryStore, corpus: &Corpus, skipped: usize, expected: u64| {
        let before = state(store);
        let mut loader = corpus.strict().build().unwrap();
        assert_eq!(loader.by_ref().take(skipped).count(), skipped);
        let options = Settings::EAGER.options();
        let error = train_parallel(&mut loader, &LEARNER, store, &options, |_| {}).unwrap_err();
        let found = skipped as u64;
        assert!(
            matches!(error, TrainError::Position { expected: e, found: f } if (e, f) == (expected, found)),
            "{error}"
        );
        assert_eq!(state(store), before);
    };
    let store = memory_store(&LEARNER);
    let corpus = half_trained(&store);
    for skipped in [0, 14, 16, 30] {
        check(&store, &corpus, skipped, 15);
    }
    // A refused run leaves a fresh store free for any corpus.
    let store = memory_store(&LEARNER);
    check(&store, &corpus, 3, 0);
    assert!(store.checkpoint().is_null());
    let other = Corpus::new(&plain_records(3));
    go_on(
        other.strict(),
        &LEARNER,
        &store,
        &Settings::EAGER.options(),
        |_| {},
    )
    .unwrap();
}

#[test]
fn tails_that_are_carried_from_document_to_document() {
    let learner = HierarchicalConceptLearner::builder(Whitespace::from_texts(WORDS))
        .with_chunk_sizes([3, 2])
        .with_tail_policy(TailPolicy::Carry)
        .build()
        .unwrap();
    let corpus = Corpus::new(&plain_records(3));
    let store = memory_store(&learner);
    let message = refused(&corpus, corpus.strict(), &learner, &store);
    assert!(message.contains("`carry` joins documents"), "{message}");
    assert!(message.contains("use `drop` or `promote`"), "{message}");
}

#[test]
fn stores_that_other_programs_made() {
    let corpus = Corpus::new(&plain_records(3));
    let nodes = LEARNER.node_names();
    let configuration = memory_store(&LEARNER).configuration().clone();
    for strange in [Value::Null, json!({"hello": 1}), json!("node0")] {
        let store = MemoryStore::new(&nodes, strange);
        let message = refused(&corpus, corpus.strict(), &LEARNER, &store);
        assert!(
            message.contains("made by another program or version"),
            "{message}"
        );
    }
    let store = MemoryStore::new(&nodes, configuration.clone());
    store.commit(Vec::new(), json!({"samples": 3})).unwrap();
    let message = refused(&corpus, corpus.strict(), &LEARNER, &store);
    assert!(
        message.contains("made by another program or version"),
        "{message}"
    );
    assert!(matches!(
        loader_at_checkpoint(corpus.strict(), &store.checkpoint()),
        Err(TrainError::Checkpoint { .. })
    ));

    for nodes in [
        vec!["node0"],
        vec!["node0", "node1", "top"],
        vec!["node0", "node1", "node2", "node3"],
    ] {
        let store = MemoryStore::new(&nodes, configuration.clone());
        let message = refused(&corpus, corpus.strict(), &LEARNER, &store);
        assert!(
            message.contains(&format!(
                "knowledge bases: they are for {}, and",
                nodes.join(", ")
            )),
            "{message}"
        );
        assert!(store.checkpoint().is_null());
    }
}

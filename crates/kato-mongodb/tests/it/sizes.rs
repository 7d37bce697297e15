//! Documents that grow over many commits: a commit that one of them cannot take is refused before
//! anything of it is written, and what documents may hold is written whatever it takes together.

use kato_model::emotives::DEFAULT_PERSISTENCE;
use kato_model::{AttributeLimits, Attributes, EmotiveMap};
use kato_mongodb::{Error, Guard, MongoRuns, MongoStore};
use kato_store::conformance::{LearnCall, Lessons};
use kato_store::{PatternStore, StoreError, StoreErrorKind};
use mongodb::bson::doc;
use serde_json::json;

use crate::raw::Raw;
use crate::support::{builder, fresh_run, server};

/// Bytes of a value of which a document holds two, and not three.
const HALF: usize = 13 << 19;

/// A text of so many bytes that does not compress to much less, another for each number.
fn noise(number: u64, bytes: usize) -> String {
    let mut state = number.wrapping_mul(2).wrapping_add(1);
    let letter = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + (state >> 58) as u8)
    };
    (0..bytes).map(letter).collect()
}

/// A store without transactions: those of this size take a server with more memory. What is looked at
/// before a commit is the same under both guards.
fn created(uri: &str) -> MongoStore {
    let builder = builder(uri, &fresh_run(), Guard::Journal);
    builder.create(&["node0"], json!(0)).unwrap()
}

fn with_value(words: &[&str], value: String) -> LearnCall {
    let mut attributes = Attributes::default();
    attributes.metadata.insert_text("title", value, None);
    LearnCall::text(0, words).with_attributes(attributes)
}

/// Commits calls, each in a batch of its own.
fn commit(store: &MongoStore, lessons: &Lessons, checkpoint: u64) -> Result<(), StoreError> {
    let staged = (0..lessons.len()).map(|idx| store.stage(lessons.batch(&[idx])).unwrap());
    store.commit(staged.collect(), json!(checkpoint))
}

/// The document that was too large; what else was wrong, if anything was.
fn overgrown(committed: Result<(), StoreError>) -> String {
    let error = committed.unwrap_err();
    let own = match &error {
        StoreError::Backend {
            kind: StoreErrorKind::TooLarge,
            source,
            ..
        } => source.downcast_ref::<Error>(),
        _ => None,
    };
    match own {
        Some(Error::Overgrown {
            document,
            bytes,
            limit,
        }) if bytes > limit => document.clone(),
        _ => format!("{error:?}"),
    }
}

#[test]
fn a_pattern_that_metadata_makes_too_large_is_named_and_nothing_of_the_commit_is_written() {
    let Some(uri) = server() else { return };
    let store = created(&uri);
    let mut calls = vec![LearnCall::text(0, &["c"])];
    for number in 0..3 {
        let grown = with_value(&["a", "b"], noise(number, HALF));
        calls.push(grown);
        let lessons = Lessons::new(1, calls.clone());
        let name = lessons.name(calls.len() - 1);
        let committed = commit(&store, &lessons, number + 1);
        calls.truncate(1);
        if number < 2 {
            committed.unwrap();
            continue;
        }
        assert_eq!(overgrown(committed), format!("pattern {name}"));
        assert_eq!(store.checkpoint(), json!(2));
        let pattern = store.pattern(0, &name).unwrap().unwrap();
        assert_eq!(pattern.frequency, 2);
        assert_eq!(pattern.metadata.values("title").count(), 2);
        assert_eq!(store.totals(0).unwrap().learns, 4);
        // It goes on without, and the pattern can be forgotten.
        let plain = Lessons::new(1, vec![LearnCall::text(0, &["a", "b"])]);
        commit(&store, &plain, 3).unwrap();
        assert_eq!(store.pattern(0, &name).unwrap().unwrap().frequency, 3);
        store.forget(&[vec![name]], json!(4)).unwrap();
        assert_eq!(store.count_patterns(0).unwrap(), 1);
    }
}

#[test]
fn a_symbol_that_emotives_make_too_large_is_named() {
    let Some(uri) = server() else { return };
    let store = created(&uri);
    let call = |number: u64| {
        let map: EmotiveMap = [(noise(number, 3 << 20), 1.0)].into();
        let mut attributes = Attributes::default();
        attributes.affinity.clone_from(&map);
        attributes
            .emotives
            .learn((number, 0), map, DEFAULT_PERSISTENCE);
        LearnCall::text(0, &["a", &number.to_string()]).with_attributes(attributes)
    };
    let first = Lessons::new(1, (0..3).map(call).collect());
    commit(&store, &first, 1).unwrap();
    let more = Lessons::new(1, (3..6).map(call).collect());
    assert_eq!(overgrown(commit(&store, &more, 2)), "symbol \"a\"");
    assert_eq!(store.count_patterns(0).unwrap(), 3);
    // All of it at once is no other case.
    store.clear(json!(3)).unwrap();
    let all = Lessons::new(1, (0..6).map(call).collect());
    assert_eq!(overgrown(commit(&store, &all, 4)), "symbol \"a\"");
    assert_eq!(store.checkpoint(), json!(3));
}

#[test]
fn bounded_values_never_make_a_pattern_too_large() {
    let Some(uri) = server() else { return };
    let limits = AttributeLimits {
        metadata_values: std::num::NonZeroUsize::new(2),
        ..AttributeLimits::default()
    };
    let store = builder(&uri, &fresh_run(), Guard::Journal)
        .with_limits(limits)
        .create(&["node0"], json!(0))
        .unwrap();
    for number in 0..3 {
        let call = with_value(&["a", "b"], noise(number, HALF));
        commit(&store, &Lessons::new(1, vec![call]), number).unwrap();
    }
}

#[test]
fn a_checkpoint_may_be_larger_than_a_document() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    let (run, copy) = (fresh_run(), fresh_run());
    let open = || builder(&uri, &run, Guard::Journal).open().unwrap();
    let n_parts = || raw.all(&format!("{run}_kato_rs"), "checkpoint").len();
    let created = builder(&uri, &run, Guard::Journal).create(&["node0"], json!(0));
    let mut store = created.unwrap();
    let lessons = Lessons::new(1, vec![LearnCall::text(0, &["a", "b"])]);
    let files = "f".repeat(20 << 20);
    let checkpoint = |number| json!({"number": number, "files": files, "é": "é"});
    for number in 1..3 {
        let staged = store.stage(lessons.batch(&[0])).unwrap();
        store.commit(vec![staged], checkpoint(number)).unwrap();
        assert_eq!(store.checkpoint(), checkpoint(number));
        drop(store);
        store = open();
        assert_eq!(store.checkpoint(), checkpoint(number));
        assert_eq!((store.totals(0).unwrap().learns, n_parts()), (number, 3));
    }
    // Also without lessons.
    store.commit(Vec::new(), checkpoint(3)).unwrap();
    let reader = builder(&uri, &run, Guard::Journal).open_read_only();
    assert_eq!(reader.unwrap().checkpoint(), checkpoint(3));
    drop(store);
    let runs = MongoRuns::connect(&uri).unwrap();
    runs.copy(&run, &copy).unwrap();
    let listed = runs.list().unwrap();
    for name in [&run, &copy] {
        let found = listed.iter().find(|listed| listed.run == *name).unwrap();
        assert_eq!(found.checkpoint, checkpoint(3));
    }

    let store = open();
    store.commit(Vec::new(), json!({"number": 4})).unwrap();
    drop(store);
    // As a commit leaves it that was cut off before the record named its parts.
    let part = doc! {"_id": "cut off/0", "text": "[]"};
    raw.insert(&format!("{run}_kato_rs"), "checkpoint", vec![part]);
    assert_eq!(open().checkpoint(), json!({"number": 4}));
    assert_eq!(n_parts(), 0);
    let kept = builder(&uri, &copy, Guard::Journal).open().unwrap();
    assert_eq!(kept.checkpoint(), checkpoint(3));
    drop(kept);

    let database = format!("{copy}_kato_rs");
    raw.command(&database, doc! {"drop": "checkpoint"}).unwrap();
    let damaged = builder(&uri, &copy, Guard::Journal).open().unwrap_err();
    assert!(damaged.to_string().contains("missing"), "{damaged}");
}

#[test]
fn a_commit_may_change_more_than_a_command_may_hold() {
    let Some(uri) = server() else { return };
    let store = created(&uri);
    let words = ["a", "b", "c", "d"];
    for number in 0..2 {
        let call = |(word, place)| with_value(&["to", word], noise(10 * number + place, HALF));
        let calls = words.into_iter().zip(1..).map(call);
        commit(&store, &Lessons::new(1, calls.collect()), number).unwrap();
    }
    let found = store.scan(0).unwrap().map(|pattern| {
        let pattern = pattern.unwrap();
        (pattern.frequency, pattern.metadata.values("title").count())
    });
    assert_eq!(found.collect::<Vec<_>>(), [(2, 2); 4]);
}

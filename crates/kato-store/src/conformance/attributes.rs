//! Tests of what is kept of a pattern beside its content and frequency.

use std::num::NonZeroUsize;

use kato_model::emotives::{DEFAULT_PERSISTENCE, EmotiveWindow};
use kato_model::{AttributeLimits, Attributes, EmotiveMap, FirstSeen, LearnBatch, Metadata};
use serde_json::Value;

use super::{Fixture, LearnCall, Lessons, commit, content, create, learned, stage};
use crate::{PatternStore, StoreError, StoredPattern};

/// Teaches the same pattern once for each lesson, each in a commit of its own, and returns what the
/// store makes of it.
fn learned_with<F: Fixture>(
    fixture: &F,
    limits: AttributeLimits,
    all: Vec<Attributes>,
) -> StoredPattern {
    let lessons = all
        .into_iter()
        .map(|attributes| LearnCall::text(0, &["a", "b"]).with_attributes(attributes))
        .collect();
    let lessons = Lessons::new(1, lessons).with_limits(limits);
    let store = fixture.create(&["node0"], Value::Null, limits);
    for idx in 0..lessons.len() {
        let staged = stage(&store, lessons.batch(&[idx]));
        commit(&store, vec![staged], Value::Null);
    }
    let store = fixture.reopen(store);
    content(&store).remove(0).patterns.remove(0)
}

/// Checks that metadata is the union of what was learned; with a limit every key keeps its smallest
/// values.
pub fn metadata_is_united_within_limits(fixture: &impl Fixture) {
    let attributes = |pairs: &[(&str, &str)]| {
        let mut metadata = Metadata::default();
        for (key, value) in pairs {
            metadata.insert_text(key, (*value).to_owned(), None);
        }
        Attributes {
            metadata,
            ..Attributes::default()
        }
    };
    let all = vec![
        attributes(&[("book", "9"), ("", "")]),
        Attributes::default(),
        attributes(&[("book", "10"), ("book", "9"), ("page", "\"")]),
        attributes(&[("book", "1"), ("book", "2"), ("book", "3")]),
    ];
    let values = |pattern: &StoredPattern, key: &str| {
        pattern
            .metadata
            .values(key)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let pattern = learned_with(fixture, AttributeLimits::default(), all.clone());
    assert_eq!(values(&pattern, "book"), ["1", "10", "2", "3", "9"]);
    assert_eq!(
        (values(&pattern, ""), values(&pattern, "page")),
        (vec![String::new()], vec!["\"".to_owned()])
    );
    assert_eq!(pattern.frequency, 4);

    let limits = AttributeLimits {
        metadata_values: NonZeroUsize::new(2),
        ..AttributeLimits::default()
    };
    let pattern = learned_with(fixture, limits, all);
    assert_eq!(values(&pattern, "book"), ["1", "10"]);
    // Also of a batch that was made without regard to the limit.
    let pattern = learned_with(
        fixture,
        limits,
        vec![attributes(&[("book", "3"), ("book", "2"), ("book", "1")])],
    );
    assert_eq!(values(&pattern, "book"), ["1", "2"]);
}

/// Returns attributes with one emotive at a position.
fn joy(position: u64, value: f64) -> Attributes {
    let mut emotives = EmotiveWindow::default();
    emotives.learn(
        (position, 0),
        EmotiveMap::from([("joy".to_owned(), value)]),
        DEFAULT_PERSISTENCE,
    );
    Attributes {
        emotives,
        ..Attributes::default()
    }
}

/// Checks that the window keeps the latest emotives by position, whatever the order of the commits,
/// to the last bit.
pub fn emotives_keep_the_latest(fixture: &impl Fixture) {
    let limits = AttributeLimits {
        persistence: NonZeroUsize::MIN.saturating_add(2),
        ..AttributeLimits::default()
    };
    let values = [0.1 + 0.2, -0.0, f64::MIN_POSITIVE, 1e300, 5.0];
    let all = [4, 0, 3, 1, 2]
        .map(|idx| joy(idx as u64, values[idx]))
        .to_vec();
    let pattern = learned_with(fixture, limits, all);
    let kept: Vec<u64> = pattern
        .emotives
        .into_maps()
        .iter()
        .map(|map| map["joy"].to_bits())
        .collect();
    assert_eq!(kept, [f64::MIN_POSITIVE, 1e300, 5.0].map(f64::to_bits));

    // Also of a batch that was made without regard to the limit, and of maps without keys.
    let mut attributes = Attributes::default();
    for position in 0..5 {
        attributes
            .emotives
            .learn((position, 0), EmotiveMap::new(), DEFAULT_PERSISTENCE);
    }
    assert_eq!(
        learned_with(fixture, limits, vec![attributes])
            .emotives
            .entries()
            .len(),
        3
    );
}

/// Returns attributes with an affinity and nothing else.
fn affinity(pairs: &[(&str, f64)]) -> Attributes {
    let pairs = pairs.iter().map(|&(key, value)| (key.to_owned(), value));
    Attributes {
        affinity: pairs.collect(),
        ..Attributes::default()
    }
}

/// Checks that sums of affinity add up key by key, whatever the window of emotives keeps, and stop
/// at the largest numbers.
pub fn affinities_add_up(fixture: &impl Fixture) {
    let limits = AttributeLimits {
        persistence: NonZeroUsize::MIN,
        ..AttributeLimits::default()
    };
    let mut first = joy(0, 0.5);
    first.affinity = affinity(&[("joy", 0.5), ("", -0.25)]).affinity;
    let all = vec![
        first,
        Attributes::default(),
        affinity(&[("joy", 0.25), ("fear", f64::MAX)]),
        affinity(&[("joy", 1e-300), ("fear", f64::MAX), ("joy\"", -1.0)]),
    ];
    let pattern = learned_with(fixture, limits, all);
    let expected = [
        ("", -0.25),
        ("fear", f64::MAX),
        ("joy", 0.75),
        ("joy\"", -1.0),
    ];
    assert_eq!(pattern.affinity, affinity(&expected).affinity);
    assert_eq!(
        (pattern.frequency, pattern.emotives.entries().len()),
        (4, 1)
    );
}

/// Checks that an emotive or affinity that JSON cannot hold is refused before anything is staged.
pub fn emotives_that_no_file_keeps_are_refused(fixture: &impl Fixture) {
    let store = create(fixture, &["node0"]);
    let no_numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let cases = no_numbers
        .iter()
        .flat_map(|&value| [joy(0, value), affinity(&[("joy", value)])]);
    for attributes in cases {
        let lessons = Lessons::new(
            1,
            vec![
                LearnCall::text(0, &["a"]),
                LearnCall::text(0, &["b"]).with_attributes(attributes.clone()),
                // Merged with finite values before the store sees it.
                LearnCall::text(0, &["b"]).with_attributes(affinity(&[("joy", 1.0)])),
            ],
        );
        match store.stage(lessons.batch(&[0, 1, 2])) {
            Err(StoreError::NotFinite { name }) => assert_eq!(name, lessons.name(1)),
            other => assert!(other.is_err(), "{attributes:?} were staged"),
        }
    }
    assert_eq!(store.count_patterns(0).expect("patterns can be counted"), 0);
}

/// Checks that of all sightings the earliest stays; patterns learned without provenance have none.
pub fn first_sightings_are_the_earliest(fixture: &impl Fixture) {
    let store = create(fixture, &["node0"]);
    let seen = |document_idx, token_idx| FirstSeen {
        document_idx,
        token_idx,
    };
    let mut lessons: Vec<LearnCall> = [seen(7, 0), seen(3, 9), seen(3, 2), seen(u64::MAX, 0)]
        .into_iter()
        .map(|seen| LearnCall {
            seen,
            ..LearnCall::text(0, &["a", "b"])
        })
        .collect();
    lessons.push(LearnCall::text(0, &["c"]));
    let plain = Lessons::new(1, lessons);
    let lessons = plain.clone().with_provenance();
    let mut earliest = Vec::new();
    for batch in [
        lessons.batch(&[0]),
        plain.batch(&[4]),
        lessons.batch(&[3, 1]),
        lessons.batch(&[2]),
    ] {
        let staged = stage(&store, batch);
        commit(&store, vec![staged], Value::Null);
        let pattern = learned(&store, 0, lessons.name(0));
        earliest.push(pattern.first_seen);
    }
    assert_eq!(
        earliest,
        [seen(7, 0), seen(7, 0), seen(3, 9), seen(3, 2)].map(Some)
    );
    let store = fixture.reopen(store);
    let without = learned(&store, 0, lessons.name(4));
    assert_eq!(without.first_seen, None);
}

/// Checks that documents are found by their number; of several ids the smallest counts.
pub fn documents_are_found_by_sample(fixture: &impl Fixture) {
    let store = create(fixture, &["node0"]);
    for documents in [
        vec![(5, "five"), (0, "")],
        vec![(u64::MAX, "last"), (5, "fünf")],
        vec![(5, "cinq"), (5, "fem")],
    ] {
        let mut batch = LearnBatch::new(1);
        for (document_idx, id) in documents {
            batch.record_document(document_idx, id);
        }
        let staged = stage(&store, batch.seal());
        commit(&store, vec![staged], Value::Null);
    }
    let store = fixture.reopen(store);
    for (document_idx, expected) in [
        (0, Some("")),
        (1, None),
        (5, Some("cinq")),
        (u64::MAX, Some("last")),
    ] {
        assert_eq!(
            store
                .document(document_idx)
                .expect("documents can be read")
                .as_deref(),
            expected
        );
    }
}

/// Checks that patterns imported with a frequency count as often as it says; counts stay at the
/// largest number.
pub fn imported_frequencies_count(fixture: &impl Fixture) {
    let extra = |extra_frequency| Attributes {
        extra_frequency,
        ..Attributes::default()
    };
    let pattern = learned_with(
        fixture,
        AttributeLimits::default(),
        vec![extra(9), Attributes::default(), extra(0), extra(1)],
    );
    assert_eq!(pattern.frequency, 14);
    assert_eq!(
        pattern,
        StoredPattern::new(pattern.name, pattern.symbols.clone(), 14),
        "nothing else is kept"
    );
    let pattern = learned_with(
        fixture,
        AttributeLimits::default(),
        vec![extra(u64::MAX - 1), extra(u64::MAX / 2)],
    );
    assert_eq!(pattern.frequency, u64::MAX);
}

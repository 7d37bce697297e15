//! Emotives and metadata: what they mean, and that merging does not depend on order and grouping.

use std::num::NonZeroUsize;

use kato_model::emotives::{
    DEFAULT_PERSISTENCE, EmotiveWindow, add_emotives, learned_mean, mean_emotives,
};
use kato_model::{AttributeLimits, Attributes, EmotiveMap, FirstSeen, Metadata, MetadataValue};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn map(pairs: &[(&str, f64)]) -> EmotiveMap {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), *value))
        .collect()
}

#[test]
fn a_repeated_key_keeps_its_place_and_takes_the_later_value_however_many_there_are() {
    for n_keys in [3, 16, 17, 50_000] {
        let entries = (0..2 * n_keys).map(|idx| format!("\"{}\":{idx}", idx % n_keys));
        let json = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
        let MetadataValue::Map(map) = serde_json::from_str(&json).unwrap() else {
            unreachable!("it is an object");
        };
        let expected = (0..n_keys).map(|idx| {
            let value = MetadataValue::Integer(i128::from(idx + n_keys));
            (idx.to_string(), value)
        });
        assert!(map.into_iter().eq(expected), "{n_keys} keys");
    }
}

#[test]
fn the_mean_counts_only_maps_that_have_the_key() {
    let maps = [
        map(&[("joy", 0.2)]),
        map(&[("joy", 0.6), ("fear", -1.0)]),
        map(&[]),
    ];
    assert_eq!(mean_emotives(&maps), map(&[("joy", 0.4), ("fear", -1.0)]));
    assert_eq!(mean_emotives([]), map(&[]));
}

#[test]
fn the_learned_mean_drops_keys_that_cancel() {
    let maps = [map(&[("joy", 0.5), ("fear", 1.0)]), map(&[("joy", -0.5)])];
    assert_eq!(mean_emotives(&maps), map(&[("joy", 0.0), ("fear", 1.0)]));
    assert_eq!(learned_mean(&maps), map(&[("fear", 1.0)]));
}

#[test]
fn sums_of_finite_emotives_stay_finite_and_others_show() {
    let (large, infinite) = (f64::MAX, f64::INFINITY);
    for (sum, more, expected) in [
        (0.5, 0.25, 0.75),
        (large, large, large),
        (-large, -large, -large),
        (large, -large, 0.0),
        (infinite, 1.0, infinite),
        (large, infinite, infinite),
        (large, f64::NEG_INFINITY, f64::NEG_INFINITY),
    ] {
        let mut sums = map(&[("joy", sum)]);
        add_emotives(&mut sums, &map(&[("joy", more)]));
        assert_eq!(sums, map(&[("joy", expected)]), "{sum} + {more}");
    }
    for (sum, more) in [(infinite, -infinite), (f64::NAN, 1.0), (1.0, f64::NAN)] {
        let mut sums = map(&[("joy", sum)]);
        add_emotives(&mut sums, &map(&[("joy", more)]));
        assert!(sums["joy"].is_nan(), "{sum} + {more}");
    }
}

#[test]
fn attributes_add_affinity_up_and_write_it_where_there_is_any() {
    let of = |pairs| Attributes {
        affinity: map(pairs),
        ..Attributes::default()
    };
    let mut attributes = of(&[("joy", 0.5)]);
    attributes.merge(
        of(&[("fear", -1.0), ("joy", 0.25)]),
        &AttributeLimits::default(),
    );
    let json = serde_json::to_string(&attributes).unwrap();
    assert_eq!(json, r#"{"a":{"fear":-1.0,"joy":0.75}}"#);
    assert_eq!(
        serde_json::from_str::<Attributes>(&json).unwrap(),
        attributes
    );
    assert_eq!(serde_json::to_string(&of(&[])).unwrap(), "{}");
}

#[test]
fn the_window_keeps_the_latest_maps() {
    let mut window = EmotiveWindow::default();
    for sample in 0..8 {
        window.learn(
            (sample, 0),
            map(&[("joy", sample as f64)]),
            DEFAULT_PERSISTENCE,
        );
    }
    assert_eq!(window.mean(), map(&[("joy", 5.0)]));
    let positions: Vec<_> = window
        .entries()
        .iter()
        .map(|entry| entry.position.0)
        .collect();
    assert_eq!(positions, [3, 4, 5, 6, 7]);
}

#[test]
fn metadata_values_are_written_as_python_writes_them() {
    for (json, expected) in [
        ("true", "True"),
        ("false", "False"),
        ("null", "None"),
        ("1", "1"),
        ("-7", "-7"),
        ("18446744073709551615", "18446744073709551615"),
        ("1.0", "1.0"),
        ("-0.0", "-0.0"),
        ("0.1", "0.1"),
        ("1e20", "1e+20"),
        ("1e16", "1e+16"),
        ("1e15", "1000000000000000.0"),
        ("9999999999999998.0", "9999999999999998.0"),
        ("123456789012345680.0", "1.2345678901234568e+17"),
        ("934566896489606.25", "934566896489606.2"),
        ("1e-7", "1e-07"),
        ("0.00001", "1e-05"),
        ("0.0001", "0.0001"),
        ("1.5e-5", "1.5e-05"),
        ("1e100", "1e+100"),
        ("5e-324", "5e-324"),
        (r#""it's\n""#, "it's\n"),
        (r#"[1, "x", null]"#, "[1, 'x', None]"),
        (r#"{"k": [true]}"#, "{'k': [True]}"),
        (
            r#"{"z": 1, "a": {"it's": "\n\u200b"}}"#,
            r#"{'z': 1, 'a': {"it's": '\n\u200b'}}"#,
        ),
        (r#"{"a": 1, "b": 2, "a": 3}"#, "{'a': 3, 'b': 2}"),
        ("[]", "[]"),
        ("{}", "{}"),
    ] {
        let value: MetadataValue = serde_json::from_str(json).unwrap();
        assert_eq!(value.to_string(), expected, "{json}");
    }
    assert_eq!(MetadataValue::Float(f64::NEG_INFINITY).to_string(), "-inf");
    assert_eq!(MetadataValue::Float(f64::NAN).to_string(), "nan");
}

#[test]
fn metadata_is_the_sorted_union_of_values() {
    let mut metadata = Metadata::default();
    for value in ["v1", "v10", "v2", "v0", "v1"] {
        metadata.insert_text("key", value.to_owned(), None);
    }
    assert!(metadata.values("key").eq(["v0", "v1", "v10", "v2"]));
    assert_eq!(metadata.values("other").count(), 0);
    assert_eq!(
        serde_json::to_string(&metadata).unwrap(),
        r#"{"key":["v0","v1","v10","v2"]}"#
    );
    metadata.insert_text("key", "v00".to_owned(), NonZeroUsize::new(2));
    assert!(metadata.values("key").eq(["v0", "v00"]));
}

fn limit() -> impl Strategy<Value = NonZeroUsize> {
    (1..5_usize).prop_map(|limit| NonZeroUsize::new(limit).expect("from one on"))
}

/// Learn calls with positions that often coincide, the hard case for a merge that must not depend
/// on order.
fn learned() -> impl Strategy<Value = Vec<((u64, u64), EmotiveMap)>> {
    vec(
        ((0..4_u64, 0..2_u64), btree_map("[ab]", -2.0..2.0, 0..3)),
        0..6,
    )
}

fn window(learned: Vec<((u64, u64), EmotiveMap)>, persistence: NonZeroUsize) -> EmotiveWindow {
    let mut window = EmotiveWindow::default();
    for (position, emotives) in learned {
        window.learn(position, emotives, persistence);
    }
    window
}

fn merged(
    mut left: EmotiveWindow,
    right: EmotiveWindow,
    persistence: NonZeroUsize,
) -> EmotiveWindow {
    left.merge(right, persistence);
    left
}

fn metadata() -> impl Strategy<Value = Metadata> {
    vec(("[ab]", "[0-9]{1,2}"), 0..10).prop_map(|values| {
        let mut metadata = Metadata::default();
        for (key, value) in values {
            metadata.insert_text(&key, value, None);
        }
        metadata
    })
}

fn union(mut left: Metadata, right: Metadata, bound: Option<NonZeroUsize>) -> Metadata {
    left.merge(right, bound);
    left
}

proptest! {
    #[test]
    fn merging_windows_is_learning_everything_in_any_order(
        learned in vec(learned(), 3),
        persistence in limit(),
    ) {
        let [a, b, c] = [0, 1, 2].map(|idx| window(learned[idx].clone(), persistence));
        let merge = |left: &EmotiveWindow, right: &EmotiveWindow| merged(left.clone(), right.clone(), persistence);
        let all = window(learned.concat(), persistence);
        prop_assert_eq!(merge(&a, &b), merge(&b, &a));
        prop_assert_eq!(&merge(&merge(&a, &b), &c), &all);
        prop_assert_eq!(&merge(&a, &merge(&b, &c)), &all);
        prop_assert!(all.entries().len() <= persistence.get());
    }

    #[test]
    fn merging_metadata_depends_on_neither_order_nor_grouping(
        a in metadata(),
        b in metadata(),
        c in metadata(),
        bound in proptest::option::of(limit()),
    ) {
        let merge = |left: &Metadata, right: &Metadata| union(left.clone(), right.clone(), bound);
        let bounded = |metadata: &Metadata| merge(metadata, metadata);
        prop_assert_eq!(bounded(&merge(&a, &b)), bounded(&merge(&b, &a)));
        prop_assert_eq!(bounded(&merge(&merge(&a, &b), &c)), bounded(&merge(&a, &merge(&b, &c))));
        if bound.is_none() {
            prop_assert_eq!(bounded(&a), a);
        }
    }
}

#[test]
fn a_place_is_read_under_its_former_name() {
    let former = r#"{"sample_idx":3,"token_idx":7}"#;
    let expected = FirstSeen {
        document_idx: 3,
        token_idx: 7,
    };
    assert_eq!(serde_json::from_str::<FirstSeen>(former).unwrap(), expected);
}

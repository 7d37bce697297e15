//! The short way and the long way of a body lead to the same place.

use axum::http::HeaderMap;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::fast_path;

/// JSON of any kind, the sort that is hard to read included.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[0-9.e+-]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// An observation, mostly of the right types.
fn observation() -> impl Strategy<Value = Value> {
    let strings = proptest::collection::vec(any::<String>(), 0..4);
    let vectors = proptest::collection::vec(proptest::collection::vec(-1e9..1e9_f64, 0..3), 0..3);
    let emotives = proptest::collection::btree_map("[a-c]", any::<i32>(), 0..3);
    let metadata = proptest::collection::btree_map("[a-c]", any_json(), 0..3);
    (strings, vectors, emotives, metadata, proptest::option::of(("[a-z_]{1,9}", any_json()))).prop_map(
        |(strings, vectors, emotives, metadata, other)| {
            let mut body = json!({"strings": strings, "vectors": vectors, "emotives": emotives, "metadata": metadata});
            if let Some((name, value)) = other {
                body[name] = value;
            }
            body
        },
    )
}

proptest! {
    #[test]
    fn our_json_reads_as_serde_json_does(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let read = crate::compat::json::parse(text.as_bytes()).unwrap().to_value();
            // Python has no minus zero among its integers, and neither way writes one.
            prop_assert_eq!(read, value.clone());
        }
    }

    #[test]
    fn bytes_that_one_refuses_the_other_refuses(mut text in any_json().prop_map(|value| value.to_string().into_bytes()), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let at = at.index(text.len());
        text[at] = byte;
        if let Ok(value) = serde_json::from_slice::<Value>(&text) {
            let read = crate::compat::json::parse(&text);
            prop_assert!(read.is_ok(), "{value}");
        }
    }

    #[test]
    fn both_ways_of_an_observation_agree(body in observation()) {
        let body = body.to_string();
        if let Some(short) = fast_path::observation(body.as_bytes()) {
            let long = super::long_observation(&HeaderMap::new(), body.as_bytes());
            prop_assert_eq!(Some(short), long.ok(), "{}", body);
        }
    }

    #[test]
    fn both_ways_of_a_sequence_agree(items in proptest::collection::vec(observation(), 0..3), ends in any::<bool>()) {
        let body = json!({"observations": items, "learn_at_end": ends}).to_string();
        if let Some(short) = fast_path::sequence(body.as_bytes()) {
            let long = super::long_sequence(&HeaderMap::new(), body.as_bytes());
            prop_assert_eq!(Some(format!("{short:?}")), long.ok().map(|long| format!("{long:?}")), "{}", body);
        }
    }
}

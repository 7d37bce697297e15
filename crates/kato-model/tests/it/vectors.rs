//! Vector symbols.

use kato_model::vector::{VectorError, smaller_vector, sum_vectors, write_numpy_text};
use kato_model::{Event, VectorName};
use proptest::prelude::*;

use crate::rows;

/// Infinities are written as strings in the golden data.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Element {
    Number(f64),
    Word(String),
}

impl From<Element> for f64 {
    fn from(element: Element) -> Self {
        match element {
            Element::Number(number) => number,
            Element::Word(word) => word.parse().expect("inf or -inf"),
        }
    }
}

#[derive(serde::Deserialize)]
struct VectorRow {
    vectors: Vec<Vec<Element>>,
    sum: Option<Vec<Element>>,
    string: String,
    name: String,
}

fn numbers(elements: Vec<Element>) -> Vec<f64> {
    elements.into_iter().map(f64::from).collect()
}

#[test]
fn names_are_those_of_the_original() {
    let rows: Vec<VectorRow> = rows(include_str!("../data/vector_names.jsonl"));
    assert_eq!(rows.len(), 115);
    for row in rows {
        let vectors: Vec<Vec<f64>> = row.vectors.into_iter().map(numbers).collect();
        let sum = sum_vectors(&vectors).unwrap();
        if let Some(expected) = row.sum.map(numbers) {
            assert_eq!(format!("{sum:?}"), format!("{expected:?}"));
        }
        let mut text = String::new();
        write_numpy_text(&sum, &mut text);
        assert_eq!(text, row.string);
        let name = VectorName::of_observation(&vectors).unwrap();
        assert_eq!(name.to_string(), row.name);
        assert_eq!(row.name.parse(), Ok(name));
    }
}

#[test]
fn exact_ties_are_rounded_to_even() {
    for (element, expected) in [
        (1.0 / 512.0, "[0.00195312]"),
        (3.0 / 512.0, "[0.00585938]"),
        (-5.0 / 512.0, "[-0.00976562]"),
        (2.0 + 1.0 / 512.0, "[2.00195312]"),
        // Here the tie is between two shortest forms.
        (67_108_864.0 + 1.0 / 512.0, "[67108864.00195312]"),
    ] {
        let mut text = String::new();
        write_numpy_text(&[element], &mut text);
        assert_eq!(text, expected);
    }
}

#[test]
fn a_vector_of_one_element_is_added_to_every_element() {
    for (vectors, expected) in [
        (
            vec![vec![1.0], vec![1.0, 2.0], vec![10.0]],
            vec![12.0, 13.0],
        ),
        (vec![vec![1.0], vec![]], vec![]),
        (vec![vec![], vec![1.0]], vec![]),
        (vec![vec![1.0], vec![2.0]], vec![3.0]),
    ] {
        assert_eq!(sum_vectors(&vectors), Ok(expected));
    }
}

#[test]
fn other_lengths_do_not_mix() {
    let error = sum_vectors(&[vec![1.0, 2.0], vec![1.0], vec![1.0, 2.0, 3.0]]).unwrap_err();
    assert_eq!(
        error,
        VectorError::LengthMismatch {
            vector_idx: 2,
            expected: 2,
            found: 3
        }
    );
    assert_eq!(
        error.to_string(),
        "add up vectors: number 2 (from 0) has 3 elements, those before have 2; \
         give all the same length, or one element to add to every other"
    );
    assert_eq!(sum_vectors::<Vec<f64>>(&[]), Err(VectorError::NoVectors));
    assert!(VectorName::of_observation(&[vec![], vec![1.0, 2.0]]).is_err());
}

#[test]
fn vector_symbols_come_first_and_are_sorted_apart() {
    let names = [1.0, 2.0, 3.0].map(|element| VectorName::of_vector(&[element]));
    let mut sorted = names;
    sorted.sort();
    let event = Event::with_vectors(names, ["b", "A", "VCTR|"]);
    let [first, second, third] = sorted.map(|name| name.to_string());
    assert_eq!(
        event.symbols(),
        [&first, &second, &third, "A", "VCTR|", "b"]
    );
}

#[test]
fn a_vector_symbol_is_read_with_its_prefix_only() {
    let name = VectorName::of_vector(&[1.0]);
    let text = name.to_string();
    assert_eq!(
        serde_json::from_str::<VectorName>(&format!("{text:?}")).unwrap(),
        name
    );
    assert_eq!(serde_json::to_string(&name).unwrap(), format!("{text:?}"));
    for refused in [&text[5..], &text.to_uppercase(), "VCTR|", ""] {
        assert!(refused.parse::<VectorName>().is_err(), "{refused}");
    }
}

#[test]
fn a_name_is_its_bytes() {
    let name = VectorName::of_vector(&[1.0]);
    assert_eq!(VectorName::from_bytes(*name.as_bytes()), name);
    assert!(
        name.to_string()
            .ends_with(&format!("{:02x}", name.as_bytes()[19]))
    );
}

fn vector() -> impl Strategy<Value = Vec<f64>> {
    let element = prop_oneof![
        Just(-0.0),
        Just(0.0),
        Just(f64::NAN),
        Just(-f64::NAN),
        prop::num::f64::ANY
    ];
    prop::collection::vec(element, 0..4)
}

proptest! {
    /// So that the smallest of many is the same in whatever order they come.
    #[test]
    fn of_two_different_vectors_one_is_smaller_and_smaller_is_transitive(a in vector(), b in vector(), c in vector()) {
        let bits = |vector: &[f64]| vector.iter().copied().map(f64::to_bits).collect::<Vec<_>>();
        let same = bits(&a) == bits(&b);
        prop_assert_eq!(u8::from(smaller_vector(&a, &b)) + u8::from(smaller_vector(&b, &a)), u8::from(!same));
        if smaller_vector(&a, &b) && smaller_vector(&b, &c) {
            prop_assert!(smaller_vector(&a, &c));
        }
    }
}

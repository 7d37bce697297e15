//! JSON values and the text that Python's `str` makes of them, which is what metadata stores.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::literal::{write_list, write_symbol_literal};
use crate::shortest;

/// A metadata value: any JSON value.
///
/// `Display` writes Python's `str`: text unchanged, `True`, `None`, `1e+20`, `[1, 'x', None]`,
/// `{'k': [True]}`.
///
/// Reading through serde keeps the order of keys. serde_json gives integers beyond 64 bits, and
/// `-0`, as floats; Python would write them as integers.
///
/// # Examples
///
/// ```
/// use kato_model::MetadataValue;
///
/// let value: MetadataValue = serde_json::from_str(r#"{"k": [true, null, 1e-7, "it's"]}"#)?;
/// assert_eq!(value.to_string(), r#"{'k': [True, None, 1e-07, "it's"]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum MetadataValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without point and exponent.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Self>),
    /// An object: its keys once each, in the order of first appearance.
    Map(Vec<(String, Self)>),
}

impl fmt::Display for MetadataValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Python's `str` of text is the text itself; inside lists and maps it is quoted.
        if let Self::Text(text) = self {
            return f.write_str(text);
        }
        let mut text = String::new();
        write_repr(self, &mut text);
        f.write_str(&text)
    }
}

/// Appends Python's `repr`.
fn write_repr(value: &MetadataValue, out: &mut String) {
    match value {
        MetadataValue::Null => out.push_str("None"),
        MetadataValue::Bool(true) => out.push_str("True"),
        MetadataValue::Bool(false) => out.push_str("False"),
        MetadataValue::Integer(integer) => out.push_str(&integer.to_string()),
        MetadataValue::Float(float) => out.push_str(&float_repr(*float)),
        MetadataValue::Text(text) => write_symbol_literal(text, out),
        MetadataValue::List(items) => write_list(['[', ']'], items, out, write_repr),
        MetadataValue::Map(entries) => write_list(['{', '}'], entries, out, |(key, value), out| {
            write_symbol_literal(key, out);
            out.push_str(": ");
            write_repr(value, out);
        }),
    }
}

/// Returns Python's `repr` of a float: the shortest digits, with an exponent below 1e-4 and from
/// 1e16 on.
fn float_repr(float: f64) -> String {
    if !float.is_finite() {
        // Rust writes `NaN` where Python writes `nan`; infinities agree.
        return float.to_string().to_lowercase();
    }
    let scientific = shortest::scientific(float);
    // A scientific form always has an exponent, so the fallbacks are never used.
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        // Python writes the sign of an exponent and at least two digits of it.
        return format!("{digits}e{exponent:+03}");
    }
    let text = shortest::positional(float);
    if text.contains('.') {
        text
    } else {
        text + ".0"
    }
}

impl<'de> Deserialize<'de> for MetadataValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// Number of entries of a map up to which its keys are searched one by one.
///
/// Beyond it a table of indices takes over, so that a large map does not cost the square of its
/// size.
const LINEAR_SEARCH_LIMIT: usize = 16;

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = MetadataValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<MetadataValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(MetadataValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<MetadataValue, A::Error> {
        let mut map: Vec<(String, MetadataValue)> = Vec::new();
        let mut key_indices = HashMap::new();
        while let Some((key, value)) = entries.next_entry::<String, _>()? {
            if map.len() == LINEAR_SEARCH_LIMIT {
                key_indices.extend(
                    map.iter()
                        .enumerate()
                        .map(|(at, (key, _))| (key.clone(), at)),
                );
            }
            let held = match map.len() < LINEAR_SEARCH_LIMIT {
                true => map.iter().position(|(held, _)| *held == key),
                false => key_indices.get(&key).copied(),
            };
            match held.and_then(|at| map.get_mut(at)) {
                // As in Python, a repeated key keeps its place and takes the later value.
                Some((_, held)) => *held = value,
                None => {
                    if map.len() >= LINEAR_SEARCH_LIMIT {
                        key_indices.insert(key.clone(), map.len());
                    }
                    map.push((key, value));
                }
            }
        }
        Ok(MetadataValue::Map(map))
    }
}

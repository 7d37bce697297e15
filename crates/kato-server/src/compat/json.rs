//! JSON as Python reads it: with the literals `NaN` and `Infinity`, integers of any size, and
//! strings with lone surrogates.
//!
//! Bodies that are plain JSON of the right types never come here: see [`bodies`](crate::bodies).

mod excerpt;
mod number;
mod parse;
mod text;

use std::io;

use kato_model::MetadataValue;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

pub(crate) use self::excerpt::{Excerpts, excerpt_of_place, excerpt_of_text};
pub(crate) use self::parse::{Malformed, parse};

/// A JSON value, in the order in which it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Integer(Integer),
    Float(f64),
    Text(Text),
    List(Vec<Self>),
    /// Each key once, in the order of first appearance, with its last value.
    Map(Vec<(Text, Self)>),
}

/// An integer of any size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Integer {
    Small(i128),
    /// Sign and digits of an integer beyond 128 bits.
    Large(String),
}

/// A string that may have held half a surrogate pair, which no UTF-8 text can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// The text, with U+FFFD in place of lone surrogates.
    pub(crate) text: String,
    pub(crate) has_lone_surrogate: bool,
}

impl Integer {
    /// Returns the nearest float.
    pub(crate) fn to_f64(&self) -> f64 {
        match self {
            Self::Small(value) => *value as f64,
            // Digits are always a number, though perhaps an infinite one.
            Self::Large(digits) => digits.parse().unwrap_or(f64::INFINITY),
        }
    }

    /// Returns the nearest integer that serde_json has: it stays on the side of every range on which it is.
    pub(crate) fn to_nearest(&self) -> Value {
        let is_negative = match self {
            Self::Small(value) => {
                let small = i64::try_from(*value).map(Value::from);
                if let Ok(number) = small.or_else(|_| u64::try_from(*value).map(Value::from)) {
                    return number;
                }
                *value < 0
            }
            Self::Large(digits) => digits.starts_with('-'),
        };
        match is_negative {
            true => Value::from(i64::MIN),
            false => Value::from(u64::MAX),
        }
    }
}

impl Json {
    /// Returns the length of the value as JSON text, in the shortest form.
    pub(crate) fn text_bytes(&self) -> usize {
        let mut counted = Counted(0);
        // Cannot fail: the writer takes everything, and all keys are texts.
        drop(serde_json::to_writer(&mut counted, self));
        counted.0
    }

    /// Converts the value to what metadata keeps. Integers beyond 128 bits become floats.
    pub(crate) fn to_metadata(&self) -> MetadataValue {
        match self {
            Self::Null => MetadataValue::Null,
            Self::Bool(value) => MetadataValue::Bool(*value),
            Self::Integer(Integer::Small(value)) => MetadataValue::Integer(*value),
            Self::Integer(large) => MetadataValue::Float(large.to_f64()),
            Self::Float(value) => MetadataValue::Float(*value),
            Self::Text(text) => MetadataValue::Text(text.text.clone()),
            Self::List(items) => MetadataValue::List(items.iter().map(Self::to_metadata).collect()),
            Self::Map(entries) => {
                let entry = |(key, value): &(Text, Self)| (key.text.clone(), value.to_metadata());
                MetadataValue::Map(entries.iter().map(entry).collect())
            }
        }
    }

    /// Converts the value for callers that take any JSON. Numbers that JSON does not have become
    /// `null`, as everywhere in answers.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Integer(Integer::Small(value)) => {
                // The two integer types of serde_json first, so that an integer stays one as far as
                // possible.
                let small = i64::try_from(*value).map(Value::from);
                small
                    .or_else(|_| u64::try_from(*value).map(Value::from))
                    .unwrap_or_else(|_| Value::from(*value as f64))
            }
            Self::Integer(large) => Value::from(large.to_f64()),
            Self::Float(value) => Value::from(*value),
            Self::Text(text) => Value::String(text.text.clone()),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Map(entries) => {
                let entry = |(key, value): &(Text, Self)| (key.text.clone(), value.to_value());
                Value::Object(entries.iter().map(entry).collect())
            }
        }
    }
}

/// Returns the value of a key.
pub(crate) fn field<'m>(map: &'m [(Text, Json)], name: &str) -> Option<&'m Json> {
    let found = map.iter().find(|(key, _)| key.text == name);
    found.map(|(_, value)| value)
}

/// A writer that only counts bytes.
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.0 += part.len();
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(Integer::Small(value)) => serializer.serialize_i128(*value),
            Self::Integer(large) => serializer.serialize_f64(large.to_f64()),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(&text.text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(&key.text, value)?;
                }
                map.end()
            }
        }
    }
}

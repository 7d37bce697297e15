//! Pattern records: one line of JSON for each pattern that leaves a knowledge base or comes back.

use std::error::Error as StdError;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, SerializeStruct as _, Serializer};
use serde::{Deserialize, Serialize};

use crate::emotives::EmotiveMap;
use crate::event::Event;
use crate::metadata::Metadata;
use crate::name::PatternName;
use crate::pattern::Pattern;

/// A pattern with everything that was learned about it.
///
/// As JSON it has the keys `name` (the bare hash), `pattern_data` (the events), `length` (number of
/// symbols), `frequency`, `emotives` (list of maps) and `metadata` (lists of values), in this
/// order. Equal records are written as equal text.
///
/// Reading checks `name` and `length` against `pattern_data` and ignores other keys. `emotives` and
/// `metadata` may be missing, and `emotives` may be `{}`, as KATO's MongoDB generation has it for
/// none.
///
/// # Examples
///
/// ```
/// use kato_model::PatternRecord;
///
/// let line = r#"{"name":"395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4","pattern_data":[["a","b"]],"length":2,"frequency":3,"emotives":[],"metadata":{"book":["1"]}}"#;
/// let record = PatternRecord::from_json(line)?;
/// assert_eq!(record.frequency, 3);
/// assert_eq!(record.to_json()?, line);
/// # Ok::<(), kato_model::RecordError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "StoredRecord")]
pub struct PatternRecord {
    /// The pattern, with its name and length.
    pub pattern: Pattern,
    /// Number of learn calls.
    pub frequency: u64,
    /// The latest emotives, oldest first. Values must be finite, as JSON has no others.
    pub emotives: Vec<EmotiveMap>,
    /// The metadata.
    pub metadata: Metadata,
}

/// An error of reading or writing a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Not JSON, or a key is missing or holds something else.
    #[error(
        "read a pattern record: give one JSON object per line, with the keys of an exported pattern"
    )]
    Malformed {
        /// The parser's error, with its place.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A value has no JSON form.
    #[error("write pattern record {name}: give emotives finite values")]
    Unwritable {
        /// The pattern.
        name: PatternName,
        /// The value that could not be written.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The name is not that of the events.
    #[error(
        "check pattern record {stated}: its events have the name {computed}; export the pattern again"
    )]
    NameMismatch {
        /// The name in the record.
        stated: PatternName,
        /// The name of the record's events.
        computed: PatternName,
    },
    /// The length is not the number of symbols.
    #[error(
        "check pattern record {name}: it states length {stated} and has {counted} symbols; export the pattern again"
    )]
    LengthMismatch {
        /// The pattern.
        name: PatternName,
        /// The length in the record.
        stated: u64,
        /// The number of symbols in the record's events.
        counted: u64,
    },
}

impl PatternRecord {
    /// Reads one line.
    ///
    /// # Errors
    ///
    /// [`RecordError::Malformed`], [`RecordError::NameMismatch`] or
    /// [`RecordError::LengthMismatch`].
    pub fn from_json(line: &str) -> Result<Self, RecordError> {
        let stored: StoredRecord =
            serde_json::from_str(line).map_err(|error| RecordError::Malformed {
                source: error.into(),
            })?;
        stored.try_into()
    }

    /// Returns the record as one line, without a line end.
    ///
    /// # Errors
    ///
    /// [`RecordError::Unwritable`] when an emotive is infinite or not a number.
    pub fn to_json(&self) -> Result<String, RecordError> {
        serde_json::to_string(self).map_err(|error| RecordError::Unwritable {
            name: self.pattern.name(),
            source: error.into(),
        })
    }
}

impl Serialize for PatternRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // serde_json would write `null` for such a number, which does not read back.
        if let Some((key, value)) = self
            .emotives
            .iter()
            .flatten()
            .find(|(_, value)| !value.is_finite())
        {
            return Err(ser::Error::custom(format_args!(
                "emotive {key:?} is {value}"
            )));
        }
        // The order of the keys is part of the form: equal records are equal text.
        let mut record = serializer.serialize_struct("PatternRecord", 6)?;
        record.serialize_field("name", &self.pattern.name())?;
        record.serialize_field("pattern_data", self.pattern.events())?;
        record.serialize_field("length", &self.pattern.length())?;
        record.serialize_field("frequency", &self.frequency)?;
        record.serialize_field("emotives", &self.emotives)?;
        record.serialize_field("metadata", &self.metadata)?;
        record.end()
    }
}

/// The record as stored, not yet checked.
#[derive(Deserialize)]
struct StoredRecord {
    name: PatternName,
    pattern_data: Vec<Event>,
    length: u64,
    frequency: u64,
    #[serde(default, deserialize_with = "emotives")]
    emotives: Vec<EmotiveMap>,
    #[serde(default)]
    metadata: Metadata,
}

impl TryFrom<StoredRecord> for PatternRecord {
    type Error = RecordError;

    fn try_from(stored: StoredRecord) -> Result<Self, RecordError> {
        // The name is computed from the events, so no record can bring content under another name.
        let pattern = Pattern::new(stored.pattern_data);
        let (name, counted) = (pattern.name(), pattern.length() as u64);
        if stored.name != name {
            return Err(RecordError::NameMismatch {
                stated: stored.name,
                computed: name,
            });
        }
        if stored.length != counted {
            return Err(RecordError::LengthMismatch {
                name,
                stated: stored.length,
                counted,
            });
        }
        let StoredRecord {
            frequency,
            emotives,
            metadata,
            ..
        } = stored;
        Ok(Self {
            pattern,
            frequency,
            emotives,
            metadata,
        })
    }
}

/// Reads a list of maps, or the `{}` of a pattern without emotives.
fn emotives<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<EmotiveMap>, D::Error> {
    struct WindowVisitor;

    impl<'de> Visitor<'de> for WindowVisitor {
        type Value = Vec<EmotiveMap>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of maps, or an empty map")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut maps: A) -> Result<Self::Value, A::Error> {
            let mut window = Vec::new();
            while let Some(map) = maps.next_element()? {
                window.push(map);
            }
            Ok(window)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            match entries.next_key::<String>()? {
                None => Ok(Vec::new()),
                Some(key) => Err(de::Error::custom(format_args!(
                    "emotives is a map with key {key:?}; expected a list of maps, or an empty map"
                ))),
            }
        }
    }

    deserializer.deserialize_any(WindowVisitor)
}

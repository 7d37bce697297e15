//! The fast path for bodies that are plain JSON of exactly the right types.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use kato_engine::node::Lesson;
use kato_engine::session::SequencedObservation;
use kato_engine::{Observation, Sequence};
use kato_model::{EmotiveMap, Event, MetadataValue};
use kato_service::answer::asking::{Question, QuestionBatch};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::questions::asked_by;

// What serde refuses (numbers as texts, NaN, a key that occurs twice) takes the slow path, which
// knows KATO's rules for it. Unknown keys are ignored on both paths.

/// Nesting up to which metadata is taken without a second look: it leaves room for the levels of
/// the files that store it.
const PLAIN_DEPTH: usize = 90;

/// Parses an observation if the body is plain.
pub(super) fn observation(body: &[u8]) -> Option<Observation> {
    let plain: RawObservation = object(body)?;
    is_plain(&plain.metadata).then(|| plain.into())
}

/// Parses a sequence if the body is plain.
pub(super) fn sequence(body: &[u8]) -> Option<Sequence> {
    let plain: RawSequence = object(body)?;
    let mut items = plain.observations.iter();
    items
        .all(|item| is_plain(&item.0.metadata))
        .then(|| plain.into())
}

/// Parses the sequences to learn if the body is plain.
pub(super) fn lessons(body: &[u8]) -> Option<Vec<Lesson>> {
    let plain: RawBatch = object(body)?;
    let mut items = plain.sequences.iter();
    if !items.all(|item| is_plain(&item.0.metadata)) {
        return None;
    }
    Some(
        plain
            .sequences
            .into_iter()
            .map(|item| item.0.into())
            .collect(),
    )
}

/// Parses the questions of a batch if the body is plain.
pub(super) fn questions(body: &[u8]) -> Option<QuestionBatch> {
    let plain: RawQuestions = object(body)?;
    let questions = plain.questions.into_iter().map(|question| {
        let question = question.0;
        Some(Question {
            ask: asked_by(&question.ask)?,
            events: question
                .events
                .into_iter()
                .map(Event::in_given_order)
                .collect(),
            top: question.top,
            symbols: question.symbols,
        })
    });
    Some(QuestionBatch {
        questions: questions.collect::<Option<_>>()?,
        above: plain.above,
    })
}

/// Deserializes a JSON object; `None` if the body is anything else.
fn object<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Option<T> {
    let object: Object<T> = serde_json::from_slice(body).ok()?;
    Some(object.0)
}

/// Returns whether the metadata holds nothing that serde_json reads otherwise than Python: long
/// integers, minus zero, deep nesting.
fn is_plain(metadata: &BTreeMap<String, MetadataValue>) -> bool {
    metadata
        .values()
        .all(|value| is_plain_value(value, PLAIN_DEPTH))
}

/// Returns whether serde_json and Python agree on a value.
fn is_plain_value(value: &MetadataValue, depth: usize) -> bool {
    match value {
        MetadataValue::Null
        | MetadataValue::Bool(_)
        | MetadataValue::Integer(_)
        | MetadataValue::Text(_) => true,
        MetadataValue::Float(float) => {
            // serde_json makes floats of integers beyond 64 bits and of `-0`, both of which are
            // integers to Python. A float of that size, or minus zero, is refused with them: here
            // the two cannot be told apart, and the slow path looks at the digits.
            float.abs() < 9e18 && !(*float == 0.0 && float.is_sign_negative())
        }
        MetadataValue::List(items) => {
            depth > 0 && items.iter().all(|item| is_plain_value(item, depth - 1))
        }
        MetadataValue::Map(entries) => {
            depth > 0
                && entries
                    .iter()
                    .all(|(_, item)| is_plain_value(item, depth - 1))
        }
    }
}

/// A struct that is read from a JSON object only; serde's derive would accept an array as well.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsMap<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for AsMap<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(AsMap(PhantomData))
    }
}

#[derive(serde::Deserialize)]
struct RawObservation {
    #[serde(default)]
    strings: Vec<String>,
    #[serde(default)]
    vectors: Vec<Vec<f64>>,
    #[serde(default)]
    emotives: EmotiveMap,
    #[serde(default)]
    metadata: BTreeMap<String, MetadataValue>,
    #[serde(default)]
    unique_id: Option<String>,
}

#[derive(serde::Deserialize)]
struct RawSequence {
    observations: Vec<Object<RawObservation>>,
    #[serde(default)]
    learn_after_each: bool,
    #[serde(default)]
    learn_at_end: bool,
    #[serde(default)]
    clear_stm_between: bool,
}

#[derive(serde::Deserialize)]
struct RawBatch {
    sequences: Vec<Object<RawLesson>>,
}

#[derive(serde::Deserialize)]
struct RawLesson {
    events: Vec<Vec<String>>,
    #[serde(default)]
    emotives: EmotiveMap,
    #[serde(default)]
    metadata: BTreeMap<String, MetadataValue>,
}

#[derive(serde::Deserialize)]
struct RawQuestions {
    questions: Vec<Object<RawQuestion>>,
    #[serde(default)]
    above: Vec<String>,
}

#[derive(serde::Deserialize)]
struct RawQuestion {
    ask: String,
    events: Vec<Vec<String>>,
    #[serde(default)]
    top: Option<usize>,
    #[serde(default)]
    symbols: Vec<String>,
}

impl From<RawObservation> for Observation {
    fn from(raw: RawObservation) -> Self {
        Self {
            strings: raw.strings,
            vectors: raw.vectors,
            emotives: raw.emotives,
            metadata: raw.metadata,
        }
    }
}

impl From<RawObservation> for SequencedObservation {
    fn from(mut raw: RawObservation) -> Self {
        Self {
            unique_id: raw.unique_id.take(),
            observation: raw.into(),
        }
    }
}

impl From<RawSequence> for Sequence {
    fn from(raw: RawSequence) -> Self {
        let items = raw.observations.into_iter().map(|item| item.0.into());
        let mut sequence = Self::from_items(items);
        sequence.learn_after_each = raw.learn_after_each;
        sequence.learn_at_end = raw.learn_at_end;
        sequence.clear_stm_between = raw.clear_stm_between;
        sequence
    }
}

impl From<RawLesson> for Lesson {
    fn from(raw: RawLesson) -> Self {
        Self::new(raw.events.into_iter().map(Event::new))
            .with_emotives(raw.emotives)
            .with_metadata(&raw.metadata)
    }
}

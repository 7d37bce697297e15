//! The state of a session between calls, as a value that can be stored.

pub(crate) mod metadata_json;
mod past;

use std::collections::BTreeMap;

use kato_model::emotives::mean_emotives;
use kato_model::{EmotiveMap, Event, Metadata, MetadataValue, VectorName};
use serde::{Deserialize, Serialize};

use self::past::Past;

/// Most events, emotive maps, metadata maps and vectors that a session keeps between calls: the
/// latest. KATO keeps as many events, emotives and metadata.
pub(crate) const MAX_RETAINED: usize = 1000;

/// The state of one session: everything but its configuration.
///
/// Serialises, so that a server can store sessions and
/// [`Node::resume`](crate::Node::resume) them anywhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    pub(crate) stm: Vec<Event>,
    /// Events that have left the short-term memory since it was cleared.
    #[serde(skip_serializing_if = "Past::is_empty")]
    pub(crate) past: Past,
    #[serde(rename = "emotives_accumulator")]
    pub(crate) emotives: Vec<EmotiveMap>,
    #[serde(rename = "metadata_accumulator")]
    pub(crate) metadata: Vec<Metadata>,
    /// Vectors of the short-term memory that no learn has stored yet.
    pub(crate) vectors: Vec<(VectorName, Vec<f64>)>,
    pub(crate) percept: Option<LastObservation>,
    pub(crate) time: u64,
}

/// The latest observation, without emotives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LastObservation {
    pub(crate) strings: Vec<String>,
    pub(crate) vectors: Vec<Vec<f64>>,
    #[serde(with = "metadata_json")]
    pub(crate) metadata: BTreeMap<String, MetadataValue>,
}

/// The last observation (KATO's `percept_data`). Serialises as KATO's JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Percept {
    /// The strings, in the order of the event.
    pub strings: Vec<String>,
    /// The vectors as they were sent.
    pub vectors: Vec<Vec<f64>>,
    /// Mean of all emotives that have gathered.
    pub emotives: EmotiveMap,
    /// Always empty.
    pub path: Vec<String>,
    /// The metadata of the observation.
    #[serde(with = "metadata_json")]
    pub metadata: BTreeMap<String, MetadataValue>,
}

impl SessionState {
    /// Returns the short-term memory, oldest event first.
    #[must_use]
    pub fn stm(&self) -> &[Event] {
        &self.stm
    }

    /// Returns what was observed since the session began or was cleared, the oldest first: the symbol
    /// of each event, `None` for an event that has not one symbol alone. Beside the short-term memory
    /// these are the latest 1,024 events that learning or its length took out of it, of 32 KiB of
    /// text at most, with `None` for a longer symbol.
    pub fn history(&self) -> impl Iterator<Item = Option<&str>> {
        self.past.iter().chain(self.stm.iter().map(only_symbol))
    }

    /// Drops the oldest events of the short-term memory, all but `n`, which are history from now on.
    pub(crate) fn retire_all_but(&mut self, n: usize) {
        let surplus = self.stm.len().saturating_sub(n);
        for event in self.stm.drain(..surplus) {
            self.past.push(only_symbol(&event));
        }
    }

    /// Returns the number of observations since the session began or was cleared.
    #[must_use]
    pub const fn time(&self) -> u64 {
        self.time
    }

    /// Returns the emotives that have gathered, oldest first.
    #[must_use]
    pub fn emotives(&self) -> &[EmotiveMap] {
        &self.emotives
    }

    /// Returns the metadata that has gathered, oldest first, one entry for each
    /// observation that had any.
    #[must_use]
    pub fn metadata(&self) -> &[Metadata] {
        &self.metadata
    }

    /// Returns the last observation; `None` before the first.
    #[must_use]
    pub fn percept(&self) -> Option<Percept> {
        let last = self.percept.as_ref()?;
        Some(Percept {
            strings: last.strings.clone(),
            vectors: last.vectors.clone(),
            emotives: mean_emotives(&self.emotives),
            path: Vec::new(),
            metadata: last.metadata.clone(),
        })
    }

    /// Estimates the bytes of memory that the state takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let events = self.stm.iter().map(|event| texts(event.symbols()));
        let emotives = self.emotives.iter().map(|emotives| {
            let names = emotives.keys().map(|name| TEXT + name.len());
            MAP + names.sum::<usize>()
        });
        let metadata = self.metadata.iter().map(|metadata| {
            let entries = metadata.iter().map(|(key, values)| {
                let values = values.iter().map(|value| TEXT + value.len());
                MAP + TEXT + key.len() + values.sum::<usize>()
            });
            MAP + entries.sum::<usize>()
        });
        let vectors = self.vectors.iter().map(|(_, elements)| floats(elements));
        let percept = self.percept.as_ref().map_or(0, |last| {
            let values = last.metadata.iter();
            let values = values.map(|(key, value)| TEXT + key.len() + value_bytes(value));
            texts(&last.strings)
                + last
                    .vectors
                    .iter()
                    .map(|vector| floats(vector))
                    .sum::<usize>()
                + values.sum::<usize>()
        });
        events
            .chain(emotives)
            .chain(metadata)
            .chain(vectors)
            .sum::<usize>()
            + percept
            + self.past.memory_bytes()
    }

    /// Cuts everything to the latest entries.
    pub(crate) fn trim(&mut self) {
        self.retire_all_but(MAX_RETAINED);
        truncate_front(&mut self.emotives, MAX_RETAINED);
        truncate_front(&mut self.metadata, MAX_RETAINED);
        truncate_front(&mut self.vectors, MAX_RETAINED);
    }
}

/// Returns the only symbol of an event; `None` if it has several, or none.
fn only_symbol(event: &Event) -> Option<&str> {
    match event.symbols() {
        [symbol] => Some(symbol),
        _ => None,
    }
}

/// Bytes that a text takes beside its characters, roughly.
const TEXT: usize = 48;

/// Bytes that a map takes beside its entries, roughly.
const MAP: usize = 256;

fn texts(texts: &[String]) -> usize {
    let texts = texts.iter().map(|text| TEXT + text.len());
    TEXT + texts.sum::<usize>()
}

const fn floats(elements: &[f64]) -> usize {
    TEXT + size_of_val(elements)
}

fn value_bytes(value: &MetadataValue) -> usize {
    let inner: usize = match value {
        MetadataValue::Null
        | MetadataValue::Bool(_)
        | MetadataValue::Integer(_)
        | MetadataValue::Float(_) => 0,
        MetadataValue::Text(text) => text.len(),
        MetadataValue::List(items) => items.iter().map(value_bytes).sum(),
        MetadataValue::Map(entries) => {
            let entries = entries.iter();
            MAP + entries
                .map(|(key, value)| TEXT + key.len() + value_bytes(value))
                .sum::<usize>()
        }
    };
    TEXT + inner
}

/// Drops all entries but the latest `n`.
pub(crate) fn truncate_front<T>(entries: &mut Vec<T>, n: usize) {
    let surplus = entries.len().saturating_sub(n);
    entries.drain(..surplus);
}

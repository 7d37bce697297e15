//! Types of observing and learning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Emotives of one moment: values by name.
pub type EmotiveValues = BTreeMap<String, f64>;

/// An observation of one moment (`POST /sessions/{id}/observe`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Observation {
    /// Symbols; the server sorts them unless told otherwise.
    pub strings: Vec<String>,
    /// Vectors; the server adds them up to one.
    pub vectors: Vec<Vec<f64>>,
    /// Emotives, of a magnitude up to 1e100.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("additionalProperties" = {"type": "number", "minimum": -1e100, "maximum": 1e100}))
    )]
    pub emotives: EmotiveValues,
    /// Metadata: any JSON.
    pub metadata: Map<String, Value>,
}

impl Observation {
    /// Creates an observation of symbols.
    pub fn strings<I>(strings: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self {
            strings: strings.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Creates an observation of one vector, of `f64` or `f32`; see
    /// [`with_vector`](Self::with_vector).
    ///
    /// ```
    /// use kato_protocol::Observation;
    ///
    /// assert_eq!(Observation::vector(&[0.5_f32, 1.0]).vectors, [[0.5, 1.0]]);
    /// ```
    #[must_use]
    pub fn vector<E: Copy + Into<f64>>(vector: &[E]) -> Self {
        Self::default().with_vector(vector)
    }

    /// Adds an emotive, in place of one of the same name.
    #[must_use]
    pub fn with_emotive(mut self, emotive: impl Into<String>, value: f64) -> Self {
        self.emotives.insert(emotive.into(), value);
        self
    }

    /// Adds metadata, in place of that of the same key.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Adds a vector, of `f64` or `f32`. Each `f32` becomes the `f64` of equal value, by which the
    /// server names it.
    #[must_use]
    pub fn with_vector<E: Copy + Into<f64>>(mut self, vector: impl AsRef<[E]>) -> Self {
        // Widening loses nothing. It matters because a vector's name is a hash of its decimal
        // digits as `f64`: rounding anywhere would make it another symbol.
        let elements = vector.as_ref().iter().map(|&element| element.into());
        self.vectors.push(elements.collect());
        self
    }
}

/// The result of an observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservationResult {
    /// `okay`.
    pub status: String,
    /// Id of the session.
    pub session_id: String,
    /// Node id of the session.
    // KATO puts the node id here, although the name says otherwise.
    pub processor_id: Option<String>,
    /// Number of events in the short-term memory, after an automatic learn.
    pub stm_length: usize,
    /// Number of observations so far.
    // Of the session in 3.10.1. In the 2025-10 generation all sessions of a node share one count.
    pub time: u64,
    /// Id that the server made for this observation.
    pub unique_id: Option<String>,
    /// Name of the pattern that was learned automatically, with its prefix `PTRN|`.
    #[serde(default)]
    pub auto_learned_pattern: Option<String>,
    /// What the search for the nearest vectors found, if the session asks for it (6.x); null where
    /// it does not, and not there before 6.x.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<VectorSearch>"))]
    pub vector_search: Option<Option<VectorSearch>>,
}

/// What the search for the vectors nearest to an observed one found (6.x).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VectorSearch {
    /// Name of the observed vector: `VCTR|` and 40 digits.
    pub query_vctr_id: String,
    /// Vectors that were asked for (`vector_search_limit`).
    pub requested_limit: u64,
    /// Whether there was a search; not with `self_only`.
    pub search_performed: bool,
    /// `euclidean`.
    pub metric: String,
    /// `lower_is_better`, `higher_is_better` or `unknown`.
    pub score_direction: String,
    /// What was found, the nearest first, and the observed vector where it is not among it.
    pub matches: Vec<VectorMatch>,
}

/// A vector that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VectorMatch {
    /// Its name.
    pub vctr_id: String,
    /// Its place, from 1.
    pub rank: u64,
    /// Its distance; null for the observed one that the search did not bring.
    pub raw_score: Option<f64>,
    /// `vector_index`, or `self_appended` for that one.
    pub source: String,
}

/// The short-term memory (`GET /sessions/{id}/stm`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stm {
    /// Events, oldest first; each a list of symbols.
    pub stm: Vec<Vec<String>>,
    /// Id of the session.
    pub session_id: String,
    /// Number of events.
    pub length: usize,
}

/// The result of a learn (`POST /sessions/{id}/learn`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnResult {
    /// `learned`.
    pub status: String,
    /// Name of the pattern with its prefix `PTRN|`; empty if there were too few symbols.
    pub pattern_name: String,
    /// Id of the session.
    pub session_id: String,
    /// Null in all known versions.
    #[serde(default)]
    pub processor_id: Option<String>,
    /// A message for people.
    // Not to be parsed: up to 5.x KATO says `from 0 events` whatever was learned.
    pub message: String,
}

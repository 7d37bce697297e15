//! Types of several observations in one request.

use serde::{Deserialize, Serialize};

use crate::Observation;

/// Observations to carry out in order (`POST /sessions/{id}/observe-sequence`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sequence {
    /// The observations.
    pub observations: Vec<SequenceItem>,
    /// Whether to learn after every observation.
    #[serde(default)]
    pub learn_after_each: bool,
    /// Whether to learn what the short-term memory holds in the end.
    #[serde(default)]
    pub learn_at_end: bool,
    /// Whether to empty the short-term memory before every observation but the first.
    #[serde(default)]
    pub clear_stm_between: bool,
}

/// One observation of a sequence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SequenceItem {
    /// The observation.
    #[serde(flatten)]
    // On the wire the fields of an observation and `unique_id` stand side by side.
    pub observation: Observation,
    /// Id that comes back with the result; the server makes one if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_id: Option<String>,
}

impl From<Observation> for SequenceItem {
    fn from(observation: Observation) -> Self {
        Self {
            observation,
            unique_id: None,
        }
    }
}

/// The result of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SequenceResult {
    /// `completed`.
    pub status: String,
    /// Node id of the session.
    pub processor_id: Option<String>,
    /// Number of observations.
    pub observations_processed: usize,
    /// Number of events in the short-term memory before the first observation.
    pub initial_stm_length: usize,
    /// Number of events in the short-term memory after the last observation or learn.
    // Taken before KATO cuts the memory to its last 1000 events, so it may be larger than what a
    // later look shows.
    pub final_stm_length: usize,
    /// One result for every observation, in order.
    pub results: Vec<SequenceItemResult>,
    /// Names of all learned patterns, in order; empty for learns that had too few symbols.
    #[serde(default)]
    // All learns of the request, whatever the name says: automatic ones, those after each
    // observation, and the one in the end.
    pub auto_learned_patterns: Vec<String>,
    /// Name of the pattern that was learned in the end.
    #[serde(default)]
    pub final_learned_pattern: Option<String>,
    /// Whether the short-term memory was emptied between observations.
    #[serde(default)]
    pub isolated: bool,
}

/// The result of one observation of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SequenceItemResult {
    /// `okay`.
    pub status: String,
    /// Position in the sequence, from 0.
    pub sequence_position: usize,
    /// Number of events in the short-term memory, after a learn.
    pub stm_length: usize,
    /// Number of observations of the session so far.
    pub time: u64,
    /// Id of the observation.
    pub unique_id: Option<String>,
    /// Name of the pattern that was learned automatically.
    #[serde(default)]
    pub auto_learned_pattern: Option<String>,
}

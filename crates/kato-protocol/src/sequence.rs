//! Observing several observations in one request.

use serde::{Deserialize, Serialize};

use crate::Observation;

/// Several observations, in order (`POST /sessions/{id}/observe-sequence`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    /// The observations.
    pub observations: Vec<SequenceItem>,
    /// Learn after every observation.
    #[serde(default)]
    pub learn_after_each: bool,
    /// Learn what the short-term memory holds in the end.
    #[serde(default)]
    pub learn_at_end: bool,
    /// Empty the short-term memory before every observation but the first.
    #[serde(default)]
    pub clear_stm_between: bool,
}

/// One observation of a sequence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SequenceItem {
    /// The observation.
    #[serde(flatten)]
    pub observation: Observation,
    /// Comes back with its result; the server makes one otherwise.
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

/// What became of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceResult {
    /// `completed`.
    pub status: String,
    /// The session's node id.
    pub processor_id: Option<String>,
    /// Number of observations.
    pub observations_processed: usize,
    /// Events in the short-term memory before.
    pub initial_stm_length: usize,
    /// Events in the short-term memory after.
    pub final_stm_length: usize,
    /// One for every observation, in order.
    pub results: Vec<SequenceItemResult>,
    /// Names of all learned patterns, in order; empty names for learns that had too few symbols.
    #[serde(default)]
    pub auto_learned_patterns: Vec<String>,
    /// Name of the pattern that was learned in the end.
    #[serde(default)]
    pub final_learned_pattern: Option<String>,
    /// Was the short-term memory emptied between observations?
    #[serde(default)]
    pub isolated: bool,
}

/// What became of one observation of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceItemResult {
    /// `okay`.
    pub status: String,
    /// Position in the sequence, from 0.
    pub sequence_position: usize,
    /// Events in the short-term memory, after a learn.
    pub stm_length: usize,
    /// Observations of the session so far.
    pub time: u64,
    /// The observation's id.
    pub unique_id: Option<String>,
    /// Name of the pattern that was learned automatically.
    #[serde(default)]
    pub auto_learned_pattern: Option<String>,
}

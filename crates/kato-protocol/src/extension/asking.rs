//! Many questions in one request, and their answers, one a line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{NextAsked, NextSymbol};

/// Questions to the node of a session (`POST /sessions/{id}/ask-batch`).
///
/// Each is asked as in a fresh session with the settings of this one; its short-term memory is
/// neither used nor changed. The answers are [`BatchAnswer`]s, one a line, in the order of the
/// questions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskBatchRequest {
    /// The questions.
    pub questions: Vec<BatchQuestion>,
    /// Ids of the nodes above the session's, from the bottom up, each once; 15 at most. Their
    /// patterns count in what comes next and in scores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 15), extend("uniqueItems" = true))
    )]
    pub above: Vec<String>,
}

/// One question of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchQuestion {
    /// What is asked.
    pub ask: Asked,
    /// What was observed, oldest first: events, each a list of symbols. Empty ones are passed over.
    pub events: Vec<Vec<String>>,
    /// Number of predictions or symbols that are listed; 1,000 at most. Default: all predictions,
    /// and 10 symbols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub top: Option<usize>,
    /// Symbols whose probability is asked for, listed or not; 100 at most. For `next` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 100)))]
    pub symbols: Vec<String>,
}

/// What a question of a batch asks about its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Which patterns they resemble: KATO's predictions.
    Predictions,
    /// Which symbol comes next, with which probability.
    Next,
    /// How probable each of them was after those before it.
    Score,
}

impl BatchQuestion {
    /// Creates a question about events, with defaults for the rest.
    #[must_use]
    pub fn new(ask: Asked, events: Vec<Vec<String>>) -> Self {
        Self {
            ask,
            events,
            top: None,
            symbols: Vec::new(),
        }
    }
}

/// The answer to a question of a batch: an object with one key, which says what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BatchAnswer"))]
#[serde(rename_all = "snake_case")]
pub enum BatchAnswer<P = Value, F = Value> {
    /// What the events resemble.
    Predictions(BatchPredictions<P, F>),
    /// What comes next.
    Next(BatchNext),
    /// How probable the events were.
    Score(BatchScore),
    /// There is no answer to this question. Others may have theirs.
    Error(BatchError),
}

/// What the events of a question resemble.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BatchPredictions"))]
pub struct BatchPredictions<P = Value, F = Value> {
    /// The predictions, the best first.
    pub predictions: Vec<P>,
    /// What would come next, with the share of the weight that each has.
    pub future_potentials: Vec<F>,
}

/// What comes next after the events of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchNext {
    /// Number of events that were read.
    pub history: usize,
    /// Number of things that can come next: the known symbols, and one for all others.
    pub outcomes: usize,
    /// The most probable symbols, the most probable first.
    pub next: Vec<NextSymbol>,
    /// Probability that an unknown symbol comes: one that no pattern of the lowest level that counts holds alone in
    /// an event.
    pub other: f64,
    /// The symbols that were asked for by name.
    pub asked: Vec<NextAsked>,
}

/// How probable the events of a question were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchScore {
    /// The probability of each event after those before it; `null` for one of several symbols. That
    /// of an unknown symbol is that of all such symbols together.
    pub probabilities: Vec<Option<f64>>,
    /// Sum of −log₂ of the probabilities.
    pub bits: f64,
    /// Number of events of one symbol that is unknown.
    pub unknown: usize,
}

/// Why a question of a batch has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchError {
    /// Status of the failure, such as 507.
    pub status: u16,
    /// Why, or what to do.
    pub detail: String,
}

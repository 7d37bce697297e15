//! What an evaluation tells while it goes on.

use std::time::Duration;

use serde::Serialize;

/// What an evaluation is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// Training the baseline on the training documents; counted in bytes of the corpus.
    Baseline,
    /// Looking up what the held-out documents hold; counted in bytes of their corpus.
    Coverage,
    /// Predicting; counted in questions.
    Predictions,
}

/// How far an evaluation is; sent several times a second.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// How much of that is done.
    pub done: u64,
    /// How much there is, if known.
    pub total: Option<u64>,
    /// Time since this phase began.
    pub elapsed: Duration,
}

impl Progress {
    /// A progress, for tests of what shows it.
    #[must_use]
    pub fn new(phase: Phase, done: u64, total: Option<u64>, elapsed: Duration) -> Self {
        Self {
            phase,
            done,
            total,
            elapsed,
        }
    }
}

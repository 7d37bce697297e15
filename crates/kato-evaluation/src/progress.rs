//! The progress of an evaluation, as the caller sees it.

use std::time::Duration;

use serde::Serialize;

/// The step that an evaluation is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EvaluationPhase {
    /// Training the baseline on the training documents; counted in bytes of the corpus.
    Baseline,
    /// Looking up what the held-out documents hold; counted in bytes of their corpus.
    Coverage,
    /// Predicting; counted in questions.
    Predictions,
}

/// The progress of an evaluation; reported ten times a second at most.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvaluationProgress {
    /// The current step.
    pub phase: EvaluationPhase,
    /// The part of it that is done.
    pub done: u64,
    /// The size of it, if known.
    pub total: Option<u64>,
    /// Time since this phase began.
    pub elapsed: Duration,
}

impl EvaluationProgress {
    /// Creates a progress, for tests of code that displays it.
    #[must_use]
    pub fn new(phase: EvaluationPhase, done: u64, total: Option<u64>, elapsed: Duration) -> Self {
        Self {
            phase,
            done,
            total,
            elapsed,
        }
    }
}

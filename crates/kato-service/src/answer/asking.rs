//! Many questions in one request.

use kato_model::Event;
use kato_prediction::Predictions;

use super::NextOutcome;

/// Questions to the node of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionBatch {
    /// The questions.
    pub questions: Vec<Question>,
    /// Ids of the nodes above the session's, from the bottom up; 15 at most. Their patterns count
    /// in what comes next and in scores.
    pub above: Vec<String>,
}

/// One question of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub ask: QuestionKind,
    /// What was observed, oldest event first. Empty events are passed over.
    pub events: Vec<Event>,
    /// Predictions, or symbols that may come next, that are listed. `None`: all, and 10.
    pub top: Option<usize>,
    /// Symbols whose probability is asked for; 100 at most.
    pub symbols: Vec<String>,
}

/// What a question of a batch asks about its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    /// Which patterns they resemble.
    Predictions,
    /// Which symbol comes next.
    Next,
    /// How probable each of them was.
    Score,
}

impl QuestionKind {
    /// Returns whether it is the head that answers.
    #[must_use]
    pub const fn is_of_head(self) -> bool {
        matches!(self, Self::Next | Self::Score)
    }
}

/// The answer to a question of a batch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum QuestionAnswer {
    /// What the events resemble.
    Predictions(Predictions),
    /// What comes next, without levels and explanations.
    Next(NextOutcome),
    /// How probable the events were.
    Score(ScoreAnswer),
}

/// How probable events were, each after those before it.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ScoreAnswer {
    /// By event; `None` for one of several symbols. That of an unknown symbol is that of all such
    /// symbols together.
    pub probabilities: Vec<Option<f64>>,
    /// Sum of −log₂ of the probabilities.
    pub bits: f64,
    /// Events of one symbol that is unknown.
    pub unknown: usize,
}

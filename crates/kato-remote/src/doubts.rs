//! Counts of what came of requests without an answer, and what a server has torn in two.

use kato_model::PatternName;
use serde::Serialize;

/// Counts of what came of requests to a stock server that had no answer, in one session of a run,
/// those that a process before this one left behind included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Doubts {
    /// Requests without an answer.
    pub requests: u64,
    /// Learn calls in them.
    pub calls: u64,
    /// Learn calls that had arrived, and were not sent again.
    pub arrived: u64,
    /// Learn calls that had not arrived, and were sent.
    pub missing: u64,
    /// Times that the server was watched until it was quiet.
    pub watched: u64,
    /// Times that it was seen still at work then.
    pub moved: u64,
    /// Patterns whose counts were compared in the end.
    pub compared: u64,
    /// Times that a node was compared with what it was taught before the end: when the run was
    /// resumed, when a session was lost, and on the way.
    pub checks: u64,
    /// Learn calls that the server has torn in two, in the run so far.
    pub torn: u64,
}

/// What becomes of a run when a server dies in the middle of a learn call, and holds a part of it
/// only, which no request mends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TornLearns {
    /// The run ends with an error that names them.
    #[default]
    End,
    /// The run goes on without them, and its report lists them.
    Keep,
}

/// A learn call of which a server holds a part only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TornLearn {
    /// The node id.
    pub node: String,
    /// The pattern.
    pub pattern: PatternName,
}

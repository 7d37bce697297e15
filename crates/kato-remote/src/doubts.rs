//! Counts of what came of requests without an answer.

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
}

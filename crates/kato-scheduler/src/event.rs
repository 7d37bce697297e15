//! What a run tells while it goes on.

use std::time::Duration;

use serde::Serialize;

/// Something that happened in a run. A reporter turns events into a bar, lines or nothing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum TrainingEvent {
    /// How far the run is; sent regularly.
    Progress(Progress),
    /// Everything up to this many documents is safe.
    Committed {
        /// Documents of the corpus that are safe.
        documents: u64,
    },
    /// A stop was asked for; the run commits and ends.
    Stopping,
    /// All documents are learned; distinct patterns are being counted for the report.
    Counting,
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// Documents learned, over all sessions of the run.
    pub samples: u64,
    /// Documents learned in this session.
    pub session_samples: u64,
    /// Tokens learned in this session.
    pub session_tokens: u64,
    /// Documents and records that could not be learned, over all sessions.
    pub errors: u64,
    /// Rows and lines of the corpus come to, over all sessions, whatever became of them.
    pub records: u64,
    /// Bytes of the corpus read, over all sessions, as they lie on the disk.
    pub bytes_read: u64,
    /// Bytes of the corpus, if known.
    pub total_bytes: Option<u64>,
    /// Learn calls by level, over all sessions.
    pub observations: Vec<u64>,
    /// Time since this session began.
    pub elapsed: Duration,
}

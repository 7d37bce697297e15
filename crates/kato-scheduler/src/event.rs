//! The events that a run reports while it goes on.

use std::time::Duration;

use serde::Serialize;

use crate::activity::ActivityFrame;

/// An event of a run. A reporter turns events into a bar, lines or nothing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum TrainingEvent {
    /// The progress of the run; sent regularly.
    Progress(Progress),
    /// Everything up to this many documents is safe.
    Committed {
        /// Documents of the corpus that are safe.
        documents: u64,
    },
    /// A worker panicked; another takes its place and its documents, without one that has failed for good.
    WorkerDied {
        /// Number of the worker, from 0.
        worker: usize,
        /// The document that it was learning, if any.
        document: Option<String>,
        /// The text of the panic.
        message: String,
    },
    /// A worker has made no progress for [`stall_timeout`](crate::TrainingOptions::stall_timeout).
    Stalled(Stall),
    /// The process has more memory than [`memory_ceiling`](crate::TrainingOptions::memory_ceiling);
    /// the run goes on slowly.
    Slowed {
        /// Memory of the process, in bytes.
        resident: u64,
        /// The ceiling, in bytes.
        ceiling: u64,
    },
    /// Something that the user should know, such as that the nodes are slow.
    Notice {
        /// The text: what it is, and what can be done.
        text: String,
    },
    /// A stop was asked for; the run commits and ends.
    Stopping,
    /// The last commit is done; distinct patterns are being counted for the report.
    Counting,
}

/// The progress of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// Documents learned, over all sessions of the run.
    pub documents: u64,
    /// Documents learned in this session.
    pub session_documents: u64,
    /// Tokens learned in this session.
    pub session_tokens: u64,
    /// Documents and records that could not be learned, over all sessions.
    pub errors: u64,
    /// Rows and lines of the corpus that were reached, over all sessions, whatever became of them.
    pub records: u64,
    /// Bytes of the corpus read, over all sessions, as they lie on the disk.
    pub bytes_read: u64,
    /// Bytes of the corpus, if known.
    pub total_bytes: Option<u64>,
    /// Learn calls by level, over all sessions.
    pub learns: Vec<u64>,
    /// Workers that are given work.
    pub workers: usize,
    /// What a worker waits for, when it has reported nothing for some seconds.
    pub waiting: Option<String>,
    /// Time since this session began.
    pub elapsed: Duration,
}

/// A stall: a worker without progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stall {
    /// Number of the worker, from 0.
    pub worker: usize,
    /// Time since its last report.
    pub silence: Duration,
    /// The activities under way, outermost first: the last entry is what it waits for.
    pub stack: Vec<ActivityFrame>,
}

impl std::fmt::Display for Stall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            worker, silence, ..
        } = self;
        write!(
            f,
            "worker {worker} without progress for {} s",
            silence.as_secs()
        )?;
        for (depth, frame) in self.stack.iter().enumerate() {
            let link = if depth == 0 { ": " } else { " > " };
            write!(f, "{link}{} ({} s)", frame.what, frame.elapsed.as_secs())?;
        }
        Ok(())
    }
}

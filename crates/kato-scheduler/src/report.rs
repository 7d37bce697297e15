//! What a run reports at its end.

use kato_learner::Dropped;
use serde::Serialize;

/// The result of a run. Counts are over all sessions of the run, times and rates are this session's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrainingReport {
    /// Documents learned.
    pub samples_processed: u64,
    /// Documents and bad records met.
    pub samples_attempted: u64,
    /// Documents that could not be learned and records that could not be read.
    pub errors: u64,
    /// Tokens that are part of a pattern.
    pub tokens: u64,
    /// Wall-clock seconds of this session, from the first document to the last durable commit.
    pub total_time_seconds: f64,
    /// Documents per second of this session.
    pub rate_samples_per_sec: f64,
    /// Tokens per second of this session.
    pub tokens_per_sec: f64,
    /// Threads that learned.
    pub num_workers: usize,
    /// The levels, from the bottom up.
    pub levels: Vec<LevelReport>,
    /// What the rules left out, by rule.
    pub dropped: Dropped,
    /// Records without text, which are no documents.
    pub blank_records: u64,
    /// Records shorter than the loader's minimum.
    pub short_records: u64,
    /// Documents learned in this session.
    pub session_samples: u64,
    /// Documents passed over because a split holds them out.
    pub held_out_samples: u64,
    /// Whether the corpus was read to its end; otherwise, also after a limit on documents, the run can be resumed.
    pub complete: bool,
    /// Bytes of the store on the disk, if it has a disk of its own.
    pub disk_bytes: Option<u64>,
    /// Where the threads of this session spent their time.
    pub stage_seconds: StageSeconds,
}

/// One level of a [`TrainingReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LevelReport {
    /// Name of the node.
    pub node: String,
    /// Its chunk size.
    pub chunk_size: usize,
    /// Learn calls.
    pub observations: u64,
    /// Distinct patterns; `None` where that cannot be known.
    pub unique_patterns: Option<u64>,
}

/// Thread seconds of a session by stage, each over all threads of the stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StageSeconds {
    /// Reading and parsing documents.
    pub load: f64,
    /// The reader waiting for a worker.
    pub load_blocked: f64,
    /// Tokenizing, naming and counting.
    pub learn: f64,
    /// Sorting batches and writing them.
    pub stage: f64,
    /// Workers waiting for documents.
    pub starved: f64,
    /// Making commits durable; runs beside the workers.
    pub commit: f64,
    /// Counting distinct patterns for the report, after the last commit.
    pub count_patterns: f64,
}

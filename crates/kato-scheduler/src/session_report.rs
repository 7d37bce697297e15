//! The report of a session, made of its counts, its clocks and its last checkpoint.

use std::time::Duration;

use crate::dispatcher::SessionCounts;
use crate::report::{LevelReport, SessionEnd, StageSeconds, TrainingReport};
use crate::session::Session;
use crate::{Backend, Checkpoint, TrainError, WorkDistribution};

/// Collects the levels of the report, counting distinct patterns where there is time for it and that
/// is known.
pub(crate) fn levels(
    nodes: &[(&str, usize)],
    backend: &impl Backend,
    counts_patterns: bool,
) -> Result<Vec<LevelReport>, TrainError> {
    let level = |(node_idx, (node, chunk_size)): (usize, &(&str, usize))| {
        Ok(LevelReport {
            node: (*node).to_owned(),
            chunk_size: *chunk_size,
            learns: backend.learns(node_idx)?,
            unique_patterns: match counts_patterns {
                true => backend.count_patterns(node_idx)?,
                false => None,
            },
        })
    };
    nodes.iter().enumerate().map(level).collect()
}

/// The outcome of a session, from which its report is made.
pub(crate) struct Outcome {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) levels: Vec<LevelReport>,
    pub(crate) seconds: f64,
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) session_counts: SessionCounts,
    pub(crate) distribution: WorkDistribution,
    pub(crate) merging: Duration,
    pub(crate) was_stopped: bool,
}

impl Session {
    /// Creates the report of the session.
    pub(crate) fn report(&self, outcome: Outcome) -> TrainingReport {
        let earlier = &self.earlier;
        let Outcome {
            checkpoint,
            levels,
            seconds,
            disk_bytes,
            session_counts,
            distribution,
            merging,
            was_stopped,
        } = outcome;
        let counters = checkpoint.counters;
        let counts = checkpoint.cursor.counts();
        // No underflow: the counters of this session started from those of the earlier ones.
        let session_documents = counters.documents - earlier.documents;
        let rate = |count: u64| {
            if seconds > 0.0 {
                count as f64 / seconds
            } else {
                0.0
            }
        };
        TrainingReport {
            documents_processed: counters.documents,
            documents_attempted: counters.documents + counters.failed + counts.bad,
            errors: counters.failed + counts.bad,
            bad_records: counts.bad,
            failures: counters.failures,
            retries: session_counts.retries,
            worker_restarts: session_counts.worker_restarts,
            stalls: session_counts.stalls,
            tokens: counters.tokens,
            total_time_seconds: seconds,
            documents_per_sec: rate(session_documents),
            tokens_per_sec: rate(counters.tokens - earlier.tokens),
            n_workers: session_counts.workers,
            distribution: distribution.name(),
            levels,
            dropped: counters.dropped,
            blank_records: counts.blank,
            short_records: counts.short,
            session_documents,
            held_out_documents: checkpoint.held_out(),
            complete: checkpoint.complete,
            ended: match (checkpoint.complete, was_stopped) {
                (true, _) => SessionEnd::Complete,
                (false, true) => SessionEnd::Stopped,
                (false, false) => SessionEnd::Limit,
            },
            disk_bytes,
            stage_seconds: self.stage_seconds(merging),
        }
    }

    /// Returns where the time went.
    fn stage_seconds(&self, merging: Duration) -> StageSeconds {
        let Self { shared, clocks, .. } = self;
        StageSeconds {
            load: clocks.load.seconds(),
            load_blocked: clocks.blocked.seconds(),
            learn: shared.learn.seconds(),
            stage: shared.stage.seconds(),
            starved: shared.starved.seconds(),
            commit: clocks.commit.seconds(),
            merge: merging.as_secs_f64(),
            count_patterns: clocks.count.seconds(),
        }
    }
}

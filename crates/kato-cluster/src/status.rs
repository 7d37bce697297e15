//! How far a plan is.

use serde::{Deserialize, Serialize};

use crate::ClusterError;
use crate::marker::{FailureNote, MergeMarker, PUBLICATION, Publication, TaskMarker};
use crate::plan::Plan;
use crate::record::Record;

/// Failures that are listed at most.
const MOST_LISTED: usize = 20;

/// How far a plan is. Lists of the store may lag behind: it may be further.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// Digest of the plan.
    pub plan: String,
    /// Tasks of the plan.
    pub tasks: u32,
    /// Tasks that are done.
    pub tasks_done: u32,
    /// The first tasks that are not, in words such as `3..7`.
    pub tasks_open: Vec<String>,
    /// Merges of the plan: levels times ranges.
    pub merges: u64,
    /// Merges that are done.
    pub merges_done: u64,
    /// Failures of tasks that are not done.
    pub failures: Vec<Failure>,
    /// Documents learned by the tasks that are done.
    pub samples: u64,
    /// Tokens learned by them.
    pub tokens: u64,
    /// Bytes of the slices that they uploaded.
    pub task_bytes: u64,
    /// Bytes of the merged slices.
    pub merged_bytes: u64,
    /// Tokens a second and worker; `None` before a task is done.
    pub tokens_per_worker_second: Option<f64>,
    /// Seconds that one worker would need for the tasks that are not done; `None` before one is.
    pub worker_seconds_left: Option<f64>,
    /// The published knowledge base.
    pub published: Option<Publication>,
}

/// A failed attempt at a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The task.
    pub task: u32,
    /// What went wrong, with its causes.
    pub error: String,
}

/// Reads how far a plan is.
pub(crate) async fn status(record: &Record, plan: &Plan) -> Result<Status, ClusterError> {
    let mut status = Status {
        plan: plan.digest(),
        tasks: plan.tasks(),
        tasks_done: 0,
        tasks_open: Vec::new(),
        merges: plan.levels() as u64 * u64::from(plan.ranges().count()),
        merges_done: 0,
        failures: Vec::new(),
        samples: 0,
        tokens: 0,
        task_bytes: 0,
        merged_bytes: 0,
        tokens_per_worker_second: None,
        worker_seconds_left: None,
        published: record.read_json(PUBLICATION).await?,
    };
    let mut done = vec![false; plan.tasks() as usize];
    let mut seconds = 0.0;
    for (key, _) in record.list("tasks").await? {
        let Some(marker) = record.read_json::<TaskMarker>(&key).await? else {
            continue;
        };
        if let Some(done) = done.get_mut(marker.task as usize) {
            *done = true;
        }
        status.tasks_done += 1;
        status.samples += marker.counters.samples;
        status.tokens += marker.counters.tokens;
        status.task_bytes += marker
            .levels
            .iter()
            .map(|level| level.file.bytes)
            .sum::<u64>();
        seconds += marker.seconds;
    }
    for (key, _) in record.list("merged").await? {
        if let Some(marker) = record.read_json::<MergeMarker>(&key).await? {
            status.merges_done += 1;
            status.merged_bytes += marker.slice.file.bytes;
        }
    }
    let open: Vec<u32> = (0..plan.tasks())
        .filter(|task| !done[*task as usize])
        .collect();
    status.failures = failures(record, &open).await?;
    if status.tasks_done > 0 && seconds > 0.0 {
        status.tokens_per_worker_second = Some(status.tokens as f64 / seconds);
        status.worker_seconds_left =
            Some(seconds / f64::from(status.tasks_done) * open.len() as f64);
    }
    status.tasks_open = in_words(&open);
    Ok(status)
}

/// Returns the failures that were recorded of these tasks, the last of each; some of them.
pub(crate) async fn failures(record: &Record, tasks: &[u32]) -> Result<Vec<Failure>, ClusterError> {
    let mut failures: Vec<Failure> = Vec::new();
    for (key, _) in record.list("failed").await? {
        if failures.len() >= MOST_LISTED {
            break;
        }
        let Some(note) = record.read_json::<FailureNote>(&key).await? else {
            continue;
        };
        if tasks.binary_search(&note.task).is_err() {
            continue;
        }
        let failure = Failure {
            task: note.task,
            error: note.error,
        };
        match failures.last_mut() {
            Some(last) if last.task == failure.task => *last = failure,
            _ => failures.push(failure),
        }
    }
    Ok(failures)
}

/// Returns ascending numbers as ranges in words, such as `3` and `7..9`; the first of them.
pub(crate) fn in_words(numbers: &[u32]) -> Vec<String> {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let words = runs.take(MOST_LISTED).map(|run| match run {
        [first, .., last] => format!("{first}..={last}"),
        [only] => only.to_string(),
        [] => String::new(),
    });
    words.collect()
}

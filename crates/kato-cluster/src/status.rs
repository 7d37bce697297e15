//! How far a plan is.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ClusterError;
use crate::generation::GenerationSummary;
use crate::marker::{
    FailureNote, MergeMarker, Publication, SealMarker, TaskMarker, failed_task, publication_key,
};
use crate::plan::Plan;
use crate::record::Record;

/// Failures that are listed at most.
const MOST_LISTED: usize = 20;

/// How far a plan is. Lists of the store may lag behind: it may be further.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusterStatus {
    /// Number of the generation that all else here is about.
    pub generation: u32,
    /// All generations.
    pub generations: Vec<GenerationSummary>,
    /// Digest of the plan.
    pub plan: String,
    /// Tasks of the plan.
    pub tasks: u32,
    /// Tasks that are done.
    pub tasks_done: u32,
    /// The first tasks that are not, in words such as `3 to 7`.
    pub tasks_open: Vec<String>,
    /// Merges of the plan: levels times ranges.
    pub merges: u64,
    /// Merges that are done.
    pub merges_done: u64,
    /// Ranges of the plan, each of which is sealed once.
    pub ranges: u32,
    /// Ranges that are sealed.
    pub ranges_sealed: u32,
    /// Tasks that are not done and have failed.
    pub tasks_failed: u64,
    /// The first of them.
    pub failures: Vec<TaskFailure>,
    /// Documents learned by the tasks that are done.
    pub documents: u64,
    /// Tokens learned by them.
    pub tokens: u64,
    /// Bytes of the slices that they uploaded.
    pub task_bytes: u64,
    /// Bytes of the merged slices.
    pub merged_bytes: u64,
    /// Bytes of the segments.
    pub sealed_bytes: u64,
    /// Tokens a second of a worker, all its threads together; `None` before a task is done.
    pub tokens_per_worker_second: Option<f64>,
    /// Seconds that one worker would need for the tasks that are not done; `None` before one is.
    pub worker_seconds_left: Option<f64>,
    /// The published knowledge base.
    pub published: Option<Publication>,
}

/// Failed attempts after which a task is taken to fail whoever tries it.
pub const GIVEN_UP_AFTER: u32 = 3;

/// The failed attempts at a task that is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskFailure {
    /// The task.
    pub task: u32,
    /// Attempts that failed at learning; others, as those that were killed, have left nothing to
    /// count.
    pub attempts: u32,
    /// Whether there were [`GIVEN_UP_AFTER`] of them. It may be tried again nevertheless.
    pub given_up: bool,
    /// What went wrong at last, with its causes.
    pub error: String,
}

/// Reads how far a plan is.
pub(crate) async fn status(
    record: &Record,
    plan: &Plan,
    generations: Vec<GenerationSummary>,
) -> Result<ClusterStatus, ClusterError> {
    let mut status = ClusterStatus {
        generation: plan.generation(),
        generations,
        plan: plan.digest(),
        tasks: plan.tasks(),
        tasks_done: 0,
        tasks_open: Vec::new(),
        merges: plan.levels() as u64 * u64::from(plan.ranges().count()),
        merges_done: 0,
        ranges: plan.ranges().count(),
        ranges_sealed: 0,
        tasks_failed: 0,
        failures: Vec::new(),
        documents: 0,
        tokens: 0,
        task_bytes: 0,
        merged_bytes: 0,
        sealed_bytes: 0,
        tokens_per_worker_second: None,
        worker_seconds_left: None,
        published: publication(record, plan).await?,
    };
    let (open, seconds) = count_tasks(record, plan, &mut status).await?;
    for (key, _) in record.list(&plan.key("merged")).await? {
        if let Some(marker) = record.read_json::<MergeMarker>(&key).await? {
            check_plan(&marker.plan, &status.plan, &key)?;
            status.merges_done += 1;
            status.merged_bytes += marker.slice.file.bytes;
        }
    }
    for (key, _) in record.list(&plan.key("sealed")).await? {
        if let Some(marker) = record.read_json::<SealMarker>(&key).await? {
            check_plan(&marker.plan, &status.plan, &key)?;
            status.ranges_sealed += 1;
            status.sealed_bytes += marker.segment.bytes;
        }
    }
    (status.failures, status.tasks_failed) = failures(record, plan, &open).await?;
    if status.tasks_done > 0 && seconds > 0.0 {
        status.tokens_per_worker_second = Some(status.tokens as f64 / seconds);
        status.worker_seconds_left =
            Some(seconds / f64::from(status.tasks_done) * open.len() as f64);
    }
    status.tasks_open = in_words(&open);
    Ok(status)
}

/// Counts the tasks that are done; returns those that are not, and the worker seconds of the others.
async fn count_tasks(
    record: &Record,
    plan: &Plan,
    status: &mut ClusterStatus,
) -> Result<(Vec<u32>, f64), ClusterError> {
    let mut done = vec![false; plan.tasks() as usize];
    let mut seconds = 0.0;
    for (key, _) in record.list(&plan.key("tasks")).await? {
        let Some(marker) = record.read_json::<TaskMarker>(&key).await? else {
            continue;
        };
        check_plan(&marker.plan, &status.plan, &key)?;
        if let Some(done) = done.get_mut(marker.task as usize) {
            *done = true;
        }
        status.tasks_done += 1;
        status.documents += marker.counters.documents;
        status.tokens += marker.counters.tokens;
        status.task_bytes += marker
            .levels
            .iter()
            .map(|level| level.file.bytes)
            .sum::<u64>();
        seconds += marker.seconds;
    }
    let open = (0..plan.tasks()).filter(|task| !done[*task as usize]);
    Ok((open.collect(), seconds))
}

/// Reads what was published of a plan; `None` if nothing was.
pub(crate) async fn publication(
    record: &Record,
    plan: &Plan,
) -> Result<Option<Publication>, ClusterError> {
    let key = publication_key(plan.generation());
    let publication: Option<Publication> = record.read_json(&key).await?;
    if let Some(publication) = &publication {
        check_plan(&publication.plan, &plan.digest(), &key)?;
    }
    Ok(publication)
}

/// Refuses a record that names another plan than the one of this digest.
pub(crate) fn check_plan(found: &str, digest: &str, key: &str) -> Result<(), ClusterError> {
    match found == digest {
        true => Ok(()),
        false => Err(crate::cluster::foreign(key.to_owned())),
    }
}

/// Returns the failures that were recorded of these tasks, each with its last; the first of them, and
/// the number of tasks that have some.
pub(crate) async fn failures(
    record: &Record,
    plan: &Plan,
    tasks: &[u32],
) -> Result<(Vec<TaskFailure>, u64), ClusterError> {
    // The time is the store's, and says nothing but which error is shown.
    let mut notes: BTreeMap<u32, (u32, (_, String))> = BTreeMap::new();
    for (key, meta) in record.list(&plan.key("failed")).await? {
        let Some(task) = failed_task(&key) else {
            continue;
        };
        if tasks.binary_search(&task).is_err() {
            continue;
        }
        let note = (meta.last_modified, key);
        notes
            .entry(task)
            .and_modify(|(attempts, last)| {
                *attempts += 1;
                if note > *last {
                    last.clone_from(&note);
                }
            })
            .or_insert((1, note));
    }
    let n_tasks = notes.len() as u64;
    let mut failures = Vec::new();
    for (task, (attempts, (_, key))) in notes.into_iter().take(MOST_LISTED) {
        if let Some(note) = record.read_json::<FailureNote>(&key).await? {
            failures.push(TaskFailure {
                task,
                attempts,
                given_up: attempts >= GIVEN_UP_AFTER,
                error: note.error,
            });
        }
    }
    Ok((failures, n_tasks))
}

impl fmt::Display for TaskFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            task,
            attempts,
            error,
            ..
        } = self;
        match (attempts, self.given_up) {
            (1, _) => write!(f, "task {task} failed: {error}"),
            (_, false) => write!(f, "task {task} failed {attempts} times, at last: {error}"),
            (_, true) => write!(
                f,
                "task {task} failed {attempts} times, and will as long as nothing is changed; at last: {error}"
            ),
        }
    }
}

/// Returns ascending numbers as ranges in words, such as `3` and `7 to 9`; the first of them.
pub(crate) fn in_words(numbers: &[u32]) -> Vec<String> {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let words = runs.take(MOST_LISTED).map(|run| match run {
        [first, .., last] => format!("{first} to {last}"),
        [only] => only.to_string(),
        [] => String::new(),
    });
    words.collect()
}

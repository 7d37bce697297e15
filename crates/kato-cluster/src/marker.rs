//! Markers: the objects that say that a piece of work is done, each created once and never deleted.

use kato_loader::Cursor;
use kato_scheduler::Counters;
use kato_store::slice::SliceSummary;
use serde::{Deserialize, Serialize};

use crate::generation::within;

/// A file in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// Its key below the plan's prefix.
    pub key: String,
    /// Its size.
    pub bytes: u64,
    /// Its BLAKE3, in hexadecimal digits.
    pub blake3: String,
}

/// A slice in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSlice {
    /// The file.
    pub file: StoredFile,
    /// Its parts.
    pub summary: SliceSummary,
}

/// The commit of a task: what it learned, and where that lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskMarker {
    /// Digest of the plan.
    pub plan: String,
    /// Number of the task.
    pub task: u32,
    /// The attempt that won.
    pub attempt: String,
    /// A slice of each level, bottom up.
    pub levels: Vec<StoredSlice>,
    /// Document number and id of its documents, JSON Lines; where they are recorded.
    pub documents: Option<StoredFile>,
    /// What the task counted.
    pub counters: Counters,
    /// Where its reading ended.
    pub cursor: Cursor,
    /// Whether nothing of the corpus, or of the shard, is left behind it.
    pub complete: bool,
    /// Seconds that learning took, for forecasts.
    pub seconds: f64,
}

impl TaskMarker {
    /// Returns whether another attempt came to the same result.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        let content = |marker: &Self| {
            let files = marker.levels.iter().map(|level| &level.file);
            let hashes = files
                .chain(&marker.documents)
                .map(|file| file.blake3.clone());
            (hashes.collect::<Vec<_>>(), marker.counters)
        };
        self.plan == other.plan && self.task == other.task && content(self) == content(other)
    }
}

/// The commit of the merge of one range of one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeMarker {
    /// Digest of the plan.
    pub plan: String,
    /// The level.
    pub level: usize,
    /// The range.
    pub range: u32,
    /// The attempt that won.
    pub attempt: String,
    /// Digest of what was merged: the attempts at all tasks, in order, and the merge of the generation
    /// before.
    pub inputs: String,
    /// The merged slice.
    pub slice: StoredSlice,
}

/// The commit of a sealed range: its segment, of all levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealMarker {
    /// Digest of the plan.
    pub plan: String,
    /// The range.
    pub range: u32,
    /// The attempt that won.
    pub attempt: String,
    /// What it holds of each level, bottom up.
    pub levels: Vec<SealedLevel>,
    /// The segment.
    pub segment: StoredFile,
}

/// One level of a sealed range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedLevel {
    /// Distinct patterns.
    pub patterns: u64,
    /// Learn calls.
    pub learns: u64,
}

impl SealedLevel {
    /// Returns what a merge holds.
    pub(crate) fn of_merge(merge: &MergeMarker) -> Self {
        Self {
            patterns: merge.slice.summary.patterns(),
            learns: merge.slice.summary.learns(),
        }
    }
}

/// A published knowledge base: what everyone who publishes the plan gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// Number of the generation.
    #[serde(default, skip_serializing_if = "is_first")]
    pub generation: u32,
    /// Digest of its plan.
    pub plan: String,
    /// The levels, bottom up.
    pub levels: Vec<PublishedLevel>,
    /// Documents learned.
    #[serde(alias = "samples")]
    pub documents: u64,
    /// Tokens that are part of a pattern.
    pub tokens: u64,
    /// The segments, one for each range.
    pub segments: Vec<StoredFile>,
}

/// Returns whether a generation is the first, whose number is left out.
fn is_first(generation: &u32) -> bool {
    *generation == 0
}

/// One level of a [`Publication`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedLevel {
    /// Name of the node.
    pub node: String,
    /// Distinct patterns.
    pub patterns: u64,
    /// Learn calls.
    pub learns: u64,
}

/// A failed attempt at a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailureNote {
    pub(crate) task: u32,
    pub(crate) attempt: String,
    pub(crate) error: String,
}

/// A witness of which plan was made here, without which another one in its place would be believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlanWitness {
    /// Digest of the plan.
    pub(crate) plan: String,
}

/// Returns the key of the plan of a generation.
pub(crate) fn plan_key(generation: u32) -> String {
    within(generation, "plan.json")
}

/// Returns the key of the witness of a plan.
pub(crate) fn witness_key(generation: u32) -> String {
    within(generation, "plan-digest.json")
}

pub(crate) fn task_key(task: u32) -> String {
    format!("tasks/{task:08}.json")
}

/// Returns the key of a file of an attempt at a task. The attempt comes first: it spreads keys over
/// the partitions of a store.
pub(crate) fn data_key(attempt: &str, task: u32, file: &str) -> String {
    format!("data/{attempt}.{task:08}/{file}")
}

pub(crate) fn merge_key(level: usize, range: u32) -> String {
    format!("merged/{level}/{range:06}.json")
}

pub(crate) fn shard_key(attempt: &str, level: usize, range: u32) -> String {
    format!("shards/{attempt}.{level}.{range:06}.slice")
}

pub(crate) fn seal_key(range: u32) -> String {
    format!("sealed/{range:06}.json")
}

pub(crate) fn segment_key(attempt: &str, range: u32) -> String {
    format!("segments/{attempt}.{range:06}.seg")
}

pub(crate) fn failure_key(task: u32, attempt: &str) -> String {
    format!("failed/{task:08}.{attempt}.json")
}

/// Returns the task of the key of a failure.
pub(crate) fn failed_task(key: &str) -> Option<u32> {
    let (_, name) = key.rsplit_once('/')?;
    name.split('.').next()?.parse().ok()
}

/// Returns the key of a published generation.
pub(crate) fn publication_key(generation: u32) -> String {
    format!("kb/{generation:04}.json")
}

/// Returns the key of a tag.
pub(crate) fn tag_key(name: &str) -> String {
    format!("tags/{name}.json")
}

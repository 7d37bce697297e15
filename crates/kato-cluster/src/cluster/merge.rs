//! Merging one range of one level over all tasks.

use std::path::Path;

use kato_model::AttributeLimits;
use kato_store::slice::{self, NameRanges, SliceSource};

use super::learn::upload_file;
use super::{Cluster, Completed, attempt, check, foreign};
use crate::ClusterError;
use crate::blocking::{self, Scratch};
use crate::marker::{MergeMarker, StoredSlice, TaskMarker, merge_key, shard_key};
use crate::moment::Moment;
use crate::plan::Plan;

impl Cluster {
    /// Merges a range of a level over all tasks and commits it. A merge that is done is found done.
    ///
    /// All tasks must be done, and of an extension the same merge of the generation before; levels and
    /// ranges need nothing of each other. The range of every task
    /// is fetched into a directory in `scratch`, or read where it lies if the store is a directory.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Unfinished`] with what is not done, [`ClusterError::Disagrees`],
    /// and what reading or the store meets.
    pub async fn merge(
        &self,
        level: usize,
        range: u32,
        scratch: &Path,
    ) -> Result<Completed<MergeMarker>, ClusterError> {
        let plan = self.read_plan().await?;
        check("level", level as u64, plan.levels() as u64)?;
        check("range", u64::from(range), u64::from(plan.ranges.count()))?;
        if let Some(marker) = self.merged(&plan, level, range).await? {
            return Ok(Completed::Before(marker));
        }
        match self.merge_now(&plan, level, range, scratch).await {
            // Somebody else has committed meanwhile, and what is needed no more may be removed.
            Err(error @ ClusterError::Disagrees { .. }) => Err(error),
            Err(error) => match self.merged(&plan, level, range).await? {
                Some(marker) => Ok(Completed::Before(marker)),
                None => Err(error),
            },
            done => done,
        }
    }

    /// Returns the slices of a range of a level: what was merged before, and that of each task.
    async fn inputs(
        &self,
        tasks: &[TaskMarker],
        before: Option<&MergeMarker>,
        level: usize,
        range: u32,
        dir: &Scratch,
    ) -> Result<Vec<SliceSource>, ClusterError> {
        let mut inputs = Vec::new();
        if let Some(before) = before {
            let file = &before.slice.file;
            let path = dir.path().join("before");
            inputs.push(self.record.slice_of(file, &path, dir).await?);
        }
        for task in tasks {
            let stored = &task.levels[level];
            let ranges = stored.summary.ranges_of(range as usize);
            let ranges = ranges.ok_or_else(|| ClusterError::Damaged {
                key: stored.file.key.clone(),
                reason: "its marker lacks a range".to_owned(),
            })?;
            let path = dir.path().join(format!("{:08}", task.task));
            let slice = self.record.slice(&stored.file.key, ranges, &path, dir);
            inputs.push(slice.await?);
        }
        Ok(inputs)
    }

    /// Merges a range that was not done, as far as is known.
    async fn merge_now(
        &self,
        plan: &Plan,
        level: usize,
        range: u32,
        scratch: &Path,
    ) -> Result<Completed<MergeMarker>, ClusterError> {
        let tasks = self.all_tasks(plan).await?;
        let before = self.merged_before(plan, level, range).await?;
        let dir = Scratch::create_in(scratch).await?;
        let inputs = self
            .inputs(&tasks, before.as_ref(), level, range, &dir)
            .await?;
        let out = dir.path().join("merged");
        let summary = {
            let (out, dir) = (out.clone(), dir.clone());
            blocking::run(move || {
                let limits = AttributeLimits::default();
                let merged = slice::merge(&inputs, &limits, NameRanges::whole(), &out);
                drop(dir);
                Ok(merged?)
            })
            .await?
        };
        let learned = tasks
            .iter()
            .map(|task| task.levels[level].summary.parts[range as usize].learns);
        let before_learns = before.as_ref().map_or(0, |it| it.slice.summary.learns());
        let expected = learned.fold(before_learns, u64::saturating_add);
        if summary.learns() != expected {
            return Err(ClusterError::Damaged {
                key: plan.key(&merge_key(level, range)),
                reason: format!("{} learn calls of {expected} arrived", summary.learns()),
            });
        }
        self.watch.tell(Moment::Computed);
        let attempt = attempt();
        let key = plan.key(&shard_key(&attempt, level, range));
        let file = upload_file(&self.record, key, &out).await?;
        let marker = MergeMarker {
            plan: plan.digest(),
            level,
            range,
            attempt,
            inputs: inputs_digest(&tasks, before.as_ref()),
            slice: StoredSlice { file, summary },
        };
        let key = plan.key(&merge_key(level, range));
        let agrees = |there: &MergeMarker, own: &MergeMarker| {
            there.inputs == own.inputs && there.slice.file.blake3 == own.slice.file.blake3
        };
        self.commit_work(key, marker, agrees).await
    }

    /// Reads the marker of the same merge of the generation before, which must be done; `None` where
    /// there is no such generation.
    async fn merged_before(
        &self,
        plan: &Plan,
        level: usize,
        range: u32,
    ) -> Result<Option<MergeMarker>, ClusterError> {
        let Some(base) = &plan.base else {
            return Ok(None);
        };
        let before = self.plan_before(base).await?;
        match self.merged(&before, level, range).await? {
            Some(marker) => Ok(Some(marker)),
            None => Err(ClusterError::Unfinished {
                what: "merges",
                numbers: vec![before.key(&merge_key(level, range))],
                failures: Vec::new(),
                failed: 0,
            }),
        }
    }

    /// Reads the marker of a merge; `None` if it is not done.
    pub(super) async fn merged(
        &self,
        plan: &Plan,
        level: usize,
        range: u32,
    ) -> Result<Option<MergeMarker>, ClusterError> {
        let key = plan.key(&merge_key(level, range));
        let marker: Option<MergeMarker> = self.record.read_json(&key).await?;
        match marker {
            Some(marker) if marker.plan != plan.digest() => Err(foreign(key)),
            marker => Ok(marker),
        }
    }
}

/// Returns a digest of which attempts at tasks are merged, and with what.
fn inputs_digest(tasks: &[TaskMarker], before: Option<&MergeMarker>) -> String {
    let mut hasher = blake3::Hasher::new();
    for task in tasks {
        hasher.update(task.attempt.as_bytes());
    }
    if let Some(before) = before {
        hasher.update(before.attempt.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

//! Removing what nobody needs any more, and never a marker.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::Cluster;
use crate::ClusterError;
use crate::plan::Plan;

/// Settings of removing.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct GcOptions {
    /// Only says what would be removed.
    pub dry_run: bool,
    /// Removes the slices of tasks as well, once every merge of their level is done.
    pub merged_inputs: bool,
}

impl GcOptions {
    /// Sets whether it only says what would be removed.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets whether the slices of tasks go as well, once they are merged.
    #[must_use]
    pub fn with_merged_inputs(mut self, merged_inputs: bool) -> Self {
        self.merged_inputs = merged_inputs;
        self
    }
}

/// What was removed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct GarbageReport {
    /// Objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Cluster {
    /// Removes objects of all generations that nobody needs any more, and never a marker.
    ///
    /// That is the data that attempts left behind at tasks, merges and seals that are *done*: whoever still works at
    /// one can only find that out. It is also what the trial of a plan left, and with
    /// [`merged_inputs`](GcOptions::merged_inputs) the slices of tasks. What belongs to unfinished work stays, however old it is, so a
    /// worker that sleeps for a week and then commits commits what is there. No clock is read.
    ///
    /// # Errors
    ///
    /// As [`read_plan`](Self::read_plan), and what the store meets.
    pub async fn gc(&self, options: &GcOptions) -> Result<GarbageReport, ClusterError> {
        let mut garbage = GarbageReport::default();
        for generation in self.generations().await? {
            let plan = self.plan_of(generation.generation).await?;
            self.collect_of_tasks(&plan, options, &mut garbage).await?;
            self.collect_of_merges(&plan, options, &mut garbage).await?;
            self.collect_of_seals(&plan, options, &mut garbage).await?;
        }
        // Whoever tries the store now does so with the plan, which is there, or finds that it is.
        for (key, meta) in self.record.list("probe").await? {
            self.remove(&key, meta.size, options, &mut garbage).await?;
        }
        Ok(garbage)
    }

    /// Removes what attempts at tasks have left.
    async fn collect_of_tasks(
        &self,
        plan: &Plan,
        options: &GcOptions,
        garbage: &mut GarbageReport,
    ) -> Result<(), ClusterError> {
        let below = plan.key("data");
        let mut all_merged = HashMap::new();
        let mut tasks = HashMap::new();
        for (key, meta) in self.record.list(&below).await? {
            // data/ATTEMPT.TASK/FILE
            let mut parts = key[below.len()..].split('/').skip(1);
            let (Some(place), Some(file)) = (parts.next(), parts.next()) else {
                continue;
            };
            let Some((attempt, task)) = place
                .split_once('.')
                .and_then(|(attempt, task)| Some((attempt, task.parse::<u32>().ok()?)))
            else {
                continue;
            };
            if let Entry::Vacant(entry) = tasks.entry(task) {
                let marker = self.task(plan, task).await?;
                entry.insert(marker.map(|marker| marker.attempt));
            }
            let Some(Some(winner)) = tasks.get(&task) else {
                continue;
            };
            let mut is_garbage = winner != attempt;
            if !is_garbage && options.merged_inputs {
                // Documents are read by those who seal.
                let level = file
                    .strip_suffix(".slice")
                    .and_then(|level| level.parse::<usize>().ok());
                if let Some(level) = level {
                    if let Entry::Vacant(entry) = all_merged.entry(level) {
                        let mut merged = true;
                        for range in 0..plan.ranges.count() {
                            merged &= self.merged(plan, level, range).await?.is_some();
                        }
                        entry.insert(merged);
                    }
                    is_garbage = all_merged.get(&level).copied().unwrap_or(false);
                }
            }
            if is_garbage {
                self.remove(&key, meta.size, options, garbage).await?;
            }
        }
        Ok(())
    }

    /// Removes what attempts at merges have left.
    async fn collect_of_merges(
        &self,
        plan: &Plan,
        options: &GcOptions,
        garbage: &mut GarbageReport,
    ) -> Result<(), ClusterError> {
        let below = plan.key("shards");
        for (key, meta) in self.record.list(&below).await? {
            // shards/ATTEMPT.LEVEL.RANGE.slice
            let name = &key[below.len()..];
            let mut parts = name.split('/').skip(1).flat_map(|name| name.split('.'));
            let (Some(attempt), Some(level), Some(range)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let (Ok(level), Ok(range)) = (level.parse(), range.parse()) else {
                continue;
            };
            if let Some(marker) = self.merged(plan, level, range).await?
                && marker.attempt != attempt
            {
                self.remove(&key, meta.size, options, garbage).await?;
            }
        }
        Ok(())
    }

    /// Removes what attempts at seals have left.
    async fn collect_of_seals(
        &self,
        plan: &Plan,
        options: &GcOptions,
        garbage: &mut GarbageReport,
    ) -> Result<(), ClusterError> {
        let below = plan.key("segments");
        for (key, meta) in self.record.list(&below).await? {
            // segments/ATTEMPT.RANGE.seg
            let name = &key[below.len()..];
            let mut parts = name.split('/').skip(1).flat_map(|name| name.split('.'));
            let (Some(attempt), Some(range)) = (parts.next(), parts.next()) else {
                continue;
            };
            let Ok(range) = range.parse() else {
                continue;
            };
            if let Some(marker) = self.sealed(plan, range).await?
                && marker.attempt != attempt
            {
                self.remove(&key, meta.size, options, garbage).await?;
            }
        }
        Ok(())
    }

    /// Removes an object and counts it.
    async fn remove(
        &self,
        key: &str,
        bytes: u64,
        options: &GcOptions,
        garbage: &mut GarbageReport,
    ) -> Result<(), ClusterError> {
        garbage.objects += 1;
        garbage.bytes += bytes;
        match options.dry_run {
            true => Ok(()),
            false => self.record.delete(key).await,
        }
    }
}

//! Sealing: the segment of one range of names of all levels, which any worker can write.

use std::path::Path;

use kato_model::AttributeLimits;
use kato_store::slice;

use super::learn::upload_file;
use super::{Cluster, Completed, attempt, check, foreign};
use crate::ClusterError;
use crate::blocking::{self, Scratch};
use crate::marker::{
    MergeMarker, SealMarker, SealedLevel, StoredFile, TaskMarker, merge_key, seal_key, segment_key,
};
use crate::moment::Moment;
use crate::plan::Plan;

impl Cluster {
    /// Makes the segment of a range of names of all levels and commits it. A range that is sealed is
    /// found sealed.
    ///
    /// The merges of the range must be done, of all levels; ranges need nothing of each other. They
    /// are fetched into a directory in `scratch`, or read where they lie if the store is a directory.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Unfinished`] with the merges that are not done, [`ClusterError::Disagrees`],
    /// and what reading or the store meets.
    pub async fn seal(
        &self,
        range: u32,
        scratch: &Path,
    ) -> Result<Completed<SealMarker>, ClusterError> {
        let plan = self.read_plan().await?;
        check("range", u64::from(range), u64::from(plan.ranges.count()))?;
        if let Some(marker) = self.sealed(&plan, range).await? {
            return Ok(Completed::Before(marker));
        }
        match self.seal_now(&plan, range, scratch).await {
            // Somebody else has committed meanwhile, and what is needed no more may be removed.
            Err(error @ ClusterError::Disagrees { .. }) => Err(error),
            Err(error) => match self.sealed(&plan, range).await? {
                Some(marker) => Ok(Completed::Before(marker)),
                None => Err(error),
            },
            done => done,
        }
    }

    /// Seals a range that was not sealed, as far as is known.
    async fn seal_now(
        &self,
        plan: &Plan,
        range: u32,
        scratch: &Path,
    ) -> Result<Completed<SealMarker>, ClusterError> {
        let merges = self.merges_of(plan, range).await?;
        let dir = Scratch::create_in(scratch).await?;
        let mut levels = Vec::new();
        for merge in &merges {
            let path = dir.path().join(format!("{}.slice", merge.level));
            let slice = self.record.slice_of(&merge.slice.file, &path, &dir);
            levels.push(vec![slice.await?]);
        }
        let mut documents = Vec::new();
        let mut generation = Some(plan.clone());
        while let Some(plan) = generation {
            for task in tasks_of(&plan, range) {
                if let Some(TaskMarker {
                    documents: Some(file),
                    ..
                }) = self.task(&plan, task).await?
                {
                    documents.extend(self.documents(&file).await?);
                }
            }
            generation = match &plan.base {
                Some(base) if records_documents(&plan) => Some(self.plan_before(base).await?),
                _ => None,
            };
        }
        documents.sort_unstable();
        documents.dedup();
        let out = dir.path().join("segment");
        {
            let (out, dir) = (out.clone(), dir.clone());
            blocking::run(move || {
                let limits = AttributeLimits::default();
                Ok(slice::seal(&levels, &documents, &limits, dir.path(), &out)?)
            })
            .await?;
        }
        self.watch.tell(Moment::Computed);
        let attempt = attempt();
        let key = plan.key(&segment_key(&attempt, range));
        let segment = upload_file(&self.record, key, &out).await?;
        let marker = SealMarker {
            plan: plan.digest(),
            range,
            attempt,
            levels: merges.iter().map(SealedLevel::of_merge).collect(),
            segment,
        };
        let key = plan.key(&seal_key(range));
        let agrees = |there: &SealMarker, own: &SealMarker| {
            there.levels == own.levels && there.segment.blake3 == own.segment.blake3
        };
        self.commit_work(key, marker, agrees).await
    }

    /// Reads the markers of the merges of a range, by level; they must be done.
    async fn merges_of(&self, plan: &Plan, range: u32) -> Result<Vec<MergeMarker>, ClusterError> {
        let (mut merges, mut missing) = (Vec::new(), Vec::new());
        for level in 0..plan.levels() {
            match self.merged(plan, level, range).await? {
                Some(marker) => merges.push(marker),
                None => missing.push(plan.key(&merge_key(level, range))),
            }
        }
        match missing.is_empty() {
            true => Ok(merges),
            false => Err(unfinished("merges", missing)),
        }
    }

    /// Reads the documents that a task has recorded.
    async fn documents(&self, file: &StoredFile) -> Result<Vec<(u64, String)>, ClusterError> {
        let damaged = |reason: &str| ClusterError::Damaged {
            key: file.key.clone(),
            reason: reason.to_owned(),
        };
        let bytes = self.record.read(&file.key).await?;
        let bytes = bytes.ok_or_else(|| damaged("it is not there"))?;
        if blake3::hash(&bytes).to_hex().as_str() != file.blake3 {
            return Err(damaged("its BLAKE3 does not match"));
        }
        serde_json::Deserializer::from_slice(&bytes)
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(|error: serde_json::Error| damaged(&error.to_string()))
    }

    /// Reads the markers of all ranges, which must be sealed.
    pub(super) async fn all_sealed(&self, plan: &Plan) -> Result<Vec<SealMarker>, ClusterError> {
        let (mut markers, mut missing) = (Vec::new(), Vec::new());
        for range in 0..plan.ranges.count() {
            // By key, as a list may lag behind.
            match self.sealed(plan, range).await? {
                Some(marker) => markers.push(marker),
                None => missing.push(range),
            }
        }
        match missing.is_empty() {
            true => Ok(markers),
            false => Err(unfinished("ranges", crate::status::in_words(&missing))),
        }
    }

    /// Reads the marker of a range; `None` if it is not sealed.
    pub(super) async fn sealed(
        &self,
        plan: &Plan,
        range: u32,
    ) -> Result<Option<SealMarker>, ClusterError> {
        let key = plan.key(&seal_key(range));
        let marker: Option<SealMarker> = self.record.read_json(&key).await?;
        match marker {
            Some(marker) if marker.plan != plan.digest() || marker.range != range => {
                Err(foreign(key))
            }
            marker => Ok(marker),
        }
    }
}

/// Returns whether tasks record documents: else no marker needs to be read for them.
fn records_documents(plan: &Plan) -> bool {
    let recording = plan.configuration.rules.learner.recording;
    recording.provenance || recording.metadata
}

/// Returns the tasks whose documents the segment of a range holds: equal shares of them.
fn tasks_of(plan: &Plan, range: u32) -> impl Iterator<Item = u32> {
    let (tasks, ranges) = (u64::from(plan.tasks), u64::from(plan.ranges.count()));
    (0..plan.tasks).filter(move |task| u64::from(*task) * ranges / tasks == u64::from(range))
}

/// Creates the error of work that must be done before.
fn unfinished(what: &'static str, mut numbers: Vec<String>) -> ClusterError {
    numbers.truncate(20);
    ClusterError::Unfinished {
        what,
        numbers,
        failures: Vec::new(),
        failed: 0,
    }
}

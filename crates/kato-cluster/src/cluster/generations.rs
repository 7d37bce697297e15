//! Finding generations, naming them, and comparing two of them.

use std::path::Path;

use kato_model::AttributeLimits;
use kato_store::slice::{self, SliceDifference};
use serde::Serialize;

use super::{Cluster, Completed};
use crate::ClusterError;
use crate::blocking::{self, Scratch};
use crate::generation::{Base, GenerationSummary, PlanGeneration, Tag, check_tag, is_digest};
use crate::marker::{MergeMarker, PlanWitness, plan_key, tag_key, witness_key};
use crate::plan::{Plan, VERSION};
use crate::record::{Created, decode};
use crate::status::{check_plan, publication};

/// What two generations hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GenerationDifference {
    /// The left one.
    pub left: u32,
    /// The right one.
    pub right: u32,
    /// The levels, bottom up.
    pub levels: Vec<LevelDifference>,
}

/// What two generations hold of one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LevelDifference {
    /// Name of the node.
    pub node: String,
    /// Its patterns.
    #[serde(flatten)]
    pub patterns: SliceDifference,
}

impl Cluster {
    /// Returns the generations, the first of which is the plan itself.
    ///
    /// # Errors
    ///
    /// As [`read_plan`](Self::read_plan).
    pub async fn generations(&self) -> Result<Vec<GenerationSummary>, ClusterError> {
        let mut generations = Vec::new();
        while let Some(plan) = self.find_plan(generations.len()).await? {
            generations.push(GenerationSummary {
                generation: plan.generation(),
                plan: plan.digest(),
                files: plan.corpus.files().len() as u64,
                published: publication(&self.record, &plan).await?.is_some(),
                tags: Vec::new(),
            });
        }
        if generations.is_empty() {
            return Err(ClusterError::NotPlanned);
        }
        for (key, _) in self.record.list("tags").await? {
            let tag: Option<Tag> = self.record.read_json(&key).await?;
            if let Some(tag) = tag
                && let Some(summary) = generations.get_mut(tag.generation as usize)
            {
                summary.tags.push(tag.name);
            }
        }
        Ok(generations)
    }

    /// Gives a name to the generation, which must be published. A name stays where it is: the same
    /// again is done before.
    ///
    /// # Errors
    ///
    /// [`ClusterError::TagName`], [`ClusterError::NotPublished`], [`ClusterError::TagTaken`], and those of
    /// [`read_plan`](Self::read_plan).
    pub async fn tag(&self, name: &str) -> Result<Completed<Tag>, ClusterError> {
        check_tag(name)?;
        let plan = self.read_plan().await?;
        let generation = plan.generation();
        if publication(&self.record, &plan).await?.is_none() {
            return Err(ClusterError::NotPublished { generation });
        }
        let tag = Tag {
            name: name.to_owned(),
            generation,
            plan: plan.digest(),
        };
        let key = tag_key(name);
        let there: Option<Tag> = self.record.read_json(&key).await?;
        let there = match there {
            Some(there) => there,
            None => match self.record.create_json(&key, &tag).await? {
                Created::Own => return Ok(Completed::Now(tag)),
                Created::Before(there) => decode(&key, &there)?,
            },
        };
        match there == tag {
            true => Ok(Completed::Before(there)),
            false => Err(ClusterError::TagTaken {
                name: there.name,
                generation: there.generation,
            }),
        }
    }

    /// Compares two generations pattern by pattern. Both must be merged; of one range after the other
    /// both slices are fetched into a directory in `scratch`, or read where they lie if the store is a
    /// directory.
    ///
    /// # Errors
    ///
    /// [`ClusterError::UnknownGeneration`], [`ClusterError::Unfinished`], and what reading or the
    /// store meets.
    pub async fn diff(
        &self,
        left: &PlanGeneration,
        right: &PlanGeneration,
        scratch: &Path,
    ) -> Result<GenerationDifference, ClusterError> {
        let (left, right) = (self.resolve(left).await?, self.resolve(right).await?);
        let markers = (
            self.all_merges(&left).await?,
            self.all_merges(&right).await?,
        );
        let mut levels = Vec::new();
        let nodes = left.configuration.rules.learner.nodes.iter();
        for (node, (on_left, on_right)) in nodes.zip(markers.0.iter().zip(&markers.1)) {
            let mut patterns = SliceDifference::default();
            for pair in on_left.iter().zip(on_right) {
                patterns.merge(&self.diff_range(pair, scratch).await?);
            }
            levels.push(LevelDifference {
                node: node.name.clone(),
                patterns,
            });
        }
        Ok(GenerationDifference {
            left: left.generation(),
            right: right.generation(),
            levels,
        })
    }

    /// Compares one range of one level of two generations.
    async fn diff_range(
        &self,
        (left, right): (&MergeMarker, &MergeMarker),
        scratch: &Path,
    ) -> Result<SliceDifference, ClusterError> {
        let dir = Scratch::create_in(scratch).await?;
        let mut sides = [Vec::new(), Vec::new()];
        for (side, (marker, paths)) in [left, right].into_iter().zip(&mut sides).enumerate() {
            let path = dir.path().join(side.to_string());
            let slice = self.record.slice_of(&marker.slice.file, &path, &dir);
            paths.push(slice.await?);
        }
        blocking::run(move || {
            let difference = slice::compare(&sides[0], &sides[1], &AttributeLimits::default());
            drop(dir);
            Ok(difference?)
        })
        .await
    }

    /// Reads the plan of the generation that is meant.
    pub(super) async fn resolve(&self, generation: &PlanGeneration) -> Result<Plan, ClusterError> {
        let name = match generation {
            PlanGeneration::Number(number) => return self.plan_of(*number).await,
            PlanGeneration::Last => return self.last_plan().await,
            PlanGeneration::Newest => {
                let mut plan = self.last_plan().await?;
                loop {
                    let generation = plan.generation();
                    match (publication(&self.record, &plan).await?, generation) {
                        (Some(_), _) => return Ok(plan),
                        (None, 0) => return Err(ClusterError::NotPublished { generation }),
                        (None, number) => plan = self.plan_of(number - 1).await?,
                    }
                }
            }
            PlanGeneration::Named(name) => name,
        };
        let unknown = || ClusterError::UnknownGeneration { name: name.clone() };
        if !is_digest(name) {
            check_tag(name).map_err(|_| unknown())?;
            let key = tag_key(name);
            let tag: Option<Tag> = self.record.read_json(&key).await?;
            let tag = tag.ok_or_else(unknown)?;
            let plan = self.plan_of(tag.generation).await?;
            check_plan(&tag.plan, &plan.digest(), &key)?;
            return Ok(plan);
        }
        let wanted = name.to_ascii_lowercase();
        let mut found = None;
        for number in 0.. {
            let Some(plan) = self.find_plan(number).await? else {
                break;
            };
            if plan.digest().starts_with(&wanted) && found.replace(plan).is_some() {
                return Err(unknown());
            }
        }
        found.ok_or_else(unknown)
    }

    /// Reads the plan of the last generation.
    async fn last_plan(&self) -> Result<Plan, ClusterError> {
        let mut last = self.plan_of(0).await?;
        // By key, as a list may lag behind.
        while let Some(next) = self.find_plan(last.generation() as usize + 1).await? {
            last = next;
        }
        Ok(last)
    }

    /// Reads the plan that another continues.
    pub(super) async fn plan_before(&self, base: &Base) -> Result<Plan, ClusterError> {
        let plan = self.plan_of(base.generation).await?;
        match plan.digest() == base.plan {
            true => Ok(plan),
            false => Err(super::foreign(plan_key(base.generation))),
        }
    }

    /// Reads the plan of a generation, which must be there.
    pub(super) async fn plan_of(&self, number: u32) -> Result<Plan, ClusterError> {
        match (self.find_plan(number as usize).await?, number) {
            (Some(plan), _) => Ok(plan),
            (None, 0) => Err(ClusterError::NotPlanned),
            (None, _) => Err(ClusterError::UnknownGeneration {
                name: number.to_string(),
            }),
        }
    }

    /// Reads the plan of a generation; `None` if it is not there.
    async fn find_plan(&self, number: usize) -> Result<Option<Plan>, ClusterError> {
        let Some(plan) = self.find_unwitnessed_plan(number).await? else {
            return Ok(None);
        };
        let key = witness_key(plan.generation());
        let damaged = |reason: &str| ClusterError::Damaged {
            key: plan_key(plan.generation()),
            reason: reason.to_owned(),
        };
        match self.record.read_json::<PlanWitness>(&key).await? {
            Some(witness) if witness.plan == plan.digest() => Ok(Some(plan)),
            Some(_) => Err(damaged(
                "it is another plan than was made here: put that one back",
            )),
            None => Err(damaged(
                "making it was cut off, or its witness plan-digest.json was lost: make the same plan again, as it was made",
            )),
        }
    }

    /// Reads the plan of the last generation, for those who make it, perhaps again: making it may have
    /// been cut off, which [`read_plan`](Self::read_plan) takes for damage.
    ///
    /// # Errors
    ///
    /// [`ClusterError::NotPlanned`], [`ClusterError::Damaged`], and what the store meets.
    pub async fn last_made(&self) -> Result<Plan, ClusterError> {
        let mut last = self.find_unwitnessed_plan(0).await?;
        while let Some(plan) = &last {
            match self
                .find_unwitnessed_plan(plan.generation() as usize + 1)
                .await?
            {
                Some(next) => last = Some(next),
                None => break,
            }
        }
        last.ok_or(ClusterError::NotPlanned)
    }

    /// Reads the plan of a generation, whether or not it is the one that was made here; `None` if it is
    /// not there.
    async fn find_unwitnessed_plan(&self, number: usize) -> Result<Option<Plan>, ClusterError> {
        let Ok(number) = u32::try_from(number) else {
            return Ok(None);
        };
        let key = plan_key(number);
        let Some(bytes) = self.record.read(&key).await? else {
            return Ok(None);
        };
        let version: serde_json::Value = decode(&key, &bytes)?;
        let damaged = |reason: String| ClusterError::Damaged {
            key: key.clone(),
            reason,
        };
        if version["version"] != VERSION {
            let version = &version["version"];
            return Err(damaged(format!(
                "it has version {version}, and this program reads {VERSION}"
            )));
        }
        let plan: Plan = decode(&key, &bytes)?;
        plan.check().map_err(|reason| damaged(reason.to_owned()))?;
        match plan.generation() == number {
            true => Ok(Some(plan)),
            false => Err(damaged("it is that of another generation".to_owned())),
        }
    }
}

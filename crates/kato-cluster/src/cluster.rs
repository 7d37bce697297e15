//! The commands of a plan, each stateless: how far the plan is they find in the store, and what
//! they did is there when they return.

mod extend;
mod gc;
mod generations;
mod learn;
mod merge;
mod publish;
mod seal;

use std::sync::Arc;

use kato_advice::retry::RetryPolicy;
use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoader;
use kato_scheduler::RunConfiguration;
use object_store::ObjectStore;
use object_store::path::Path;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::gc::{GarbageReport, GcOptions};
pub use self::generations::{GenerationDifference, LevelDifference};
use crate::ClusterError;
use crate::blocking;
use crate::generation::PlanGeneration;
use crate::marker::{PlanWitness, TaskMarker, plan_key, task_key, witness_key};
use crate::moment::{Moment, Watch};
use crate::plan::{Plan, PlanOptions};
use crate::record::{Created, Pause, Record, decode, encode};

/// A plan in an object store, and the commands that carry it out.
///
/// Every command may be run by anyone, at any time, any number of times, and may die at any moment:
/// work that is done is found done, and what is done twice counts once.
///
/// What computes, reads or writes files is done on the threads that a runtime of tokio has for it;
/// outside of one, on the thread that polls. What a future that is dropped has not committed does not
/// count, and its working files go when what it has begun is at its end.
#[derive(Debug)]
pub struct Cluster {
    record: Record,
    generation: PlanGeneration,
    watch: Watch,
}

/// What a command found or did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Completed<T> {
    /// This call did it.
    Now(T),
    /// It was done before, by another attempt.
    Before(T),
}

impl<T> Completed<T> {
    /// Returns the result, whoever did it.
    pub fn into_inner(self) -> T {
        match self {
            Self::Now(value) | Self::Before(value) => value,
        }
    }

    /// Returns whether this call did it.
    pub fn by_this_call(&self) -> bool {
        matches!(self, Self::Now(_))
    }
}

impl Cluster {
    /// Creates the commands of a prefix of a store.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self::from_record(Record::new(store, prefix))
    }

    fn from_record(record: Record) -> Self {
        Self {
            record,
            generation: PlanGeneration::default(),
            watch: Watch::default(),
        }
    }

    /// Opens the prefix that an address names: a directory, which is made, `file://…`, and with the
    /// features `s3`, `gcs` and `azure` also `s3://…`, `gs://…` and `az://…`, whose settings are taken
    /// from the environment.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Address`], and [`ClusterError::Io`] or [`ClusterError::ObjectStore`] where a
    /// directory cannot be made or opened.
    pub fn open(address: &str) -> Result<Self, ClusterError> {
        crate::address::open(address).map(Self::from_record)
    }

    /// Sets how often requests are tried again, and how it waits in between.
    #[must_use]
    pub fn with_retry(mut self, policy: RetryPolicy, pause: Pause) -> Self {
        self.record.set_retry(policy, pause);
        self
    }

    /// Sets the generation that the commands work on. By default it is the last at the moment of each
    /// command: whoever reads a plan and then works on it names its
    /// [number](Plan::generation).
    #[must_use]
    pub fn with_generation(mut self, generation: PlanGeneration) -> Self {
        self.generation = generation;
        self
    }

    /// Sets who is told of the moments of tasks, merges and seals.
    #[must_use]
    pub fn with_watch(mut self, watch: Watch) -> Self {
        self.watch = watch;
        self
    }

    /// Makes the plan of a corpus and a learner, after finding out whether the store can keep it.
    /// The same plan again is no error: it was done before.
    ///
    /// # Errors
    ///
    /// [`ClusterError::NoConditionalWrites`], [`ClusterError::OtherPlan`],
    /// [`ClusterError::Unplannable`], and what reading the corpus or the store meets.
    pub async fn plan(
        &self,
        loader: StreamingDatasetLoader,
        learner: &HierarchicalConceptLearner,
        options: &PlanOptions,
    ) -> Result<Completed<Plan>, ClusterError> {
        self.record.probe(&witness_key(0)).await?;
        let configuration = RunConfiguration::from_learner(learner).with_split(loader.split());
        let options = options.clone();
        let plan = blocking::run(move || Plan::make(loader, configuration, &options)).await?;
        self.create_plan(plan).await?.ok_or(ClusterError::OtherPlan)
    }

    /// Creates the plan of a generation with its witness; `None` where another plan is there.
    async fn create_plan(&self, plan: Plan) -> Result<Option<Completed<Plan>>, ClusterError> {
        let key = plan_key(plan.generation());
        // Asked for first: to create it anew would pass for having created it, as its bytes are the same.
        let created = match self.record.read(&key).await? {
            Some(there) => Created::Before(there),
            None => self.record.create_json(&key, &plan).await?,
        };
        let done = match created {
            Created::Own => Completed::Now(plan),
            Created::Before(there) if there == encode(&key, &plan) => Completed::Before(plan),
            Created::Before(there) => {
                // Damage is told, and is no other plan.
                decode::<Plan>(&key, &there)?;
                return Ok(None);
            }
        };
        self.witness(&done).await?;
        Ok(Some(done))
    }

    /// Creates the witness of a plan that was made, unless it is there: whoever made the plan may have
    /// died before.
    async fn witness(&self, plan: &Completed<Plan>) -> Result<(), ClusterError> {
        let (Completed::Now(plan) | Completed::Before(plan)) = plan;
        let key = witness_key(plan.generation());
        let witness = PlanWitness {
            plan: plan.digest(),
        };
        match self.record.create_json(&key, &witness).await? {
            Created::Own => Ok(()),
            Created::Before(there) if there == encode(&key, &witness) => Ok(()),
            Created::Before(there) => {
                decode::<PlanWitness>(&key, &there)?;
                Err(foreign(key))
            }
        }
    }

    /// Reads the plan of the generation.
    ///
    /// # Errors
    ///
    /// [`ClusterError::NotPlanned`], [`ClusterError::UnknownGeneration`],
    /// [`ClusterError::NotPublished`], [`ClusterError::Damaged`], and what the store meets.
    pub async fn read_plan(&self) -> Result<Plan, ClusterError> {
        // On the heap: every command's future would hold it.
        Box::pin(self.resolve(&self.generation)).await
    }

    /// Returns what is done of the plan.
    ///
    /// # Errors
    ///
    /// As [`read_plan`](Self::read_plan).
    pub async fn status(&self) -> Result<crate::status::ClusterStatus, ClusterError> {
        let plan = self.read_plan().await?;
        let generations = self.generations().await?;
        crate::status::status(&self.record, &plan, generations).await
    }

    /// Reads the markers of all tasks, which must be done.
    async fn all_tasks(&self, plan: &Plan) -> Result<Vec<TaskMarker>, ClusterError> {
        let mut markers = Vec::new();
        let mut missing = Vec::new();
        for task in 0..plan.tasks {
            // By key, as a list may lag behind.
            match self.task(plan, task).await? {
                Some(marker) => markers.push(marker),
                None => missing.push(task),
            }
        }
        if missing.is_empty() {
            return Ok(markers);
        }
        let (failures, failed) = crate::status::failures(&self.record, plan, &missing).await?;
        Err(ClusterError::Unfinished {
            what: "tasks",
            numbers: crate::status::in_words(&missing),
            failures,
            failed,
        })
    }

    /// Reads the marker of a task; `None` if it is not done.
    async fn task(&self, plan: &Plan, task: u32) -> Result<Option<TaskMarker>, ClusterError> {
        let key = plan.key(&task_key(task));
        let marker: Option<TaskMarker> = self.record.read_json(&key).await?;
        match marker {
            Some(marker)
                if marker.plan != plan.digest()
                    || marker.task != task
                    || marker.levels.len() != plan.levels() =>
            {
                Err(foreign(key))
            }
            marker => Ok(marker),
        }
    }

    /// Commits a piece of work whose files are uploaded: creates its marker, unless somebody's is
    /// there, which must agree.
    async fn commit_work<M: Serialize + DeserializeOwned>(
        &self,
        key: String,
        marker: M,
        agrees: impl FnOnce(&M, &M) -> bool,
    ) -> Result<Completed<M>, ClusterError> {
        self.watch.tell(Moment::Uploaded);
        match self.record.create_json(&key, &marker).await? {
            Created::Own => {
                self.watch.tell(Moment::Committed);
                Ok(Completed::Now(marker))
            }
            Created::Before(there) => {
                let there: M = decode(&key, &there)?;
                match agrees(&there, &marker) {
                    true => Ok(Completed::Before(there)),
                    false => Err(ClusterError::Disagrees { key }),
                }
            }
        }
    }
}

/// Creates the error of a marker of another plan.
pub(crate) fn foreign(key: String) -> ClusterError {
    ClusterError::Damaged {
        key,
        reason: "it belongs to another plan".to_owned(),
    }
}

/// Returns a name for an attempt, which nobody else has.
fn attempt() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Refuses a number that the plan does not have.
fn check(what: &'static str, number: u64, count: u64) -> Result<(), ClusterError> {
    match number < count {
        true => Ok(()),
        false => Err(ClusterError::Unknown {
            what,
            number,
            count,
        }),
    }
}

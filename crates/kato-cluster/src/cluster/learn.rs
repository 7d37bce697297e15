//! Learning a task.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoaderBuilder;
use kato_model::AttributeLimits;
use kato_scheduler::failure::FailurePolicy;
use kato_scheduler::{
    Checkpoint, RunConfiguration, StopSignal, TrainingEvent, TrainingOptions, train_parallel_with,
};
use kato_store::slice::{self, NameRanges, SliceSource, SliceSummary};

use super::{Cluster, Completed, attempt, check};
use crate::ClusterError;
use crate::backend::{TaskBackend, TaskState, no_position};
use crate::blocking::{self, Scratch};
use crate::marker::{
    FailureNote, StoredFile, StoredSlice, TaskMarker, data_key, failure_key, task_key,
};
use crate::moment::Moment;
use crate::plan::Plan;
use crate::record::Record;

/// What one attempt learned, in files.
struct Learned {
    levels: Vec<(PathBuf, SliceSummary)>,
    documents: Option<PathBuf>,
    checkpoint: Checkpoint,
    seconds: f64,
}

impl Cluster {
    /// Learns a task and commits it: its slices are uploaded, then its marker is created, which is
    /// the commit. A task that is done is found done before the corpus is read.
    ///
    /// `builder` opens the corpus of the plan: `StreamingDatasetLoader::builder_of` its
    /// [`corpus`](Plan::corpus). Working files are made in a directory of their own in `scratch`.
    ///
    /// # Errors
    ///
    /// [`ClusterError::OtherSettings`], [`ClusterError::Disagrees`], and what loading, learning or
    /// the store meets. A failure of the task itself, such as a record that cannot be read, is
    /// recorded with what it names, and listed by [`status`](Self::status) until the task is done:
    /// policies of `builder` and `options` that pass over records or documents are not followed.
    pub async fn learn(
        &self,
        task: u32,
        learner: Arc<HierarchicalConceptLearner>,
        builder: StreamingDatasetLoaderBuilder,
        options: &TrainingOptions,
        scratch: &Path,
        on_event: impl FnMut(TrainingEvent) + Send + 'static,
    ) -> Result<Completed<TaskMarker>, ClusterError> {
        let plan = self.read_plan().await?;
        check("task", u64::from(task), u64::from(plan.tasks))?;
        if let Some(marker) = self.task(&plan, task).await? {
            return Ok(Completed::Before(marker));
        }
        let own = RunConfiguration::from_learner(&learner).with_split(plan.split());
        let differences = plan.configuration.diff(&own);
        if !differences.is_empty() {
            return Err(ClusterError::OtherSettings { differences });
        }
        let attempt = attempt();
        let dir = Scratch::create_in(scratch).await?;
        let work = TaskRun {
            plan: plan.clone(),
            task,
            learner,
            builder,
            options: options.clone(),
            dir: dir.clone(),
        };
        let stop = StopOnDrop(StopSignal::default());
        let stopped = stop.0.clone();
        let learned = match blocking::run(move || work.learn(&stopped, on_event)).await {
            Ok(learned) => learned,
            Err(ClusterError::Stopped) => return Err(ClusterError::Stopped),
            Err(error) => {
                self.note_failure(&plan, task, attempt, &error).await;
                return Err(error);
            }
        };
        self.watch.tell(Moment::Computed);
        let uploaded = upload(&self.record, &plan, task, &attempt, &learned).await;
        let marker = match uploaded {
            Ok(marker) => marker,
            // Somebody else has committed meanwhile, and what lost is removed while it arrives.
            Err(error) => match self.task(&plan, task).await? {
                Some(marker) => return Ok(Completed::Before(marker)),
                None => return Err(error),
            },
        };
        let key = plan.key(&task_key(task));
        self.commit_work(key, marker, TaskMarker::agrees).await
    }

    /// Notes why an attempt failed.
    async fn note_failure(&self, plan: &Plan, task: u32, attempt: String, error: &ClusterError) {
        let key = plan.key(&failure_key(task, &attempt));
        let note = FailureNote {
            task,
            attempt,
            error: in_one_line(error),
        };
        // The error of the task is the one to tell, whatever becomes of the note.
        let _ = self.record.create_json(&key, &note).await;
    }
}

/// What learning a task needs.
struct TaskRun {
    plan: Plan,
    task: u32,
    learner: Arc<HierarchicalConceptLearner>,
    builder: StreamingDatasetLoaderBuilder,
    options: TrainingOptions,
    dir: Scratch,
}

impl TaskRun {
    /// Learns the task into files of its directory.
    fn learn(
        self,
        stop: &StopSignal,
        mut on_event: impl FnMut(TrainingEvent),
    ) -> Result<Learned, ClusterError> {
        let start = Instant::now();
        let Self {
            plan,
            task,
            learner,
            builder,
            mut options,
            dir: scratch,
        } = self;
        let dir = scratch.path();
        let mut loader = plan.open_task(task, builder)?;
        let checkpoint = Checkpoint::at_start(loader.identity(), loader.cursor());
        let nodes = learner.node_names().into_iter().map(str::to_owned);
        let backend = TaskBackend {
            nodes: nodes.collect(),
            configuration: plan.configuration.to_json(),
            scratch: dir,
            ranges: plan.ranges,
            state: Mutex::new(TaskState {
                checkpoint: checkpoint.to_json(),
                levels: vec![Vec::new(); plan.levels()],
                documents: Vec::new(),
            }),
            next_file: AtomicU64::new(0),
        };
        learn_as_a_whole(&mut options);
        let asked = std::mem::replace(&mut options.stop, stop.clone());
        let on_event = |event| {
            if asked.is_stopped() {
                stop.stop();
            }
            on_event(event);
        };
        train_parallel_with(&mut loader, &learner, &backend, &options, on_event)?;
        // A run that was stopped ends well, with a part of the task: that must not be committed.
        if stop.is_stopped() || asked.is_stopped() {
            return Err(ClusterError::Stopped);
        }
        let state = backend
            .state
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let checkpoint = Checkpoint::from_json(&state.checkpoint)?.ok_or_else(no_position)?;
        let mut merged = Vec::new();
        for (level, slices) in state.levels.into_iter().enumerate() {
            let path = dir.join(format!("level.{level}"));
            merged.push(merge_parts(slices, plan.ranges, path)?);
        }
        Ok(Learned {
            levels: merged,
            documents: write_documents(state.documents, dir)?,
            checkpoint,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// Sets options as a task is learned, all of it or nothing.
fn learn_as_a_whole(options: &mut TrainingOptions) {
    // Nothing of a task counts before all of it does, so nothing is gained by small parts.
    options.commit_interval = Duration::from_secs(u64::from(u32::MAX));
    // Nor is anything passed over and listed elsewhere.
    options.failures = FailurePolicy::default();
    options.ledger = None;
}

/// Merges the slices of a level into one, at `path` where there are several.
fn merge_parts(
    slices: Vec<(PathBuf, SliceSummary)>,
    ranges: NameRanges,
    path: PathBuf,
) -> Result<(PathBuf, SliceSummary), ClusterError> {
    let slices = match <[_; 1]>::try_from(slices) {
        Ok([only]) => return Ok(only),
        Err(slices) => slices,
    };
    let inputs = slices.iter().map(|(path, _)| SliceSource::from_file(path));
    let inputs: Vec<SliceSource> = inputs.collect();
    let summary = slice::merge(&inputs, &AttributeLimits::default(), ranges, &path)?;
    for (input, _) in slices {
        // Room for what follows; the directory goes anyway.
        let _ = fs::remove_file(input);
    }
    Ok((path, summary))
}

/// Writes documents as JSON Lines, ascending; `None` if there are none.
fn write_documents(
    mut documents: Vec<(u64, String)>,
    dir: &Path,
) -> Result<Option<PathBuf>, ClusterError> {
    if documents.is_empty() {
        return Ok(None);
    }
    documents.sort_unstable();
    documents.dedup();
    let mut bytes = Vec::new();
    for document in &documents {
        serde_json::to_writer(&mut bytes, document).expect("numbers and text are JSON");
        bytes.push(b'\n');
    }
    let path = dir.join("documents");
    fs::write(&path, bytes).map_err(ClusterError::io("write", &path))?;
    Ok(Some(path))
}

/// Uploads what an attempt learned and returns the marker that will commit it.
async fn upload(
    record: &Record,
    plan: &Plan,
    task: u32,
    attempt: &str,
    learned: &Learned,
) -> Result<TaskMarker, ClusterError> {
    let mut levels = Vec::new();
    for (level, (path, summary)) in learned.levels.iter().enumerate() {
        let key = plan.key(&data_key(attempt, task, &format!("{level}.slice")));
        levels.push(StoredSlice {
            file: upload_file(record, key, path).await?,
            summary: summary.clone(),
        });
    }
    let documents = match &learned.documents {
        Some(path) => {
            let key = plan.key(&data_key(attempt, task, "documents.jsonl"));
            Some(upload_file(record, key, path).await?)
        }
        None => None,
    };
    Ok(TaskMarker {
        plan: plan.digest(),
        task,
        attempt: attempt.to_owned(),
        levels,
        documents,
        counters: learned.checkpoint.counters,
        cursor: learned.checkpoint.cursor.clone(),
        complete: learned.checkpoint.complete,
        seconds: learned.seconds,
    })
}

/// Uploads a file.
pub(super) async fn upload_file(
    record: &Record,
    key: String,
    path: &Path,
) -> Result<StoredFile, ClusterError> {
    let (blake3, bytes) = record.upload(&key, path).await?;
    Ok(StoredFile { key, bytes, blake3 })
}

/// A stop of its own for the run of a task, which is asked for as soon as the future is dropped.
struct StopOnDrop(StopSignal);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Returns an error with its causes.
fn in_one_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

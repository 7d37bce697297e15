//! The backend of a task: what the scheduler's workers learn becomes slices in a scratch directory.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_model::{AttributeLimits, LearnBatch};
use kato_scheduler::{Backend, BackendError, BackendErrorKind, Teacher, TrainError};
use kato_store::slice::{NameRanges, SliceSummary, write_batch};
use serde_json::Value;

/// A backend that writes the slices of a task.
#[derive(Debug)]
pub(crate) struct TaskBackend<'a> {
    pub(crate) nodes: Vec<String>,
    pub(crate) configuration: Value,
    pub(crate) scratch: &'a Path,
    pub(crate) ranges: NameRanges,
    pub(crate) state: Mutex<TaskState>,
    pub(crate) next_file: AtomicU64,
}

/// What was handed over so far.
#[derive(Debug)]
pub(crate) struct TaskState {
    pub(crate) checkpoint: Value,
    /// The slices of each level, bottom up.
    pub(crate) levels: Vec<Vec<(PathBuf, SliceSummary)>>,
    pub(crate) documents: Vec<(u64, String)>,
}

/// What one worker hands over.
#[derive(Debug)]
pub(crate) struct TaskPart {
    slices: Vec<(PathBuf, SliceSummary)>,
    documents: Vec<(u64, String)>,
}

impl TaskBackend<'_> {
    /// Locks the state.
    pub(crate) fn state(&self) -> std::sync::MutexGuard<'_, TaskState> {
        // Every change is a push or a replacement, so a panic elsewhere leaves it whole.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Backend for TaskBackend<'_> {
    type Part = TaskPart;

    fn nodes(&self) -> &[String] {
        &self.nodes
    }

    fn configuration(&self) -> &Value {
        &self.configuration
    }

    fn checkpoint(&self) -> Value {
        self.state().checkpoint.clone()
    }

    fn teacher<'a>(
        &'a self,
        learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = TaskPart> + 'a>, TrainError> {
        Ok(Box::new(TaskTeacher {
            backend: self,
            learner,
            batch: learner.new_batch(),
        }))
    }

    fn commit(&self, parts: Vec<TaskPart>, checkpoint: Value) -> Result<(), TrainError> {
        let mut state = self.state();
        for part in parts {
            for (level, slice) in state.levels.iter_mut().zip(part.slices) {
                level.push(slice);
            }
            state.documents.extend(part.documents);
        }
        state.checkpoint = checkpoint;
        Ok(())
    }

    fn learns(&self, node_idx: usize) -> Result<u64, TrainError> {
        let state = self.state();
        let slices = state.levels.get(node_idx).into_iter().flatten();
        Ok(slices.map(|(_, summary)| summary.learns()).sum())
    }
}

#[derive(Debug)]
struct TaskTeacher<'a> {
    backend: &'a TaskBackend<'a>,
    learner: &'a HierarchicalConceptLearner,
    batch: LearnBatch,
}

impl Teacher for TaskTeacher<'_> {
    type Part = TaskPart;

    fn learn(
        &mut self,
        document: TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        self.learner.learn(document, &mut self.batch, scratch)
    }

    fn learns(&self, node_idx: usize) -> u64 {
        self.batch.learns(node_idx)
    }

    fn heap_bytes(&self) -> usize {
        self.batch.heap_bytes()
    }

    fn take_part(&mut self) -> Result<Option<TaskPart>, TrainError> {
        if self.batch.is_empty() {
            return Ok(None);
        }
        let batch = std::mem::replace(&mut self.batch, self.learner.new_batch()).seal();
        // Numbers only have to differ, so no ordering is needed.
        let number = self.backend.next_file.fetch_add(1, Ordering::Relaxed);
        let limits = AttributeLimits::default();
        let slices = (0..batch.n_nodes()).map(|node_idx| {
            let path = self.backend.scratch.join(format!("{number}.{node_idx}"));
            let written = write_batch(&batch, node_idx, &limits, self.backend.ranges, &path);
            let summary = written.map_err(TrainError::Store)?;
            Ok((path, summary))
        });
        Ok(Some(TaskPart {
            slices: slices.collect::<Result<_, TrainError>>()?,
            documents: batch.documents().to_vec(),
        }))
    }
}

/// Creates the error of a training that left no position.
pub(crate) fn no_position() -> TrainError {
    BackendError::new(BackendErrorKind::State, "the task left no position").into()
}

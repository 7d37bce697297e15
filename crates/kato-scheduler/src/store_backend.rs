//! Training into a pattern store of this process.

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_model::{LearnBatch, PatternName};
use kato_store::contract::StagedBatch;
use kato_store::{PatternStore, Tombstones};
use serde_json::Value;

use crate::activity::Activity;
use crate::backend::{RefusedDocument, RetiredPattern};
use crate::{Backend, Teacher, TrainError};

/// A backend over a pattern store: documents are counted into batches, which the store commits.
#[derive(Debug)]
pub(crate) struct StoreBackend<'a> {
    store: &'a dyn PatternStore,
    /// By level; read when the first teacher is made, and the same for all.
    tombstones: OnceLock<Vec<Tombstones>>,
}

impl<'a> StoreBackend<'a> {
    /// Creates the backend over a store.
    pub(crate) fn new(store: &'a dyn PatternStore) -> Self {
        Self {
            store,
            tombstones: OnceLock::new(),
        }
    }

    /// Returns what the store has retired.
    fn tombstones(&self) -> Result<&[Tombstones], TrainError> {
        if let Some(tombstones) = self.tombstones.get() {
            return Ok(tombstones);
        }
        let read = Tombstones::of_store(self.store).map_err(TrainError::Store)?;
        Ok(self.tombstones.get_or_init(|| read))
    }
}

impl Backend for StoreBackend<'_> {
    type Part = StagedBatch;

    fn nodes(&self) -> &[String] {
        self.store.nodes()
    }

    fn configuration(&self) -> &Value {
        self.store.configuration()
    }

    fn checkpoint(&self) -> Value {
        self.store.checkpoint()
    }

    fn teacher<'a>(
        &'a self,
        learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = StagedBatch> + 'a>, TrainError> {
        Ok(Box::new(StoreTeacher {
            learner,
            store: self.store,
            batch: learner.new_batch_with_limits(self.store.attribute_limits()),
            tombstones: self.tombstones()?,
            refused: Vec::new(),
        }))
    }

    fn commit(&self, parts: Vec<StagedBatch>, checkpoint: Value) -> Result<(), TrainError> {
        self.store
            .commit(parts, checkpoint)
            .map_err(TrainError::Store)
    }

    fn learns(&self, node_idx: usize) -> Result<u64, TrainError> {
        let totals = self.store.totals(node_idx).map_err(TrainError::Store)?;
        Ok(totals.learns)
    }

    fn count_patterns(&self, node_idx: usize) -> Result<Option<u64>, TrainError> {
        let patterns = self.store.count_patterns(node_idx);
        patterns.map(Some).map_err(TrainError::Store)
    }

    fn disk_bytes(&self) -> Option<u64> {
        self.store.disk_bytes()
    }

    fn merging_time(&self) -> Duration {
        self.store.merging_time()
    }
}

#[derive(Debug)]
struct StoreTeacher<'a> {
    learner: &'a HierarchicalConceptLearner,
    store: &'a dyn PatternStore,
    batch: LearnBatch,
    /// By level.
    tombstones: &'a [Tombstones],
    /// Documents of the work at hand that hold a retired pattern.
    refused: Vec<RefusedDocument>,
}

impl Teacher for StoreTeacher<'_> {
    type Part = StagedBatch;

    fn learn(
        &mut self,
        document: TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        // As nearly everywhere.
        if self.tombstones.iter().all(Tombstones::is_empty) {
            return self.learner.learn(document, &mut self.batch, scratch);
        }
        // The store would take it, and hide it.
        let is_retired = |level: usize, name: &PatternName| {
            let of_level = self.tombstones.get(level);
            of_level.is_some_and(|tombstones| tombstones.get(name).is_some())
        };
        let document_idx = document.document_idx;
        let refused = self
            .learner
            .learn_unless(document, &mut self.batch, scratch, is_retired)?;
        self.refused
            .extend(refused.map(|(node_idx, name)| RefusedDocument {
                document_idx,
                node_idx,
                source: Box::new(RetiredPattern::new(&self.store.nodes()[node_idx], name)),
            }));
        Ok(())
    }

    fn finish_work(
        &mut self,
        _documents: Range<u64>,
        _activity: &Activity,
    ) -> Result<Vec<RefusedDocument>, TrainError> {
        Ok(std::mem::take(&mut self.refused))
    }

    fn learns(&self, node_idx: usize) -> u64 {
        self.batch.learns(node_idx)
    }

    fn heap_bytes(&self) -> usize {
        self.batch.heap_bytes()
    }

    fn take_part(&mut self) -> Result<Option<StagedBatch>, TrainError> {
        // Documents without a chunk, or skipped ones, teach nothing: their part has counts alone,
        // and the store gets no empty segment.
        if self.batch.is_empty() {
            return Ok(None);
        }
        let limits = self.store.attribute_limits();
        let fresh = self.learner.new_batch_with_limits(limits);
        let batch = std::mem::replace(&mut self.batch, fresh);
        // Sorting and writing happen here, on the worker's thread, so that the committer has only
        // to make finished files durable.
        let staged = self.store.stage(batch.seal()).map_err(TrainError::Store)?;
        Ok(Some(staged))
    }
}

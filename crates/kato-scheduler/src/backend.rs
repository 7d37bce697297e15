//! What a run teaches: a store in this process, or nodes elsewhere.

use std::num::NonZeroUsize;
use std::ops::Range;

use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_model::LearnBatch;
use kato_store::{PatternStore, StagedBatch};
use serde_json::Value;

use crate::{Activity, ConnectionBudget, TrainError};

/// Where what is learned goes, and where the position of a run is kept.
///
/// [`train_parallel`](crate::train_parallel) uses a [`PatternStore`]. Others are taught through this contract:
///
/// * Workers learn through a [`Teacher`] of their own each. What a teacher did becomes final with a commit, together with
///   the checkpoint behind it.
/// * After a crash the run goes on from the last checkpoint, so the documents behind it are learned **again**. A backend
///   that does not lose what was taught since must know such repetitions and pass over them: work is cut by
///   [`work_size`](Self::work_size) from the checkpoint on, so a backend that answers it as before gets equal work again, with the
///   same [`first document`](Teacher::finish_work).
pub trait Backend: Sync {
    /// What a teacher hands over for a commit.
    type Part: Send;

    /// Names of the nodes, from the bottom of the hierarchy up.
    fn nodes(&self) -> &[String];

    /// The run that is kept here: a [`RunConfiguration`](crate::RunConfiguration).
    fn configuration(&self) -> &Value;

    /// The checkpoint of the last commit; `null` before the first.
    fn checkpoint(&self) -> Value;

    /// How the documents behind a position, as [`Cursor::documents`](kato_loader::Cursor::documents) tells it, are handed to a
    /// worker.
    fn work_size(&self, _position: u64) -> WorkSize {
        WorkSize::Bytes
    }

    /// Told that so many documents behind a position are about to be handed to a worker. Where
    /// [`work_size`](Self::work_size) asked for a number of them, there may be fewer in the end of a corpus.
    ///
    /// # Errors
    ///
    /// When these documents cannot be taught together; the run ends, and none of them was handed out.
    fn begin_work(&self, _position: u64, _n_documents: usize) -> Result<(), TrainError> {
        Ok(())
    }

    /// A worker's way to teach.
    ///
    /// # Errors
    ///
    /// When there is no way to reach the nodes.
    fn teacher<'a>(
        &'a self,
        learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = Self::Part> + 'a>, TrainError>;

    /// Makes parts final together with the checkpoint.
    ///
    /// # Errors
    ///
    /// When that cannot be; then the last commit still holds.
    fn commit(&self, parts: Vec<Self::Part>, checkpoint: Value) -> Result<(), TrainError>;

    /// Learn calls of a node in this run up to the last commit.
    ///
    /// # Errors
    ///
    /// When that cannot be read.
    fn observations(&self, node_idx: usize) -> Result<u64, TrainError>;

    /// Distinct patterns of a node, where that is known. May be slow.
    ///
    /// # Errors
    ///
    /// When that cannot be read.
    fn count_patterns(&self, node_idx: usize) -> Result<Option<u64>, TrainError>;

    /// Connections that the teachers share; `None` for a backend in this process. Where there are some, the number of workers can
    /// be tuned to what pays.
    fn connections(&self) -> Option<ConnectionBudget> {
        None
    }

    /// Whether what a dead worker had not staged may be taught again in the same session. Where it may not, a panic over one document
    /// fails that document, and must leave the teacher as it was before it; any other panic of a worker ends the run.
    fn can_repeat(&self) -> bool {
        true
    }

    /// Learn calls that the nodes have finished in this session, by level, those of unfinished work included; `None` where that is not
    /// told apart from what is handed over.
    fn finished(&self) -> Option<Vec<u64>> {
        None
    }

    /// Something that the user should know and has not been told, such as that the nodes are slow.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Called behind the last commit of a session that was not stopped, to compare what the nodes know with what they were taught.
    ///
    /// # Errors
    ///
    /// When they differ, or do not answer; everything is committed all the same.
    fn conclude(&self) -> Result<(), TrainError> {
        Ok(())
    }

    /// Asks teachers that wait for something outside of this process to give up soon, because the run ends with an error.
    fn interrupt(&self) {}

    /// Bytes that the knowledge takes on the disk, where that is known.
    fn disk_bytes(&self) -> Option<u64> {
        None
    }
}

/// How documents are handed to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkSize {
    /// By [`batch_bytes`](crate::TrainingOptions::batch_bytes) of text.
    Bytes,
    /// By number.
    Documents(NonZeroUsize),
}

/// A sample that a node refused.
#[derive(Debug)]
pub struct RefusedSample {
    /// Its number in the corpus.
    pub sample_idx: u64,
    /// The lowest level that refused it.
    pub node_idx: usize,
    /// Why.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Teaches what one worker plans. Dropped without a commit when its worker dies or the run ends with an error: what it opened, it
/// closes then.
pub trait Teacher: Send {
    /// What is handed over for a commit.
    type Part;

    /// Learns one document, or keeps it until [`finish_work`](Self::finish_work). Leaves its plan in the scratch.
    ///
    /// # Errors
    ///
    /// When the document cannot be learned; then nothing of it was.
    fn learn(
        &mut self,
        document: TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError>;

    /// Called behind the last document of each work, with the numbers of its documents in the corpus (held-out ones
    /// included). What it waits for goes into `activity`. Returns the samples that a node refused, each once.
    ///
    /// # Errors
    ///
    /// When the nodes cannot be taught; the run ends.
    fn finish_work(
        &mut self,
        documents: Range<u64>,
        activity: &Activity,
    ) -> Result<Vec<RefusedSample>, TrainError>;

    /// Learn calls of a level since the last part was taken.
    fn observations(&self, node_idx: usize) -> u64;

    /// Memory of what was learned since the last part was taken, in bytes.
    fn heap_bytes(&self) -> usize;

    /// Hands over what was learned since the last part.
    ///
    /// # Errors
    ///
    /// When it cannot be prepared for a commit; the run ends.
    fn take_part(&mut self) -> Result<Option<Self::Part>, TrainError>;
}

/// A pattern store as a backend: documents are counted into batches, which the store commits.
#[derive(Debug)]
pub(crate) struct StoreBackend<'a>(pub(crate) &'a dyn PatternStore);

impl Backend for StoreBackend<'_> {
    type Part = StagedBatch;

    fn nodes(&self) -> &[String] {
        self.0.nodes()
    }

    fn configuration(&self) -> &Value {
        self.0.configuration()
    }

    fn checkpoint(&self) -> Value {
        self.0.checkpoint()
    }

    fn teacher<'a>(
        &'a self,
        learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = StagedBatch> + 'a>, TrainError> {
        Ok(Box::new(StoreTeacher {
            learner,
            store: self.0,
            batch: learner.new_batch_with_limits(self.0.attribute_limits()),
        }))
    }

    fn commit(&self, parts: Vec<StagedBatch>, checkpoint: Value) -> Result<(), TrainError> {
        self.0.commit(parts, checkpoint).map_err(TrainError::Store)
    }

    fn observations(&self, node_idx: usize) -> Result<u64, TrainError> {
        let totals = self.0.totals(node_idx).map_err(TrainError::Store)?;
        Ok(totals.observations)
    }

    fn count_patterns(&self, node_idx: usize) -> Result<Option<u64>, TrainError> {
        let patterns = self.0.count_patterns(node_idx);
        patterns.map(Some).map_err(TrainError::Store)
    }

    fn disk_bytes(&self) -> Option<u64> {
        self.0.disk_bytes()
    }
}

#[derive(Debug)]
struct StoreTeacher<'a> {
    learner: &'a HierarchicalConceptLearner,
    store: &'a dyn PatternStore,
    batch: LearnBatch,
}

impl Teacher for StoreTeacher<'_> {
    type Part = StagedBatch;

    fn learn(
        &mut self,
        document: TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        self.learner.learn(document, &mut self.batch, scratch)
    }

    fn finish_work(
        &mut self,
        _documents: Range<u64>,
        _activity: &Activity,
    ) -> Result<Vec<RefusedSample>, TrainError> {
        Ok(Vec::new())
    }

    fn observations(&self, node_idx: usize) -> u64 {
        self.batch.observations(node_idx)
    }

    fn heap_bytes(&self) -> usize {
        self.batch.heap_bytes()
    }

    fn take_part(&mut self) -> Result<Option<StagedBatch>, TrainError> {
        if self.batch.is_empty() {
            return Ok(None);
        }
        let limits = self.store.attribute_limits();
        let fresh = self.learner.new_batch_with_limits(limits);
        let batch = std::mem::replace(&mut self.batch, fresh);
        let staged = self.store.stage(batch.seal()).map_err(TrainError::Store)?;
        Ok(Some(staged))
    }
}

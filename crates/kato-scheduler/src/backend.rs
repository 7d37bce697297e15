//! The contract between a run and what it trains: a store in this process, or nodes elsewhere.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::time::Duration;

use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_model::PatternName;
use serde_json::Value;

use crate::TrainError;
use crate::activity::Activity;
use crate::workers::ConnectionBudget;

/// A destination of training, which keeps what is learned together with the position of the run.
///
/// [`train_parallel`](crate::train_parallel) trains a [`PatternStore`](kato_store::PatternStore). Other destinations, such as
/// the nodes of a server, implement this contract:
///
/// * Every worker learns through a [`Teacher`] of its own. What a teacher did becomes final with a
///   commit, together with the checkpoint behind it.
/// * After a crash the run goes on from the last checkpoint, so the documents behind it are learned
///   **again**. A backend that does not lose what was taught since must recognise such repetitions
///   and skip them: work is cut by [`work_size`](Self::work_size) from the checkpoint on, so a
///   backend that answers it as before gets equal work again, with the same [`first
///   document`](Teacher::finish_work).
///
/// Errors of a backend's own are [`TrainError::Backend`]: a
/// [`BackendErrorKind`](crate::BackendErrorKind) with the backend's error, whose text says what
/// happened and what to do next.
pub trait Backend: Sync {
    /// The unit that a teacher hands over for a commit.
    type Part: Send;

    /// Returns the names of the nodes, from the bottom of the hierarchy up.
    fn nodes(&self) -> &[String];

    /// Returns the configuration of the run that is kept here: a
    /// [`RunConfiguration`](crate::RunConfiguration) as JSON.
    fn configuration(&self) -> &Value;

    /// Returns the checkpoint of the last commit; `null` before the first.
    fn checkpoint(&self) -> Value;

    /// Returns how the documents behind a position, counted as by
    /// [`Cursor::documents`](kato_loader::Cursor::documents), are handed to a worker.
    fn work_size(&self, _position: u64) -> WorkSize {
        WorkSize::Bytes
    }

    /// Announces that so many documents behind a position are about to be handed to a worker. Where
    /// [`work_size`](Self::work_size) asked for a number of them, there may be fewer at the end of
    /// a corpus.
    ///
    /// # Errors
    ///
    /// When these documents cannot be taught together; the run ends, and none of them was handed
    /// out.
    fn begin_work(&self, _position: u64, _n_documents: usize) -> Result<(), TrainError> {
        Ok(())
    }

    /// Creates the teacher of one worker.
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
    /// When that cannot be; then the last commit still holds until the backend is opened again, which may
    /// find the one that failed, as a whole.
    fn commit(&self, parts: Vec<Self::Part>, checkpoint: Value) -> Result<(), TrainError>;

    /// Returns the learn calls of a node in this run up to the last commit.
    ///
    /// # Errors
    ///
    /// When that cannot be read.
    fn learns(&self, node_idx: usize) -> Result<u64, TrainError>;

    /// Counts the distinct patterns of a node; `None`, the default, where that is not known. May be slow.
    ///
    /// # Errors
    ///
    /// When that cannot be read.
    fn count_patterns(&self, node_idx: usize) -> Result<Option<u64>, TrainError> {
        let _ = node_idx;
        Ok(None)
    }

    /// Returns the connections that the teachers share; `None` for a backend in this process. Where
    /// there are some, the number of workers can be tuned to what pays.
    fn connections(&self) -> Option<ConnectionBudget> {
        None
    }

    /// Returns whether what a dead worker had not staged may be taught again in the same session.
    /// Where it may not, a panic over one document fails that document, and must leave the teacher
    /// as it was before it; any other panic of a worker ends the run.
    fn can_repeat(&self) -> bool {
        true
    }

    /// Returns the learn calls that the nodes have finished in this session, by level, those of
    /// unfinished work included; `None` where they are not told apart from what is handed over.
    fn finished(&self) -> Option<Vec<u64>> {
        None
    }

    /// Returns a message for the user that has not been reported yet, such as that the nodes are
    /// slow.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Compares what the nodes know with what they were taught. It is called behind the last commit
    /// of a session that was not stopped.
    ///
    /// # Errors
    ///
    /// When they differ, or do not answer; everything is committed all the same.
    fn conclude(&self) -> Result<(), TrainError> {
        Ok(())
    }

    /// Asks everything here that waits for something outside of this process to give up within a
    /// second or two, because the run was stopped or ends with an error. Called on any thread, and
    /// perhaps before anything waits. What is given up is an error of
    /// [`Interrupted`](crate::BackendErrorKind::Interrupted).
    fn interrupt(&self) {}

    /// Returns the bytes that the knowledge takes on the disk, where that is known.
    fn disk_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns how long threads of the backend's own have merged what was committed in this session.
    fn merging_time(&self) -> Duration {
        Duration::ZERO
    }
}

/// The unit in which documents are handed to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkSize {
    /// Batches of [`batch_bytes`](crate::TrainingOptions::batch_bytes) of text.
    Bytes,
    /// Groups of this many documents.
    Documents(NonZeroUsize),
}

/// A document that a node refused.
#[derive(Debug)]
pub struct RefusedDocument {
    /// Number of the document in the corpus.
    pub document_idx: u64,
    /// The lowest level that refused it.
    pub node_idx: usize,
    /// Cause of the refusal.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// A pattern that a node does not learn any more, because somebody has retired it there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("node {node} has retired pattern {pattern}{}", listed(documents))]
#[non_exhaustive]
pub struct RetiredPattern {
    /// The node.
    pub node: String,
    /// The pattern.
    pub pattern: PatternName,
    /// Ids of documents that hold it, of those that were taught together.
    pub documents: Vec<String>,
}

impl RetiredPattern {
    /// Creates one of documents that are not known yet.
    #[must_use]
    pub fn new(node: impl Into<String>, pattern: PatternName) -> Self {
        Self {
            node: node.into(),
            pattern,
            documents: Vec::new(),
        }
    }
}

/// Lists the documents that hold a pattern, a few by their names.
fn listed(documents: &[String]) -> String {
    /// Documents that are named.
    const NAMED: usize = 5;
    let named = documents[..documents.len().min(NAMED)].join(", ");
    match documents.len() {
        0 => String::new(),
        1 => format!(", which document {named} holds"),
        n if n > NAMED => format!(", which documents {named} and {} more hold", n - NAMED),
        _ => format!(", which documents {named} hold"),
    }
}

/// The part of a [`Backend`] that teaches what one worker plans. It is dropped without a commit
/// when its worker dies or the run ends with an error, and then closes what it opened.
pub trait Teacher: Send {
    /// The unit that is handed over for a commit.
    type Part;

    /// Learns one document, or keeps it until [`finish_work`](Self::finish_work). Leaves its plan
    /// in the scratch.
    ///
    /// # Errors
    ///
    /// When the document cannot be learned; then nothing of it was.
    fn learn(
        &mut self,
        document: TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError>;

    /// Finishes work: called behind the last document of each work of which something was learned,
    /// with the numbers of the documents of its batch in the corpus (held-out ones included, and those
    /// of other workers). What it waits for
    /// goes into `activity`. Returns the documents that a node refused, each once; they are among
    /// those that [`learn`](Self::learn) took.
    ///
    /// By default there is nothing to wait for: `learn` has reported every failure already.
    ///
    /// # Errors
    ///
    /// When the nodes cannot be taught; the run ends.
    fn finish_work(
        &mut self,
        documents: Range<u64>,
        activity: &Activity,
    ) -> Result<Vec<RefusedDocument>, TrainError> {
        let _ = (documents, activity);
        Ok(Vec::new())
    }

    /// Returns the learn calls of a level since the last part was taken.
    fn learns(&self, node_idx: usize) -> u64;

    /// Returns the memory of what was learned since the last part was taken, in bytes; a part that grows
    /// beyond its share of the budget is taken early. 0, the default, is for parts that stay small.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Hands over what was learned since the last part; `None` where there is nothing to commit.
    ///
    /// # Errors
    ///
    /// When it cannot be prepared for a commit; the run ends.
    fn take_part(&mut self) -> Result<Option<Self::Part>, TrainError>;
}

//! Work of one's own on the documents of a corpus, in place of learning them.

use std::error::Error;
use std::ops::Range;

use kato_learner::config::Recording;
use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_loader::{Split, StreamingDatasetLoader};
use serde::Deserialize as _;
use serde_json::Value;

use crate::activity::Activity;
use crate::backend::RefusedDocument;
use crate::json::plain_json;
use crate::lesson::Lesson;
use crate::run::describe_split;
use crate::session::run_session;
use crate::{
    Backend, BackendError, BackendErrorKind, Teacher, TrainError, TrainingEvent, TrainingOptions,
    TrainingReport,
};

/// Key of the split that is worked on, in a checkpoint.
const SPLIT: &str = "split";

/// Work of one's own on the documents of a corpus: words that are counted, lengths that are summed up,
/// rows that are made.
///
/// [`work_parallel`] gives the documents to many threads, each of which puts what it makes of its own
/// into a part. Which documents meet in a part, and in which order parts come to a commit, depends on
/// timing. So parts must come to the same whatever the order in which they are put together: sums do,
/// and rows with the numbers of their documents.
///
/// ```
/// use std::sync::Mutex;
///
/// use kato_learner::TextDocument;
/// use kato_loader::StreamingDatasetLoader;
/// use kato_scheduler::own_work::{OwnWork, WorkError};
/// use kato_scheduler::{TrainingOptions, loader_at_checkpoint, work_parallel};
/// use serde_json::Value;
///
/// /// Counts words, and keeps the position behind those that are counted.
/// #[derive(Default)]
/// struct Words(Mutex<(usize, Value)>);
///
/// impl OwnWork for Words {
///     type Part = usize;
///     fn work(&self, document: TextDocument<'_>, words: &mut usize) -> Result<(), WorkError> {
///         *words += document.text.split_whitespace().count();
///         Ok(())
///     }
///     fn checkpoint(&self) -> Value {
///         self.0.lock().unwrap().1.clone()
///     }
///     fn commit(&self, parts: Vec<usize>, checkpoint: Value) -> Result<(), WorkError> {
///         let mut state = self.0.lock().unwrap();
///         *state = (state.0 + parts.iter().sum::<usize>(), checkpoint);
///         Ok(())
///     }
/// }
///
/// let words = Words::default();
/// let corpus = StreamingDatasetLoader::builder().with_documents("two", ["it was", "the best of times"]);
/// let mut loader = loader_at_checkpoint(corpus, &words.checkpoint())?;
/// work_parallel(&mut loader, &words, &TrainingOptions::default(), |_event| {})?;
/// assert_eq!(words.0.lock().unwrap().0, 6);
/// # Ok::<(), kato_scheduler::TrainError>(())
/// ```
pub trait OwnWork: Sync {
    /// What a thread has made of documents; its default is what was made of none.
    type Part: Default + Send;

    /// Adds what a document gives to a part.
    ///
    /// # Errors
    ///
    /// When nothing can be made of the document; then the part is as it was. The run ends, or skips and
    /// lists the document, as [`FailurePolicy`](crate::failure::FailurePolicy) says.
    fn work(&self, document: TextDocument<'_>, part: &mut Self::Part) -> Result<(), WorkError>;

    /// Returns the checkpoint of the last commit; `null` before the first.
    fn checkpoint(&self) -> Value;

    /// Makes parts final together with the checkpoint, both or neither: after a crash the work goes on
    /// at the checkpoint that [`checkpoint`](Self::checkpoint) then returns.
    ///
    /// # Errors
    ///
    /// When that cannot be; then the run ends. The last commit still holds, until the work begins
    /// again, which may find the one that failed, as a whole.
    fn commit(&self, parts: Vec<Self::Part>, checkpoint: Value) -> Result<(), WorkError>;

    /// Returns the memory that a part takes, in bytes. A part that takes more than its share of
    /// [`memory_budget`](TrainingOptions::memory_budget) is put aside for the commit, and another one
    /// begun. By default a part is taken for small.
    fn heap_bytes(&self, part: &Self::Part) -> usize {
        let _ = part;
        0
    }
}

/// An error of work of one's own.
pub type WorkError = Box<dyn Error + Send + Sync>;

/// Does work of one's own on all documents of a corpus, on several threads, and commits as it goes.
///
/// It has what [`train_parallel`](crate::train_parallel) has: any number of workers, every document
/// once whatever dies when, the position committed with the parts. Build the loader by
/// [`loader_at_checkpoint`](crate::loader_at_checkpoint) with the work's checkpoint to go on where it
/// was stopped. The report has no levels and counts no tokens.
///
/// # Errors
///
/// A [`TrainError`]: of another corpus, position or split, of reading, [`TrainError::Refused`] for a document
/// that nothing can be made of, [`TrainError::Backend`] for a commit that failed.
pub fn work_parallel<W: OwnWork>(
    loader: &mut StreamingDatasetLoader,
    work: &W,
    options: &TrainingOptions,
    on_event: impl FnMut(TrainingEvent),
) -> Result<TrainingReport, TrainError> {
    let kept = Kept {
        work,
        split: loader.split(),
    };
    kept.check_split()?;
    run_session(loader, &kept, &kept, options, on_event)
}

/// Work, as a session knows it: a backend without nodes.
struct Kept<'a, W> {
    work: &'a W,
    split: Option<Split>,
}

impl<W: OwnWork> Kept<'_, W> {
    /// Compares what is held out with what was held out when the work was begun.
    fn check_split(&self) -> Result<(), TrainError> {
        let checkpoint = self.work.checkpoint();
        if checkpoint.is_null() {
            return Ok(());
        }
        let was = checkpoint.get(SPLIT).unwrap_or(&Value::Null);
        let was = Option::<Split>::deserialize(was)
            .map_err(|source| TrainError::Checkpoint { source })?;
        if was == self.split {
            return Ok(());
        }
        let (was, now) = (describe_split(was), describe_split(self.split));
        Err(TrainError::OtherConfiguration {
            differences: vec![format!("held-out documents: it was {was}, now it is {now}")],
        })
    }

    fn worker(&self) -> Box<dyn Teacher<Part = W::Part> + '_> {
        Box::new(OwnWorker {
            work: self.work,
            part: W::Part::default(),
            refused: Vec::new(),
        })
    }
}

impl<W: OwnWork> Lesson for Kept<'_, W> {
    type Part = W::Part;

    fn nodes(&self) -> Vec<(&str, usize)> {
        Vec::new()
    }

    fn recording(&self) -> Recording {
        // With this the id of a document is told.
        Recording {
            provenance: true,
            ..Recording::default()
        }
    }

    fn teacher(&self) -> Result<Box<dyn Teacher<Part = W::Part> + '_>, TrainError> {
        Ok(self.worker())
    }
}

impl<W: OwnWork> Backend for Kept<'_, W> {
    type Part = W::Part;

    fn nodes(&self) -> &[String] {
        &[]
    }

    fn configuration(&self) -> &Value {
        &Value::Null
    }

    fn checkpoint(&self) -> Value {
        self.work.checkpoint()
    }

    fn teacher<'a>(
        &'a self,
        _learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = W::Part> + 'a>, TrainError> {
        Ok(self.worker())
    }

    fn commit(&self, parts: Vec<W::Part>, mut checkpoint: Value) -> Result<(), TrainError> {
        checkpoint[SPLIT] = plain_json(&self.split);
        self.work
            .commit(parts, checkpoint)
            .map_err(|error| BackendError::new(BackendErrorKind::State, error).into())
    }

    fn learns(&self, _node_idx: usize) -> Result<u64, TrainError> {
        Ok(0)
    }
}

/// A thread's part of the work.
struct OwnWorker<'a, W: OwnWork> {
    work: &'a W,
    part: W::Part,
    /// Documents of the work at hand that nothing could be made of.
    refused: Vec<RefusedDocument>,
}

impl<W: OwnWork> Teacher for OwnWorker<'_, W> {
    type Part = W::Part;

    fn learn(
        &mut self,
        document: TextDocument<'_>,
        _scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        if let Err(source) = self.work.work(document, &mut self.part) {
            self.refused.push(RefusedDocument {
                document_idx: document.document_idx,
                node_idx: 0,
                source,
            });
        }
        Ok(())
    }

    fn finish_work(
        &mut self,
        _documents: Range<u64>,
        _activity: &Activity,
    ) -> Result<Vec<RefusedDocument>, TrainError> {
        Ok(std::mem::take(&mut self.refused))
    }

    fn learns(&self, _node_idx: usize) -> u64 {
        0
    }

    fn heap_bytes(&self) -> usize {
        self.work.heap_bytes(&self.part)
    }

    fn take_part(&mut self) -> Result<Option<W::Part>, TrainError> {
        Ok(Some(std::mem::take(&mut self.part)))
    }
}

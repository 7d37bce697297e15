//! The workers, which learn documents and hand over staged parts.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};
use kato_learner::config::Recording;
use kato_learner::{Dropped, LearnScratch, TextDocument};
use kato_loader::{BatchDocument, DocumentBatch};
use kato_probe::ThreadState;

use crate::activity::Activity;
use crate::backend::{RefusedDocument, RetiredPattern};
use crate::dispatch::AssignmentId;
use crate::distribution::Selection;
use crate::failure::{FailedDocument, FailureKind, OnFailure, reason};
use crate::stage_clock::StageClock;
use crate::stages::{self, WorkerProbes};
use crate::worker_pool::message_of;
use crate::{BackendError, BackendErrorKind, Counters, Teacher, TrainError};

/// An assignment with its documents.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) id: AssignmentId,
    pub(crate) epoch: u64,
    pub(crate) batch: Arc<DocumentBatch>,
    pub(crate) selection: Selection,
    /// Positions in the batch that are left out.
    pub(crate) excluded: Vec<usize>,
}

/// A request to a worker to stage what it has learned.
#[derive(Debug)]
pub(crate) struct StageNow;

/// A report of a worker or of the committer to the dispatcher.
#[derive(Debug)]
pub(crate) enum Report<P> {
    /// A worker has begun the assignment from its mailbox.
    Began { worker: usize, id: AssignmentId },
    /// A worker has learned the assignment that it had begun.
    Learned { worker: usize, id: AssignmentId },
    /// A worker has staged what it had learned.
    Staged { worker: usize, part: StagedPart<P> },
    /// A worker has panicked.
    Died {
        worker: usize,
        current_document: Option<(AssignmentId, usize)>,
        message: String,
    },
    /// The run cannot go on.
    Failed(TrainError),
    /// An epoch is committed.
    Committed { documents: u64 },
}

/// A part that a worker has staged.
#[derive(Debug)]
pub(crate) struct StagedPart<P> {
    pub(crate) epoch: u64,
    pub(crate) assignments: Vec<AssignmentId>,
    pub(crate) staged: Option<P>,
    pub(crate) counters: Counters,
    pub(crate) failures: Vec<FailedDocument>,
}

/// The counts and clocks that all threads of a session share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) documents: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) tokens: AtomicU64,
    /// Learn calls by level.
    pub(crate) learns: Vec<AtomicU64>,
    /// Set when what workers still have will not be committed.
    is_given_up: AtomicBool,
    pub(crate) learn: StageClock,
    pub(crate) stage: StageClock,
    pub(crate) starved: StageClock,
}

impl Shared {
    /// Creates the counts of a session with so many nodes.
    pub(crate) fn new(n_nodes: usize) -> Self {
        Self {
            learns: (0..n_nodes).map(|_| AtomicU64::new(0)).collect(),
            ..Self::default()
        }
    }

    /// Makes all workers end before their next document.
    pub(crate) fn give_up(&self) {
        // Relaxed: the flag stands for itself.
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    /// Returns whether workers are to end without finishing what they have.
    fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }
}

/// The settings of a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerOptions {
    /// Bytes of learned content and its texts above which a part is staged.
    pub(crate) batch_budget: usize,
    pub(crate) on_failure: OnFailure,
}

/// A worker on its thread: it learns what it is mailed, and stages when its part is full, another
/// epoch begins, it is asked to, or all is done.
pub(crate) struct Worker<'a, P> {
    pub(crate) idx: usize,
    pub(crate) recording: Recording,
    pub(crate) teacher: Box<dyn Teacher<Part = P> + 'a>,
    pub(crate) shared: &'a Shared,
    pub(crate) probes: &'a WorkerProbes,
    pub(crate) options: WorkerOptions,
    pub(crate) activity: Activity,
    /// Whether another worker may do again what this one leaves behind when it dies.
    pub(crate) can_repeat: bool,
    /// The document that is being learned, for the thread that finds the worker dead.
    pub(crate) current_document: &'a Cell<Option<(AssignmentId, usize)>>,
    pub(crate) scratch: LearnScratch,
    /// The documents of the assignment at hand that the teacher took; empty between two.
    pub(crate) taken: Vec<TakenDocument>,
    pub(crate) part: Part,
}

/// A document that the teacher took, and what it counts once it is known that no node refused it.
#[derive(Debug)]
pub(crate) struct TakenDocument {
    document_idx: u64,
    tokens: u64,
    dropped: Dropped,
}

/// A panic over one document.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Panicked(String);

/// The counts of what was learned since the last part was staged.
#[derive(Debug, Default)]
pub(crate) struct Part {
    epoch: u64,
    assignments: Vec<AssignmentId>,
    text_bytes: usize,
    counters: Counters,
    failures: Vec<FailedDocument>,
}

impl<P> Worker<'_, P> {
    /// Runs until the mailbox is closed and empty, or the dispatcher is gone.
    pub(crate) fn run(
        mut self,
        mailbox: &Receiver<Work>,
        stage_now: &Receiver<StageNow>,
        reports: &Sender<Report<P>>,
    ) -> Result<(), TrainError> {
        let _span = tracing::debug_span!("worker", worker = self.idx).entered();
        let _thread = self.probes.probe.thread(stages::LEARN);
        loop {
            kato_probe::thread::set(ThreadState::Starved);
            let waiting = Instant::now();
            let work = crossbeam_channel::select! {
                recv(stage_now) -> asked => match asked {
                    Ok(StageNow) => {
                        self.shared.starved.add(waiting.elapsed());
                        if !self.stage(reports)? {
                            return Ok(());
                        }
                        continue;
                    }
                    // Both channels are closed together; the mailbox may still hold work.
                    Err(_) => mailbox.recv(),
                },
                recv(mailbox) -> work => work,
            };
            self.shared.starved.add(waiting.elapsed());
            let Ok(work) = work else {
                self.stage(reports)?;
                return Ok(());
            };
            if self.shared.is_given_up() {
                return Ok(());
            }
            self.probes.mail.popped(1);
            // A part is of one epoch, with whose commit all of it becomes final.
            if work.epoch != self.part.epoch && !self.stage(reports)? {
                return Ok(());
            }
            self.part.epoch = work.epoch;
            let (worker, id) = (self.idx, work.id);
            // Reported first, so that the next assignment can be mailed while this one is learned.
            if reports.send(Report::Began { worker, id }).is_err() {
                return Ok(());
            }
            self.learn(&work)?;
            drop(work);
            if self.shared.is_given_up() {
                // Perhaps in the middle of it: nobody may take it for learned.
                return Ok(());
            }
            if reports.send(Report::Learned { worker, id }).is_err() {
                return Ok(());
            }
            // The texts count, too: they are kept until they are staged, in case another worker has
            // to learn them again.
            let held = self.teacher.heap_bytes() + self.part.text_bytes;
            if held >= self.options.batch_budget && !self.stage(reports)? {
                return Ok(());
            }
        }
    }

    /// Learns the documents of an assignment.
    fn learn(&mut self, work: &Work) -> Result<(), TrainError> {
        let _busy = kato_probe::thread::during(ThreadState::Busy);
        let start = Instant::now();
        let indices = work.batch.indices();
        let _activity = self.activity.enter(format!(
            "learning documents {}..{}",
            indices.start, indices.end
        ));
        let _span =
            tracing::debug_span!("learn", first = indices.start, end = indices.end).entered();
        // A part spans assignments: what this one adds is the difference at its end.
        let before = self.part.counters;
        let n_nodes = self.probes.nodes.len();
        let observed: Vec<u64> = (0..n_nodes)
            .map(|node_idx| self.teacher.learns(node_idx))
            .collect();
        for (at, document) in work.selection.select(&work.batch) {
            if self.shared.is_given_up() {
                return Ok(());
            }
            if work.excluded.contains(&at) {
                continue;
            }
            self.current_document.set(Some((work.id, at)));
            self.learn_one(&document)?;
            self.part.text_bytes += document.text.len();
        }
        // No single document is to blame for a panic from here on.
        self.current_document.set(None);
        self.finish_work(&work.batch, indices)?;
        self.part.assignments.push(work.id);
        let (shared, counters) = (self.shared, &self.part.counters);
        // For progress and limits alone: what a commit counts comes from the parts.
        let add = |sum: &AtomicU64, n: u64| sum.fetch_add(n, Ordering::Relaxed);
        add(&shared.documents, counters.documents - before.documents);
        add(&shared.failed, counters.failed - before.failed);
        add(&shared.tokens, counters.tokens - before.tokens);
        for (node_idx, before) in observed.into_iter().enumerate() {
            let learned = self.teacher.learns(node_idx) - before;
            add(&shared.learns[node_idx], learned);
            self.probes.nodes[node_idx].learned(learned);
        }
        kato_probe::thread::add_items(counters.documents - before.documents);
        shared.learn.add(start.elapsed());
        Ok(())
    }

    /// Finishes an assignment with the teacher, and counts the documents that no node refused.
    fn finish_work(
        &mut self,
        batch: &DocumentBatch,
        indices: Range<u64>,
    ) -> Result<(), TrainError> {
        // Where nothing was taken there is nothing to wait for.
        if self.taken.is_empty() {
            return Ok(());
        }
        let refused = self.teacher.finish_work(indices, &self.activity)?;
        if self.options.on_failure == OnFailure::End
            && let Some(retired) = retired_pattern(batch, &refused)
        {
            return Err(TrainError::Retired(retired));
        }
        for refused in refused {
            let is_refused = |taken: &TakenDocument| taken.document_idx == refused.document_idx;
            let at = self.taken.iter().position(is_refused);
            let document = batch
                .iter()
                .find(|document| document.index == refused.document_idx);
            let (Some(at), Some(document)) = (at, document) else {
                return Err(not_taken(&refused));
            };
            // Not counted as learned, tokens and all, however far up its levels were taken.
            self.taken.swap_remove(at);
            let (level, source) = (refused.node_idx, &*refused.source);
            self.fail(&document, FailureKind::Refused, level, source)?;
        }
        let counters = &mut self.part.counters;
        for taken in self.taken.drain(..) {
            counters.documents += 1;
            counters.tokens += taken.tokens;
            counters.dropped.merge(&taken.dropped);
        }
        Ok(())
    }

    /// Learns a document, or records why it cannot be learned.
    fn learn_one(&mut self, document: &BatchDocument<'_>) -> Result<(), TrainError> {
        let recording = self.recording;
        // The text of an id is made only where it is kept.
        let id = if recording.provenance || recording.metadata {
            document.id().to_string()
        } else {
            String::new()
        };
        // The metadata that the Python original keeps of a document: it hands each over alone, as
        // book 1, and its plain segmentation names no author.
        let metadata = [
            ("title", id.as_str()),
            ("author", "Unknown"),
            ("book_idx", "1"),
        ];
        let text = TextDocument {
            document_idx: document.index,
            id: &id,
            text: document.text,
            metadata: if recording.metadata { &metadata } else { &[] },
        };
        self.probes.prepare(document.index, &mut self.scratch);
        let learned = match self.can_repeat {
            // A panic ends the worker here: another one repeats what it had not staged.
            true => self.teacher.learn(text, &mut self.scratch),
            // Nobody may repeat the part, so the panic must cost this one document and not the
            // worker.
            false => {
                let (teacher, scratch) = (&mut self.teacher, &mut self.scratch);
                let learned = catch_unwind(AssertUnwindSafe(|| teacher.learn(text, scratch)));
                match learned {
                    Ok(learned) => learned,
                    Err(panic) => {
                        // The panic may have left it half-filled. The teacher is as before by the
                        // contract of `Backend::can_repeat`.
                        self.scratch = LearnScratch::default();
                        let panic = Panicked(message_of(&*panic));
                        return self.fail(document, FailureKind::WorkerDied, 0, &panic);
                    }
                }
            }
        };
        match learned {
            Ok(()) => {
                let plan = self.scratch.plan();
                self.taken.push(TakenDocument {
                    document_idx: document.index,
                    tokens: plan.n_tokens() as u64,
                    dropped: *plan.dropped(),
                });
                self.probes.report_times(&self.scratch);
                Ok(())
            }
            Err(source) if self.options.on_failure == OnFailure::Skip => {
                self.fail(document, FailureKind::Unlearnable, 0, &source)
            }
            Err(source) => Err(TrainError::Learn {
                document: document.id().to_string(),
                source,
            }),
        }
    }

    /// Records a document that has failed, or ends the run with it.
    fn fail(
        &mut self,
        document: &BatchDocument<'_>,
        kind: FailureKind,
        level: usize,
        error: &(dyn std::error::Error + 'static),
    ) -> Result<(), TrainError> {
        let (document, document_idx) = (document.id().to_string(), document.index);
        if self.options.on_failure == OnFailure::End {
            let reason = reason(error);
            return Err(TrainError::Refused { document, reason });
        }
        self.part.counters.failed += 1;
        self.part.counters.failures.count(kind);
        self.part.failures.push(FailedDocument {
            document,
            document_idx,
            kind,
            level,
            attempts: 1,
            reason: reason(error),
        });
        Ok(())
    }

    /// Stages what was learned and hands it over; returns `false` when the dispatcher is gone.
    fn stage(&mut self, reports: &Sender<Report<P>>) -> Result<bool, TrainError> {
        if self.part.assignments.is_empty() {
            // Nothing to hand over, as when a request crosses a staging of its own: the report of
            // that one answers the request, too.
            return Ok(true);
        }
        let _activity = self.activity.enter("staging what was learned");
        let _thread = self.probes.probe.thread(stages::STAGE);
        kato_probe::thread::set(ThreadState::Busy);
        let _span = tracing::debug_span!("stage", epoch = self.part.epoch).entered();
        let staged = self.shared.stage.time(|| self.teacher.take_part())?;
        kato_probe::thread::add_items(1);
        let epoch = self.part.epoch;
        let part = std::mem::take(&mut self.part);
        // Kept: the next assignment is compared with it.
        self.part.epoch = epoch;
        let part = StagedPart {
            epoch,
            assignments: part.assignments,
            staged,
            counters: part.counters,
            failures: part.failures,
        };
        let worker = self.idx;
        Ok(reports.send(Report::Staged { worker, part }).is_ok())
    }
}

/// Returns the first retired pattern for which documents were refused, with all that hold it.
fn retired_pattern(batch: &DocumentBatch, refused: &[RefusedDocument]) -> Option<RetiredPattern> {
    let holds = |refused: &RefusedDocument| refused.source.downcast_ref().cloned();
    let mut retired: RetiredPattern = refused.iter().find_map(holds)?;
    let holders = refused
        .iter()
        .filter(|it| holds(it) == Some(retired.clone()));
    let holders: Vec<u64> = holders.map(|refused| refused.document_idx).collect();
    let documents = batch.iter().filter(|it| holders.contains(&it.index));
    retired.documents = documents
        .map(|document| document.id().to_string())
        .collect();
    Some(retired)
}

/// Creates the error of a backend that refused a document which its teacher did not take.
fn not_taken(refused: &RefusedDocument) -> TrainError {
    let document_idx = refused.document_idx;
    let reason = format!(
        "the backend refused document {document_idx}, which it was not given or had refused: mend the backend"
    );
    BackendError::new(BackendErrorKind::Other, reason).into()
}

//! Workers: documents in, staged batches out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_loader::DocumentBatch;
use serde::Serialize;

use crate::stage_clock::StageClock;
use crate::{Counters, Teacher, TrainError};

/// How often an idle worker looks whether its epoch was closed.
const IDLE_CHECK: Duration = Duration::from_millis(50);

/// Documents to learn, and the epoch whose commit they belong to.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) epoch: u64,
    pub(crate) documents: DocumentBatch,
}

/// What a worker hands to the committer.
#[derive(Debug)]
pub(crate) struct StagedPart<P> {
    pub(crate) epoch: u64,
    /// Work items that the part covers.
    pub(crate) n_work: u64,
    pub(crate) staged: Option<P>,
    pub(crate) counters: Counters,
    pub(crate) failures: Vec<FailedDocument>,
}

/// An entry of the ledger: a document that could not be learned.
#[derive(Debug, Serialize)]
pub(crate) struct FailedDocument {
    document: String,
    sample_idx: u64,
    reason: String,
}

/// What all threads of a session see.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The epoch that is open; parts of earlier ones are due.
    pub(crate) open_epoch: AtomicU64,
    pub(crate) samples: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) tokens: AtomicU64,
    /// Learn calls by level.
    pub(crate) observations: Vec<AtomicU64>,
    pub(crate) learn: StageClock,
    pub(crate) stage: StageClock,
    pub(crate) starved: StageClock,
}

impl Shared {
    pub(crate) fn of_nodes(n_nodes: usize) -> Self {
        Self {
            observations: (0..n_nodes).map(|_| AtomicU64::new(0)).collect(),
            ..Self::default()
        }
    }
}

/// A worker's settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerOptions {
    /// Bytes of learned content above which a part is staged.
    pub(crate) batch_budget: usize,
    pub(crate) skip_errors: bool,
}

/// One worker thread: learns what it is handed and stages a part when its batch is full, its epoch closed, or all done.
pub(crate) struct Worker<'a, P> {
    learner: &'a HierarchicalConceptLearner,
    teacher: Box<dyn Teacher<Part = P> + 'a>,
    shared: &'a Shared,
    options: WorkerOptions,
    scratch: LearnScratch,
    part: Part,
}

/// What was learned since the last part was staged.
#[derive(Debug, Default)]
struct Part {
    epoch: u64,
    n_work: u64,
    counters: Counters,
    failures: Vec<FailedDocument>,
}

impl<'a, P> Worker<'a, P> {
    pub(crate) fn new(
        learner: &'a HierarchicalConceptLearner,
        teacher: Box<dyn Teacher<Part = P> + 'a>,
        shared: &'a Shared,
        options: WorkerOptions,
    ) -> Self {
        Self {
            learner,
            teacher,
            shared,
            options,
            scratch: learner.new_scratch(),
            part: Part::default(),
        }
    }

    /// Works until there is no more work. An error ends the run; the receiver's end tells the others.
    pub(crate) fn run(
        mut self,
        work: &Receiver<Work>,
        parts: &Sender<StagedPart<P>>,
    ) -> Result<(), TrainError> {
        loop {
            let waiting = Instant::now();
            let received = work.recv_timeout(IDLE_CHECK);
            self.shared.starved.add(waiting.elapsed());
            match received {
                Ok(work) => {
                    if work.epoch != self.part.epoch && !self.stage(parts)? {
                        return Ok(());
                    }
                    self.part.epoch = work.epoch;
                    self.learn(&work.documents)?;
                    if self.teacher.heap_bytes() >= self.options.batch_budget
                        && !self.stage(parts)?
                    {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    let is_due = self.part.epoch < self.shared.open_epoch.load(Ordering::Acquire);
                    if is_due && !self.stage(parts)? {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.stage(parts)?;
                    return Ok(());
                }
            }
        }
    }

    fn learn(&mut self, documents: &DocumentBatch) -> Result<(), TrainError> {
        let start = Instant::now();
        let (learner, part, scratch) = (self.learner, &mut self.part, &mut self.scratch);
        let teacher = &mut self.teacher;
        let before = part.counters;
        let n_nodes = learner.nodes().len();
        let observed: Vec<u64> = (0..n_nodes)
            .map(|node_idx| teacher.observations(node_idx))
            .collect();
        let recording = learner.config().recording;
        for document in documents.iter() {
            let id = if recording.provenance || recording.metadata {
                document.id().to_string()
            } else {
                String::new()
            };
            let metadata = [("title", id.as_str())];
            let document_text = TextDocument {
                sample_idx: document.index,
                id: &id,
                text: document.text,
                metadata: if recording.metadata { &metadata } else { &[] },
            };
            match teacher.learn(document_text, scratch) {
                Ok(()) => {
                    part.counters.samples += 1;
                    part.counters.tokens += scratch.plan().n_tokens() as u64;
                    part.counters.dropped.merge(scratch.plan().dropped());
                }
                Err(source) if self.options.skip_errors => {
                    part.counters.failed += 1;
                    part.failures.push(FailedDocument::new(
                        document.id().to_string(),
                        document.index,
                        &source,
                    ));
                }
                Err(source) => {
                    return Err(TrainError::Learn {
                        document: document.id().to_string(),
                        source,
                    });
                }
            }
        }
        teacher.finish_work(documents.indices())?;
        part.n_work += 1;
        let shared = self.shared;
        shared
            .samples
            .fetch_add(part.counters.samples - before.samples, Ordering::Relaxed);
        shared
            .failed
            .fetch_add(part.counters.failed - before.failed, Ordering::Relaxed);
        shared
            .tokens
            .fetch_add(part.counters.tokens - before.tokens, Ordering::Relaxed);
        for (node_idx, before) in observed.into_iter().enumerate() {
            let learned = teacher.observations(node_idx) - before;
            shared.observations[node_idx].fetch_add(learned, Ordering::Relaxed);
        }
        shared.learn.add(start.elapsed());
        Ok(())
    }

    /// Stages what was learned and hands it over; false when nobody takes it any more.
    fn stage(&mut self, parts: &Sender<StagedPart<P>>) -> Result<bool, TrainError> {
        if self.part.n_work == 0 {
            return Ok(true);
        }
        let staged = self.shared.stage.time(|| self.teacher.take_part())?;
        let part = StagedPart {
            epoch: self.part.epoch,
            n_work: std::mem::take(&mut self.part.n_work),
            staged,
            counters: std::mem::take(&mut self.part.counters),
            failures: std::mem::take(&mut self.part.failures),
        };
        Ok(parts.send(part).is_ok())
    }
}

impl FailedDocument {
    fn new(document: String, sample_idx: u64, error: &LearnError) -> Self {
        let mut reason = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            reason.push_str(": ");
            reason.push_str(&error.to_string());
            cause = error.source();
        }
        Self {
            document,
            sample_idx,
            reason,
        }
    }

    pub(crate) fn sample_idx(&self) -> u64 {
        self.sample_idx
    }
}

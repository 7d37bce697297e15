//! Workers: samples in, staged parts out.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};
use kato_learner::{HierarchicalConceptLearner, LearnScratch, TextDocument};
use kato_loader::{DocumentBatch, DocumentRef};
use kato_probe::State;

use crate::crew::message_of;
use crate::dispatch::AssignmentId;
use crate::distribution::Selection;
use crate::failure::{FailedSample, reason};
use crate::stage_clock::StageClock;
use crate::stages::{self, WorkerProbes};
use crate::{Activity, Counters, FailureKind, OnFailure, Teacher, TrainError};

/// An assignment with its samples.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) id: AssignmentId,
    pub(crate) epoch: u64,
    pub(crate) batch: Arc<DocumentBatch>,
    pub(crate) selection: Selection,
    /// Positions that are left out.
    pub(crate) excluded: Vec<usize>,
}

/// Asks a worker to stage what it has learned.
#[derive(Debug)]
pub(crate) struct StageNow;

/// What a worker tells the dispatcher.
#[derive(Debug)]
pub(crate) enum Report<P> {
    /// It has taken its mail.
    Began { worker: usize, id: AssignmentId },
    /// It has learned what it had in its hands.
    Learned { worker: usize, id: AssignmentId },
    /// It has staged what it had learned.
    Staged { worker: usize, part: StagedPart<P> },
    /// It panicked.
    Died {
        worker: usize,
        over: Option<(AssignmentId, usize)>,
        message: String,
    },
    /// The run cannot go on.
    Failed(TrainError),
    /// An epoch is committed.
    Committed { documents: u64 },
}

/// What a worker has staged.
#[derive(Debug)]
pub(crate) struct StagedPart<P> {
    pub(crate) epoch: u64,
    pub(crate) assignments: Vec<AssignmentId>,
    pub(crate) staged: Option<P>,
    pub(crate) counters: Counters,
    pub(crate) failures: Vec<FailedSample>,
}

/// What all threads of a session see.
#[derive(Debug, Default)]
pub(crate) struct Shared {
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
    /// Bytes of learned content and its texts above which a part is staged.
    pub(crate) batch_budget: usize,
    pub(crate) on_failure: OnFailure,
}

/// One worker thread: learns what it is mailed, and stages when its part is full, another epoch begins, it is asked to, or all
/// is done.
pub(crate) struct Worker<'a, P> {
    pub(crate) idx: usize,
    pub(crate) learner: &'a HierarchicalConceptLearner,
    pub(crate) teacher: Box<dyn Teacher<Part = P> + 'a>,
    pub(crate) shared: &'a Shared,
    pub(crate) probes: &'a WorkerProbes,
    pub(crate) options: WorkerOptions,
    pub(crate) activity: Activity,
    /// Whether another worker may do again what this one leaves behind when it dies.
    pub(crate) can_repeat: bool,
    /// The sample in hand, for whoever finds the worker dead.
    pub(crate) over: &'a Cell<Option<(AssignmentId, usize)>>,
    pub(crate) scratch: LearnScratch,
    pub(crate) part: Part,
}

/// A panic over one document.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Panicked(String);

/// What was learned since the last part was staged.
#[derive(Debug, Default)]
pub(crate) struct Part {
    epoch: u64,
    assignments: Vec<AssignmentId>,
    text_bytes: usize,
    counters: Counters,
    failures: Vec<FailedSample>,
}

impl<P> Worker<'_, P> {
    /// Works until the mailbox is closed and empty, or nobody hears any more.
    pub(crate) fn run(
        mut self,
        mailbox: &Receiver<Work>,
        stage_now: &Receiver<StageNow>,
        reports: &Sender<Report<P>>,
    ) -> Result<(), TrainError> {
        let _span = tracing::debug_span!("worker", worker = self.idx).entered();
        let _thread = self.probes.probe.thread(stages::LEARN);
        loop {
            kato_probe::set(State::Starved);
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
                    // Both end together; the mailbox tells.
                    Err(_) => mailbox.recv(),
                },
                recv(mailbox) -> work => work,
            };
            self.shared.starved.add(waiting.elapsed());
            let Ok(work) = work else {
                self.stage(reports)?;
                return Ok(());
            };
            self.probes.mail.popped(1);
            if work.epoch != self.part.epoch && !self.stage(reports)? {
                return Ok(());
            }
            self.part.epoch = work.epoch;
            let (worker, id) = (self.idx, work.id);
            if reports.send(Report::Began { worker, id }).is_err() {
                return Ok(());
            }
            self.learn(&work)?;
            drop(work);
            if reports.send(Report::Learned { worker, id }).is_err() {
                return Ok(());
            }
            let held = self.teacher.heap_bytes() + self.part.text_bytes;
            if held >= self.options.batch_budget && !self.stage(reports)? {
                return Ok(());
            }
        }
    }

    fn learn(&mut self, work: &Work) -> Result<(), TrainError> {
        let _busy = kato_probe::during(State::Busy);
        let start = Instant::now();
        let indices = work.batch.indices();
        let _activity = self.activity.enter(format!(
            "learning samples {}..{}",
            indices.start, indices.end
        ));
        let _span =
            tracing::debug_span!("learn", first = indices.start, end = indices.end).entered();
        let before = self.part.counters;
        let n_nodes = self.learner.nodes().len();
        let observed: Vec<u64> = (0..n_nodes)
            .map(|node_idx| self.teacher.observations(node_idx))
            .collect();
        for (at, document) in work.selection.of(&work.batch) {
            if work.excluded.contains(&at) {
                continue;
            }
            self.over.set(Some((work.id, at)));
            self.learn_one(&document)?;
            self.part.text_bytes += document.text.len();
        }
        self.over.set(None);
        let learned: u64 = self.part.counters.samples - before.samples;
        if learned > 0 {
            for refused in self.teacher.finish_work(indices, &self.activity)? {
                let document = work
                    .batch
                    .iter()
                    .find(|document| document.index == refused.sample_idx);
                if let Some(document) = document {
                    self.part.counters.samples -= 1;
                    self.fail(
                        &document,
                        FailureKind::Refused,
                        refused.node_idx,
                        &*refused.source,
                    )?;
                }
            }
        }
        self.part.assignments.push(work.id);
        let (shared, counters) = (self.shared, &self.part.counters);
        let add = |sum: &AtomicU64, n: u64| sum.fetch_add(n, Ordering::Relaxed);
        add(&shared.samples, counters.samples - before.samples);
        add(&shared.failed, counters.failed - before.failed);
        add(&shared.tokens, counters.tokens - before.tokens);
        for (node_idx, before) in observed.into_iter().enumerate() {
            let learned = self.teacher.observations(node_idx) - before;
            add(&shared.observations[node_idx], learned);
            self.probes.nodes[node_idx].learned(learned);
        }
        kato_probe::add_items(counters.samples - before.samples);
        shared.learn.add(start.elapsed());
        Ok(())
    }

    fn learn_one(&mut self, document: &DocumentRef<'_>) -> Result<(), TrainError> {
        let recording = self.learner.config().recording;
        let id = if recording.provenance || recording.metadata {
            document.id().to_string()
        } else {
            String::new()
        };
        // What the original notes of a sample: it comes alone, as the first book, and names no author.
        let metadata = [
            ("title", id.as_str()),
            ("author", "Unknown"),
            ("book_idx", "1"),
        ];
        let text = TextDocument {
            sample_idx: document.index,
            id: &id,
            text: document.text,
            metadata: if recording.metadata { &metadata } else { &[] },
        };
        self.probes.prepare(document.index, &mut self.scratch);
        let learned = match self.can_repeat {
            true => self.teacher.learn(text, &mut self.scratch),
            false => {
                let (teacher, scratch) = (&mut self.teacher, &mut self.scratch);
                let learned = catch_unwind(AssertUnwindSafe(|| teacher.learn(text, scratch)));
                match learned {
                    Ok(learned) => learned,
                    Err(panic) => {
                        self.scratch = self.learner.new_scratch();
                        let panic = Panicked(message_of(&*panic));
                        return self.fail(document, FailureKind::WorkerDied, 0, &panic);
                    }
                }
            }
        };
        match learned {
            Ok(()) => {
                let counters = &mut self.part.counters;
                counters.samples += 1;
                counters.tokens += self.scratch.plan().n_tokens() as u64;
                counters.dropped.merge(self.scratch.plan().dropped());
                self.probes.tell(&self.scratch);
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

    /// Records a sample that has failed, or ends the run with it.
    fn fail(
        &mut self,
        document: &DocumentRef<'_>,
        kind: FailureKind,
        level: usize,
        error: &(dyn std::error::Error + 'static),
    ) -> Result<(), TrainError> {
        let (document, sample_idx) = (document.id().to_string(), document.index);
        if self.options.on_failure == OnFailure::End {
            let reason = reason(error);
            return Err(TrainError::Refused { document, reason });
        }
        self.part.counters.failed += 1;
        self.part.counters.failures.count(kind);
        self.part.failures.push(FailedSample {
            document,
            sample_idx,
            kind,
            level,
            attempts: 1,
            reason: reason(error),
        });
        Ok(())
    }

    /// Stages what was learned and hands it over; false when nobody takes it any more.
    fn stage(&mut self, reports: &Sender<Report<P>>) -> Result<bool, TrainError> {
        if self.part.assignments.is_empty() {
            return Ok(true);
        }
        let _activity = self.activity.enter("staging what was learned");
        let _thread = self.probes.probe.thread(stages::STAGE);
        kato_probe::set(State::Busy);
        let _span = tracing::debug_span!("stage", epoch = self.part.epoch).entered();
        let staged = self.shared.stage.time(|| self.teacher.take_part())?;
        kato_probe::add_items(1);
        let epoch = self.part.epoch;
        let part = std::mem::take(&mut self.part);
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

//! The dispatcher: the caller's thread. Reads samples, carries out what [`Dispatch`] decides, and tells what happens.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use kato_loader::{BadRecord, DocumentBatch, LoadError, StreamingDatasetLoader};
use kato_probe::{State, Wait};

use crate::committer::StagedEpoch;
use crate::crew::Crew;
use crate::dispatch::{AssignmentId, BatchId, Command, Dispatch, Verdict};
use crate::event::{Progress, Stall, TrainingEvent};
use crate::failure::FailedSample;
use crate::session::Session;
use crate::tuner::Tuner;
use crate::worker::{Report, StagedPart, Work};
use crate::{
    Backend, Counters, Distribution, FailureKind, OnFailure, OnStall, TrainError, TrainingOptions,
    WorkSize,
};

/// How long the dispatcher waits for news before it looks around: not busily, and never so long that a stop goes unseen.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Time between two looks at the memory, the number of workers and at stalls.
const HOUSEKEEPING: Duration = Duration::from_millis(100);

/// Silence of a worker after which progress tells what it waits for.
const SILENCE: Duration = Duration::from_secs(3);

/// Text for a worker below which handing over costs more than learning, in bytes.
const MIN_BATCH_BYTES: usize = 16 << 10;

/// What has arrived of an epoch.
#[derive(Debug)]
struct Gathered<P> {
    staged: Vec<P>,
    counters: Counters,
    failures: Vec<FailedSample>,
    /// Set when the epoch is closed.
    position: Option<Position>,
}

/// Where an epoch ends.
#[derive(Debug)]
struct Position {
    cursor: kato_loader::Cursor,
    bad_records: Vec<BadRecord>,
    complete: bool,
}

impl<P> Default for Gathered<P> {
    fn default() -> Self {
        Self {
            staged: Vec::new(),
            counters: Counters::default(),
            failures: Vec::new(),
            position: None,
        }
    }
}

/// What a session counts that no commit keeps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Samples that were tried again.
    pub(crate) retries: u64,
    pub(crate) worker_restarts: u32,
    pub(crate) stalls: u64,
    /// Workers that were at work at the end.
    pub(crate) workers: usize,
}

/// Reads samples, hands them out and commits what comes back.
pub(crate) struct Dispatcher<'a, 'scope, 'env, B: Backend> {
    loader: &'a mut StreamingDatasetLoader,
    options: &'a TrainingOptions,
    session: &'a Session,
    backend: &'env B,
    on_event: &'a mut dyn FnMut(TrainingEvent),
    crew: Crew<'scope, 'env, B>,
    commits: Sender<StagedEpoch<B::Part>>,
    dispatch: Dispatch,
    tuner: Option<Tuner>,
    batch_bytes: usize,
    batches: HashMap<BatchId, Arc<DocumentBatch>>,
    epochs: BTreeMap<u64, Gathered<B::Part>>,
    bad_records: Vec<BadRecord>,
    is_ended: bool,
    unreadable: Option<LoadError>,
    epoch_start: Instant,
    last_progress: Instant,
    last_housekeeping: Instant,
    is_slowed: bool,
    tally: Tally,
}

impl<'a, 'scope, 'env, B: Backend> Dispatcher<'a, 'scope, 'env, B> {
    pub(crate) fn new(
        loader: &'a mut StreamingDatasetLoader,
        options: &'a TrainingOptions,
        session: &'a Session,
        backend: &'env B,
        crew: Crew<'scope, 'env, B>,
        commits: Sender<StagedEpoch<B::Part>>,
        on_event: &'a mut dyn FnMut(TrainingEvent),
    ) -> Self {
        let n_workers = session.num_workers;
        let is_tuned = options.num_workers == crate::Workers::Auto
            && options.distribution == Distribution::WorkStealing
            && backend.connections().is_some();
        let tuner = is_tuned.then(|| Tuner::new(n_workers));
        let mut dispatch = Dispatch::new(
            options.distribution,
            n_workers,
            options.failures.attempts.get(),
        );
        let active = tuner.as_ref().map_or(n_workers, Tuner::active);
        dispatch.activate(active);
        // Each worker has a batch in hand and two waiting; they must not outweigh what it learns.
        let affordable = options.memory_budget / (4 * n_workers);
        Self {
            loader,
            options,
            session,
            backend,
            on_event,
            crew,
            commits,
            dispatch,
            tuner,
            batch_bytes: options.batch_bytes.min(affordable.max(MIN_BATCH_BYTES)),
            batches: HashMap::new(),
            epochs: BTreeMap::new(),
            bad_records: Vec::new(),
            is_ended: false,
            unreadable: None,
            epoch_start: session.start,
            last_progress: session.start,
            last_housekeeping: session.start,
            is_slowed: false,
            tally: Tally {
                workers: active,
                ..Tally::default()
            },
        }
    }

    /// Works until the corpus ends, a stop is asked for, or the run cannot go on; then waits for all workers.
    pub(crate) fn run<C>(
        mut self,
        reports: &Receiver<Report<B::Part>>,
        committer: &ScopedJoinHandle<'_, C>,
    ) -> Result<Tally, TrainError> {
        let worked = self.work(reports, committer);
        if worked.is_err() {
            // Whoever waits for an answer need not wait any longer.
            self.backend.interrupt();
        }
        self.report_progress_now();
        self.crew.dismiss();
        worked?;
        match self.unreadable {
            Some(error) => Err(TrainError::Load(error)),
            None => Ok(self.tally),
        }
    }

    fn work<C>(
        &mut self,
        reports: &Receiver<Report<B::Part>>,
        committer: &ScopedJoinHandle<'_, C>,
    ) -> Result<(), TrainError> {
        // Before anything is handed out: the process may be large already.
        self.heed_memory();
        loop {
            for report in reports.try_iter() {
                self.hear(report)?;
            }
            while let Some(command) = self.dispatch.next_command() {
                self.obey(command)?;
            }
            if self.is_ended && self.dispatch.is_done() {
                return Ok(());
            }
            if !self.is_ended && self.options.stop.is_stopped() {
                (self.on_event)(TrainingEvent::Stopping);
                self.end();
                continue;
            }
            self.look_around()?;
            if !self.is_ended && self.dispatch.wants_work() {
                self.load()?;
                continue;
            }
            let waiting = Instant::now();
            let patience = self
                .options
                .progress_interval
                .clamp(SHORTEST_WAIT, LONGEST_WAIT);
            let idle = match self.is_ended {
                false => kato_probe::waiting(Wait::Downstream),
                true => kato_probe::during(State::Idle),
            };
            let report = reports.recv_timeout(patience);
            drop(idle);
            if !self.is_ended {
                self.session.clocks.blocked.add(waiting.elapsed());
            }
            match report {
                Ok(report) => self.hear(report)?,
                // It ends before the work does only by an error or a panic, which its join tells.
                Err(RecvTimeoutError::Timeout) if committer.is_finished() => return Ok(()),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn hear(&mut self, report: Report<B::Part>) -> Result<(), TrainError> {
        match report {
            Report::Began { worker, id } => {
                self.crew.heard(worker);
                self.dispatch.began(worker, id);
            }
            Report::Learned { worker, id } => {
                self.crew.heard(worker);
                self.dispatch.learned(worker, id);
                self.check_failures()?;
            }
            Report::Staged { worker, part } => {
                self.crew.heard(worker);
                self.gather(worker, part);
            }
            Report::Died {
                worker,
                over,
                message,
            } => self.bury(worker, over, &message)?,
            Report::Failed(error) => return Err(error),
            Report::Committed { documents } => {
                self.dispatch.committed();
                (self.on_event)(TrainingEvent::Committed { documents });
            }
        }
        Ok(())
    }

    fn obey(&mut self, command: Command) -> Result<(), TrainError> {
        match command {
            Command::Mail { worker, assignment } => {
                // Passed over in silence, the run would wait for it for ever.
                let work = self.work_of(assignment);
                let work = work.expect("work is kept until it is committed");
                self.crew.mail(worker, work);
            }
            Command::TakeBack { worker } => {
                let taken = self.crew.take_back(worker);
                self.dispatch.taken_back(worker, taken);
            }
            Command::Stage { worker } => self.crew.ask_to_stage(worker),
            Command::Replace { worker } => self.crew.replace(worker)?,
            Command::Commit { epoch } => self.commit(epoch),
        }
        Ok(())
    }

    fn work_of(&self, id: AssignmentId) -> Option<Work> {
        let assignment = self.dispatch.assignment(id)?;
        Some(Work {
            id,
            epoch: assignment.epoch,
            batch: Arc::clone(self.batches.get(&assignment.batch)?),
            selection: assignment.selection.clone(),
            excluded: assignment.excluded.clone(),
        })
    }

    fn gather(&mut self, worker: usize, part: StagedPart<B::Part>) {
        let epoch = self.epochs.entry(part.epoch).or_default();
        epoch.staged.extend(part.staged);
        epoch.counters.merge(&part.counters);
        epoch.failures.extend(part.failures);
        self.dispatch.staged(worker, &part.assignments);
        let dispatch = &self.dispatch;
        self.batches.retain(|batch, _| dispatch.holds(*batch));
    }

    fn commit(&mut self, epoch: u64) {
        let gathered = self.epochs.remove(&epoch);
        let gathered = gathered.expect("an epoch has an entry from its closing to its commit");
        let position = gathered.position;
        let position = position.expect("an epoch gets its position when it is closed");
        let epoch = StagedEpoch {
            staged: gathered.staged,
            counters: gathered.counters,
            failures: gathered.failures,
            cursor: position.cursor,
            bad_records: position.bad_records,
            complete: position.complete,
        };
        // The committer is gone only after an error, which it reports itself.
        let _ = self.commits.send(epoch);
    }

    /// A worker is dead: another takes its place and its samples.
    fn bury(
        &mut self,
        worker: usize,
        over: Option<(AssignmentId, usize)>,
        message: &str,
    ) -> Result<(), TrainError> {
        let sample = over.and_then(|(id, position)| {
            let batch = self.dispatch.assignment(id)?.batch;
            let document = self.batches.get(&batch)?.get(position)?;
            Some((document.id().to_string(), document.index))
        });
        let document = sample.as_ref().map(|(document, _)| document.clone());
        let died = || TrainError::WorkerDied {
            document: document.clone(),
            message: message.to_owned(),
        };
        let policy = self.options.failures;
        self.tally.worker_restarts += 1;
        if self.tally.worker_restarts > policy.worker_restarts || !self.backend.can_repeat() {
            return Err(died());
        }
        let epoch = over.and_then(|(id, _)| Some(self.dispatch.assignment(id)?.epoch));
        match (self.dispatch.died(worker, over), sample, epoch) {
            (Verdict::Failed, _, _) if policy.on_failure == OnFailure::End => return Err(died()),
            (Verdict::Failed, Some((document, sample_idx)), Some(epoch)) => {
                let gathered = self.epochs.entry(epoch).or_default();
                gathered.counters.failed += 1;
                gathered.counters.failures.count(FailureKind::WorkerDied);
                gathered.failures.push(FailedSample {
                    document,
                    sample_idx,
                    kind: FailureKind::WorkerDied,
                    level: 0,
                    attempts: policy.attempts.get(),
                    reason: message.to_owned(),
                });
                self.session.shared.failed.fetch_add(1, Ordering::Relaxed);
            }
            _ => self.tally.retries += 1,
        }
        (self.on_event)(TrainingEvent::WorkerDied {
            worker,
            document,
            message: message.to_owned(),
        });
        self.check_failures()
    }

    fn check_failures(&self) -> Result<(), TrainError> {
        let failures = self.session.shared.failed.load(Ordering::Relaxed);
        match self.options.failures.most_failures {
            Some(most) if failures > most => Err(TrainError::TooManyFailures { failures, most }),
            _ => Ok(()),
        }
    }

    /// Takes in the next samples, or finds that there are none.
    fn load(&mut self) -> Result<(), TrainError> {
        let clock = &self.session.clocks.load;
        let position = self.loader.cursor().documents();
        let work_size = self.backend.work_size(position);
        let busy = kato_probe::during(State::Busy);
        let loaded = clock.time(|| match work_size {
            WorkSize::Bytes => self.loader.next_batch(self.batch_bytes),
            WorkSize::Documents(number) => self.loader.next_documents(number),
        });
        drop(busy);
        self.bad_records.append(&mut self.loader.take_bad_records());
        match loaded {
            Ok(Some(documents)) => {
                self.backend.begin_work(position, documents.len())?;
                kato_probe::add_items(documents.len() as u64);
                let group = match work_size {
                    WorkSize::Bytes => None,
                    WorkSize::Documents(number) => {
                        Some(documents.first_index() / number.get() as u64)
                    }
                };
                let batch = self.dispatch.add_batch(documents.len(), group);
                self.batches.insert(batch, Arc::new(documents));
                if self.epoch_start.elapsed() >= self.options.commit_interval {
                    self.close_epoch();
                }
            }
            Ok(None) => self.end(),
            // As asked for, which is looked at next.
            Err(LoadError::Interrupted) if self.options.stop.is_stopped() => {}
            Err(error) => {
                // What came before it is kept.
                self.unreadable = Some(error);
                self.end();
            }
        }
        Ok(())
    }

    /// No more samples are taken in.
    fn end(&mut self) {
        self.is_ended = true;
        self.dispatch.end();
        self.close_epoch();
    }

    fn close_epoch(&mut self) {
        let epoch = self.epochs.entry(self.dispatch.open_epoch()).or_default();
        epoch.position = Some(Position {
            cursor: self.loader.cursor(),
            bad_records: std::mem::take(&mut self.bad_records),
            // By the position and not by how the session ends: a complete run stays so when a session on it is stopped,
            // and a limit on documents completes nothing.
            complete: self.loader.is_exhausted(),
        });
        self.dispatch.close_epoch();
        self.epoch_start = Instant::now();
    }

    /// What is due by the clock.
    fn look_around(&mut self) -> Result<(), TrainError> {
        if self.last_progress.elapsed() >= self.options.progress_interval {
            self.report_progress_now();
        }
        if self.last_housekeeping.elapsed() < HOUSEKEEPING {
            return Ok(());
        }
        self.last_housekeeping = Instant::now();
        self.tune();
        self.heed_memory();
        if let Some(text) = self.backend.notice() {
            (self.on_event)(TrainingEvent::Notice { text });
        }
        let Some((worker, silence)) = self.crew.newly_stalled(self.options.stall_timeout) else {
            return Ok(());
        };
        self.tally.stalls += 1;
        let stall = Stall {
            worker,
            silence,
            stack: self.crew.activity(worker).stack(),
        };
        (self.on_event)(TrainingEvent::Stalled(stall.clone()));
        match self.options.on_stall {
            OnStall::Tell => Ok(()),
            OnStall::End => Err(TrainError::Stalled { stall }),
        }
    }

    fn tune(&mut self) {
        let Some(tuner) = &mut self.tuner else {
            return;
        };
        // Learn calls, not samples: a long document is progress long before it is done.
        let learned = match self.backend.finished() {
            Some(levels) => levels.iter().sum(),
            None => {
                let levels = self.session.shared.observations.iter();
                levels.map(|level| level.load(Ordering::Relaxed)).sum()
            }
        };
        if tuner.observe(self.session.start.elapsed(), learned) {
            self.tally.workers = tuner.active();
            self.dispatch.activate(tuner.active());
        }
    }

    fn heed_memory(&mut self) {
        let Some(ceiling) = self.options.memory_ceiling else {
            return;
        };
        let Some(memory) = memory_stats::memory_stats() else {
            return;
        };
        let resident = memory.physical_mem as u64;
        let was_slowed = self.is_slowed;
        self.is_slowed = match was_slowed {
            // Not back and forth at the ceiling.
            true => resident > ceiling / 10 * 9,
            false => resident > ceiling,
        };
        self.dispatch.press(self.is_slowed);
        if self.is_slowed && !was_slowed {
            (self.on_event)(TrainingEvent::Slowed { resident, ceiling });
        }
    }

    fn report_progress_now(&mut self) {
        self.last_progress = Instant::now();
        let Session {
            shared, earlier, ..
        } = self.session;
        let session_samples = shared.samples.load(Ordering::Relaxed);
        let session_failed = shared.failed.load(Ordering::Relaxed);
        let finished = self.backend.finished().unwrap_or_else(|| {
            let levels = shared.observations.iter();
            levels.map(|level| level.load(Ordering::Relaxed)).collect()
        });
        let observations = finished.iter().zip(&earlier.observations);
        let silent = self.crew.most_silent();
        let silent = silent.filter(|(_, silence)| *silence >= SILENCE);
        let waiting = silent.and_then(|(worker, _)| self.crew.activity(worker).stack().pop());
        (self.on_event)(TrainingEvent::Progress(Progress {
            samples: earlier.samples + session_samples,
            session_samples,
            session_tokens: shared.tokens.load(Ordering::Relaxed),
            errors: earlier.failed + session_failed + self.loader.counts().bad,
            records: self.loader.counts().records,
            bytes_read: self.loader.bytes_read(),
            total_bytes: self.loader.total_bytes(),
            observations: observations.map(|(now, earlier)| now + earlier).collect(),
            workers: self.tally.workers,
            waiting: waiting.map(|frame| frame.what),
            elapsed: self.session.start.elapsed(),
        }));
    }
}

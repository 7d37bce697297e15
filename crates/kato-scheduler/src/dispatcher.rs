//! The dispatcher, on the thread of the caller: it reads documents, carries out what [`Dispatch`]
//! decides, and reports events.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use kato_loader::{BadRecord, DocumentBatch, LoadError, StreamingDatasetLoader};
use kato_probe::{State, Wait};

use crate::backend::WorkSize;
use crate::committer::StagedEpoch;
use crate::dispatch::{AssignmentId, BatchId, Command, Dispatch, Verdict};
use crate::event::{Progress, Stall, TrainingEvent};
use crate::failure::{FailedDocument, FailureKind, OnFailure};
use crate::large_batches::LargeBatches;
use crate::resident::resident_memory;
use crate::session::Session;
use crate::tuner::Tuner;
use crate::worker::{Report, StagedPart, Work};
use crate::worker_pool::WorkerPool;
use crate::{Backend, Counters, Distribution, OnStall, TrainError, TrainingOptions};

/// Bounds of the time for which the dispatcher waits for a report before it does what is due by the
/// clock: not busily, and never so long that a stop goes unseen.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Time between two checks of the memory, the number of workers and stalls.
const HOUSEKEEPING: Duration = Duration::from_millis(100);

/// Time without a report of a worker after which progress says what it waits for.
const SILENCE: Duration = Duration::from_secs(3);

/// Text for a worker below which handing over costs more than learning, in bytes.
const MIN_BATCH_BYTES: usize = 16 << 10;

/// The parts and counts of an epoch that have arrived so far.
#[derive(Debug)]
struct EpochInProgress<P> {
    staged: Vec<P>,
    counters: Counters,
    failures: Vec<FailedDocument>,
    /// Where the epoch ends; set when it is closed.
    position: Option<Position>,
}

/// The place where an epoch ends, and what the loader says there.
#[derive(Debug)]
struct Position {
    cursor: kato_loader::Cursor,
    bad_records: Vec<BadRecord>,
    complete: bool,
}

// By hand: a derive would ask `P` to have a default.
impl<P> Default for EpochInProgress<P> {
    fn default() -> Self {
        Self {
            staged: Vec::new(),
            counters: Counters::default(),
            failures: Vec::new(),
            position: None,
        }
    }
}

/// The counts of a session that no commit keeps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SessionCounts {
    /// Documents that were tried again because a worker died over them.
    pub(crate) retries: u64,
    pub(crate) worker_restarts: u32,
    pub(crate) stalls: u64,
    /// Workers that were at work at the end.
    pub(crate) workers: usize,
}

/// The part of a session that reads documents, hands them out and commits what comes back.
pub(crate) struct Dispatcher<'a, 'scope, 'env, B: Backend> {
    loader: &'a mut StreamingDatasetLoader,
    options: &'a TrainingOptions,
    session: &'a Session,
    backend: &'env B,
    on_event: &'a mut dyn FnMut(TrainingEvent),
    pool: WorkerPool<'scope, 'env, B>,
    commits: Sender<StagedEpoch<B::Part>>,
    dispatch: Dispatch,
    tuner: Option<Tuner>,
    batch_bytes: usize,
    batches: HashMap<BatchId, Arc<DocumentBatch>>,
    large: LargeBatches,
    epochs: BTreeMap<u64, EpochInProgress<B::Part>>,
    bad_records: Vec<BadRecord>,
    /// Records that could not be read in earlier sessions.
    bad_before: u64,
    is_ended: bool,
    /// When work that was handed out is given up; set by a stop.
    give_up_at: Option<Instant>,
    unreadable: Option<LoadError>,
    epoch_start: Instant,
    last_progress: Instant,
    last_housekeeping: Instant,
    is_slowed: bool,
    counts: SessionCounts,
}

impl<'a, 'scope, 'env, B: Backend> Dispatcher<'a, 'scope, 'env, B> {
    /// Creates the dispatcher of a session whose workers are started.
    pub(crate) fn new(
        loader: &'a mut StreamingDatasetLoader,
        options: &'a TrainingOptions,
        session: &'a Session,
        backend: &'env B,
        pool: WorkerPool<'scope, 'env, B>,
        commits: Sender<StagedEpoch<B::Part>>,
        on_event: &'a mut dyn FnMut(TrainingEvent),
    ) -> Self {
        let n_workers = session.n_workers;
        // Only where documents go to whoever is free: a distribution that sets who learns what deals
        // them out to all workers. In this process one worker a core is the answer.
        let is_tuned = options.n_workers == crate::Workers::Auto
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
        // Each worker learns one batch while two wait for it, which must not outweigh what it
        // learns.
        let affordable = options.memory_budget / (4 * n_workers);
        Self {
            bad_before: loader.counts().bad,
            loader,
            options,
            session,
            backend,
            on_event,
            pool,
            commits,
            dispatch,
            tuner,
            batch_bytes: options.batch_bytes.min(affordable.max(MIN_BATCH_BYTES)),
            batches: HashMap::new(),
            large: LargeBatches::new(options.memory_budget),
            epochs: BTreeMap::new(),
            bad_records: Vec::new(),
            is_ended: false,
            give_up_at: None,
            unreadable: None,
            epoch_start: session.start,
            last_progress: session.start,
            last_housekeeping: session.start,
            is_slowed: false,
            counts: SessionCounts {
                workers: active,
                ..SessionCounts::default()
            },
        }
    }

    /// Runs until the corpus ends, a stop is asked for, or the run cannot go on; then waits for all
    /// workers.
    pub(crate) fn run<C>(
        mut self,
        reports: &Receiver<Report<B::Part>>,
        committer: &ScopedJoinHandle<'_, C>,
    ) -> Result<SessionCounts, TrainError> {
        let worked = match self.work(reports, committer) {
            // A stop is no error. What was given up is learned again when the run is resumed.
            Err(error) if error.is_interruption() && self.options.stop.is_stopped() => Ok(()),
            worked => worked,
        };
        if worked.is_err() {
            // Workers that wait for an answer from elsewhere would hold up the shutdown.
            self.backend.interrupt();
        }
        // What is not committed by now will not be.
        self.session.shared.give_up();
        self.report_progress_now();
        let worked = worked.and_then(|()| self.check_failures());
        self.pool.shut_down();
        // An error of the run comes first. Those of the corpus, and too many of its failures, are
        // returned only when everything in front of them is committed.
        worked?;
        match self.unreadable {
            Some(error) => Err(TrainError::Load(error)),
            None => Ok(self.counts),
        }
    }

    /// Takes in reports, carries out commands and reads documents until everything is committed.
    fn work<C>(
        &mut self,
        reports: &Receiver<Report<B::Part>>,
        committer: &ScopedJoinHandle<'_, C>,
    ) -> Result<(), TrainError> {
        // Before anything is handed out: the process may be over its ceiling already.
        self.check_memory();
        loop {
            for report in reports.try_iter() {
                self.handle_report(report)?;
            }
            while let Some(command) = self.dispatch.next_command() {
                self.execute(command)?;
            }
            if self.is_ended && self.dispatch.is_done() {
                return Ok(());
            }
            if self.give_up_at.is_none() && self.options.stop.is_stopped() {
                // What was handed out is learned and committed, if that is soon done.
                (self.on_event)(TrainingEvent::Stopping);
                self.give_up_at = Some(Instant::now() + self.options.stop_grace);
                if !self.is_ended {
                    self.end();
                    continue;
                }
            }
            if self.give_up_at.is_some_and(|at| Instant::now() >= at) {
                return Ok(());
            }
            self.do_periodic_work()?;
            if !self.is_ended && self.dispatch.wants_work() {
                // Reports are taken in between two batches, however fast reading is.
                self.load()?;
                continue;
            }
            let waiting = Instant::now();
            let patience = self
                .options
                .progress_interval
                .clamp(SHORTEST_WAIT, LONGEST_WAIT);
            // With nothing left to read, the reader holds nobody up and is held up by nobody.
            let idle = match self.is_ended {
                false => kato_probe::thread::waiting(Wait::Downstream),
                true => kato_probe::thread::during(State::Idle),
            };
            let report = reports.recv_timeout(patience);
            drop(idle);
            if !self.is_ended {
                self.session.clocks.blocked.add(waiting.elapsed());
            }
            match report {
                Ok(report) => self.handle_report(report)?,
                // The committer ends before the work only by an error or a panic, which joining it
                // returns.
                Err(RecvTimeoutError::Timeout) if committer.is_finished() => return Ok(()),
                // Never disconnected: the pool keeps a sender for the workers that it may still
                // start.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Takes in a report of a worker or of the committer.
    fn handle_report(&mut self, report: Report<B::Part>) -> Result<(), TrainError> {
        match report {
            Report::Began { worker, id } => {
                self.pool.note_report(worker);
                self.dispatch.began(worker, id);
            }
            Report::Learned { worker, id } => {
                self.pool.note_report(worker);
                self.dispatch.learned(worker, id);
                self.limit_failures();
            }
            Report::Staged { worker, part } => {
                self.pool.note_report(worker);
                self.gather(worker, part);
            }
            Report::Died {
                worker,
                current_document,
                message,
            } => self.handle_worker_death(worker, current_document, &message)?,
            Report::Failed(error) => return Err(error),
            Report::Committed { documents } => {
                self.dispatch.committed();
                (self.on_event)(TrainingEvent::Committed { documents });
            }
        }
        Ok(())
    }

    /// Carries out a command.
    fn execute(&mut self, command: Command) -> Result<(), TrainError> {
        match command {
            Command::SendWork { worker, assignment } => {
                // Skipping it would leave the run waiting for this assignment for ever.
                let work = self.work_of(assignment);
                let work = work.expect("work is kept until it is committed");
                self.pool.send_work(worker, work);
            }
            Command::TakeBack { worker } => {
                let taken = self.pool.take_back(worker);
                self.dispatch.taken_back(worker, taken);
            }
            Command::Stage { worker } => self.pool.ask_to_stage(worker),
            Command::Replace { worker } => self.pool.replace(worker)?,
            Command::Commit { epoch } => self.commit(epoch),
        }
        Ok(())
    }

    /// Returns an assignment with its documents; `None` once it is staged.
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

    /// Adds a staged part to its epoch, and releases the batches that nobody can need again.
    fn gather(&mut self, worker: usize, part: StagedPart<B::Part>) {
        let epoch = self.epochs.entry(part.epoch).or_default();
        epoch.staged.extend(part.staged);
        epoch.counters.merge(&part.counters);
        epoch.failures.extend(part.failures);
        self.dispatch.staged(worker, &part.assignments);
        let dispatch = &self.dispatch;
        // A batch is kept until all of it is staged, so that what a dead worker had can be learned
        // again.
        self.batches.retain(|batch, _| dispatch.holds(*batch));
        self.large.retain(|batch| dispatch.holds(batch));
        self.set_pressure();
    }

    /// Hands a complete epoch over to the committer.
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
            // A run that more failed in than may is not done: whoever resumes it has seen the list.
            complete: position.complete && self.check_failures().is_ok(),
        };
        // The committer is gone only after an error, which joining it returns.
        let _ = self.commits.send(epoch);
    }

    /// Handles the death of a worker: what it had not staged is queued again, and the document over
    /// which it died is recorded once it has failed for good. Ends the run where the policy says
    /// so.
    fn handle_worker_death(
        &mut self,
        worker: usize,
        current_document: Option<(AssignmentId, usize)>,
        message: &str,
    ) -> Result<(), TrainError> {
        let held = current_document.and_then(|(id, position)| {
            let batch = self.dispatch.assignment(id)?.batch;
            let document = self.batches.get(&batch)?.get(position)?;
            Some((document.id().to_string(), document.index))
        });
        let document = held.as_ref().map(|(document, _)| document.clone());
        let died = || TrainError::WorkerDied {
            document: document.clone(),
            message: message.to_owned(),
        };
        let policy = self.options.failures;
        self.counts.worker_restarts += 1;
        // A backend that does not know how much of the dead worker's part arrived must not be
        // taught it again.
        if self.counts.worker_restarts > policy.worker_restarts || !self.backend.can_repeat() {
            return Err(died());
        }
        let epoch = current_document.and_then(|(id, _)| Some(self.dispatch.assignment(id)?.epoch));
        match self.dispatch.died(worker, current_document) {
            Verdict::Failed if policy.on_failure == OnFailure::End => return Err(died()),
            Verdict::Failed => {
                let (document, document_idx) = held.expect("only a document that is held can fail");
                let failed = FailedDocument {
                    document,
                    document_idx,
                    kind: FailureKind::WorkerDied,
                    level: 0,
                    attempts: policy.attempts.get(),
                    reason: message.to_owned(),
                };
                self.record_failure(epoch.expect("its assignment is not staged"), failed);
            }
            // Between two documents, as while staging, it died over none: what it had is repeated and
            // no document is to blame.
            Verdict::Again => self.counts.retries += u64::from(held.is_some()),
        }
        (self.on_event)(TrainingEvent::WorkerDied {
            worker,
            document,
            message: message.to_owned(),
        });
        self.limit_failures();
        Ok(())
    }

    /// Records a document that has failed for good with the epoch of its assignment, since there will
    /// be no part with this document.
    fn record_failure(&mut self, epoch: u64, failed: FailedDocument) {
        let gathered = self.epochs.entry(epoch).or_default();
        gathered.counters.failed += 1;
        gathered.counters.failures.count(failed.kind);
        gathered.failures.push(failed);
        self.session.shared.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the intake when more documents and records have failed than the policy allows. What was
    /// handed out is committed before the run ends, so that its ledger lists all that was counted.
    fn limit_failures(&mut self) {
        if !self.is_ended && self.check_failures().is_err() {
            self.end();
        }
    }

    /// Compares the documents and records that have failed with what the policy allows.
    fn check_failures(&self) -> Result<(), TrainError> {
        // The count runs ahead of commits: it bounds the session and is not part of the result.
        let failed = self.session.shared.failed.load(Ordering::Relaxed);
        let failures = failed + (self.loader.counts().bad - self.bad_before);
        match self.options.failures.most_failures {
            Some(most) if failures > most => Err(TrainError::TooManyFailures { failures, most }),
            _ => Ok(()),
        }
    }

    /// Reads the next documents and takes them in, or ends the intake where there are none.
    fn load(&mut self) -> Result<(), TrainError> {
        let clock = &self.session.clocks.load;
        let position = self.loader.cursor().documents();
        let work_size = self.backend.work_size(position);
        let busy = kato_probe::thread::during(State::Busy);
        self.session.reading.turn();
        let loaded = clock.time(|| match work_size {
            WorkSize::Bytes => self.loader.next_batch(self.batch_bytes),
            WorkSize::Documents(number) => self.loader.next_documents(number),
        });
        self.session.reading.turn();
        drop(busy);
        self.bad_records.append(&mut self.loader.take_bad_records());
        match loaded {
            Ok(Some(documents)) => {
                // In front of handing out: a backend may have to remember what travels together
                // before it is sent.
                self.backend.begin_work(position, documents.len())?;
                kato_probe::thread::add_items(documents.len() as u64);
                let group = match work_size {
                    WorkSize::Bytes => None,
                    WorkSize::Documents(number) => {
                        // From the position in the corpus alone, so that a group has the same
                        // number in every session.
                        Some(documents.first_index() / number.get() as u64)
                    }
                };
                let batch = self.dispatch.add_batch(documents.len(), group);
                self.large.add(batch, documents.text_bytes());
                self.set_pressure();
                self.batches.insert(batch, Arc::new(documents));
                // Between two batches, because the position of an epoch is the cursor behind a
                // whole batch.
                if self.epoch_start.elapsed() >= self.options.commit_interval {
                    self.close_epoch();
                }
            }
            Ok(None) => self.end(),
            // The reading was ended by the stop signal, which the loop looks at next.
            Err(_) if self.options.stop.is_stopped() => {}
            Err(error) => {
                // Everything in front of the error is learned and committed before the run ends
                // with it.
                self.unreadable = Some(error);
                self.end();
            }
        }
        // Behind the last batch, which is learned and committed with what was skipped in it.
        self.limit_failures();
        Ok(())
    }

    /// Ends the intake of documents, and closes the last epoch.
    fn end(&mut self) {
        self.is_ended = true;
        self.dispatch.end();
        self.close_epoch();
    }

    /// Closes the open epoch at the present position of the loader.
    fn close_epoch(&mut self) {
        let epoch = self.epochs.entry(self.dispatch.open_epoch()).or_default();
        epoch.position = Some(Position {
            cursor: self.loader.cursor(),
            bad_records: std::mem::take(&mut self.bad_records),
            // By the position and not by how the session ends: a complete run stays complete when a
            // session on it is stopped, and a limit on documents completes nothing.
            complete: self.loader.is_exhausted(),
        });
        self.dispatch.close_epoch();
        self.epoch_start = Instant::now();
    }

    /// Does what is due by the clock: progress, the number of workers, memory, notices and stalls.
    fn do_periodic_work(&mut self) -> Result<(), TrainError> {
        if self.last_progress.elapsed() >= self.options.progress_interval {
            self.report_progress_now();
        }
        if self.last_housekeeping.elapsed() < HOUSEKEEPING {
            return Ok(());
        }
        self.last_housekeeping = Instant::now();
        self.tune();
        self.check_memory();
        if let Some(text) = self.backend.notice() {
            (self.on_event)(TrainingEvent::Notice { text });
        }
        let Some((worker, silence)) = self.pool.newly_stalled(self.options.stall_timeout) else {
            return Ok(());
        };
        self.counts.stalls += 1;
        let stall = Stall {
            worker,
            silence,
            stack: self.pool.activity(worker).stack(),
        };
        (self.on_event)(TrainingEvent::Stalled(stall.clone()));
        match self.options.on_stall {
            OnStall::Report => Ok(()),
            OnStall::End => Err(TrainError::Stalled { stall }),
        }
    }

    /// Lets the tuner choose the number of active workers.
    fn tune(&mut self) {
        let Some(tuner) = &mut self.tuner else {
            return;
        };
        // Learn calls, not documents: a long document is progress long before it is done.
        let learned = match self.backend.finished() {
            Some(levels) => levels.iter().sum(),
            None => {
                let levels = self.session.shared.learns.iter();
                levels.map(|level| level.load(Ordering::Relaxed)).sum()
            }
        };
        if tuner.observe(self.session.start.elapsed(), learned) {
            // For progress and the report, which name the workers at work.
            self.counts.workers = tuner.active();
            self.dispatch.activate(tuner.active());
        }
    }

    /// Compares the memory of the process with the ceiling, and slows the run down above it.
    fn check_memory(&mut self) {
        let Some(ceiling) = self.options.memory_ceiling else {
            return;
        };
        let Some(resident) = resident_memory() else {
            return;
        };
        let was_slowed = self.is_slowed;
        self.is_slowed = match was_slowed {
            // Back to full speed only below nine tenths of it, not back and forth at the ceiling.
            // Divided first, so that no ceiling overflows.
            true => resident > ceiling / 10 * 9,
            false => resident > ceiling,
        };
        self.set_pressure();
        if self.is_slowed && !was_slowed {
            (self.on_event)(TrainingEvent::Slowed { resident, ceiling });
        }
    }

    /// Tells the dispatch whether memory is short: by the ceiling, or for large documents.
    fn set_pressure(&mut self) {
        let is_short = self.is_slowed || self.large.are_too_many();
        self.dispatch.set_memory_pressure(is_short);
    }

    /// Sends a progress event, whatever the clock says.
    fn report_progress_now(&mut self) {
        self.last_progress = Instant::now();
        let Session {
            shared, earlier, ..
        } = self.session;
        let session_documents = shared.documents.load(Ordering::Relaxed);
        let session_failed = shared.failed.load(Ordering::Relaxed);
        // A backend that works while it is waited for counts finer than parts that were handed
        // over: one long document is seen to go on.
        let finished = self.backend.finished().unwrap_or_else(|| {
            let levels = shared.learns.iter();
            levels.map(|level| level.load(Ordering::Relaxed)).collect()
        });
        let learns = finished.iter().zip(&earlier.learns);
        let silent = self.pool.most_silent();
        let silent = silent.filter(|(_, silence)| *silence >= SILENCE);
        let waiting = silent.and_then(|(worker, _)| self.pool.activity(worker).stack().pop());
        (self.on_event)(TrainingEvent::Progress(Progress {
            documents: earlier.documents + session_documents,
            session_documents,
            session_tokens: shared.tokens.load(Ordering::Relaxed),
            errors: earlier.failed + session_failed + self.loader.counts().bad,
            records: self.loader.counts().records,
            bytes_read: self.loader.bytes_read(),
            total_bytes: self.loader.total_bytes(),
            learns: learns.map(|(now, earlier)| now + earlier).collect(),
            workers: self.counts.workers,
            waiting: waiting.map(|frame| frame.what),
            elapsed: self.session.start.elapsed(),
        }));
    }
}

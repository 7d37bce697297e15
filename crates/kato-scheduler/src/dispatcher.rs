//! The dispatcher, on the thread of the caller: it reads documents, carries out what [`Dispatch`]
//! decides, and reports events.

mod failures;
mod housekeeping;
mod intake;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use kato_loader::{BadRecord, DocumentBatch, LoadError, StreamingDatasetLoader};
use kato_probe::{ThreadState, Wait};

use crate::committer::StagedEpoch;
use crate::dispatch::{AssignmentId, BatchId, Command, Dispatch};
use crate::event::TrainingEvent;
use crate::failure::FailedDocument;
use crate::large_batches::LargeBatches;
use crate::session::Session;
use crate::tuner::Tuner;
use crate::worker::{Report, StagedPart, Work};
use crate::worker_pool::WorkerPool;
use crate::{Backend, Counters, TrainError, TrainingOptions, WorkDistribution};

/// Bounds of the time for which the dispatcher waits for a report before it does what is due by the
/// clock: not busily, and never so long that a stop goes unseen.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(100);

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
            && options.distribution == WorkDistribution::WorkStealing
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
                true => kato_probe::thread::during(ThreadState::Idle),
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
}

//! The worker threads of a session: starting them, their mailboxes, and replacing dead ones.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use kato_learner::LearnScratch;

use crate::activity::Activity;
use crate::dispatch::AssignmentId;
use crate::lesson::Lesson;
use crate::stages::WorkerProbes;
use crate::worker::{Part, Report, Shared, StageNow, Work, Worker, WorkerOptions};
use crate::{Backend, TrainError};

/// The references and settings that all workers are created with.
pub(crate) struct WorkerContext<'env, B: Backend> {
    pub(crate) backend: &'env B,
    pub(crate) lesson: &'env dyn Lesson<Part = B::Part>,
    pub(crate) shared: &'env Shared,
    pub(crate) probes: &'env WorkerProbes,
    pub(crate) options: WorkerOptions,
}

/// The worker threads of a session.
pub(crate) struct WorkerPool<'scope, 'env, B: Backend> {
    scope: &'scope Scope<'scope, 'env>,
    context: WorkerContext<'env, B>,
    reports: Sender<Report<B::Part>>,
    workers: Vec<WorkerHandle<'scope>>,
}

/// A worker thread, as the dispatcher knows it.
struct WorkerHandle<'scope> {
    mailbox: Sender<Work>,
    /// The receiving end of the mailbox, to take mail back.
    mail: Receiver<Work>,
    stage_now: Sender<StageNow>,
    activity: Activity,
    last_report: Instant,
    is_stall_reported: bool,
    join_handle: ScopedJoinHandle<'scope, ()>,
}

impl<'scope, 'env, B: Backend> WorkerPool<'scope, 'env, B> {
    /// Starts the threads of all workers.
    pub(crate) fn start(
        scope: &'scope Scope<'scope, 'env>,
        context: WorkerContext<'env, B>,
        n_workers: usize,
        reports: Sender<Report<B::Part>>,
    ) -> Result<Self, TrainError> {
        let mut pool = Self {
            scope,
            context,
            reports,
            workers: Vec::with_capacity(n_workers),
        };
        for worker in 0..n_workers {
            let handle = pool.spawn(worker)?;
            pool.workers.push(handle);
        }
        Ok(pool)
    }

    /// Starts the thread of one worker, with an empty mailbox.
    fn spawn(&self, idx: usize) -> Result<WorkerHandle<'scope>, TrainError> {
        let WorkerContext {
            backend,
            lesson,
            shared,
            probes,
            options,
        } = self.context;
        // Room for one: the next assignment is at hand when the present one is done, and no more
        // than that has to be taken back when another worker runs out of work.
        let (mailbox, mail) = bounded::<Work>(1);
        let (stage_sender, stage_now) = unbounded::<StageNow>();
        let activity = Activity::default();
        // Created on the dispatcher's thread, where a backend that cannot be reached ends the run.
        let teacher = lesson.teacher()?;
        let can_repeat = backend.can_repeat();
        let own = (mail.clone(), self.reports.clone(), activity.clone());
        let join_handle = thread::Builder::new()
            .name(format!("worker-{idx}"))
            .spawn_scoped(self.scope, move || {
                let (mail, reports, activity) = own;
                // Outside of what a panic unwinds: it still names the document afterwards.
                let current_document = Cell::new(None);
                let worker = Worker {
                    idx,
                    recording: lesson.recording(),
                    teacher,
                    shared,
                    probes,
                    options,
                    activity,
                    can_repeat,
                    current_document: &current_document,
                    scratch: LearnScratch::default(),
                    taken: Vec::new(),
                    part: Part::default(),
                };
                // `AssertUnwindSafe`: what a panic leaves half-done is dropped with the worker, and
                // nobody sees it.
                let ended =
                    catch_unwind(AssertUnwindSafe(|| worker.run(&mail, &stage_now, &reports)));
                // A report that cannot be sent is not missed: the dispatcher is gone only after an
                // error of its own.
                let _ = match ended {
                    Ok(Ok(())) => Ok(()),
                    Ok(Err(error)) => reports.send(Report::Failed(error)),
                    Err(panic) => reports.send(Report::Died {
                        worker: idx,
                        current_document: current_document.get(),
                        message: message_of(&*panic),
                    }),
                };
            })
            .map_err(TrainError::Spawn)?;
        Ok(WorkerHandle {
            mailbox,
            mail,
            stage_now: stage_sender,
            activity,
            last_report: Instant::now(),
            is_stall_reported: false,
            join_handle,
        })
    }

    /// Puts work into the mailbox of a worker, which is empty.
    pub(crate) fn send_work(&self, worker: usize, work: Work) {
        // A worker that has just died leaves it there. Its death is reported in a moment, and then
        // the assignment is queued again.
        if self.workers[worker].mailbox.try_send(work).is_ok() {
            self.context.probes.mail.pushed(1);
        }
    }

    /// Takes work back out of the mailbox of a worker; `None` if the worker was faster.
    pub(crate) fn take_back(&self, worker: usize) -> Option<AssignmentId> {
        // The worker and this call receive from one channel, so exactly one of them gets the work.
        let work = self.workers[worker].mail.try_recv().ok()?;
        self.context.probes.mail.popped(1);
        Some(work.id)
    }

    /// Asks a worker to stage what it has learned.
    pub(crate) fn ask_to_stage(&self, worker: usize) {
        // Only a dead worker's receiver is gone; what it had learned is queued again once its death
        // is reported.
        let _ = self.workers[worker].stage_now.send(StageNow);
    }

    /// Replaces a dead worker by a new one.
    pub(crate) fn replace(&mut self, worker: usize) -> Result<(), TrainError> {
        let fresh = self.spawn(worker)?;
        let dead = std::mem::replace(&mut self.workers[worker], fresh);
        // Joining does not wait for work: the thread has reported its death and only has to return.
        let _ = dead.join_handle.join();
        Ok(())
    }

    /// Notes that a worker has just reported something.
    pub(crate) fn note_report(&mut self, worker: usize) {
        let handle = &mut self.workers[worker];
        handle.last_report = Instant::now();
        handle.is_stall_reported = false;
    }

    /// Returns the worker that has been busy without a report for the longest time, and for how
    /// long.
    pub(crate) fn most_silent(&self) -> Option<(usize, Duration)> {
        let busy = self
            .workers
            .iter()
            .enumerate()
            .filter(|(_, handle)| !handle.activity.is_idle());
        busy.map(|(worker, handle)| (worker, handle.silence()))
            .max_by_key(|(_, silence)| *silence)
    }

    /// Returns what a worker is doing.
    pub(crate) fn activity(&self, worker: usize) -> &Activity {
        &self.workers[worker].activity
    }

    /// Returns a worker that has been busy without a report for too long; each is returned once,
    /// until it reports again.
    pub(crate) fn newly_stalled(&mut self, timeout: Duration) -> Option<(usize, Duration)> {
        let stalled = |handle: &WorkerHandle<'_>| {
            !handle.is_stall_reported && !handle.activity.is_idle() && handle.silence() >= timeout
        };
        let worker = self.workers.iter().position(stalled)?;
        let handle = &mut self.workers[worker];
        handle.is_stall_reported = true;
        Some((worker, handle.silence()))
    }

    /// Closes all mailboxes and waits until all workers have ended.
    pub(crate) fn shut_down(self) {
        // Collected first, which drops all senders: every mailbox is closed before any thread is
        // waited for, so that the workers end side by side.
        let join_handles: Vec<_> = self
            .workers
            .into_iter()
            .map(|worker| worker.join_handle)
            .collect();
        for join_handle in join_handles {
            // A panic was caught and reported by the thread itself.
            let _ = join_handle.join();
        }
    }
}

impl WorkerHandle<'_> {
    /// Returns the time since its last report, or since it turned to something else if that is
    /// later.
    fn silence(&self) -> Duration {
        self.last_report.elapsed().min(self.activity.newest())
    }
}

// By hand: a derive would ask `B` to be `Clone`, of which there is only a reference here.
impl<B: Backend> Clone for WorkerContext<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for WorkerContext<'_, B> {}

/// Returns the text of a panic.
pub(crate) fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    // `panic!` with a literal carries a `&str`, with arguments a `String`.
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}

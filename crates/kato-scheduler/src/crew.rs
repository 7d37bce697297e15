//! The worker threads: starting them, their mailboxes, putting new ones in the place of dead ones.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use kato_learner::HierarchicalConceptLearner;

use crate::dispatch::AssignmentId;
use crate::stages::WorkerProbes;
use crate::worker::{Part, Report, Shared, StageNow, Work, Worker, WorkerOptions};
use crate::{Activity, Backend, TrainError};

/// What all workers are made with.
pub(crate) struct Place<'env, B: Backend> {
    pub(crate) backend: &'env B,
    pub(crate) learner: &'env HierarchicalConceptLearner,
    pub(crate) shared: &'env Shared,
    pub(crate) probes: &'env WorkerProbes,
    pub(crate) options: WorkerOptions,
}

/// The worker threads of a session.
pub(crate) struct Crew<'scope, 'env, B: Backend> {
    scope: &'scope Scope<'scope, 'env>,
    place: Place<'env, B>,
    reports: Sender<Report<B::Part>>,
    members: Vec<Member<'scope>>,
}

struct Member<'scope> {
    mailbox: Sender<Work>,
    /// The mailbox's other end, to take mail back.
    mail: Receiver<Work>,
    stage_now: Sender<StageNow>,
    activity: Activity,
    heard: Instant,
    is_told_stalled: bool,
    handle: ScopedJoinHandle<'scope, ()>,
}

impl<'scope, 'env, B: Backend> Crew<'scope, 'env, B> {
    pub(crate) fn start(
        scope: &'scope Scope<'scope, 'env>,
        place: Place<'env, B>,
        n_workers: usize,
        reports: Sender<Report<B::Part>>,
    ) -> Result<Self, TrainError> {
        let mut crew = Self {
            scope,
            place,
            reports,
            members: Vec::with_capacity(n_workers),
        };
        for worker in 0..n_workers {
            let member = crew.spawn(worker)?;
            crew.members.push(member);
        }
        Ok(crew)
    }

    fn spawn(&self, idx: usize) -> Result<Member<'scope>, TrainError> {
        let Place {
            backend,
            learner,
            shared,
            probes,
            options,
        } = self.place;
        let (mailbox, mail) = bounded::<Work>(1);
        let (stage_sender, stage_now) = unbounded::<StageNow>();
        let activity = Activity::default();
        let teacher = backend.teacher(learner)?;
        let can_repeat = backend.can_repeat();
        let own = (mail.clone(), self.reports.clone(), activity.clone());
        let handle = thread::Builder::new()
            .name(format!("worker-{idx}"))
            .spawn_scoped(self.scope, move || {
                let (mail, reports, activity) = own;
                let over = Cell::new(None);
                let worker = Worker {
                    idx,
                    learner,
                    teacher,
                    shared,
                    probes,
                    options,
                    activity,
                    can_repeat,
                    over: &over,
                    scratch: learner.new_scratch(),
                    part: Part::default(),
                };
                // What the panic left half-done is dropped with the worker: nobody sees it.
                let ended =
                    catch_unwind(AssertUnwindSafe(|| worker.run(&mail, &stage_now, &reports)));
                // The dispatcher is gone only after an error of its own.
                let _ = match ended {
                    Ok(Ok(())) => Ok(()),
                    Ok(Err(error)) => reports.send(Report::Failed(error)),
                    Err(panic) => reports.send(Report::Died {
                        worker: idx,
                        over: over.get(),
                        message: message_of(&*panic),
                    }),
                };
            })
            .map_err(TrainError::Spawn)?;
        Ok(Member {
            mailbox,
            mail,
            stage_now: stage_sender,
            activity,
            heard: Instant::now(),
            is_told_stalled: false,
            handle,
        })
    }

    /// Puts work into a worker's mailbox, which is empty.
    pub(crate) fn mail(&self, worker: usize, work: Work) {
        // A worker that has just died leaves it there, and its death is told in a moment.
        if self.members[worker].mailbox.try_send(work).is_ok() {
            self.place.probes.mail.pushed(1);
        }
    }

    /// Takes what lies in a worker's mailbox.
    pub(crate) fn take_back(&self, worker: usize) -> Option<AssignmentId> {
        let work = self.members[worker].mail.try_recv().ok()?;
        self.place.probes.mail.popped(1);
        Some(work.id)
    }

    /// Asks a worker to stage what it has learned.
    pub(crate) fn ask_to_stage(&self, worker: usize) {
        let _ = self.members[worker].stage_now.send(StageNow);
    }

    /// Puts a new worker in a dead one's place.
    pub(crate) fn replace(&mut self, worker: usize) -> Result<(), TrainError> {
        let fresh = self.spawn(worker)?;
        let dead = std::mem::replace(&mut self.members[worker], fresh);
        // It has nothing more to do than to end.
        let _ = dead.handle.join();
        Ok(())
    }

    /// A worker told something.
    pub(crate) fn heard(&mut self, worker: usize) {
        let member = &mut self.members[worker];
        member.heard = Instant::now();
        member.is_told_stalled = false;
    }

    /// The worker that has been busy without a word for the longest time, and for how long.
    pub(crate) fn most_silent(&self) -> Option<(usize, Duration)> {
        let busy = self
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| !member.activity.is_idle());
        busy.map(|(worker, member)| (worker, member.silence()))
            .max_by_key(|(_, silence)| *silence)
    }

    /// What a worker is doing.
    pub(crate) fn activity(&self, worker: usize) -> &Activity {
        &self.members[worker].activity
    }

    /// Workers that have been busy without a word for too long, each told once.
    pub(crate) fn newly_stalled(&mut self, timeout: Duration) -> Option<(usize, Duration)> {
        let stalled = |member: &Member<'_>| {
            !member.is_told_stalled && !member.activity.is_idle() && member.silence() >= timeout
        };
        let worker = self.members.iter().position(stalled)?;
        let member = &mut self.members[worker];
        member.is_told_stalled = true;
        Some((worker, member.silence()))
    }

    /// Closes all mailboxes and waits until all workers have ended.
    pub(crate) fn dismiss(self) {
        let handles: Vec<_> = self
            .members
            .into_iter()
            .map(|member| member.handle)
            .collect();
        for handle in handles {
            // A panic was reported by the thread itself.
            let _ = handle.join();
        }
    }
}

impl Member<'_> {
    /// Time since it last told anything, or turned to something else.
    fn silence(&self) -> Duration {
        self.heard.elapsed().min(self.activity.newest())
    }
}

impl<B: Backend> Clone for Place<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Place<'_, B> {}

/// The text of a panic.
pub(crate) fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}

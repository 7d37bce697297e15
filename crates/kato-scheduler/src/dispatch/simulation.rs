//! Simulation of the dispatcher against anything that may happen: a seeded schedule of slow, dying
//! and racing workers, of commits that take their time and of memory that runs short, on a clock
//! that only the schedule turns.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kato_random::SplitMix64;

use super::*;

/// Random numbers by a seed: a schedule is a function of it.
struct Draw(SplitMix64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n.max(1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A document: its batch and its position in it.
type Document = (u64, usize);

/// A worker as the dispatcher cannot see it.
#[derive(Debug, Default)]
struct SimulatedWorker {
    mailbox: Option<AssignmentId>,
    in_hand: Option<(AssignmentId, u64)>,
    learned: Vec<AssignmentId>,
    epoch: u64,
    is_asked: bool,
    is_dead: bool,
}

/// A report that the dispatcher has not taken in yet.
#[derive(Debug)]
enum News {
    Began(usize, AssignmentId),
    Learned(usize, AssignmentId),
    Staged(usize, Vec<AssignmentId>),
    Died(usize, Option<(AssignmentId, usize)>),
    Committed,
}

/// The parameters of a schedule.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    seed: u64,
    n_workers: usize,
    n_batches: u64,
    distribution: WorkDistribution,
    attempts: u32,
}

impl Schedule {
    /// Draws the parameters of a schedule.
    fn from_seed(seed: u64) -> Self {
        let mut draw = Draw(SplitMix64::from_seed(seed));
        Self {
            seed,
            n_workers: 1 + draw.below(8) as usize,
            n_batches: draw.below(60),
            distribution: WorkDistribution::ALL[draw.below(3) as usize],
            attempts: 1 + draw.below(3) as u32,
        }
    }
}

/// A simulated session: the dispatcher's state, simulated workers, and what each of them may know.
struct Simulation {
    schedule: Schedule,
    draw: Draw,
    dispatch: Dispatch,
    workers: Vec<SimulatedWorker>,
    news: VecDeque<News>,
    /// Documents of each batch taken in.
    batches: Vec<usize>,
    /// Documents over which every worker dies.
    deadly: BTreeSet<Document>,
    /// Documents of each staged assignment, by epoch.
    staged: BTreeMap<u64, Vec<Document>>,
    failed: Vec<Document>,
    committed: Vec<Document>,
    /// Batches in the epochs up to the last commit.
    closed: VecDeque<usize>,
    is_committing: Option<u64>,
    n_committed: u64,
    clock: u64,
    most_held: usize,
    is_memory_short: bool,
    /// Whether work was taken in while a commit was still to come.
    has_read_ahead: bool,
    /// Whether work was taken in while memory was short.
    has_gone_on_short: bool,
    is_ended: bool,
}

impl Simulation {
    fn new(schedule: Schedule) -> Self {
        let Schedule {
            seed,
            n_workers,
            distribution,
            attempts,
            ..
        } = schedule;
        Self {
            schedule,
            // Not the generator that drew the parameters, or schedules of the same shape would
            // begin alike.
            draw: Draw(SplitMix64::from_seed(seed ^ 0x5eed)),
            dispatch: Dispatch::new(distribution, n_workers, attempts),
            workers: (0..n_workers).map(|_| SimulatedWorker::default()).collect(),
            news: VecDeque::new(),
            batches: Vec::new(),
            deadly: BTreeSet::new(),
            staged: BTreeMap::new(),
            failed: Vec::new(),
            committed: Vec::new(),
            closed: VecDeque::new(),
            is_committing: None,
            n_committed: 0,
            clock: 0,
            most_held: 0,
            is_memory_short: false,
            has_read_ahead: false,
            has_gone_on_short: false,
            is_ended: false,
        }
    }

    /// Returns the documents of an assignment.
    fn documents(&self, id: AssignmentId) -> Vec<Document> {
        let assignment = self.dispatch.assignment(id).expect("it is not staged yet");
        let batch = assignment.batch.0;
        let first: usize = self.batches[..batch as usize].iter().sum();
        let n_documents = self.batches[batch as usize];
        let is_selected = |at: &usize| match &assignment.selection {
            Selection::All => true,
            Selection::Residue { modulus, residue } => (first + at) as u64 % modulus == *residue,
            Selection::Positions(positions) => positions.contains(at),
        };
        (0..n_documents)
            .filter(is_selected)
            .filter(|at| !assignment.excluded.contains(at))
            .map(|at| (batch, at))
            .collect()
    }

    /// Carries out everything that the dispatcher wants, at once, as its thread does.
    fn execute_commands(&mut self) {
        // Far more commands than any state gives: two that undo each other would go on for ever.
        for _ in 0..10_000 {
            let Some(command) = self.dispatch.next_command() else {
                return;
            };
            match command {
                Command::SendWork { worker, assignment } => {
                    let state = &mut self.workers[worker];
                    assert_eq!(state.mailbox, None, "a mailbox holds one assignment");
                    state.mailbox = Some(assignment);
                }
                Command::TakeBack { worker } => {
                    let taken = self.workers[worker].mailbox.take();
                    self.dispatch.taken_back(worker, taken);
                }
                Command::Stage { worker } => self.workers[worker].is_asked = true,
                Command::Replace { worker } => {
                    assert!(
                        self.workers[worker].is_dead,
                        "only a dead worker is replaced"
                    );
                    self.workers[worker] = SimulatedWorker::default();
                }
                Command::Commit { epoch } => {
                    assert_eq!(self.is_committing, None, "one commit at a time");
                    assert_eq!(epoch, self.n_committed, "commits are in order");
                    self.is_committing = Some(epoch);
                }
            }
        }
        panic!("the dispatcher never stops commanding");
    }

    /// Takes in the oldest report, and checks a commit against what it must hold.
    fn handle_report(&mut self) {
        let Some(news) = self.news.pop_front() else {
            return;
        };
        match news {
            News::Began(worker, id) => self.dispatch.began(worker, id),
            News::Learned(worker, id) => self.dispatch.learned(worker, id),
            News::Staged(worker, ids) => {
                for id in &ids {
                    let epoch = self
                        .dispatch
                        .assignment(*id)
                        .expect("it is staged once")
                        .epoch;
                    let documents = self.documents(*id);
                    self.staged.entry(epoch).or_default().extend(documents);
                }
                self.dispatch.staged(worker, &ids);
            }
            News::Died(worker, current_document) => {
                let document = current_document
                    .and_then(|(id, at)| Some((self.dispatch.assignment(id)?.batch.0, at)));
                if self.dispatch.died(worker, current_document) == Verdict::Failed {
                    self.failed.push(document.expect("only a document fails"));
                }
            }
            News::Committed => {
                let epoch = self.is_committing.take().expect("a commit was under way");
                self.committed
                    .extend(self.staged.remove(&epoch).unwrap_or_default());
                self.n_committed += 1;
                // Epochs are closed between batches: a commit holds the batches up to its closing,
                // whole, less the documents that have failed by now.
                let n_batches = self.closed.pop_front().expect("the epoch was closed");
                let mut expected: Vec<Document> = (0..n_batches)
                    .flat_map(|batch| (0..self.batches[batch]).map(move |at| (batch as u64, at)))
                    .collect();
                let failed = |document: &Document| self.failed.contains(document);
                expected.retain(|document| !failed(document));
                let mut found = self.committed.clone();
                found.sort_unstable();
                assert_eq!(
                    found, expected,
                    "a commit is a prefix, each document in it once"
                );
                self.dispatch.committed();
            }
        }
    }

    /// Lets one worker do one thing.
    fn work(&mut self, idx: usize) {
        let clock = self.clock;
        let state = &mut self.workers[idx];
        if state.is_dead {
            return;
        }
        if let Some((id, until)) = state.in_hand {
            if clock < until {
                return;
            }
            // Deadly documents kill every worker; now and then one dies over a harmless document, too.
            let fatal = self
                .documents(id)
                .into_iter()
                .find(|document| self.deadly.contains(document) || self.draw.one_in(400));
            let state = &mut self.workers[idx];
            if let Some((_, at)) = fatal {
                state.is_dead = true;
                self.news.push_back(News::Died(idx, Some((id, at))));
                return;
            }
            state.in_hand = None;
            state.learned.push(id);
            self.news.push_back(News::Learned(idx, id));
            if self.draw.one_in(4) {
                self.stage(idx);
            }
            return;
        }
        if state.is_asked {
            self.stage(idx);
            return;
        }
        let Some(id) = state.mailbox else {
            return;
        };
        let epoch = self
            .dispatch
            .assignment(id)
            .expect("it is not staged yet")
            .epoch;
        // As the real worker: a part is of one epoch.
        if epoch != self.workers[idx].epoch && !self.stage(idx) {
            return;
        }
        // A stuck worker, now and then.
        let takes = if self.draw.one_in(30) {
            200
        } else {
            self.draw.below(9)
        };
        let state = &mut self.workers[idx];
        state.epoch = epoch;
        state.mailbox = None;
        state.in_hand = Some((id, clock + takes));
        self.news.push_back(News::Began(idx, id));
    }

    /// Stages what a worker has learned; returns `false` when it died over it.
    fn stage(&mut self, idx: usize) -> bool {
        let is_deadly = self.draw.one_in(60);
        let state = &mut self.workers[idx];
        state.is_asked = false;
        if state.learned.is_empty() {
            return true;
        }
        if is_deadly {
            state.is_dead = true;
            self.news.push_back(News::Died(idx, None));
            return false;
        }
        let ids = std::mem::take(&mut state.learned);
        self.news.push_back(News::Staged(idx, ids));
        true
    }

    /// Fails where more work is asked for than is to be in memory.
    fn check_intake(&mut self) {
        assert!(
            self.closed.len() < EPOCHS_AHEAD,
            "commits lag behind, and more would pile up"
        );
        self.has_read_ahead |= !self.closed.is_empty();
        self.has_gone_on_short |= self.is_memory_short && !self.batches.is_empty();
        let is_idle = |worker: &SimulatedWorker| {
            worker.mailbox.is_none() && worker.in_hand.is_none() && worker.learned.is_empty()
        };
        assert!(
            !self.is_memory_short
                || self.dispatch.n_waiting() == 0 && self.workers.iter().all(is_idle),
            "short of memory, a batch comes once that of the one before is given back"
        );
        if self.schedule.distribution == WorkDistribution::WorkStealing {
            assert!(
                self.dispatch.n_waiting() < self.dispatch.n_active,
                "one batch for each worker is in reserve"
            );
        } else {
            let waiting = || {
                self.dispatch
                    .workers
                    .iter()
                    .map(|worker| worker.ready.len())
            };
            assert!(waiting().any(|n| n == 0), "a worker has nothing to do");
            assert!(
                waiting().all(|n| n < MOST_WAITING),
                "no worker falls further behind"
            );
        }
    }

    /// Takes in another batch, or ends the intake.
    fn load(&mut self) {
        self.check_intake();
        // A stop may come at any moment, and ends as the corpus does.
        if self.batches.len() as u64 >= self.schedule.n_batches || self.draw.one_in(100) {
            self.is_ended = true;
            self.dispatch.end();
            self.close();
            return;
        }
        let n_documents = 1 + self.draw.below(6) as usize;
        let batch = self.dispatch.add_batch(n_documents, None);
        assert_eq!(batch.0, self.batches.len() as u64);
        self.batches.push(n_documents);
        for at in 0..n_documents {
            if self.draw.one_in(80) {
                self.deadly.insert((batch.0, at));
            }
        }
        if self.draw.one_in(7) {
            self.close();
        }
    }

    fn close(&mut self) {
        self.closed.push_back(self.batches.len());
        self.dispatch.close_epoch();
    }

    /// Runs the schedule until everything is committed.
    fn run(&mut self) {
        // A bound on steps instead of time: a schedule that hangs fails in the same place every
        // time.
        for _ in 0..200_000 {
            self.clock += 1;
            self.execute_commands();
            if self.is_ended && self.dispatch.is_done() && self.news.is_empty() {
                return;
            }
            self.most_held = self.most_held.max(self.dispatch.n_waiting());
            // One actor takes one step: any order of events can come up, those that threads rarely
            // meet as often as the others.
            match self.draw.below(6) {
                0 if !self.is_ended && self.dispatch.wants_work() => self.load(),
                0 | 1 => self.handle_report(),
                2 if self.is_committing.is_some() && self.draw.one_in(5) => {
                    if !self.news.iter().any(|news| matches!(news, News::Committed)) {
                        self.news.push_back(News::Committed);
                    }
                }
                3 if self.draw.one_in(50) => {
                    self.is_memory_short = self.draw.one_in(2);
                    self.dispatch.set_memory_pressure(self.is_memory_short);
                }
                4 if self.schedule.distribution == WorkDistribution::WorkStealing
                    && self.draw.one_in(30) =>
                {
                    let n = self.draw.below(10) as usize;
                    self.dispatch.activate(n);
                }
                _ => {
                    let idx = self.draw.below(self.workers.len() as u64) as usize;
                    self.work(idx);
                }
            }
        }
        panic!("the run hangs");
    }
}

/// Runs one schedule; returns whether it took in work while a commit was still to come, and while
/// memory was short. A failure names its seed.
fn check(seed: u64) -> (bool, bool) {
    let schedule = Schedule::from_seed(seed);
    let mut simulation = Simulation::new(schedule);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| simulation.run()));
    if let Err(panic) = ended {
        eprintln!("failed: {schedule:?}");
        std::panic::resume_unwind(panic);
    }
    let all: usize = simulation.batches.iter().sum();
    assert_eq!(
        simulation.committed.len() + simulation.failed.len(),
        all,
        "{schedule:?}"
    );
    let failed: BTreeSet<Document> = simulation.failed.iter().copied().collect();
    assert_eq!(
        failed.len(),
        simulation.failed.len(),
        "{schedule:?}: a document fails once"
    );
    assert!(simulation.deadly.is_subset(&failed), "{schedule:?}");
    // A document that is not deadly fails only by bad luck, as often as attempts allow.
    assert!(
        schedule.attempts == 1 || failed.len() <= simulation.deadly.len() + 3,
        "{schedule:?}"
    );
    // What waits is bounded, however slow a worker is. What dead workers held comes on top.
    let most = schedule.n_workers * (MOST_WAITING + 3) * 2 + 60;
    assert!(
        simulation.most_held <= most,
        "{schedule:?}: {} waited",
        simulation.most_held
    );
    assert!(simulation.dispatch.batches.is_empty(), "{schedule:?}");
    (simulation.has_read_ahead, simulation.has_gone_on_short)
}

#[test]
fn every_schedule_commits_every_document_once_and_in_order() {
    let seen: Vec<(bool, bool)> = (0..5_000).map(check).collect();
    // A commit that takes its time stops nobody at once, and neither does want of memory.
    let read_ahead = seen.iter().filter(|(ahead, _)| *ahead).count();
    assert!(read_ahead > 1_000, "{read_ahead} schedules read ahead");
    let went_on_short = seen.iter().filter(|(_, short)| *short).count();
    assert!(went_on_short > 1_000, "{went_on_short} schedules went on");
}

/// Returns which worker gets which document in a run without faults.
fn who_gets_what(
    distribution: WorkDistribution,
    n_workers: usize,
    pace: u64,
) -> BTreeMap<Document, usize> {
    let mut dispatch = Dispatch::new(distribution, n_workers, 1);
    let mut simulation = Simulation::new(Schedule {
        seed: pace,
        n_workers,
        n_batches: 30,
        distribution,
        attempts: 1,
    });
    let mut found = BTreeMap::new();
    let mut in_mail: Vec<(usize, AssignmentId)> = Vec::new();
    loop {
        while let Some(command) = dispatch.next_command() {
            if let Command::SendWork { worker, assignment } = command {
                in_mail.push((worker, assignment));
            }
        }
        if simulation.batches.len() < 30 && dispatch.wants_work() {
            dispatch.add_batch(5, None);
            simulation.batches.push(5);
            continue;
        }
        if in_mail.is_empty() {
            return found;
        }
        // In any order, as threads would.
        let next = simulation.draw.below(in_mail.len() as u64) as usize;
        let (worker, id) = in_mail.remove(next);
        // The lookup of documents goes through the simulation's own dispatcher.
        std::mem::swap(&mut simulation.dispatch, &mut dispatch);
        for document in simulation.documents(id) {
            assert_eq!(
                found.insert(document, worker),
                None,
                "a document is handed out once"
            );
        }
        std::mem::swap(&mut simulation.dispatch, &mut dispatch);
        dispatch.began(worker, id);
        dispatch.learned(worker, id);
        dispatch.staged(worker, &[id]);
    }
}

#[test]
fn static_distributions_are_the_same_at_any_pace() {
    for n_workers in [1, 2, 4, 8] {
        let of = |distribution, pace| who_gets_what(distribution, n_workers, pace);
        for distribution in [WorkDistribution::RoundRobin, WorkDistribution::Contiguous] {
            let first = of(distribution, 0);
            assert_eq!(first.len(), 150);
            assert!(
                (1..20).all(|pace| of(distribution, pace) == first),
                "{distribution}"
            );
        }
        let round_robin = of(WorkDistribution::RoundRobin, 0);
        for ((batch, at), worker) in round_robin {
            assert_eq!(worker, (batch as usize * 5 + at) % n_workers);
        }
        assert_eq!(of(WorkDistribution::WorkStealing, 0).len(), 150);
    }
}

#[test]
fn what_waits_for_a_stuck_worker_goes_to_an_idle_one() {
    let mut dispatch = Dispatch::new(WorkDistribution::WorkStealing, 2, 1);
    let mut mail = BTreeMap::new();
    for _ in 0..4 {
        dispatch.add_batch(1, None);
    }
    dispatch.end();
    let run = |dispatch: &mut Dispatch, mail: &mut BTreeMap<usize, AssignmentId>| {
        while let Some(command) = dispatch.next_command() {
            match command {
                Command::SendWork { worker, assignment } => {
                    mail.insert(worker, assignment);
                }
                Command::TakeBack { worker } => {
                    let taken = mail.remove(&worker);
                    dispatch.taken_back(worker, taken);
                }
                _ => {}
            }
        }
    };
    run(&mut dispatch, &mut mail);
    for worker in [0, 1] {
        let id = mail.remove(&worker).expect("both have mail");
        dispatch.began(worker, id);
    }
    run(&mut dispatch, &mut mail);
    assert_eq!(
        mail.len(),
        2,
        "each has one in its hands and one in its mailbox"
    );
    // Worker 0 never comes back from its first one; worker 1 does all the rest.
    let mut done = 0;
    let mut in_hand = AssignmentId(1);
    loop {
        dispatch.learned(1, in_hand);
        done += 1;
        run(&mut dispatch, &mut mail);
        let Some(next) = mail.remove(&1) else {
            break;
        };
        dispatch.began(1, next);
        run(&mut dispatch, &mut mail);
        in_hand = next;
    }
    assert_eq!((done, mail.len()), (3, 0));
}

#[test]
fn a_worker_stages_what_it_learns_of_an_epoch_at_once() {
    let mut dispatch = Dispatch::new(WorkDistribution::WorkStealing, 1, 1);
    let stages = |dispatch: &mut Dispatch| {
        let commands: Vec<_> = std::iter::from_fn(|| dispatch.next_command()).collect();
        let is_stage = |command: &Command| matches!(command, Command::Stage { .. });
        commands.iter().filter(|command| is_stage(command)).count()
    };
    let ids: Vec<AssignmentId> = (0..4).map(AssignmentId).collect();
    for _ in &ids {
        dispatch.add_batch(1, None);
    }
    dispatch.end();
    dispatch.close_epoch();
    assert_eq!(stages(&mut dispatch), 0);
    for (idx, id) in ids.iter().enumerate() {
        dispatch.began(0, *id);
        assert_eq!(stages(&mut dispatch), 0, "it has work of the epoch");
        dispatch.learned(0, *id);
        let is_last = idx + 1 == ids.len();
        assert_eq!(stages(&mut dispatch), usize::from(is_last));
    }
    // Asked once.
    assert_eq!(stages(&mut dispatch), 0);
    dispatch.staged(0, &ids);
    assert_eq!(dispatch.next_command(), Some(Command::Commit { epoch: 0 }));
}

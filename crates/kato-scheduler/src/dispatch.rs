//! The dispatcher's mind: who holds which samples, what is due next. No threads, clocks or channels, so that tests can run it
//! against anything that may happen.
//!
//! Batches of samples become *assignments*. An assignment is `ready`, then lies in a worker's mailbox, then is in its hands, then
//! learned, then staged; it is forgotten only then, so what a dead worker had not staged can be given to another. An *epoch* is
//! what one commit makes final: it is committed when it is closed, all its assignments are staged, and all epochs before it
//! are committed. So a backend always holds a prefix of the corpus, and the set of samples behind it that are done out of
//! order never has to be written down.

#[cfg(test)]
mod simulation;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::distribution::{Distribution, Selection, assignments_of};

/// Closed epochs that may wait for their commit before no more work is taken in.
const EPOCHS_AHEAD: usize = 2;

/// Assignments that may wait for one worker, where it is set who gets what: how far a slow worker may fall behind.
const MOST_WAITING: usize = 8;

/// Number of an assignment; they rise with the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AssignmentId(pub(crate) u64);

/// Number of a batch of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BatchId(pub(crate) u64);

/// Samples for one worker.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) batch: BatchId,
    pub(crate) epoch: u64,
    pub(crate) selection: Selection,
    /// Positions in the batch that have failed for good.
    pub(crate) excluded: Vec<usize>,
    worker: Option<usize>,
    /// How often a worker died over a position.
    deaths: BTreeMap<usize, u32>,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Put an assignment into a worker's mailbox.
    Mail {
        worker: usize,
        assignment: AssignmentId,
    },
    /// Take what lies in a worker's mailbox back, if it still lies there.
    TakeBack { worker: usize },
    /// Ask a worker to stage what it has learned.
    Stage { worker: usize },
    /// Put a new worker in a dead one's place.
    Replace { worker: usize },
    /// Commit an epoch.
    Commit { epoch: u64 },
}

/// What becomes of the sample over which a worker died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is tried again.
    Again,
    /// It has failed for good; the rest of its assignment is tried again.
    Failed,
}

#[derive(Debug, Default)]
struct WorkerState {
    is_dead: bool,
    /// What waits for this worker and no other.
    ready: VecDeque<AssignmentId>,
    mailed: Option<AssignmentId>,
    in_hand: Option<AssignmentId>,
    /// All of one epoch, except for the moment between staging and hearing of it.
    learned: BTreeSet<AssignmentId>,
    is_asked_to_stage: bool,
    /// Whether its mail was asked back, or could not be had.
    is_taken_from: bool,
}

#[derive(Debug, Default)]
struct Epoch {
    unstaged: usize,
    is_closed: bool,
}

/// The dispatcher's mind.
#[derive(Debug)]
pub(crate) struct Dispatch {
    distribution: Distribution,
    /// Times that a worker may die over a sample before the sample has failed.
    attempts: u32,
    workers: Vec<WorkerState>,
    /// Workers that are given work: the first ones.
    n_active: usize,
    assignments: BTreeMap<AssignmentId, Assignment>,
    /// Unstaged assignments of each batch.
    batches: BTreeMap<BatchId, usize>,
    /// What waits for any worker.
    ready: VecDeque<AssignmentId>,
    /// Epochs that are not committed; the last one is open.
    epochs: VecDeque<Epoch>,
    first_epoch: u64,
    is_committing: bool,
    is_ended: bool,
    /// Whether memory is short: then one assignment is out at a time.
    is_pressed: bool,
    next_assignment: u64,
    next_batch: u64,
}

impl Dispatch {
    pub(crate) fn new(distribution: Distribution, n_workers: usize, attempts: u32) -> Self {
        Self {
            distribution,
            attempts: attempts.max(1),
            workers: std::iter::repeat_with(WorkerState::default)
                .take(n_workers)
                .collect(),
            n_active: n_workers,
            assignments: BTreeMap::new(),
            batches: BTreeMap::new(),
            ready: VecDeque::new(),
            epochs: VecDeque::from([Epoch::default()]),
            first_epoch: 0,
            is_committing: false,
            is_ended: false,
            is_pressed: false,
            next_assignment: 0,
            next_batch: 0,
        }
    }

    /// The assignment of a number, as long as it is not staged.
    pub(crate) fn assignment(&self, id: AssignmentId) -> Option<&Assignment> {
        self.assignments.get(&id)
    }

    /// The epoch that takes work in.
    pub(crate) fn open_epoch(&self) -> u64 {
        self.first_epoch + self.epochs.len() as u64 - 1
    }

    /// Whether everything that was taken in is committed.
    pub(crate) fn is_done(&self) -> bool {
        self.epochs.len() == 1 && self.assignments.is_empty() && !self.is_committing
    }

    /// Whether a batch is still needed.
    pub(crate) fn holds(&self, batch: BatchId) -> bool {
        self.batches.contains_key(&batch)
    }

    /// Whether more work can be taken in.
    pub(crate) fn wants_work(&self) -> bool {
        if self.is_ended || self.epochs.len() > EPOCHS_AHEAD {
            return false;
        }
        if self.is_pressed {
            return self.n_waiting() == 0 && self.n_out() == 0;
        }
        match self.distribution {
            Distribution::WorkStealing => self.ready.len() < self.n_active,
            Distribution::RoundRobin | Distribution::Contiguous => {
                let waiting = || self.workers.iter().map(|worker| worker.ready.len());
                waiting().min() == Some(0) && waiting().max() < Some(MOST_WAITING)
            }
        }
    }

    /// Takes in a batch of samples; `group` is its number where it must not be cut.
    pub(crate) fn add_batch(&mut self, n_documents: usize, group: Option<u64>) -> BatchId {
        let batch = BatchId(self.next_batch);
        self.next_batch += 1;
        let epoch = self.open_epoch();
        let n_workers = self.workers.len();
        for (worker, selection) in assignments_of(self.distribution, n_workers, n_documents, group)
        {
            let id = AssignmentId(self.next_assignment);
            self.next_assignment += 1;
            let assignment = Assignment {
                batch,
                epoch,
                selection,
                excluded: Vec::new(),
                worker,
                deaths: BTreeMap::new(),
            };
            self.assignments.insert(id, assignment);
            *self.batches.entry(batch).or_default() += 1;
            self.epoch_mut(epoch).unstaged += 1;
            self.queue(worker).push_back(id);
        }
        batch
    }

    /// No more work comes.
    pub(crate) fn end(&mut self) {
        self.is_ended = true;
    }

    /// Closes the open epoch and opens the next one. An epoch without work is committed too: it moves the position.
    pub(crate) fn close_epoch(&mut self) {
        if let Some(epoch) = self.epochs.back_mut() {
            epoch.is_closed = true;
        }
        self.epochs.push_back(Epoch::default());
    }

    /// Gives work to the first `n` workers only; at least one.
    pub(crate) fn activate(&mut self, n: usize) {
        self.n_active = n.clamp(1, self.workers.len());
    }

    /// Whether memory is short.
    pub(crate) fn press(&mut self, is_pressed: bool) {
        self.is_pressed = is_pressed;
    }

    /// A worker has taken its mail into its hands.
    pub(crate) fn began(&mut self, worker: usize, id: AssignmentId) {
        let state = &mut self.workers[worker];
        if state.mailed == Some(id) {
            state.mailed = None;
            state.is_taken_from = false;
        }
        state.in_hand = Some(id);
    }

    /// A worker has learned what it had in its hands.
    pub(crate) fn learned(&mut self, worker: usize, id: AssignmentId) {
        let state = &mut self.workers[worker];
        if state.in_hand == Some(id) {
            state.in_hand = None;
        }
        state.learned.insert(id);
    }

    /// A worker has staged assignments: they are the backend's now.
    pub(crate) fn staged(&mut self, worker: usize, ids: &[AssignmentId]) {
        let state = &mut self.workers[worker];
        state.is_asked_to_stage = false;
        for id in ids {
            state.learned.remove(id);
        }
        for id in ids {
            self.finish(*id);
        }
    }

    /// What taking back gave: `None` when the worker was faster.
    pub(crate) fn taken_back(&mut self, worker: usize, id: Option<AssignmentId>) {
        let state = &mut self.workers[worker];
        if let Some(id) = id {
            state.is_taken_from = false;
            state.mailed = None;
            self.queue_again([id]);
        }
    }

    /// A worker is dead: what it had not staged is to be learned anew. `over` is the sample over which it died, as far as that is
    /// known.
    pub(crate) fn died(&mut self, worker: usize, over: Option<(AssignmentId, usize)>) -> Verdict {
        let state = &mut self.workers[worker];
        let mut lost: Vec<AssignmentId> = std::mem::take(&mut state.learned).into_iter().collect();
        lost.extend(state.in_hand.take());
        lost.extend(state.mailed.take());
        state.is_dead = true;
        state.is_asked_to_stage = false;
        state.is_taken_from = false;
        self.queue_again(lost);
        let Some((id, position)) = over else {
            return Verdict::Again;
        };
        let attempts = self.attempts;
        let Some(assignment) = self.assignments.get_mut(&id) else {
            return Verdict::Again;
        };
        let deaths = assignment.deaths.entry(position).or_default();
        *deaths += 1;
        if *deaths < attempts {
            return Verdict::Again;
        }
        assignment.excluded.push(position);
        Verdict::Failed
    }

    /// The first uncommitted epoch is committed.
    pub(crate) fn committed(&mut self) {
        self.is_committing = false;
        self.epochs.pop_front();
        self.first_epoch += 1;
    }

    /// What is to be done next; call until there is nothing. Every command counts as carried out.
    pub(crate) fn next_command(&mut self) -> Option<Command> {
        self.replace()
            .or_else(|| self.commit())
            .or_else(|| self.stage())
            .or_else(|| self.mail())
            .or_else(|| self.take_back())
    }

    fn replace(&mut self) -> Option<Command> {
        let worker = self.workers.iter().position(|state| state.is_dead)?;
        self.workers[worker].is_dead = false;
        Some(Command::Replace { worker })
    }

    fn commit(&mut self) -> Option<Command> {
        let epoch = self.epochs.front()?;
        if self.is_committing || !epoch.is_closed || epoch.unstaged > 0 {
            return None;
        }
        self.is_committing = true;
        Some(Command::Commit {
            epoch: self.first_epoch,
        })
    }

    fn stage(&mut self) -> Option<Command> {
        let open_epoch = self.open_epoch();
        let is_due = |state: &WorkerState| {
            let first = state.learned.first();
            let epoch = first
                .and_then(|id| self.assignments.get(id))
                .map(|it| it.epoch);
            let is_closed = epoch.is_some_and(|epoch| epoch < open_epoch);
            !state.is_asked_to_stage && epoch.is_some() && (is_closed || self.is_pressed)
        };
        let worker = self.workers.iter().position(is_due)?;
        self.workers[worker].is_asked_to_stage = true;
        Some(Command::Stage { worker })
    }

    fn mail(&mut self) -> Option<Command> {
        if self.is_pressed && self.n_out() > 0 {
            return None;
        }
        // Whoever has nothing at all comes first.
        let active = || 0..self.n_active;
        let has_room = |&worker: &usize| {
            let state = &self.workers[worker];
            state.mailed.is_none() && !(self.ready.is_empty() && state.ready.is_empty())
        };
        let is_idle = |worker: &usize| self.workers[*worker].in_hand.is_none();
        let idle = active().filter(has_room).find(is_idle);
        let worker = idle.or_else(|| active().find(has_room))?;
        let own = self.workers[worker].ready.pop_front();
        let assignment = own.or_else(|| self.ready.pop_front())?;
        self.workers[worker].mailed = Some(assignment);
        Some(Command::Mail { worker, assignment })
    }

    fn take_back(&mut self) -> Option<Command> {
        let is_stealing = self.distribution == Distribution::WorkStealing;
        if !is_stealing || self.is_pressed || self.wants_work() || !self.ready.is_empty() {
            return None;
        }
        let mut active = self.workers.iter().take(self.n_active);
        if !active.any(|state| state.mailed.is_none() && state.in_hand.is_none()) {
            return None;
        }
        let is_waiting = |state: &WorkerState| {
            state.mailed.is_some() && state.in_hand.is_some() && !state.is_taken_from
        };
        let worker = self.workers.iter().position(is_waiting)?;
        self.workers[worker].is_taken_from = true;
        Some(Command::TakeBack { worker })
    }

    fn epoch_mut(&mut self, epoch: u64) -> &mut Epoch {
        &mut self.epochs[(epoch - self.first_epoch) as usize]
    }

    /// Where assignments of a worker wait.
    fn queue(&mut self, worker: Option<usize>) -> &mut VecDeque<AssignmentId> {
        match worker {
            Some(worker) => &mut self.workers[worker].ready,
            None => &mut self.ready,
        }
    }

    /// Puts assignments in front of what waits, the earliest first.
    fn queue_again(&mut self, ids: impl IntoIterator<Item = AssignmentId>) {
        let mut ids: Vec<AssignmentId> = ids.into_iter().collect();
        ids.sort_unstable();
        for id in ids.into_iter().rev() {
            let worker = self.assignments.get(&id).and_then(|it| it.worker);
            self.queue(worker).push_front(id);
        }
    }

    fn finish(&mut self, id: AssignmentId) {
        let Some(assignment) = self.assignments.remove(&id) else {
            return;
        };
        self.epoch_mut(assignment.epoch).unstaged -= 1;
        if let Some(n) = self.batches.get_mut(&assignment.batch) {
            *n -= 1;
            if *n == 0 {
                self.batches.remove(&assignment.batch);
            }
        }
    }

    /// Assignments that wait for a worker.
    fn n_waiting(&self) -> usize {
        let own: usize = self.workers.iter().map(|state| state.ready.len()).sum();
        own + self.ready.len()
    }

    /// Assignments that are in mailboxes, in hands, or learned and not staged.
    fn n_out(&self) -> usize {
        self.assignments.len() - self.n_waiting()
    }
}

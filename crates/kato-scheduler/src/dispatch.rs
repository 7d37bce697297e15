//! The state machine behind the dispatcher: who holds which documents, and what is due next. It has
//! no threads, clocks or channels, so that tests can run it through any schedule of events.
//!
//! Batches of documents become *assignments*. An assignment is ready, then in the mailbox of a
//! worker, then being learned, then learned, then staged. It is forgotten only when it is staged,
//! so what a dead worker had not staged can be given to another. An *epoch* is what one commit
//! makes final: it is committed when it is closed, all its assignments are staged, and all epochs
//! before it are committed. So a backend always holds a prefix of the corpus, and the set of
//! documents behind it that are done out of order never has to be written down.

#[cfg(test)]
mod simulation;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::distribution::{Selection, WorkDistribution, cut_into_assignments};

/// Closed epochs that may wait for their commit before no more work is taken in.
const EPOCHS_AHEAD: usize = 2;

/// Assignments that may wait for one worker, where the distribution sets who gets what: how far a
/// slow worker may fall behind.
const MOST_WAITING: usize = 8;

/// Number of an assignment; they rise with the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AssignmentId(pub(crate) u64);

/// Number of a batch of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BatchId(pub(crate) u64);

/// Documents for one worker.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) batch: BatchId,
    pub(crate) epoch: u64,
    pub(crate) selection: Selection,
    /// Positions in the batch that have failed for good.
    pub(crate) excluded: Vec<usize>,
    worker: Option<usize>,
    /// Number of workers that died over each position.
    deaths: BTreeMap<usize, u32>,
}

/// A step that the dispatcher's thread has to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Put an assignment into a worker's mailbox.
    SendWork {
        worker: usize,
        assignment: AssignmentId,
    },
    /// Take back what is in a worker's mailbox, if the worker has not taken it.
    TakeBack { worker: usize },
    /// Ask a worker to stage what it has learned.
    Stage { worker: usize },
    /// Replace a dead worker by a new one.
    Replace { worker: usize },
    /// Commit an epoch.
    Commit { epoch: u64 },
}

/// The decision about a document over which a worker died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is tried again.
    Again,
    /// It has failed for good; the rest of its assignment is tried again.
    Failed,
}

/// A worker, as far as its reports say.
#[derive(Debug, Default)]
struct WorkerState {
    is_dead: bool,
    /// Assignments that wait for this worker and no other.
    ready: VecDeque<AssignmentId>,
    mailed: Option<AssignmentId>,
    in_hand: Option<AssignmentId>,
    /// Assignments that are learned and not staged. All of one epoch, except between their staging
    /// and the report of it.
    learned: BTreeSet<AssignmentId>,
    is_asked_to_stage: bool,
    /// Whether its mail was asked back and is still awaited, or the worker had taken it already.
    is_taken_from: bool,
}

/// An epoch that is not committed.
#[derive(Debug, Default)]
struct Epoch {
    unstaged: usize,
    is_closed: bool,
}

/// The state of a session: workers, assignments and epochs.
#[derive(Debug)]
pub(crate) struct Dispatch {
    distribution: WorkDistribution,
    /// Times that a worker may die over a document before the document has failed.
    attempts: u32,
    workers: Vec<WorkerState>,
    /// Workers that are given work: the first ones.
    n_active: usize,
    assignments: BTreeMap<AssignmentId, Assignment>,
    /// Unstaged assignments of each batch.
    batches: BTreeMap<BatchId, usize>,
    /// Assignments that wait for any worker.
    ready: VecDeque<AssignmentId>,
    /// Epochs that are not committed; the last one is open.
    epochs: VecDeque<Epoch>,
    first_epoch: u64,
    is_committing: bool,
    is_ended: bool,
    /// Whether memory is short: then one assignment is out at a time.
    is_memory_short: bool,
    next_assignment: u64,
    next_batch: u64,
}

impl Dispatch {
    /// Creates the state of a session that has taken nothing in yet.
    pub(crate) fn new(distribution: WorkDistribution, n_workers: usize, attempts: u32) -> Self {
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
            is_memory_short: false,
            next_assignment: 0,
            next_batch: 0,
        }
    }

    /// Returns the assignment of a number, as long as it is not staged.
    pub(crate) fn assignment(&self, id: AssignmentId) -> Option<&Assignment> {
        self.assignments.get(&id)
    }

    /// Returns the number of the epoch that takes work in.
    pub(crate) fn open_epoch(&self) -> u64 {
        self.first_epoch + self.epochs.len() as u64 - 1
    }

    /// Returns whether everything that was taken in is committed.
    pub(crate) fn is_done(&self) -> bool {
        self.epochs.len() == 1 && self.assignments.is_empty() && !self.is_committing
    }

    /// Returns whether a batch is still needed.
    pub(crate) fn holds(&self, batch: BatchId) -> bool {
        self.batches.contains_key(&batch)
    }

    /// Returns whether more work can be taken in.
    pub(crate) fn wants_work(&self) -> bool {
        // The open epoch counts, too. While commits lag behind the workers, more work would only
        // pile up staged parts.
        if self.is_ended || self.epochs.len() > EPOCHS_AHEAD {
            return false;
        }
        if self.is_memory_short {
            // Short of memory, the next batch comes only when the one before is staged and its
            // memory given back.
            return self.n_waiting() == 0 && self.n_out() == 0;
        }
        match self.distribution {
            // One in reserve for each worker, beside the one that it learns and the one in its
            // mailbox.
            WorkDistribution::WorkStealing => self.ready.len() < self.n_active,
            WorkDistribution::RoundRobin | WorkDistribution::Contiguous => {
                // A worker for which nothing waits asks for the next batch, unless another has
                // fallen so far behind that its share would pile up.
                let waiting = || self.workers.iter().map(|worker| worker.ready.len());
                waiting().min() == Some(0) && waiting().max() < Some(MOST_WAITING)
            }
        }
    }

    /// Takes in a batch of documents for the open epoch; `group` is its number where it must not be
    /// cut.
    pub(crate) fn add_batch(&mut self, n_documents: usize, group: Option<u64>) -> BatchId {
        let batch = BatchId(self.next_batch);
        self.next_batch += 1;
        let epoch = self.open_epoch();
        let n_workers = self.workers.len();
        for (worker, selection) in
            cut_into_assignments(self.distribution, n_workers, n_documents, group)
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

    /// Notes that no more work comes.
    pub(crate) fn end(&mut self) {
        self.is_ended = true;
    }

    /// Closes the open epoch and opens the next one. An epoch without work is committed too: it
    /// moves the position.
    pub(crate) fn close_epoch(&mut self) {
        let open = self.epochs.back_mut().expect("the last epoch is open");
        open.is_closed = true;
        self.epochs.push_back(Epoch::default());
    }

    /// Gives new work to the first `n` workers only, at least to one. Those behind them finish what
    /// they have.
    pub(crate) fn activate(&mut self, n: usize) {
        self.n_active = n.clamp(1, self.workers.len());
    }

    /// Sets whether memory is short.
    pub(crate) fn set_memory_pressure(&mut self, is_memory_short: bool) {
        self.is_memory_short = is_memory_short;
    }

    /// Notes that a worker has begun the assignment from its mailbox.
    pub(crate) fn began(&mut self, worker: usize, id: AssignmentId) {
        let state = &mut self.workers[worker];
        if state.mailed == Some(id) {
            state.mailed = None;
            state.is_taken_from = false;
        }
        state.in_hand = Some(id);
    }

    /// Notes that a worker has learned the assignment that it had begun.
    pub(crate) fn learned(&mut self, worker: usize, id: AssignmentId) {
        let state = &mut self.workers[worker];
        if state.in_hand == Some(id) {
            state.in_hand = None;
        }
        state.learned.insert(id);
    }

    /// Notes that a worker has staged assignments, which are the backend's from then on.
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

    /// Takes in the result of taking mail back: `None` when the worker was faster.
    pub(crate) fn taken_back(&mut self, worker: usize, id: Option<AssignmentId>) {
        let state = &mut self.workers[worker];
        // Otherwise the worker has its mail, and the flag stays until it says so: it is not asked
        // for the same mail again.
        if let Some(id) = id {
            state.is_taken_from = false;
            state.mailed = None;
            self.queue_again([id]);
        }
    }

    /// Queues everything again that a dead worker had not staged, and decides about
    /// `current_document`, the document over which it died, as far as that is known.
    pub(crate) fn died(
        &mut self,
        worker: usize,
        current_document: Option<(AssignmentId, usize)>,
    ) -> Verdict {
        let state = &mut self.workers[worker];
        // What it had learned and not staged went with its memory, and counts as never begun.
        let mut lost: Vec<AssignmentId> = std::mem::take(&mut state.learned).into_iter().collect();
        lost.extend(state.in_hand.take());
        lost.extend(state.mailed.take());
        state.is_dead = true;
        state.is_asked_to_stage = false;
        state.is_taken_from = false;
        self.queue_again(lost);
        let Some((id, position)) = current_document else {
            // It died between two documents, as while staging: no document is to blame.
            return Verdict::Again;
        };
        let attempts = self.attempts;
        let assignment = self.assignments.get_mut(&id);
        let assignment = assignment.expect("what is being learned is not staged");
        let deaths = assignment.deaths.entry(position).or_default();
        *deaths += 1;
        if *deaths < attempts {
            return Verdict::Again;
        }
        // Only this document is given up; the rest of the assignment is learned without it.
        assignment.excluded.push(position);
        Verdict::Failed
    }

    /// Notes that the first uncommitted epoch is committed.
    pub(crate) fn committed(&mut self) {
        self.is_committing = false;
        self.epochs.pop_front();
        self.first_epoch += 1;
    }

    /// Returns what is to be done next; to be called until there is nothing. Every command counts
    /// as carried out.
    pub(crate) fn next_command(&mut self) -> Option<Command> {
        // Replacing comes before mailing: what is put into the mailbox of a dead worker is lost
        // with it.
        self.replace()
            .or_else(|| self.commit())
            .or_else(|| self.stage())
            .or_else(|| self.send_work())
            .or_else(|| self.take_back())
    }

    /// Plans the replacement of a dead worker, if there is one.
    fn replace(&mut self) -> Option<Command> {
        let worker = self.workers.iter().position(|state| state.is_dead)?;
        self.workers[worker].is_dead = false;
        Some(Command::Replace { worker })
    }

    /// Plans the commit of the first epoch, if it is complete.
    fn commit(&mut self) -> Option<Command> {
        // Only the first, and one at a time: the backend always holds a prefix of the corpus.
        let epoch = self.epochs.front()?;
        if self.is_committing || !epoch.is_closed || epoch.unstaged > 0 {
            return None;
        }
        self.is_committing = true;
        Some(Command::Commit {
            epoch: self.first_epoch,
        })
    }

    /// Plans a staging that a commit waits for, or that has to free memory.
    fn stage(&mut self) -> Option<Command> {
        let open_epoch = self.open_epoch();
        let is_due = |(worker, state): (usize, &WorkerState)| {
            // All that a worker has learned is of one epoch, since it stages before it begins
            // another: the first one stands for all.
            let first = state.learned.first();
            let epoch = first
                .and_then(|id| self.assignments.get(id))
                .map(|it| it.epoch);
            let is_closed = epoch.is_some_and(|epoch| epoch < open_epoch);
            // What it is still to learn of the epoch is staged along, and work of the next makes it
            // stage by itself: two parts where one would do cost writing, and merging later.
            let is_given_work =
                worker < self.n_active && !(self.ready.is_empty() && state.ready.is_empty());
            let is_idle = state.in_hand.is_none() && state.mailed.is_none() && !is_given_work;
            !state.is_asked_to_stage
                && epoch.is_some()
                && (is_closed && is_idle || self.is_memory_short)
        };
        let worker = self.workers.iter().enumerate().position(is_due)?;
        self.workers[worker].is_asked_to_stage = true;
        Some(Command::Stage { worker })
    }

    /// Plans the mailing of a waiting assignment to an active worker with room in its mailbox.
    fn send_work(&mut self) -> Option<Command> {
        // Short of memory, one assignment is out at a time: what it needs is given back before the
        // next one begins.
        if self.is_memory_short && self.n_out() > 0 {
            return None;
        }
        // An idle worker comes before one whose mailbox alone is empty.
        let active = || 0..self.n_active;
        let has_room = |&worker: &usize| {
            let state = &self.workers[worker];
            state.mailed.is_none() && !(self.ready.is_empty() && state.ready.is_empty())
        };
        let is_idle = |worker: &usize| self.workers[*worker].in_hand.is_none();
        let idle = active().filter(has_room).find(is_idle);
        let worker = idle.or_else(|| active().find(has_room))?;
        // Only one of the two queues is in use: a distribution sets the worker of all assignments
        // or of none.
        let own = self.workers[worker].ready.pop_front();
        let assignment = own.or_else(|| self.ready.pop_front())?;
        self.workers[worker].mailed = Some(assignment);
        Some(Command::SendWork { worker, assignment })
    }

    /// Plans to take mail back from a busy worker, when another is idle and nothing else is left to
    /// hand out.
    fn take_back(&mut self) -> Option<Command> {
        // The last resort: what is ready, or can still be read, is handed out first. Where the
        // distribution sets who learns what, nobody else may.
        let is_stealing = self.distribution == WorkDistribution::WorkStealing;
        if !is_stealing || self.is_memory_short || self.wants_work() || !self.ready.is_empty() {
            return None;
        }
        let mut active = self.workers.iter().take(self.n_active);
        if !active.any(|state| state.mailed.is_none() && state.in_hand.is_none()) {
            return None;
        }
        // Only from one that is busy: an idle worker is about to take its mail.
        let is_waiting = |state: &WorkerState| {
            state.mailed.is_some() && state.in_hand.is_some() && !state.is_taken_from
        };
        let worker = self.workers.iter().position(is_waiting)?;
        self.workers[worker].is_taken_from = true;
        Some(Command::TakeBack { worker })
    }

    /// Returns an epoch that is not committed.
    fn epoch_mut(&mut self, epoch: u64) -> &mut Epoch {
        // Of an assignment that is not staged: its epoch cannot be committed, so it is not in front
        // of the first one.
        &mut self.epochs[(epoch - self.first_epoch) as usize]
    }

    /// Returns the queue of a worker; `None` stands for the queue of those that any worker may
    /// take.
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
        // In front and in order, because nothing behind the earliest epoch can be committed before
        // it.
        for id in ids.into_iter().rev() {
            let worker = self.assignments.get(&id).and_then(|it| it.worker);
            self.queue(worker).push_front(id);
        }
    }

    /// Forgets an assignment that is staged, and its batch with the last one of it.
    fn finish(&mut self, id: AssignmentId) {
        // Passing over one that is not there would count its documents twice, or never close its
        // epoch.
        let assignment = self.assignments.remove(&id);
        let assignment = assignment.expect("an assignment is staged once");
        self.epoch_mut(assignment.epoch).unstaged -= 1;
        let n = self.batches.get_mut(&assignment.batch);
        let n = n.expect("a batch is kept as long as an assignment of it");
        *n -= 1;
        if *n == 0 {
            self.batches.remove(&assignment.batch);
        }
    }

    /// Counts the assignments that wait for a worker.
    fn n_waiting(&self) -> usize {
        let own: usize = self.workers.iter().map(|state| state.ready.len()).sum();
        own + self.ready.len()
    }

    /// Counts the assignments that are in mailboxes, being learned, or learned and not staged.
    fn n_out(&self) -> usize {
        self.assignments.len() - self.n_waiting()
    }
}

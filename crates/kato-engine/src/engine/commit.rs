//! Commits: what was learned since the last one is written to the store.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use kato_model::batch::BatchSymbol;
use kato_model::{Attributes, Event, LearnBatch, PatternName};
use kato_store::PatternStore;
use kato_store::contract::StagedBatch;
use serde_json::Value;

use super::Shared;
use crate::EngineError;
use crate::node::NodeMemory;
use crate::pending::{Learned, Pending};

/// Bytes of a batch above which it is staged, which bounds the memory that a commit takes.
const BATCH_BYTES: usize = 64 << 20;

/// A commit of what an engine has learned and not yet made durable; begun by
/// [`Engine::begin_commit`](crate::Engine::begin_commit).
///
/// Until it is finished or dropped, no other commit of the engine begins. Dropping it gives
/// everything back.
#[must_use = "nothing is durable before `finish`"]
pub struct PendingCommit {
    turn: CommitTurn,
    /// What each node hands over, parallel to the nodes.
    parts: Vec<Arc<Pending>>,
    /// Whether it succeeded, so that nothing is given back.
    is_done: bool,
}

impl PendingCommit {
    /// Waits for the turn and takes what all nodes have pending.
    pub(super) fn begin(shared: &Arc<Shared>) -> Self {
        let turn = CommitTurn::acquire(shared);
        let whole = shared.between_steps();
        // Node by node: what is learned meanwhile is in this commit or in the next. From the top
        // down, so that no commit holds a pattern whose parts are only in the next one.
        let parts = shared.nodes.iter().rev();
        let mut parts: Vec<_> = parts.map(|cell| cell.write().begin_commit()).collect();
        parts.reverse();
        drop(whole);
        Self {
            parts,
            turn,
            is_done: false,
        }
    }

    /// Returns whether nothing was learned since the last commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.is_empty())
    }

    /// Makes what was learned durable together with the checkpoint. In memory does nothing.
    ///
    /// # Errors
    ///
    /// As [`Engine::commit`](crate::Engine::commit).
    pub fn finish(self, checkpoint: Value) -> Result<(), EngineError> {
        self.finish_with(Some(checkpoint))
    }

    /// Finishes with a checkpoint, or with the store's own where there is none.
    fn finish_with(mut self, checkpoint: Option<Value>) -> Result<(), EngineError> {
        let shared = &self.turn.shared;
        // In memory nothing else has what is pending: it goes back to the nodes.
        let Some(store) = shared.store() else {
            return Ok(());
        };
        // A checkpoint of the caller's is committed even if nothing was learned.
        if checkpoint.is_some() || !self.is_empty() {
            write(&self.turn, store, &self.parts, checkpoint)?;
        }
        self.is_done = true;
        Ok(())
    }
}

impl Drop for PendingCommit {
    fn drop(&mut self) {
        let shared = &self.turn.shared;
        // Also after an error and a panic, so that what was not committed returns to the nodes. The
        // turn ends after this, when the field is dropped.
        let calls: u64 = self.parts.iter().map(|part| part.calls()).sum();
        for (cell, part) in shared.nodes.iter().zip(self.parts.drain(..)) {
            cell.write().end_commit(part, self.is_done, &shared.limits);
        }
        if self.is_done {
            shared.uncommitted.fetch_sub(calls, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for PendingCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCommit")
            .field("engine", &self.turn.shared)
            .finish_non_exhaustive()
    }
}

/// The exclusive right to commit or clear.
///
/// A flag with a condition variable and not a mutex guard, which would borrow the engine that a
/// [`PendingCommit`] owns a handle of.
pub(crate) struct CommitTurn {
    shared: Arc<Shared>,
}

impl CommitTurn {
    /// Waits until no commit or clear is under way, and takes the right.
    pub(super) fn acquire(shared: &Arc<Shared>) -> Self {
        // The flag is valid whatever panicked while it was locked.
        let committing = shared.committing.lock();
        let committing = committing.unwrap_or_else(PoisonError::into_inner);
        let waited = shared.committed.wait_while(committing, |taken| *taken);
        *waited.unwrap_or_else(PoisonError::into_inner) = true;
        Self {
            shared: Arc::clone(shared),
        }
    }

    /// Returns the engine.
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for CommitTurn {
    fn drop(&mut self) {
        let committing = self.shared.committing.lock();
        *committing.unwrap_or_else(PoisonError::into_inner) = false;
        // One suffices, as whoever wakes notifies the next when its own turn ends.
        self.shared.committed.notify_one();
    }
}

impl Shared {
    /// Commits if as many learns are pending as the options say, or more.
    pub(crate) fn commit_if_due(self: &Arc<Self>) -> Result<(), EngineError> {
        match self.options.commit_after {
            Some(most) if self.uncommitted.load(Ordering::Relaxed) >= most.get() => {
                self.commit(None)
            }
            _ => Ok(()),
        }
    }

    /// Commits what every node learned, all or nothing.
    pub(super) fn commit(self: &Arc<Self>, checkpoint: Option<Value>) -> Result<(), EngineError> {
        if self.store.is_none() {
            return Ok(());
        }
        PendingCommit::begin(self).finish_with(checkpoint)
    }

    /// Empties all nodes, durably where there is a store; without a checkpoint the
    /// store keeps its own.
    pub(crate) fn clear(self: &Arc<Self>, checkpoint: Option<Value>) -> Result<(), EngineError> {
        let _turn = CommitTurn::acquire(self);
        let _whole = self.between_steps();
        // All nodes at once, so that no learn is forgotten in the store alone. This cannot
        // deadlock: everybody else locks one node at a time.
        let mut memories: Vec<_> = self.nodes.iter().map(|cell| cell.write()).collect();
        if let Some(store) = self.store() {
            let checkpoint = checkpoint.unwrap_or_else(|| store.checkpoint());
            store
                .clear(checkpoint)
                .map_err(EngineError::store("forget what was learned"))?;
        }
        // After the store, so that an error leaves everything as it was.
        for memory in &mut memories {
            **memory = NodeMemory::default();
        }
        // Still under the locks, without which no learn is counted.
        self.uncommitted.store(0, Ordering::Relaxed);
        Ok(())
    }
}

/// Writes what the nodes handed over to the store, as one commit.
fn write(
    turn: &CommitTurn,
    store: &dyn PatternStore,
    parts: &[Arc<Pending>],
    checkpoint: Option<Value>,
) -> Result<(), EngineError> {
    let mut writer = Writer::new(turn, store);
    for (node_idx, part) in parts.iter().enumerate() {
        writer.node(node_idx, part)?;
    }
    writer.stage()?;
    let checkpoint = checkpoint.unwrap_or_else(|| store.checkpoint());
    store
        .commit(writer.staged, checkpoint)
        .map_err(EngineError::store("commit what was learned"))
}

/// A writer that turns pending learns into staged batches.
struct Writer<'a> {
    turn: &'a CommitTurn,
    shared: &'a Shared,
    store: &'a dyn PatternStore,
    batch: LearnBatch,
    staged: Vec<StagedBatch>,
}

impl<'a> Writer<'a> {
    fn new(turn: &'a CommitTurn, store: &'a dyn PatternStore) -> Self {
        let shared = &*turn.shared;
        Self {
            turn,
            shared,
            store,
            batch: empty_batch(shared),
            staged: Vec::new(),
        }
    }

    /// Adds what one node handed over.
    fn node(&mut self, node_idx: usize, part: &Pending) -> Result<(), EngineError> {
        // In any order: a batch is sorted by name when it is sealed.
        for (name, learned) in part.learned() {
            let events = self.events(node_idx, name)?;
            self.pattern(node_idx, *name, learned, &events)?;
        }
        for (name, elements) in part.vectors() {
            self.batch.record_vector(node_idx, *name, elements);
        }
        Ok(())
    }

    /// Reads a pending pattern; from the store and what is pending where the node's index is damaged.
    fn events(&self, node_idx: usize, name: &PatternName) -> Result<Vec<Event>, EngineError> {
        loop {
            // Locked for each pattern anew, so that sessions can learn meanwhile.
            let read = {
                let memory = self.shared.cell(node_idx).read();
                memory.index().read_checked(|index| index.events(name))
            };
            match read {
                // Nothing is forgotten during a commit, and pending patterns were learned.
                Ok(events) => return events.ok_or(EngineError::LostPattern { name: *name }),
                Err(damage) => {
                    let shared = self.shared;
                    shared.leave_damaged_index_in(self.turn, node_idx, &damage)?;
                }
            }
        }
    }

    /// Adds all pending learns of one pattern.
    fn pattern(
        &mut self,
        node_idx: usize,
        name: PatternName,
        learned: &Learned,
        events: &[Event],
    ) -> Result<(), EngineError> {
        if self.batch.heap_bytes() > BATCH_BYTES {
            self.stage()?;
        }
        let symbols = events.iter().flat_map(Event::symbols);
        let ids: Vec<u32> = symbols.map(|symbol| self.batch.literal(symbol)).collect();
        let ids = ids.into_iter().map(BatchSymbol::Literal);
        let occurrence = self.batch.learn(node_idx, name, ids);
        let attributes = Attributes {
            // Learning it above counts one. There is at least one, as what is pending for a store
            // was counted by the learn that brought it.
            extra_frequency: learned.count - 1,
            event_lengths: event_lengths(events),
            ..learned.attributes.as_deref().cloned().unwrap_or_default()
        };
        if attributes != Attributes::default() {
            self.batch.attach(node_idx, occurrence, attributes);
        }
        Ok(())
    }

    /// Stages the batch, if it is not empty, and begins a new one.
    fn stage(&mut self) -> Result<(), EngineError> {
        let batch = std::mem::replace(&mut self.batch, empty_batch(self.shared));
        if !batch.is_empty() {
            let staged = self.store.stage(batch.seal());
            let staged = staged.map_err(EngineError::store("stage what was learned"))?;
            self.staged.push(staged);
        }
        Ok(())
    }
}

fn empty_batch(shared: &Shared) -> LearnBatch {
    LearnBatch::new(shared.nodes.len()).with_limits(shared.limits)
}

/// Returns the lengths of the events, unless every event holds one symbol.
fn event_lengths(events: &[Event]) -> Option<Box<[u32]>> {
    if events.iter().all(|event| event.len() == 1) {
        return None;
    }
    let length = |event: &Event| {
        u32::try_from(event.len()).expect("the index holds less than 2^31 symbols a pattern")
    };
    Some(events.iter().map(length).collect())
}

//! The lock around the memory of a node, which long predictions do not hold.

use std::ops::{Deref, DerefMut};
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::{Duration, Instant};

use kato_prediction::{DamagedIndex, PatternIndex};

use super::{NodeMemory, NodeTotals};
use crate::EngineError;

/// Time after which a node is loaded from its store again whose index is damaged and that could not
/// be loaded before. Until then its reads return the error of that attempt.
pub const RELOAD_AFTER: Duration = Duration::from_secs(10);

/// Time that a learn waits for predictions to end before it copies the index; most predictions take
/// a fraction of it.
const MAX_READER_WAIT: Duration = Duration::from_millis(10);

/// Most bytes of an index that a learn copies; with more it waits for the predictions to end.
/// Predictions that take long because their patterns are long work on less.
const MAX_COPY_BYTES: usize = 128 << 20;

/// A node of an engine, as all handles share it.
#[derive(Debug)]
pub(crate) struct NodeCell {
    pub(crate) name: String,
    memory: RwLock<NodeMemory>,
    /// A copy of the memory's totals, to be read while the memory is locked.
    totals: Mutex<NodeTotals>,
    /// Notified when a prediction gives its index back; the mutex guards nothing.
    index_released: (Mutex<()>, Condvar),
    /// Why the node could not leave its damaged index, if it could not.
    failure: Mutex<Option<Failure>>,
}

/// An attempt to load a node that failed.
#[derive(Debug)]
struct Failure {
    at: Instant,
    damage: DamagedIndex,
    source: Arc<EngineError>,
}

impl NodeCell {
    /// Creates a node of this memory.
    pub(crate) fn new(name: String, memory: NodeMemory) -> Self {
        Self {
            name,
            totals: Mutex::new(memory.totals()),
            memory: RwLock::new(memory),
            index_released: Default::default(),
            failure: Mutex::default(),
        }
    }

    /// Remembers why the node could not be loaded in place of its damaged index, and returns the
    /// error of its reads.
    pub(crate) fn remember_failure(
        &self,
        damage: &DamagedIndex,
        source: EngineError,
    ) -> EngineError {
        let failure = Failure {
            at: Instant::now(),
            damage: damage.clone(),
            source: Arc::new(source),
        };
        let error = self.unreadable(&failure);
        *self.locked_failure() = Some(failure);
        error
    }

    /// Returns the error of reads that an attempt to load the node has left; `None` without one, and
    /// when it is time for the next.
    pub(crate) fn failure(&self) -> Option<EngineError> {
        let failure = self.locked_failure();
        let failure = failure.as_ref()?;
        (failure.at.elapsed() < RELOAD_AFTER).then(|| self.unreadable(failure))
    }

    fn unreadable(&self, failure: &Failure) -> EngineError {
        EngineError::Unreadable {
            node: self.name.clone(),
            damage: failure.damage.clone(),
            source: Arc::clone(&failure.source),
        }
    }

    fn locked_failure(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the memory to be read.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, NodeMemory> {
        // A panic under the lock is a broken invariant of our own; what is there stays readable.
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the memory to be changed, but for its index.
    pub(crate) fn write(&self) -> NodeWriteGuard<'_> {
        NodeWriteGuard {
            cell: self,
            memory: self.memory.write().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Locks the memory to be changed with its index.
    ///
    /// Waits for predictions that end soon. If others remain, the index is copied by its first
    /// change, unless it is so large that waiting for them is better.
    pub(crate) fn write_index(&self) -> NodeWriteGuard<'_> {
        let guard = self.write();
        // Handles are cloned under the memory's lock, so that their number only falls from here on.
        let is_shared = || Arc::strong_count(guard.shared_index()) > 1;
        if !is_shared() {
            return guard;
        }
        let (lock, index_released) = &self.index_released;
        let wait = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = index_released.wait_timeout_while(wait, MAX_READER_WAIT, |()| is_shared());
        let (wait, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_shared() && guard.index().heap_bytes() > MAX_COPY_BYTES {
            let waited = index_released.wait_while(wait, |()| is_shared());
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
        guard
    }

    /// Returns the index as it is now, without a lock that others would wait for.
    pub(crate) fn index(&self) -> IndexSnapshot<'_> {
        IndexSnapshot {
            index: Some(Arc::clone(self.read().shared_index())),
            cell: self,
        }
    }

    /// Returns the totals without waiting for the memory's lock.
    pub(crate) fn totals(&self) -> NodeTotals {
        *self.locked_totals()
    }

    /// Locks the copy of the totals.
    fn locked_totals(&self) -> MutexGuard<'_, NodeTotals> {
        // Held for a copy of a few numbers only, so that this hardly ever waits.
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A locked memory that can be changed.
pub(crate) struct NodeWriteGuard<'a> {
    cell: &'a NodeCell,
    memory: RwLockWriteGuard<'a, NodeMemory>,
}

impl Deref for NodeWriteGuard<'_> {
    type Target = NodeMemory;

    fn deref(&self) -> &NodeMemory {
        &self.memory
    }
}

impl DerefMut for NodeWriteGuard<'_> {
    fn deref_mut(&mut self) -> &mut NodeMemory {
        &mut self.memory
    }
}

impl Drop for NodeWriteGuard<'_> {
    fn drop(&mut self) {
        // Before the memory's lock is released with the field, so that copies follow one another in
        // the order of the changes.
        *self.cell.locked_totals() = self.memory.totals();
    }
}

/// An index that is read without a lock.
pub(crate) struct IndexSnapshot<'a> {
    /// `None` only while it is dropped.
    index: Option<Arc<PatternIndex>>,
    cell: &'a NodeCell,
}

impl Deref for IndexSnapshot<'_> {
    type Target = PatternIndex;

    fn deref(&self) -> &PatternIndex {
        self.index
            .as_ref()
            .expect("it is given back when it is dropped")
    }
}

impl Drop for IndexSnapshot<'_> {
    fn drop(&mut self) {
        // First, so that whoever is woken finds the handle gone.
        drop(self.index.take());
        let (lock, index_released) = &self.cell.index_released;
        // Under the lock, so that no learn looks before the drop and begins to
        // wait after the notice.
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        index_released.notify_all();
    }
}

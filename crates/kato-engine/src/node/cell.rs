//! The lock around what a node knows, which long predictions do not hold.

use std::ops::{Deref, DerefMut};
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::Duration;

use kato_prediction::PatternIndex;

use super::{NodeMemory, NodeTotals};

/// How long a learn waits for predictions to end before it copies the index: most take a fraction of it.
const PATIENCE: Duration = Duration::from_millis(10);

/// Bytes of an index that may be copied. Predictions that are long because patterns are work on less; with more, a learn waits.
const COPIED_BYTES: usize = 128 << 20;

/// A node of an engine, as all handles share it.
#[derive(Debug)]
pub(crate) struct NodeCell {
    pub(crate) name: String,
    memory: RwLock<NodeMemory>,
    /// Those of the memory, to be read while it is locked.
    totals: Mutex<NodeTotals>,
    /// Told when a prediction gives its index back; guards nothing.
    given_back: (Mutex<()>, Condvar),
}

impl NodeCell {
    pub(crate) fn new(name: String, memory: NodeMemory) -> Self {
        Self {
            name,
            totals: Mutex::new(memory.totals()),
            memory: RwLock::new(memory),
            given_back: Default::default(),
        }
    }

    // A panic under the lock is a broken invariant of our own; what is there stays readable.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, NodeMemory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory, to be changed but for its index.
    pub(crate) fn write(&self) -> Writing<'_> {
        Writing {
            cell: self,
            memory: self.memory.write().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// The memory, to be changed with its index: waits for predictions that end soon. If others remain, the index is copied
    /// by its first change, unless it is so large that waiting for them is better.
    pub(crate) fn write_index(&self) -> Writing<'_> {
        let writing = self.write();
        let is_shared = || Arc::strong_count(writing.shared_index()) > 1;
        if !is_shared() {
            return writing;
        }
        let (lock, given_back) = &self.given_back;
        let wait = lock.lock().unwrap_or_else(PoisonError::into_inner);
        // No prediction begins while the memory is locked.
        let waited = given_back.wait_timeout_while(wait, PATIENCE, |()| is_shared());
        let (wait, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_shared() && writing.index().heap_bytes() > COPIED_BYTES {
            let waited = given_back.wait_while(wait, |()| is_shared());
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
        writing
    }

    /// The index as it is now; nobody waits for its readers for long.
    pub(crate) fn index(&self) -> Reading<'_> {
        Reading {
            index: Some(Arc::clone(self.read().shared_index())),
            cell: self,
        }
    }

    /// What the node knows, in numbers; waits for nothing.
    pub(crate) fn totals(&self) -> NodeTotals {
        *self.locked_totals()
    }

    fn locked_totals(&self) -> MutexGuard<'_, NodeTotals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to change a node's memory.
pub(crate) struct Writing<'a> {
    cell: &'a NodeCell,
    memory: RwLockWriteGuard<'a, NodeMemory>,
}

impl Deref for Writing<'_> {
    type Target = NodeMemory;

    fn deref(&self) -> &NodeMemory {
        &self.memory
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut NodeMemory {
        &mut self.memory
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        *self.cell.locked_totals() = self.memory.totals();
    }
}

/// An index that is read without a lock.
pub(crate) struct Reading<'a> {
    /// `None` only while it is dropped.
    index: Option<Arc<PatternIndex>>,
    cell: &'a NodeCell,
}

impl Deref for Reading<'_> {
    type Target = PatternIndex;

    fn deref(&self) -> &PatternIndex {
        self.index
            .as_ref()
            .expect("it is given back when it is dropped")
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        drop(self.index.take());
        let (lock, given_back) = &self.cell.given_back;
        // Under the lock, so that nobody looks before and begins to wait after.
        let _told = lock.lock().unwrap_or_else(PoisonError::into_inner);
        given_back.notify_all();
    }
}

//! The writer of the journal: what waits for the thread becomes one write, and one flush if any of
//! it asks for one; what needs no flush and has nothing before it is written by the thread that
//! appends it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crossbeam_channel::Receiver;

use super::{Change, Entry, Queued, Tables};
use crate::error::StorageFailure;
use crate::receipt::Acknowledgement;

/// Bytes of a group above which it is written without looking for more.
const GROUP_BYTES: usize = 8 << 20;

/// Bytes of all entries in the queue above which one more waits: a session's memory may be many
/// megabytes, and is written with each of its operations.
const QUEUE_BYTES: usize = 64 << 20;

/// The figures of the writer.
#[derive(Debug, Default)]
pub(crate) struct WriterFigures {
    pub(crate) records: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) sync_nanos: AtomicU64,
}

/// The failure of writing that ended by a panic.
#[derive(Debug, thiserror::Error)]
#[error("the thread that writes the journal ended unexpectedly")]
struct WriterPanicked;

/// The writer, shared by its thread and those that append.
#[derive(Debug)]
pub(super) struct Writer {
    tables: Arc<Tables>,
    failure: Arc<OnceLock<StorageFailure>>,
    figures: Arc<WriterFigures>,
    /// Held while writing.
    turn: Mutex<()>,
    /// Entries in the queue that are not written.
    n_queued: AtomicUsize,
    /// Their bytes.
    queued_bytes: Mutex<usize>,
    /// Notified when there are less of them.
    room: Condvar,
}

impl Writer {
    pub(super) const fn new(
        tables: Arc<Tables>,
        failure: Arc<OnceLock<StorageFailure>>,
        figures: Arc<WriterFigures>,
    ) -> Self {
        Self {
            tables,
            failure,
            figures,
            turn: Mutex::new(()),
            n_queued: AtomicUsize::new(0),
            queued_bytes: Mutex::new(0),
            room: Condvar::new(),
        }
    }

    /// Counts an entry that is about to go into the queue, once there is room for its bytes. The
    /// caller has a sender of the queue, so the thread that makes room goes on.
    pub(super) fn announce(&self, entry: &Entry) {
        let bytes = size(entry);
        let mut queued = self.queued_bytes();
        // One that is larger than that has the queue to itself.
        while *queued > 0 && queued.saturating_add(bytes) > QUEUE_BYTES {
            queued = self
                .room
                .wait(queued)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *queued += bytes;
        drop(queued);
        self.n_queued.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the bytes of the entries in the queue, locked.
    fn queued_bytes(&self) -> MutexGuard<'_, usize> {
        self.queued_bytes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an entry at once, which saves two threads from waking up; gives it back if it needs a
    /// flush or others are before it.
    ///
    /// Entries of one session or node keep their order: whoever appends one holds the lock of what
    /// it is about, so all earlier ones are written or in the queue.
    pub(super) fn write_now(&self, entry: Entry) -> Result<Acknowledgement, Entry> {
        if entry.sync {
            return Err(entry);
        }
        // Somebody is writing, perhaps with a flush: the entry joins the next group.
        let Ok(_turn) = self.turn.try_lock() else {
            return Err(entry);
        };
        // What is queued came first, and may be about the same session.
        if self.n_queued.load(Ordering::SeqCst) > 0 {
            return Err(entry);
        }
        if let Some(failure) = self.failure.get() {
            // Looked at with the turn taken: nothing is written behind a write that failed.
            return Ok(Err(failure.clone()));
        }
        let bytes = size(&entry);
        let written = self.put(entry.changes, bytes);
        if let (Ok(()), Some(on_written)) = (&written, entry.on_written) {
            on_written();
        }
        Ok(written)
    }

    /// Writes changes as one, and counts them.
    fn put(&self, changes: Vec<Change>, bytes: usize) -> Acknowledgement {
        let records = changes.len() as u64;
        if let Err(error) = self.tables.write(changes) {
            // The first failure ends all writing, and is the one that everybody gets.
            let failure = self.failure.get_or_init(|| StorageFailure::new(error));
            return Err(failure.clone());
        }
        self.figures.records.fetch_add(records, Ordering::Relaxed);
        self.figures
            .bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Writes until the queue is closed and empty. Whatever happens, everybody in the queue gets an
    /// answer.
    pub(super) fn run(&self, queue: &Receiver<Queued>) {
        // `AssertUnwindSafe`: nothing is written after a panic, so nothing half-changed is looked
        // at.
        let ended = panic::catch_unwind(AssertUnwindSafe(|| self.write_all(queue)));
        if ended.is_err() {
            self.failure
                .get_or_init(|| StorageFailure::new(WriterPanicked));
            // From now on it refuses: those who wait in the queue get their answer.
            self.write_all(queue);
        }
    }

    /// Writes group after group until the queue is closed and empty.
    fn write_all(&self, queue: &Receiver<Queued>) {
        while let Ok(first) = queue.recv() {
            let mut bytes = size(&first.entry);
            let mut group = vec![first];
            // Whatever has come while the last group was written: under load groups grow, and
            // flushes are shared by more operations.
            while bytes < GROUP_BYTES
                && let Ok(next) = queue.try_recv()
            {
                bytes += size(&next.entry);
                group.push(next);
            }
            self.write(group, bytes);
        }
    }

    /// Writes a group, flushes it if any entry asks for it, and answers all of them.
    fn write(&self, group: Vec<Queued>, bytes: usize) {
        // A panic of another writer has poisoned the lock, and is a failure that is looked at next.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // Only with the turn taken: until then an entry that is written at once would overtake this
        // group.
        self.n_queued.fetch_sub(group.len(), Ordering::SeqCst);
        *self.queued_bytes() -= bytes;
        self.room.notify_all();
        if let Some(failure) = self.failure.get() {
            return refuse(group, failure);
        }
        let mut changes = Vec::new();
        let (mut synced, mut buffered) = (Vec::new(), Vec::new());
        for mut queued in group {
            changes.append(&mut queued.entry.changes);
            if queued.entry.sync {
                &mut synced
            } else {
                &mut buffered
            }
            .push(queued);
        }
        if let Err(failure) = self.put(changes, bytes) {
            buffered.extend(synced);
            return refuse(buffered, &failure);
        }
        // They are as durable as they asked to be, and need not wait for the flush of others.
        acknowledge(buffered);
        if synced.is_empty() {
            return;
        }
        let began = Instant::now();
        if let Err(error) = self.tables.sync() {
            // After a flush that failed nobody knows what the disk holds. Only reading it back can
            // tell, at the next opening.
            let failure = self.failure.get_or_init(|| StorageFailure::new(error));
            return refuse(synced, failure);
        }
        let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.figures.syncs.fetch_add(1, Ordering::Relaxed);
        self.figures.sync_nanos.fetch_add(nanos, Ordering::Relaxed);
        acknowledge(synced);
    }
}

/// Returns the bytes of an entry.
fn size(entry: &Entry) -> usize {
    let sizes = entry.changes.iter().map(|change| match change {
        Change::Put(_, key, value) => key.len() + value.len(),
        Change::Remove(_, key) => key.len(),
    });
    sizes.sum()
}

/// Answers that entries are as durable as they asked to be.
fn acknowledge(written: Vec<Queued>) {
    for Queued { entry, reply } in written {
        if let Some(on_written) = entry.on_written {
            on_written();
        }
        // Nobody may be waiting any more.
        let _ = reply.send(Ok(()));
    }
}

/// Answers that entries were not written, or not flushed.
fn refuse(group: Vec<Queued>, failure: &StorageFailure) {
    for Queued { reply, .. } in group {
        // Nobody may be waiting any more.
        let _ = reply.send(Err(failure.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::journal::{Journal, Table};

    #[test]
    fn the_queue_takes_a_bounded_number_of_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(dir.path(), None).unwrap();
        let large = || {
            let mut entry = Entry::default();
            entry.put(Table::Runs, "run", vec![0; QUEUE_BYTES]);
            entry
        };
        let writer = &journal.writer;
        // Larger than the bound, and the only one.
        writer.announce(&large());
        thread::scope(|scope| {
            let second = scope.spawn(|| writer.announce(&large()));
            thread::sleep(Duration::from_millis(50));
            assert!(!second.is_finished());
            writer.write(Vec::new(), size(&large()));
            second.join().unwrap();
        });
        writer.write(Vec::new(), size(&large()));
        assert_eq!(*writer.queued_bytes(), 0);
    }
}

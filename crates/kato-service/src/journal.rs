//! The write-ahead journal of sessions, lessons and idempotency keys, written in groups by one
//! thread.

mod copy;
mod log;
mod mark;
mod opening;
mod record;
mod tables;
mod versions;
mod witness;
mod writer;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use crossbeam_channel::Sender;

pub(crate) use self::copy::copy;
pub(crate) use self::record::{
    KeyRecord, LessonsRecord, NodeRecord, SessionHeader, StateRecord, StoredAnswer, TakenBack,
    key_of_key, key_of_lessons, key_of_time, old_key_of_key, sequence_of, time_of,
};
#[cfg(test)]
pub(crate) use self::tables::Fault;
pub(crate) use self::tables::{Table, Tables, TablesSnapshot};
use self::writer::{Writer, WriterFigures};
use crate::ServiceError;
use crate::error::StorageFailure;
use crate::figures::{Counter, Figures};
use crate::loss::{DataLoss, Losses};
use crate::receipt::Acknowledgement;

/// Entries that wait at most; a caller that wants to add one more waits for room.
const QUEUE: usize = 1024;

/// One change of a table.
#[derive(Debug)]
pub(crate) enum Change {
    Put(Table, Vec<u8>, Vec<u8>),
    Remove(Table, Vec<u8>),
}

/// The changes of one operation: all of them or none survive.
#[derive(Default)]
pub(crate) struct Entry {
    pub(crate) changes: Vec<Change>,
    /// Whether it must be on the disk before it is acknowledged.
    pub(crate) sync: bool,
    /// Called when it is written.
    pub(crate) on_written: Option<Box<dyn FnOnce() + Send>>,
}

/// An entry in the queue.
struct Queued {
    entry: Entry,
    reply: oneshot::Sender<Acknowledgement>,
}

/// The journal of a directory.
#[derive(Debug)]
pub(crate) struct Journal {
    tables: Arc<Tables>,
    figures: Arc<WriterFigures>,
    failure: Arc<OnceLock<StorageFailure>>,
    writer: Arc<Writer>,
    /// `None` when closed.
    queue: Mutex<Option<Sender<Queued>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Bytes at the end of the log that opening cut off.
    bytes_cut_off: u64,
    /// Folds of a node's lessons into its store.
    pub(crate) folds: Counter,
    /// Read while the store of a node is changed, written while all of them must stay as they are.
    stores: RwLock<()>,
}

/// The findings of opening a journal.
#[derive(Debug)]
pub(crate) struct OpenReport {
    /// The losses, accepted or only reported.
    pub(crate) losses: Vec<DataLoss>,
    /// The first of them, which are written down.
    pub(crate) n_listed: usize,
    /// Whether it was made just now.
    pub(crate) is_new: bool,
}

impl Entry {
    /// Adds the writing of a record.
    pub(crate) fn put(&mut self, table: Table, key: impl Into<Vec<u8>>, value: Vec<u8>) {
        self.changes.push(Change::Put(table, key.into(), value));
    }

    /// Adds the removal of a record.
    pub(crate) fn remove(&mut self, table: Table, key: impl Into<Vec<u8>>) {
        self.changes.push(Change::Remove(table, key.into()));
    }
}

impl Journal {
    /// Returns whether there is anything of a journal in the directory of a service.
    pub(crate) fn exists(dir: &Path) -> bool {
        dir.join(opening::JOURNAL).exists() || dir.join(witness::FILE).exists()
    }

    /// Opens the journal in the directory of a service, or creates one. Losses are accepted where
    /// there is a list for them, and the time.
    pub(crate) fn open(
        dir: &Path,
        accepting: Option<(&Losses, SystemTime)>,
    ) -> Result<(Self, OpenReport), ServiceError> {
        let opened = opening::open(dir, accepting)?;
        let tables = Arc::new(opened.tables);
        let (sender, receiver) = crossbeam_channel::bounded(QUEUE);
        let failure = Arc::new(OnceLock::new());
        let figures = Arc::new(WriterFigures::default());
        let writer = Writer::new(
            Arc::clone(&tables),
            Arc::clone(&failure),
            Arc::clone(&figures),
        );
        let writer = Arc::new(writer);
        let of_thread = Arc::clone(&writer);
        let thread = std::thread::Builder::new()
            .name("kato-journal".to_owned())
            .spawn(move || of_thread.run(&receiver))
            .map_err(|source| ServiceError::Io {
                action: "start the thread of the journal in",
                path: dir.to_owned(),
                source,
            })?;
        let journal = Self {
            tables,
            figures,
            failure,
            writer,
            queue: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            bytes_cut_off: opened.bytes_cut_off,
            folds: Counter::default(),
            stores: RwLock::default(),
        };
        let report = OpenReport {
            losses: opened.losses,
            n_listed: opened.n_listed,
            is_new: opened.is_new,
        };
        Ok((journal, report))
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Adds the journal's figures.
    pub(crate) fn describe(&self, figures: &mut Figures) {
        let (writer, load) = (&self.figures, Ordering::Relaxed);
        figures.journal_records = writer.records.load(load);
        figures.journal_bytes = writer.bytes.load(load);
        figures.journal_syncs = writer.syncs.load(load);
        figures.journal_bytes_cut_off = self.bytes_cut_off;
        figures.folds = self.folds.get();
        let nanos = writer.sync_nanos.load(load);
        figures.journal_sync_mean =
            Duration::from_nanos(nanos.checked_div(figures.journal_syncs).unwrap_or(0));
        // Monitoring must not fail with the disk: where it does not answer, the bytes of the stores
        // stand alone.
        figures.disk_bytes += self.tables.disk_bytes().unwrap_or(0);
        if let Err(failure) = self.check() {
            figures.failure = Some(failure);
        }
    }

    /// Puts an entry at the end of the queue, and waits for room there; or writes it at once, where
    /// it needs no flush and nothing waits. What is appended under one lock becomes durable in its
    /// order.
    pub(crate) fn append(
        &self,
        entry: Entry,
    ) -> Result<oneshot::Receiver<Acknowledgement>, ServiceError> {
        // After a failure nothing is taken any more, so that nothing is acknowledged behind a gap.
        self.check()?;
        // Cloned, so that nobody waits for this lock while another waits for room in the queue.
        let queue = self
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let queue = queue.ok_or(ServiceError::Closed)?;
        let (reply, answer) = oneshot::channel();
        let entry = match self.writer.write_now(entry) {
            Ok(written) => {
                // Cannot fail: the receiving end is still here.
                let _ = reply.send(written);
                return Ok(answer);
            }
            Err(entry) => entry,
        };
        // Counted before it is in the queue: from here on nobody writes past it.
        self.writer.announce(&entry);
        queue
            .send(Queued { entry, reply })
            .map_err(|_| ServiceError::Closed)?;
        Ok(answer)
    }

    /// Appends an entry and waits until it is as durable as it asks.
    pub(crate) fn append_and_wait(&self, entry: Entry) -> Result<(), ServiceError> {
        match self.append(entry)?.recv() {
            Ok(acknowledged) => Ok(acknowledged?),
            Err(gone) => Err(StorageFailure::new(gone).into()),
        }
    }

    /// Waits until everything that was appended before is on the disk.
    pub(crate) fn sync(&self) -> Result<(), ServiceError> {
        self.append_and_wait(Entry {
            sync: true,
            ..Entry::default()
        })
    }

    /// Returns the right to change the store of a node, which a copy that is being made waits for.
    pub(crate) fn changing_store(&self) -> RwLockReadGuard<'_, ()> {
        self.stores.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the right to read all stores while none is changed.
    pub(crate) fn stores_at_rest(&self) -> RwLockWriteGuard<'_, ()> {
        self.stores.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails with what ended all writing, if something did.
    pub(crate) fn check(&self) -> Result<(), StorageFailure> {
        self.failure
            .get()
            .map_or(Ok(()), |failure| Err(failure.clone()))
    }

    /// Writes what is in the queue and takes no more.
    pub(crate) fn close(&self) {
        // The thread ends when the queue is empty and its last sender gone.
        drop(
            self.queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // A panic of the thread has dropped the replies that were due, which is an error for
            // those who wait for them.
            let _ = thread.join();
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.close();
    }
}

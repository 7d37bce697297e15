//! The tables of the journal: reading them, and writing what belongs together as one.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fjall::{Database, Keyspace, PersistMode, Readable, Snapshot};

use super::mark::{Checksum, MARK_KEY, Mark};
use super::versions::{self, Look};
use super::witness::{Witness, WitnessRecord};
use super::{Change, log};
use crate::ServiceError;
use crate::error::StorageFailure;

/// A table of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// Session id → who it is, and its settings.
    Sessions,
    /// Session id → when it expires, and what it remembers.
    States,
    /// Processor id and sequence number → what one operation taught the node.
    Lessons,
    /// Processor id and idempotency key → the request and its answer.
    Keys,
    /// Time, processor id and idempotency key → nothing; to forget keys by age.
    KeyTimes,
    /// Processor id → the node.
    Nodes,
    /// Name of a training run → its record.
    Runs,
    /// Processor id → sequence number of the last lessons that were folded into its store.
    Folds,
}

/// All tables with their names, each at the place of its number.
pub(super) const TABLES: [(Table, &str); 8] = [
    (Table::Sessions, "sessions"),
    (Table::States, "states"),
    (Table::Lessons, "lessons"),
    (Table::Keys, "keys"),
    (Table::KeyTimes, "key_times"),
    (Table::Nodes, "nodes"),
    (Table::Runs, "runs"),
    (Table::Folds, "folds"),
];

/// A record: key and value.
pub(crate) type Row = (fjall::Slice, fjall::Slice);

/// The open tables.
pub(crate) struct Tables {
    pub(super) db: Database,
    pub(super) dir: PathBuf,
    pub(super) meta: Keyspace,
    pub(super) keyspaces: [Keyspace; TABLES.len()],
    pub(super) position: Mutex<Position>,
    /// A step that a test makes fail.
    #[cfg(test)]
    pub(super) fault: Mutex<Option<Fault>>,
}

/// The position that writing has reached.
#[derive(Debug)]
pub(super) struct Position {
    /// Number of the last write.
    pub(super) number: u64,
    /// Whether numbers before the next write may be missing.
    pub(super) follows_loss: bool,
    pub(super) witness: Witness,
}

/// The tables as they were at one moment.
pub(crate) struct TablesSnapshot<'a> {
    tables: &'a Tables,
    snapshot: Snapshot,
}

/// A step that fails once, in a test.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A write, with nothing written.
    Write,
    /// A flush, after the write.
    Sync,
    /// The thread that writes.
    Panic,
}

/// An error of the database, with the directory that it is about.
#[derive(Debug, thiserror::Error)]
#[error("in {}", path.display())]
struct InDirectory {
    path: PathBuf,
    source: fjall::Error,
}

impl Tables {
    /// Reads a record; `None` if there is none.
    pub(crate) fn get(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<fjall::Slice>, ServiceError> {
        let keyspace = self.keyspace(table);
        keyspace.get(key).map_err(unread(keyspace.path()))
    }

    /// Returns all records whose key begins so, in key order.
    pub(crate) fn prefix(
        &self,
        table: Table,
        prefix: &[u8],
    ) -> impl Iterator<Item = Result<Row, ServiceError>> + use<> {
        let keyspace = self.keyspace(table);
        rows(keyspace, keyspace.prefix(prefix))
    }

    /// Returns the directory of a table.
    pub(crate) fn path(&self, table: Table) -> &Path {
        self.keyspace(table).path()
    }

    /// Carries out all changes or none, and hands them to the operating system.
    pub(super) fn write(&self, changes: Vec<Change>) -> fjall::Result<()> {
        #[cfg(test)]
        self.fail_if_injected(Fault::Write)?;
        if changes.is_empty() {
            return Ok(());
        }
        let changes = changes.into_iter().map(|change| match change {
            Change::Put(table, key, value) => (self.keyspace(table), key, Some(value)),
            Change::Remove(table, key) => (self.keyspace(table), key, None),
        });
        self.write_all(changes)
    }

    /// Writes records into the tables, and removes those that have no value: all or none.
    pub(super) fn write_all<'a>(
        &'a self,
        changes: impl Iterator<Item = (&'a Keyspace, Vec<u8>, Option<Vec<u8>>)>,
    ) -> fjall::Result<()> {
        // Held until the witness has spoken: numbers, places and writes have one order.
        let mut position = self.position();
        let mut batch = self.db.batch().durability(Some(PersistMode::Buffer));
        let mut checksum = Checksum::default();
        for (keyspace, key, value) in changes {
            checksum.add(
                keyspace.id(),
                value.is_none(),
                &key,
                value.as_deref().unwrap_or_default(),
            );
            match value {
                Some(value) => batch.insert(keyspace, key, value),
                None => batch.remove(keyspace, key),
            }
        }
        let mark = Mark {
            number: position.number + 1,
            // The least place that the database can give the write: its own threads may take some
            // before the write does.
            place: self.db.seqno(),
            follows_loss: position.follows_loss,
        };
        // Last, so that reading a log finds the mark at the end of the write that it covers.
        batch.insert(&self.meta, MARK_KEY, mark.encode(checksum));
        batch.commit()?;
        // Only when it is written: a number that was given away without a write would look like a
        // loss. One write with the flag is enough, as later ones count on from it.
        (position.number, position.follows_loss) = (mark.number, false);
        // The write comes before the statement: a kill between the two leaves the witness behind,
        // never ahead.
        let record = WitnessRecord {
            written: mark.number,
            ..*position.witness.current()
        };
        Ok(position.witness.write(record)?)
    }

    /// Waits until everything that was written is on the disk.
    pub(super) fn sync(&self) -> fjall::Result<()> {
        #[cfg(test)]
        self.fail_if_injected(Fault::Sync)?;
        // Held over the flush: what the witness calls flushed is what the flush has covered.
        let mut position = self.position();
        self.db.persist(PersistMode::SyncData)?;
        let record = WitnessRecord {
            flushed: position.number,
            ..*position.witness.current()
        };
        Ok(position.witness.write(record)?)
    }

    /// Records in the witness which log files there are.
    pub(crate) fn witness_log_files(&self) -> Result<(), ServiceError> {
        // Locked before they are listed: a file may go meanwhile, which opening allows for, and
        // none comes back.
        let mut position = self.position();
        let files = log::list(&self.dir)?;
        let record = WitnessRecord {
            oldest_log: files.first().copied().unwrap_or(0),
            newest_log: files.last().copied().unwrap_or(0),
            ..*position.witness.current()
        };
        let written = position.witness.write(record);
        written.map_err(|source| position.witness.failed(source))
    }

    /// Waits until the disk holds what the witness says.
    pub(super) fn sync_witness(&self) -> Result<(), ServiceError> {
        self.position().witness.sync()
    }

    /// Returns everything as it is now, while writing goes on.
    pub(crate) fn snapshot(&self) -> TablesSnapshot<'_> {
        TablesSnapshot {
            tables: self,
            snapshot: self.db.snapshot(),
        }
    }

    /// Returns the bytes on the disk.
    pub(crate) fn disk_bytes(&self) -> Result<u64, ServiceError> {
        self.db
            .disk_space()
            .map_err(ServiceError::journal("measure the journal"))
    }

    /// Writes what the log has into files of the tables.
    #[cfg(test)]
    pub(crate) fn write_files(&self) {
        for keyspace in self.keyspaces.iter().chain([&self.meta]) {
            keyspace.rotate_memtable_and_wait().unwrap();
        }
    }

    /// Makes the next step of a kind fail.
    #[cfg(test)]
    pub(crate) fn inject(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    #[cfg(test)]
    fn fail_if_injected(&self, step: Fault) -> fjall::Result<()> {
        let fault = self
            .fault
            .lock()
            .unwrap()
            .take_if(|fault| *fault == step || *fault == Fault::Panic);
        assert_ne!(fault, Some(Fault::Panic), "injected");
        fault.map_or(Ok(()), |_| {
            Err(fjall::Error::Io(std::io::ErrorKind::StorageFull.into()))
        })
    }

    /// Returns the keyspace of a table.
    pub(super) fn keyspace(&self, table: Table) -> &Keyspace {
        // The variants have the order of `TABLES`, by which the keyspaces were opened.
        &self.keyspaces[table as usize]
    }

    /// Locks the position.
    pub(super) fn position(&self) -> MutexGuard<'_, Position> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TablesSnapshot<'_> {
    /// Returns the processor ids of the nodes whose knowledge bases lessons were folded into.
    pub(crate) fn folded(&self) -> impl Iterator<Item = Result<String, ServiceError>> + use<> {
        self.rows(Table::Folds).map(|row| {
            let (key, _) = row?;
            let processor_id = str::from_utf8(&key);
            processor_id
                .map(str::to_owned)
                .map_err(|error| ServiceError::corrupt("read what was folded", error))
        })
    }

    /// Returns all records of a table, in key order.
    pub(crate) fn rows(
        &self,
        table: Table,
    ) -> impl Iterator<Item = Result<Row, ServiceError>> + use<> {
        let keyspace = self.tables.keyspace(table);
        rows(keyspace, self.snapshot.iter(keyspace))
    }
}

fn rows(
    keyspace: &Keyspace,
    rows: fjall::Iter,
) -> impl Iterator<Item = Result<Row, ServiceError>> + use<> {
    let path = keyspace.path().to_owned();
    rows.map(move |row| row.into_inner().map_err(unread(&path)))
}

/// Makes the error of a table that cannot be read, which names its damaged file where there is one.
fn unread(path: &Path) -> impl FnOnce(fjall::Error) -> ServiceError {
    |source| {
        let fault = versions::fault(path, Look::Content).ok().flatten();
        // The database may have removed a file meanwhile that it needs no more.
        if let Some(fault) = fault.filter(|fault| fault.path.exists()) {
            return ServiceError::Lost { loss: fault.loss() };
        }
        ServiceError::Journal {
            action: "read the journal; if a file of it is damaged, restore the service's directory from a copy, or start without what that held (`accept_losses`; `serve --accept-losses`)",
            source: StorageFailure::new(InDirectory {
                path: path.to_owned(),
                source,
            }),
        }
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::opening;
    use super::*;

    #[test]
    fn a_log_is_whole_whatever_the_database_does_between_two_writes() {
        let dir = tempfile::tempdir().unwrap();
        let tables = opening::open(dir.path(), None).unwrap().tables;
        let before = tables.db.seqno();
        // So large that tables are written to files, and merged, all the while: the threads that do
        // so take places of the database as well, also between the look at the next one and a write.
        let value = vec![7; 2 << 10];
        let (mut n_writes, mut n_apart) = (0, 0);
        while n_writes < 6_000 && n_apart < 3 {
            let key = (n_writes % 512_u64).to_be_bytes().to_vec();
            let put = |table| Change::Put(table, key.clone(), value.clone());
            let place = tables.db.seqno();
            let written = tables.write(vec![put(Table::Lessons), put(Table::Keys)]);
            written.unwrap();
            n_writes += 1;
            n_apart += u64::from(tables.db.seqno() > place + 1);
        }
        assert!(tables.db.seqno() - before > n_writes);
        let log = log::read(&tables.dir).unwrap();
        assert_eq!(log.fault, None);
        let number = tables.position().number;
        assert_eq!(log.last.map(|mark| mark.number), Some(number));
    }

    #[test]
    fn what_the_files_of_a_table_have_is_told_from_what_the_log_has() {
        let dir = tempfile::tempdir().unwrap();
        let tables = opening::open(dir.path(), None).unwrap().tables;
        let write = || {
            let put = Change::Put(Table::Runs, b"run".to_vec(), Vec::new());
            tables.write(vec![put]).unwrap();
            tables.position().number
        };
        let number = write();
        tables.write_files();
        assert!(write() > number);
        let journal = tables.dir.clone();
        drop(tables);
        // Opened as opening looks: threads of the database may give up what `stored_mark` reads.
        let builder = Database::builder(&journal).worker_threads_unchecked(0);
        let db = builder.open().unwrap();
        let meta = opening::open_table(&db, opening::META).unwrap();
        let stored = opening::stored_mark(&meta).unwrap();
        assert_eq!(stored.map(|mark| mark.number), Some(number));
    }
}

//! The tables of the journal.

use std::fmt;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::Change;
use crate::ServiceError;

/// Version of the records; see `docs/file-format.md`.
const FORMAT_VERSION: u64 = 1;
const FORMAT_KEY: &str = "format_version";

/// Memory for reading back; almost everything that is read lies in memory anyway.
const CACHE_BYTES: u64 = 8 << 20;

/// Bytes of its own log that the database keeps: what it reads when it is opened, at most.
const LOG_BYTES: u64 = 128 << 20;

/// Memory of a table above which it is written to a file of its own.
const TABLE_BYTES: u64 = 4 << 20;

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
}

const TABLES: [(Table, &str); 7] = [
    (Table::Sessions, "sessions"),
    (Table::States, "states"),
    (Table::Lessons, "lessons"),
    (Table::Keys, "keys"),
    (Table::KeyTimes, "key_times"),
    (Table::Nodes, "nodes"),
    (Table::Runs, "runs"),
];

/// A record: key and value.
pub(crate) type Row = (fjall::Slice, fjall::Slice);

/// The open tables.
pub(crate) struct Tables {
    db: Database,
    keyspaces: [Keyspace; TABLES.len()],
    /// What tests make fail.
    #[cfg(test)]
    fault: std::sync::Mutex<Option<Fault>>,
}

/// What fails, once, in a test.
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

impl Tables {
    pub(super) fn open(dir: &Path) -> Result<Self, ServiceError> {
        const ACTION: &str = "open the journal";
        let opened = Database::builder(dir)
            .worker_threads(1)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(LOG_BYTES)
            .open();
        let db = opened.map_err(|error| match error {
            fjall::Error::Locked => ServiceError::InUse {
                path: dir.to_owned(),
            },
            error => ServiceError::journal(ACTION)(error),
        })?;
        let open = |name: &str| {
            let options = || KeyspaceCreateOptions::default().max_memtable_size(TABLE_BYTES);
            db.keyspace(name, options)
                .map_err(ServiceError::journal(ACTION))
        };
        let meta = open("meta")?;
        check_format(&meta, dir)?;
        let mut keyspaces = Vec::with_capacity(TABLES.len());
        for (_, name) in TABLES {
            keyspaces.push(open(name)?);
        }
        let keyspaces = keyspaces
            .try_into()
            .map_err(|_| ())
            .expect("there is one keyspace a table");
        Ok(Self {
            db,
            keyspaces,
            #[cfg(test)]
            fault: std::sync::Mutex::default(),
        })
    }

    pub(crate) fn get(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<fjall::Slice>, ServiceError> {
        self.keyspace(table)
            .get(key)
            .map_err(ServiceError::journal("read the journal"))
    }

    /// All records whose key begins so, in key order.
    pub(crate) fn prefix(
        &self,
        table: Table,
        prefix: &[u8],
    ) -> impl Iterator<Item = Result<Row, ServiceError>> + use<> {
        let rows = self.keyspace(table).prefix(prefix);
        rows.map(|row| {
            row.into_inner()
                .map_err(ServiceError::journal("read the journal"))
        })
    }

    /// Carries out all changes or none, and hands them to the operating system.
    pub(super) fn write(&self, changes: Vec<Change>) -> fjall::Result<()> {
        #[cfg(test)]
        self.meet(Fault::Write)?;
        let mut batch = self.db.batch().durability(Some(PersistMode::Buffer));
        for change in changes {
            match change {
                Change::Put(table, key, value) => batch.insert(self.keyspace(table), key, value),
                Change::Remove(table, key) => batch.remove(self.keyspace(table), key),
            }
        }
        batch.commit()
    }

    pub(super) fn sync(&self) -> fjall::Result<()> {
        #[cfg(test)]
        self.meet(Fault::Sync)?;
        self.db.persist(PersistMode::SyncData)
    }

    /// Bytes on the disk.
    pub(crate) fn disk_bytes(&self) -> Result<u64, ServiceError> {
        self.db
            .disk_space()
            .map_err(ServiceError::journal("measure the journal"))
    }

    /// Makes the next step of a kind fail.
    #[cfg(test)]
    pub(crate) fn inject(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    #[cfg(test)]
    fn meet(&self, step: Fault) -> fjall::Result<()> {
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

    fn keyspace(&self, table: Table) -> &Keyspace {
        &self.keyspaces[table as usize]
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

fn check_format(meta: &Keyspace, dir: &Path) -> Result<(), ServiceError> {
    const ACTION: &str = "read the version of the journal";
    let found = meta
        .get(FORMAT_KEY)
        .map_err(ServiceError::journal(ACTION))?;
    let Some(found) = found else {
        let version = FORMAT_VERSION.to_be_bytes();
        return meta
            .insert(FORMAT_KEY, version)
            .map_err(ServiceError::journal("write the version of the journal"));
    };
    let bytes =
        <[u8; 8]>::try_from(&*found).map_err(|error| ServiceError::corrupt(ACTION, error))?;
    match u64::from_be_bytes(bytes) {
        FORMAT_VERSION => Ok(()),
        found => Err(ServiceError::Version {
            path: dir.to_owned(),
            found,
            supported: FORMAT_VERSION,
        }),
    }
}

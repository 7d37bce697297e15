//! Opening the journal. What must be there is checked before the database is opened, which makes
//! anew what it does not find and cuts off what it cannot read. Then what is there is compared with
//! what was acknowledged.

use std::fs;
use std::io::{self, ErrorKind};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use fjall::{AbstractTree, Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use uuid::Uuid;

use super::log::{self, Log};
use super::mark::{MARK_KEY, Mark};
use super::tables::{Position, TABLES, Tables};
use super::versions::{self, CURRENT, Fault, Look};
use super::witness::{self, Witness, WitnessRecord};
use crate::ServiceError;
use crate::error::StorageFailure;
use crate::files::{remove_dir, sync_dir};
use crate::loss::{DataLoss, Losses};

/// Name of the journal in the service's directory.
pub(super) const JOURNAL: &str = "journal";

/// Version of the records; see `docs/file-format.md`.
const FORMAT_VERSION: u64 = 2;

/// The version without marks, witness and folds, which is read and made this one.
const UNMARKED_VERSION: u64 = 1;

/// The table of what concerns the journal as a whole, and its keys.
pub(super) const META: &str = "meta";
const FORMAT_KEY: &[u8] = b"format_version";
const ID_KEY: &[u8] = b"journal_id";

/// The database's own: its version, the directory of its tables, the table of tables in it, and its
/// lock.
const DATABASE_VERSION: &str = "version";
const DATABASE_VERSION_TEXT: &[u8] = b"FJL\x03";
const KEYSPACES: &str = "keyspaces";
/// The file that the database locks. It makes it with the database, and wants it to be there ever
/// after.
const DATABASE_LOCK: &str = "lock";
const TABLE_OF_TABLES: u64 = 0;

/// Name of a database that is made for its one table, which is empty.
const EMPTY: &str = "empty";

/// Memory for reading back; almost everything that is read lies in memory anyway.
const CACHE_BYTES: u64 = 8 << 20;

/// Bytes of its own log that the database keeps: what it reads when it is opened, at most.
const LOG_BYTES: u64 = 128 << 20;

/// Memory of a table above which it is written to a file of its own. Little in tests, so that such
/// files are written and merged in them.
const TABLE_BYTES: u64 = if cfg!(test) { 64 << 10 } else { 4 << 20 };

/// Files of tables that are held open at most.
const OPEN_FILES: usize = 32;

const ACTION: &str = "open the journal";

/// An opened journal, and what opening it found.
pub(super) struct Opened {
    pub(super) tables: Tables,
    /// The losses, accepted or only reported.
    pub(super) losses: Vec<DataLoss>,
    /// The first of them, which are written down.
    pub(super) n_listed: usize,
    /// Bytes at the end of the log that were cut off, as they were no whole write.
    pub(super) bytes_cut_off: u64,
    /// Whether it was made just now.
    pub(super) is_new: bool,
}

/// The panic of a library that met what it did not expect.
#[derive(Debug, thiserror::Error)]
#[error("a file has an unexpected form")]
struct Unexpected;

/// Opens the journal in the directory of a service, or creates one.
/// Losses are accepted where there is a list for them, and the time.
pub(super) fn open(
    service_dir: &Path,
    accepting: Option<(&Losses, SystemTime)>,
) -> Result<Opened, ServiceError> {
    let (witness, record) = Witness::open(service_dir)?;
    let opening = Opening {
        dir: service_dir.join(JOURNAL),
        witness_path: service_dir.join(witness::FILE),
        accepting,
        losses: Vec::new(),
    };
    let dir = opening.dir.clone();
    let opened = match record {
        // An earlier start was broken off before anything was written: what there is of a journal
        // is empty.
        Some(record) if record.is_of_nothing() => {
            remove_dir(&opening.dir)?;
            opening.create(witness)
        }
        Some(record) => opening.open_known(witness, record),
        None if opening.holds_anything() => opening.open_unwitnessed(witness),
        None => opening.create(witness),
    };
    opened.map_err(|error| match error {
        error @ (ServiceError::OpenJournal { .. } | ServiceError::Journal { .. }) => {
            let damage = damage_of_tables(&dir);
            damage.map_or(error, |loss| ServiceError::Lost { loss })
        }
        error => error,
    })
}

/// The opening of a journal, as far as it has come.
struct Opening<'a> {
    dir: PathBuf,
    witness_path: PathBuf,
    /// The list of losses and the time, where they are accepted.
    accepting: Option<(&'a Losses, SystemTime)>,
    /// The losses that were accepted.
    losses: Vec<DataLoss>,
}

impl Opening<'_> {
    /// Returns whether there is anything of a journal.
    fn holds_anything(&self) -> bool {
        let holds = |name: &str| self.dir.join(name).exists();
        holds(DATABASE_VERSION)
            || holds(KEYSPACES)
            || log::list(&self.dir).is_ok_and(|log| !log.is_empty())
    }

    /// Refuses a loss, or writes down that it was accepted.
    fn lost(&mut self, loss: DataLoss) -> Result<(), ServiceError> {
        let Some((list, now)) = self.accepting else {
            return Err(ServiceError::Lost { loss });
        };
        // Before anything is changed: told twice where this start is broken off, and never not at all.
        list.write_down(loss.clone(), now)?;
        self.losses.push(loss);
        Ok(())
    }

    /// Refuses or notes a loss of a part of the journal.
    fn journal_loss(&mut self, path: &Path, reason: impl Into<String>) -> Result<(), ServiceError> {
        self.lost(DataLoss::Journal {
            path: path.to_owned(),
            reason: reason.into(),
        })
    }

    /// Creates a journal where there is none.
    fn create(self, mut witness: Witness) -> Result<Opened, ServiceError> {
        let journal = *Uuid::new_v4().as_bytes();
        let nothing = WitnessRecord {
            journal,
            ..WitnessRecord::default()
        };
        // Before the journal: should this be broken off, the next start knows that nothing is lost.
        witness
            .write(nothing)
            .map_err(|source| witness.failed(source))?;
        witness.sync()?;
        let db = self.database(1)?;
        let mut opened = self.tables(db, witness, None, 0)?;
        opened.is_new = true;
        opened.upgrade_and_record(journal)?;
        Ok(opened)
    }

    /// Opens a journal that the witness knows.
    fn open_known(
        mut self,
        witness: Witness,
        record: WitnessRecord,
    ) -> Result<Opened, ServiceError> {
        if !self.check_directories(&record)? {
            // What is left is kept for the operator, as the database cannot go on with it.
            self.put_aside()?;
            return self.create(witness);
        }
        // Everything is read before the database may change it, so that a refusal leaves all as it
        // is.
        let mut log = log::read(&self.dir)?;
        if self.check_files(&log, &record)? {
            log = log::read(&self.dir)?;
        }
        // Read again behind a gap, without the files that were put away.
        let bytes_cut_off = self.check_writes(&log, Some(record.flushed))?;
        if let Some(last) = &log.last {
            self.check_tail(last.number, &record, bytes_cut_off)?;
        }
        if !self.check_oldest(&log, &record)? {
            return self.create(witness);
        }
        let Some(db) = self.known_database(1)? else {
            return self.create(witness);
        };
        self.check_tables(&db)?;
        // It has no id where making it, or making it one of this version, was broken off. Then the
        // witness knows of no write yet.
        let id = id_of(&open_table(&db, META)?)?;
        let journal = id.unwrap_or(record.journal);
        let lacks_id = id.is_none() && record.written > 0 && !self.has_lost_a_part();
        if journal != record.journal || lacks_id {
            let dir = self.dir.clone();
            self.journal_loss(&dir, "it is not the journal that was here before")?;
        }
        let mut opened = self.tables(db, witness, log.last, bytes_cut_off)?;
        let number = opened.tables.position().number;
        // Where a part is lost and no write is left, the last number may have gone with that part.
        if number > 0 || opened.losses.is_empty() {
            opened.losses.extend(tail_loss(
                &opened.tables.dir,
                number,
                &record,
                bytes_cut_off,
                true,
            ));
        }
        opened.upgrade_and_record(journal)?;
        Ok(opened)
    }

    /// Opens a journal of which no witness speaks: one of an earlier release, or one whose witness
    /// is gone.
    fn open_unwitnessed(mut self, witness: Witness) -> Result<Opened, ServiceError> {
        self.check_version()?;
        if !self.check_lists()? {
            self.put_aside()?;
            return self.create(witness);
        }
        let log = log::read(&self.dir)?;
        if log.files.is_empty() {
            // A database has a log file from its making on.
            self.journal_loss(&log::path_of(&self.dir, 0), "it is gone")?;
        }
        let bytes_cut_off = self.check_writes(&log, None)?;
        let Some(db) = self.known_database(1)? else {
            return self.create(witness);
        };
        let has_meta = db.keyspace_exists(META);
        let has_tables = TABLES.iter().any(|(_, name)| db.keyspace_exists(name));
        if has_tables && !has_meta {
            let dir = self.dir.clone();
            self.journal_loss(&dir, format!("its table {META} is gone"))?;
        }
        let witness_path = self.witness_path.clone();
        let mut opened = self.tables(db, witness, log.last, bytes_cut_off)?;
        let unwitnessed = match opened.version()? {
            // Journals of this version have a witness from their making on; the one of version 1
            // never had one.
            Some(FORMAT_VERSION) => Some((
                witness_path,
                "it is gone, and nothing else tells the last write that was acknowledged"
                    .to_owned(),
            )),
            _ if bytes_cut_off > 0 => Some((
                opened.tables.dir.clone(),
                format!(
                    "{bytes_cut_off} bytes at its end were no whole write and were cut off; whether they had been acknowledged the release before did not keep"
                ),
            )),
            _ => None,
        };
        if let Some((path, reason)) = unwitnessed {
            opened.losses.push(DataLoss::Unwitnessed { path, reason });
        }
        let id = id_of(&opened.tables.meta)?;
        let journal = id.unwrap_or_else(|| *Uuid::new_v4().as_bytes());
        opened.upgrade_and_record(journal)?;
        Ok(opened)
    }

    /// Returns whether the loss of a part of the journal was accepted.
    fn has_lost_a_part(&self) -> bool {
        let mut losses = self.losses.iter();
        losses.any(|loss| matches!(loss, DataLoss::Journal { .. }))
    }

    /// Checks that the directories of the database are there; returns `false` if it cannot go on
    /// with what is left.
    fn check_directories(&mut self, record: &WitnessRecord) -> Result<bool, ServiceError> {
        if !self.dir.exists() {
            let dir = self.dir.clone();
            self.journal_loss(&dir, "it is gone")?;
            return Ok(false);
        }
        self.check_version()?;
        let tables = (0..u64::BITS).filter(|table| record.tables >> table & 1 == 1);
        for table in tables {
            if !self.check_table(&self.keyspaces().join(table.to_string()))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks, as [`check_directories`](Self::check_directories) does, the tables that there are.
    fn check_lists(&mut self) -> Result<bool, ServiceError> {
        let mut dirs = directories_of_tables(&self.dir)?;
        // A table whose making was broken off has none yet.
        dirs.retain(|dir| dir.join(CURRENT).exists());
        if dirs.is_empty() {
            return Ok(true);
        }
        // It is made before the others, which the database removes where it is gone.
        dirs.insert(0, self.table_of_tables());
        for dir in dirs {
            if !self.check_table(&dir)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks that the file is whole that says which version the database has. It holds nothing else,
    /// so that nothing is lost with it.
    fn check_version(&mut self) -> Result<(), ServiceError> {
        let path = self.dir.join(DATABASE_VERSION);
        let reason = match fs::read(&path) {
            Ok(found) if found == DATABASE_VERSION_TEXT => return Ok(()),
            Ok(_) => "it is damaged, or of another release",
            Err(error) if error.kind() == ErrorKind::NotFound => "it is gone",
            Err(error) => return Err(ServiceError::io("read", &path)(error)),
        };
        self.journal_loss(&path, reason)?;
        fs::write(&path, DATABASE_VERSION_TEXT).map_err(ServiceError::io("write", &path))
    }

    /// Checks a table, and begins it anew where that it is lost was accepted; returns `false` if the
    /// database cannot go on without it.
    fn check_table(&mut self, dir: &Path) -> Result<bool, ServiceError> {
        // What is gone on without must be readable to its end.
        let look = match self.accepting {
            Some(_) => Look::Content,
            None => Look::Presence,
        };
        let Some(fault) = versions::fault(dir, look)? else {
            return Ok(true);
        };
        self.lost(fault.loss())?;
        // Without it the database knows of no table.
        if dir == self.table_of_tables() {
            return Ok(false);
        }
        self.begin_anew(dir)?;
        Ok(true)
    }

    /// Puts a table aside that cannot be trusted, and an empty one in its place, into which the database
    /// takes what the log has of it. The database itself would remove a table that has no list, would
    /// pass over what the log has of it, and would take in that at a later start.
    fn begin_anew(&self, table: &Path) -> Result<(), ServiceError> {
        let making = Self {
            dir: self.dir.join(EMPTY),
            witness_path: PathBuf::new(),
            accepting: None,
            losses: Vec::new(),
        };
        remove_dir(&making.dir)?;
        let db = making.database(0)?;
        let id = open_table(&db, EMPTY)?.id();
        drop(db);
        let name = table.file_name().unwrap_or_default().to_string_lossy();
        put_aside_as(table, &self.dir.join(format!("table-{name}")))?;
        let empty = making.keyspaces().join(id.to_string());
        fs::create_dir_all(self.keyspaces())
            .and_then(|()| fs::rename(&empty, table))
            .map_err(ServiceError::io("make anew", table))?;
        remove_dir(&making.dir)?;
        sync_dir(&self.keyspaces())?;
        sync_dir(&self.dir)
    }

    /// Returns the directory of the tables.
    fn keyspaces(&self) -> PathBuf {
        self.dir.join(KEYSPACES)
    }

    /// Returns the directory of the table of tables.
    fn table_of_tables(&self) -> PathBuf {
        self.keyspaces().join(TABLE_OF_TABLES.to_string())
    }

    /// Checks that no log file is gone; returns whether files behind a gap were put away.
    fn check_files(&mut self, log: &Log, record: &WitnessRecord) -> Result<bool, ServiceError> {
        let dir = self.dir.clone();
        let gone = |file| log::path_of(&dir, file);
        let Some(&newest) = log.files.last() else {
            self.journal_loss(&gone(record.newest_log), "it is gone")?;
            return Ok(false);
        };
        // The database numbers its log files one after the other and removes only the oldest.
        if newest < record.newest_log {
            self.journal_loss(&gone(newest + 1), "it is gone")?;
        }
        let gap = log.files.windows(2).find(|pair| pair[1] != pair[0] + 1);
        if let Some(pair) = gap {
            self.journal_loss(&gone(pair[0] + 1), "it is gone")?;
            // What was written behind a gap cannot stand without what is missing.
            let later = log.files.iter().copied().filter(|&file| file > pair[0]);
            log::put_away(&self.dir, later)?;
        }
        Ok(gap.is_some())
    }

    /// Checks that the log holds whole writes in their order; returns the bytes that the database
    /// will cut off at its end.
    ///
    /// A write that was broken off is at the end, was not acknowledged, and is none of those that
    /// are known to be on the disk.
    fn check_writes(&mut self, log: &Log, flushed: Option<u64>) -> Result<u64, ServiceError> {
        let Some(fault) = &log.fault else {
            return Ok(0);
        };
        // Behind the last flush a power cut may leave any of the writes on the disk and not others,
        // so whole ones behind the fault prove damage only while something flushed is missing.
        let has_all_flushed = match (log.last, flushed) {
            (Some(last), Some(flushed)) => last.number >= flushed,
            _ => false,
        };
        let is_damage =
            !fault.is_in_newest || !has_all_flushed && fault.is_followed_by_writes(log.last)?;
        if is_damage {
            self.lost(fault.loss())?;
            log::cut(&self.dir, log, fault)?;
            return Ok(0);
        }
        Ok(fault.bytes)
    }

    /// Refuses a log that ends before a write which was on the disk, unless losses are accepted.
    ///
    /// A power cut takes what was not on the disk yet: that is reported, as nothing can bring it
    /// back. What was on the disk is gone by damage, and may be in a copy.
    fn check_tail(
        &self,
        number: u64,
        record: &WitnessRecord,
        bytes_cut_off: u64,
    ) -> Result<(), ServiceError> {
        match tail_loss(&self.dir, number, record, bytes_cut_off, false) {
            Some(loss) if number < record.flushed && self.accepting.is_none() => {
                Err(ServiceError::Lost { loss })
            }
            // It is reported once it is known what the tables have.
            _ => Ok(()),
        }
    }

    /// Checks that the oldest log files are gone because the tables have what they held; returns
    /// `false` if the journal was given up.
    fn check_oldest(&mut self, log: &Log, record: &WitnessRecord) -> Result<bool, ServiceError> {
        let (Some(&oldest), Some(first)) = (log.files.first(), log.first) else {
            return Ok(true);
        };
        if oldest <= record.oldest_log {
            return Ok(true);
        }
        // Without threads of its own, so that it changes nothing. Every write puts its mark into
        // `meta`: the mark that is stored of that table tells how far the tables have come.
        let Some(db) = self.known_database(0)? else {
            return Ok(false);
        };
        let meta = open_table(&db, META)?;
        let stored = stored_mark(&meta)?;
        drop((meta, db));
        let number = stored.map_or(0, |mark| mark.number);
        // Otherwise the log goes on where the tables end, and the files that are gone were of no
        // more use.
        if number + 1 < first.number && !first.follows_loss {
            let path = log::path_of(&self.dir, record.oldest_log);
            self.journal_loss(&path, "it is gone")?;
        }
        Ok(true)
    }

    /// Checks that the database knows all tables.
    fn check_tables(&mut self, db: &Database) -> Result<(), ServiceError> {
        let names = TABLES.iter().map(|(_, name)| *name).chain([META]);
        for name in names.filter(|name| !db.keyspace_exists(name)) {
            // A loss that was accepted above may be what the table went with.
            if !self.has_lost_a_part() {
                let dir = self.dir.clone();
                self.journal_loss(&dir, format!("its table {name} is gone"))?;
            }
        }
        Ok(())
    }

    /// Renames the directory of the journal to `journal.lost-N`, with the first `N` that is free.
    fn put_aside(&self) -> Result<(), ServiceError> {
        put_aside_as(&self.dir, &self.dir)
    }

    /// Refuses a directory where a file of a table is to be: the database would panic over it, and say
    /// so to whoever reads the log.
    fn check_tables_are_files(&self) -> Result<(), ServiceError> {
        let within = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
        for keyspace in within(self.dir.join("keyspaces")) {
            for table in within(keyspace.path().join("tables")) {
                if table.path().is_dir() {
                    return Err(ServiceError::OpenJournal {
                        path: table.path(),
                        source: StorageFailure::new(Unexpected),
                    });
                }
            }
        }
        Ok(())
    }

    /// Opens a database that was there; `None` if it cannot be opened whatever is done about its tables,
    /// which was accepted, and it was put aside.
    fn known_database(&mut self, threads: usize) -> Result<Option<Database>, ServiceError> {
        match self.database(threads) {
            Err(ServiceError::OpenJournal { path, source })
                if self.accepting.is_some() && source.is_of_content() =>
            {
                self.journal_loss(&path, format!("it cannot be opened: {source}"))?;
                self.put_aside()?;
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    /// Opens the database with so many threads of its own.
    fn database(&self, threads: usize) -> Result<Database, ServiceError> {
        if self.dir.join(DATABASE_VERSION).exists() {
            self.restore_lock_file()?;
        }
        self.check_tables_are_files()?;
        // The database may panic over a file that is not of the form that it expects, which is an
        // error of this directory and no reason to end the process.
        let opened = panic::catch_unwind(AssertUnwindSafe(|| {
            Database::builder(&self.dir)
                .worker_threads_unchecked(threads)
                .cache_size(CACHE_BYTES)
                .max_journaling_size(LOG_BYTES)
                .max_cached_files(Some(OPEN_FILES))
                .open()
        }));
        let unopened = |source| ServiceError::OpenJournal {
            path: self.dir.clone(),
            source,
        };
        match opened {
            Ok(Ok(db)) => Ok(db),
            Ok(Err(fjall::Error::Locked)) => Err(ServiceError::InUse {
                path: self.dir.clone(),
            }),
            Ok(Err(error)) => Err(unopened(StorageFailure::new(error))),
            Err(_) => Err(unopened(StorageFailure::new(Unexpected))),
        }
    }

    /// Creates the lock file of the database, if it is gone, as after a clean-up of files that look
    /// left over. Nobody else has the database: the directory of the service is locked.
    fn restore_lock_file(&self) -> Result<(), ServiceError> {
        let path = self.dir.join(DATABASE_LOCK);
        match fs::File::create_new(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(ServiceError::io("make the lock file", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Opens the tables of a database, and creates those that are not there.
    fn tables(
        self,
        db: Database,
        witness: Witness,
        last: Option<Mark>,
        bytes_cut_off: u64,
    ) -> Result<Opened, ServiceError> {
        let meta = open_table(&db, META)?;
        let mut keyspaces = Vec::with_capacity(TABLES.len());
        for (_, name) in TABLES {
            keyspaces.push(open_table(&db, name)?);
        }
        let keyspaces = keyspaces
            .try_into()
            .map_err(|_| ())
            .expect("there is one keyspace a table");
        let mark = meta.get(MARK_KEY).map_err(ServiceError::journal(ACTION))?;
        let stored = mark.and_then(|bytes| Mark::decode(&bytes));
        let numbers = [stored, last].into_iter().flatten().map(|mark| mark.number);
        let number = numbers.max().unwrap_or(0);
        let position = Position {
            number,
            // The tables may hold later writes than what is left of the log: then the numbers
            // between the two are not seen again.
            follows_loss: last.is_some_and(|last| last.number != number),
            witness,
        };
        Ok(Opened {
            tables: Tables {
                db,
                dir: self.dir,
                meta,
                keyspaces,
                position: Mutex::new(position),
                #[cfg(test)]
                fault: Mutex::default(),
            },
            n_listed: self.losses.len(),
            losses: self.losses,
            bytes_cut_off,
            is_new: false,
        })
    }
}

impl Opened {
    /// Reads the version of the journal; `None` where it has none yet.
    fn version(&self) -> Result<Option<u64>, ServiceError> {
        const ACTION: &str = "read the version of the journal";
        let found = self.tables.meta.get(FORMAT_KEY);
        let Some(found) = found.map_err(ServiceError::journal(ACTION))? else {
            return Ok(None);
        };
        let bytes =
            <[u8; 8]>::try_from(&*found).map_err(|error| ServiceError::corrupt(ACTION, error))?;
        match u64::from_be_bytes(bytes) {
            found @ (UNMARKED_VERSION | FORMAT_VERSION) => Ok(Some(found)),
            found => Err(ServiceError::Version {
                path: self.tables.dir.clone(),
                found,
                supported: FORMAT_VERSION,
            }),
        }
    }

    /// Makes the journal one of this version, and the witness speak of it as it is now.
    fn upgrade_and_record(&mut self, journal: [u8; 16]) -> Result<(), ServiceError> {
        let tables = &self.tables;
        let is_current =
            self.version()? == Some(FORMAT_VERSION) && id_of(&tables.meta)? == Some(journal);
        tables.position().follows_loss |= !self.losses.is_empty();
        let ids = tables
            .keyspaces
            .iter()
            .chain([&tables.meta])
            .map(Keyspace::id);
        let ids = ids
            .chain([TABLE_OF_TABLES])
            .filter(|id| *id < u64::from(u64::BITS));
        // One bit for each table; one with a number beyond the bits goes unwatched.
        let mask = ids.fold(0, |mask, id| mask | 1 << id);
        let log = log::list(&tables.dir)?;
        {
            let mut position = tables.position();
            let number = position.number;
            let record = WitnessRecord {
                journal,
                written: number,
                // A witness of writes that are known to be lost would report them again at every
                // start.
                flushed: position.witness.current().flushed.min(number),
                tables: mask,
                oldest_log: log.first().copied().unwrap_or(0),
                newest_log: log.last().copied().unwrap_or(0),
            };
            let witness = &mut position.witness;
            witness
                .write(record)
                .map_err(|source| witness.failed(source))?;
            // On the disk before the version: a journal of this version without a witness has lost
            // it.
            witness.sync()?;
        }
        if !is_current {
            let meta = [
                (FORMAT_KEY, FORMAT_VERSION.to_be_bytes().to_vec()),
                (ID_KEY, journal.to_vec()),
            ];
            let puts = meta.map(|(key, value)| (&tables.meta, key.to_vec(), Some(value)));
            tables
                .write_all(puts.into_iter())
                .and_then(|()| tables.db.persist(PersistMode::SyncAll))
                .and_then(|()| tables.sync())
                .map_err(ServiceError::journal("write the version of the journal"))?;
            tables.sync_witness()?;
            sync_dir(tables.dir.parent().unwrap_or(&tables.dir))?;
        }
        Ok(())
    }
}

/// Returns the first damage to the files of the tables of a journal; `None` where they are whole, or none
/// can be looked at.
fn damage_of_tables(journal: &Path) -> Option<DataLoss> {
    let dirs = directories_of_tables(journal).ok()?;
    let faults = dirs.iter().map(|dir| versions::fault(dir, Look::Content));
    let mut found = faults.filter_map(Result::ok).flatten();
    found.next().map(Fault::loss)
}

/// Returns the directories of the tables that there are of a journal.
fn directories_of_tables(journal: &Path) -> Result<Vec<PathBuf>, ServiceError> {
    let keyspaces = journal.join(KEYSPACES);
    let listed = ServiceError::io("list", &keyspaces);
    let entries = match fs::read_dir(&keyspaces) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(listed(error)),
    };
    let dirs = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut dirs = dirs.collect::<io::Result<Vec<_>>>().map_err(listed)?;
    dirs.sort_unstable();
    Ok(dirs)
}

/// Renames what there is of a directory so that its name ends in `.lost-N`, with the first `N` that is
/// free.
fn put_aside_as(dir: &Path, name: &Path) -> Result<(), ServiceError> {
    if !dir.exists() {
        return Ok(());
    }
    let asides = (0_u64..).map(|n| name.with_extension(format!("lost-{n}")));
    let mut free = asides.skip_while(|aside| aside.exists());
    let aside = free.next().expect("not all numbers are taken");
    fs::rename(dir, &aside).map_err(ServiceError::io("rename", dir))
}

/// Reads the id of a journal; `None` where it has none yet.
fn id_of(meta: &Keyspace) -> Result<Option<[u8; 16]>, ServiceError> {
    let found = meta.get(ID_KEY).map_err(ServiceError::journal(ACTION))?;
    Ok(found.and_then(|bytes| <[u8; 16]>::try_from(&*bytes).ok()))
}

/// Returns the loss of the writes behind a number, if some of them were acknowledged; `is_cut_off` says whether
/// the bytes of an unfinished one are gone.
fn tail_loss(
    dir: &Path,
    number: u64,
    record: &WitnessRecord,
    bytes: u64,
    is_cut_off: bool,
) -> Option<DataLoss> {
    (number < record.written).then(|| DataLoss::Tail {
        path: dir.to_owned(),
        bytes,
        is_cut_off,
        writes: record.written - number,
        were_flushed: number < record.flushed,
    })
}

/// Reads the mark of the last write that the files of the table `meta` have, without the log; `None`
/// where they have none.
///
/// The database must have no threads. No snapshot holds the state that is read, so they may give it up
/// when they merge files or move them, and the database panics over a state that it has no more.
pub(super) fn stored_mark(meta: &Keyspace) -> Result<Option<Mark>, ServiceError> {
    let Some(place) = meta.tree.get_highest_persisted_seqno() else {
        return Ok(None);
    };
    // As it was behind that write: what the log has beyond it comes later.
    let found = meta.tree.get(MARK_KEY, place + 1);
    let found = found.map_err(|error| ServiceError::journal(ACTION)(error.into()))?;
    Ok(found.and_then(|bytes| Mark::decode(&bytes)))
}

/// Opens a table, or creates it.
pub(super) fn open_table(db: &Database, name: &str) -> Result<Keyspace, ServiceError> {
    let options = || KeyspaceCreateOptions::default().max_memtable_size(TABLE_BYTES);
    db.keyspace(name, options)
        .map_err(ServiceError::journal(ACTION))
}

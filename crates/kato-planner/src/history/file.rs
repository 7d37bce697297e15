//! The file of a history: recording, looking up, and removing runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params_from_iter};

use crate::ForecastValue;
use crate::history::accuracy::Accuracy;
use crate::history::record::{HistoryRun, NewRun, RunSettings};
use crate::history::row;
use crate::history::schema::{self, Content};
use crate::history::similarity::{SimilarRun, similarity};
use crate::history::{Comparison, HistoryError};

/// How long a writer waits for another.
const PATIENCE: Duration = Duration::from_secs(30);

/// A history of training runs in one SQLite file.
///
/// Several programs and threads may have the same file open, each with a value of its own.
#[derive(Debug)]
pub struct TrainingHistory {
    pub(super) connection: Connection,
    path: PathBuf,
}

/// Which runs of a history are meant; by default all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunFilter {
    /// Runs of this corpus, by its name.
    pub corpus: Option<String>,
    /// Runs with these chunk sizes.
    pub chunk_sizes: Option<Vec<u64>>,
    /// Runs of at least so many samples.
    pub min_samples: Option<u64>,
    /// Runs that came to the end of their corpus.
    pub complete_only: bool,
    /// So many of the newest.
    pub limit: Option<u64>,
}

impl RunFilter {
    /// Keeps runs of a corpus with this name.
    #[must_use]
    pub fn with_corpus(mut self, name: impl Into<String>) -> Self {
        self.corpus = Some(name.into());
        self
    }

    /// Keeps runs with these chunk sizes.
    #[must_use]
    pub fn with_chunk_sizes(mut self, chunk_sizes: impl IntoIterator<Item = u64>) -> Self {
        self.chunk_sizes = Some(chunk_sizes.into_iter().collect());
        self
    }

    /// Keeps runs of at least so many samples.
    #[must_use]
    pub fn with_min_samples(mut self, samples: u64) -> Self {
        self.min_samples = Some(samples);
        self
    }

    /// Keeps runs that came to the end of their corpus.
    #[must_use]
    pub fn with_complete_only(mut self) -> Self {
        self.complete_only = true;
        self
    }

    /// Keeps so many of the newest.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }
}

impl TrainingHistory {
    /// Opens a history, or begins one where there is no file.
    ///
    /// # Errors
    ///
    /// [`HistoryError::NotAHistory`] and [`HistoryError::Newer`] for files of others, which stay as
    /// they are; [`HistoryError::Sqlite`] when the file cannot be opened or made.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, HistoryError> {
        let path = path.as_ref();
        let connection = Connection::open(path).map_err(HistoryError::sqlite("open"))?;
        Self::prepared(connection, path)
    }

    /// Opens a history that must exist.
    ///
    /// # Errors
    ///
    /// [`HistoryError::Missing`] where there is none, and as [`open`](Self::open).
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, HistoryError> {
        let path = path.as_ref();
        if !path.exists() {
            let path = path.to_owned();
            return Err(HistoryError::Missing { path });
        }
        Self::open(path)
    }

    /// Creates a history that lives as long as the value.
    ///
    /// # Errors
    ///
    /// When SQLite fails.
    pub fn in_memory() -> Result<Self, HistoryError> {
        let connection = Connection::open_in_memory().map_err(HistoryError::sqlite("open"))?;
        Self::prepared(connection, Path::new(":memory:"))
    }

    fn prepared(mut connection: Connection, path: &Path) -> Result<Self, HistoryError> {
        let busy = connection.busy_timeout(PATIENCE);
        busy.map_err(HistoryError::sqlite("open"))?;
        let not_a_history = |reason: String| HistoryError::NotAHistory {
            path: path.to_owned(),
            reason,
        };
        // The first look at the file: a text is found out here.
        let content =
            schema::content(&connection).map_err(|error| match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::NotADatabase) => {
                    not_a_history("it is no SQLite database".to_owned())
                }
                _ => HistoryError::sqlite("open")(error),
            })?;
        match content {
            Content::History | Content::Empty => {}
            Content::Original => {
                let next = "it is that of the Python original, which `kato history import` reads";
                return Err(not_a_history(next.to_owned()));
            }
            Content::Foreign => {
                return Err(not_a_history(
                    "it is a database of something else".to_owned(),
                ));
            }
        }
        schema::migrate(&mut connection)?;
        let keys = connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;");
        keys.map_err(HistoryError::sqlite("open"))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
        })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that runs can be recorded, by a write that is taken back.
    ///
    /// Reading a file does not say whether it may be written.
    ///
    /// # Errors
    ///
    /// [`HistoryError::ReadOnly`] when it may not be, [`HistoryError::Sqlite`] when writing fails
    /// for another reason.
    ///
    /// ```
    /// use kato_planner::history::TrainingHistory;
    ///
    /// TrainingHistory::in_memory()?.check_writable()?;
    /// # Ok::<(), kato_planner::history::HistoryError>(())
    /// ```
    pub fn check_writable(&mut self) -> Result<(), HistoryError> {
        let write = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Of the first page, for which the journal beside the file has to be made.
            let version: i64 =
                transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
            transaction.pragma_update(None, "user_version", version)?;
            transaction.rollback()
        };
        write(&mut self.connection).map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::CannotOpen) => {
                HistoryError::ReadOnly {
                    path: self.path.clone(),
                }
            }
            _ => HistoryError::sqlite("write")(error),
        })
    }

    /// Records a run and returns its id.
    ///
    /// The id is that of the run, or made of settings and samples; where it is taken, the seconds
    /// since 1970 are added, and a number where those are taken too.
    ///
    /// # Errors
    ///
    /// [`HistoryError::Value`] for a number below 0 or none, [`HistoryError::Sqlite`] when the file
    /// cannot be written; another writer is waited for, 30 s at most.
    pub fn record(&mut self, run: &NewRun) -> Result<String, HistoryError> {
        let ids = self.record_all(std::slice::from_ref(run))?;
        Ok(ids.into_iter().next().unwrap_or_default())
    }

    /// Records several runs, all or none, and returns their ids in the same order.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub fn record_all(&mut self, runs: &[NewRun]) -> Result<Vec<String>, HistoryError> {
        for run in runs {
            check(run)?;
        }
        let failed = HistoryError::sqlite("write");
        // Immediate, as the id is looked for before the run is written: two writers that both read
        // first would find the same id free.
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(&failed)?;
        let mut ids = Vec::with_capacity(runs.len());
        for run in runs {
            let recorded_ms = row::milliseconds(run.recorded.unwrap_or_else(SystemTime::now));
            let id = free_id(&transaction, run, recorded_ms).map_err(&failed)?;
            row::insert(&transaction, &id, recorded_ms, run)?;
            ids.push(id);
        }
        transaction.commit().map_err(&failed)?;
        Ok(ids)
    }

    /// Returns the runs that a filter keeps, newest first.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<HistoryRun>, HistoryError> {
        use rusqlite::types::Value;
        let mut conditions = vec!["1"];
        let mut values: Vec<Value> = Vec::new();
        if let Some(corpus) = &filter.corpus {
            conditions.push("corpus_name = ?");
            values.push(corpus.clone().into());
        }
        if let Some(sizes) = &filter.chunk_sizes {
            conditions.push("chunk_sizes = ?");
            let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
            values.push(format!("[{}]", sizes.join(",")).into());
        }
        if let Some(samples) = filter.min_samples {
            conditions.push("samples >= ?");
            values.push(row::signed(samples).into());
        }
        if filter.complete_only {
            conditions.push("complete");
        }
        // SQLite takes -1 for no limit.
        values.push(filter.limit.map_or(-1, row::signed).into());
        let sql = format!(
            "SELECT {} FROM runs WHERE {} ORDER BY recorded_ms DESC, rowid DESC LIMIT ?",
            row::COLUMNS,
            conditions.join(" AND ")
        );
        let failed = HistoryError::sqlite("read");
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement.query_map(params_from_iter(values), row::read);
        let rows: rusqlite::Result<Vec<row::RawRun>> = rows.map_err(&failed)?.collect();
        let rows = rows.map_err(&failed)?;
        rows.into_iter().map(row::RawRun::into_record).collect()
    }

    /// Returns the run with an id, or with the only id that begins so.
    ///
    /// # Errors
    ///
    /// [`HistoryError::UnknownRun`] when there is none, or several; and when the file cannot be
    /// read.
    pub fn run(&self, id: &str) -> Result<HistoryRun, HistoryError> {
        let id = self.resolve(id)?;
        let sql = format!("SELECT {} FROM runs WHERE run_id = ?1", row::COLUMNS);
        let row = self.connection.query_row(&sql, [id], row::read);
        row.map_err(HistoryError::sqlite("read"))?.into_record()
    }

    /// Returns the number of runs.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn count(&self) -> Result<u64, HistoryError> {
        let count = self
            .connection
            .query_row("SELECT count(*) FROM runs", [], |row| row.get::<_, i64>(0));
        let count = count.map_err(HistoryError::sqlite("read"))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Removes the run with an id, or with the only id that begins so, and returns the id.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and when the file cannot be written.
    pub fn remove(&mut self, id: &str) -> Result<String, HistoryError> {
        let id = self.resolve(id)?;
        let removed = self
            .connection
            .execute("DELETE FROM runs WHERE run_id = ?1", [&id]);
        removed.map_err(HistoryError::sqlite("write"))?;
        Ok(id)
    }

    /// Removes all runs, and the forecasts of those to come, or nothing, and returns how many runs there were.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn clear(&mut self) -> Result<usize, HistoryError> {
        let failed = HistoryError::sqlite("write");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(&failed)?;
        let forecasts = transaction.execute("DELETE FROM forecasts", []);
        forecasts.map_err(&failed)?;
        let cleared = transaction.execute("DELETE FROM runs", []);
        let cleared = cleared.map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(cleared)
    }

    /// Returns the runs whose settings are most like these, best first and of equal ones the newest
    /// first; runs that share nothing are left out.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn similar(
        &self,
        settings: &RunSettings,
        limit: usize,
    ) -> Result<Vec<SimilarRun>, HistoryError> {
        let runs = self.runs(&RunFilter::default())?;
        let mut similar: Vec<SimilarRun> = runs
            .into_iter()
            .map(|run| SimilarRun {
                similarity: similarity(settings, &run.settings),
                run,
            })
            .filter(|similar| similar.similarity > 0.0)
            .collect();
        // Stable, so the order of time stays among equals.
        similar.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
        similar.truncate(limit);
        Ok(similar)
    }

    /// Returns how good the estimates were that were made before these runs.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn accuracy(&self, filter: &RunFilter) -> Result<Accuracy, HistoryError> {
        let mut runs = self.runs(filter)?;
        runs.reverse();
        Ok(Accuracy::from_runs(&runs))
    }

    /// Lays runs side by side: those with these ids in this order, or with none the runs that the
    /// filter keeps, newest first.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn compare(&self, ids: &[String], filter: &RunFilter) -> Result<Comparison, HistoryError> {
        let runs = match ids {
            [] => self.runs(filter)?,
            ids => ids
                .iter()
                .map(|id| self.run(id))
                .collect::<Result<_, _>>()?,
        };
        Ok(Comparison::from_runs(&runs))
    }

    /// Returns the whole id that one, or the beginning of one, stands for.
    fn resolve(&self, id: &str) -> Result<String, HistoryError> {
        let failed = HistoryError::sqlite("read");
        // Not LIKE, in which the underscores of every id stand for any letter.
        let sql =
            "SELECT run_id FROM runs WHERE substr(run_id, 1, length(?1)) = ?1 ORDER BY run_id";
        let mut statement = self.connection.prepare(sql).map_err(&failed)?;
        let found = statement.query_map([id], |row| row.get(0));
        let found: rusqlite::Result<Vec<String>> = found.map_err(&failed)?.collect();
        let mut found = found.map_err(&failed)?;
        let is_one = found.len() == 1;
        match found.iter().position(|found| found == id || is_one) {
            Some(at) => Ok(found.swap_remove(at)),
            None => Err(HistoryError::UnknownRun {
                run: id.to_owned(),
                candidates: found,
            }),
        }
    }
}

/// Opens a database for reading alone.
pub(crate) fn read_only(path: &Path) -> Result<Connection, HistoryError> {
    if !path.exists() {
        let path = path.to_owned();
        return Err(HistoryError::Missing { path });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).map_err(HistoryError::sqlite("open"))
}

/// Refuses times that are none, of which no average could be made.
fn check(run: &NewRun) -> Result<(), HistoryError> {
    let [seconds, disk_bytes, memory_bytes, ..] = run.estimate.unwrap_or_default().values();
    let foretold = |(_, number): (_, Option<ForecastValue>)| number.map_or(0.0, |n| n.value);
    for (field, value) in [
        ("seconds", run.outcome.seconds),
        ("cpu_percent", run.outcome.cpu_percent.unwrap_or(0.0)),
        ("estimate.seconds", foretold(seconds)),
        ("estimate.disk_bytes", foretold(disk_bytes)),
        ("estimate.memory_bytes", foretold(memory_bytes)),
    ] {
        if !(value.is_finite() && value >= 0.0) {
            return Err(HistoryError::Value { field, value });
        }
    }
    Ok(())
}

/// Returns an id that no run has.
fn free_id(
    transaction: &Transaction<'_>,
    run: &NewRun,
    recorded_ms: i64,
) -> rusqlite::Result<String> {
    let wanted = run.run_id.clone().unwrap_or_else(|| run.default_id());
    let mut statement = transaction.prepare("SELECT count(*) FROM runs WHERE run_id = ?1")?;
    let mut is_free = |id: &str| -> rusqlite::Result<bool> {
        Ok(statement.query_row([id], |row| row.get::<_, i64>(0))? == 0)
    };
    if is_free(&wanted)? {
        return Ok(wanted);
    }
    let with_time = format!("{wanted}_{}", recorded_ms / 1000);
    let mut id = with_time.clone();
    let mut number = 2_u64;
    while !is_free(&id)? {
        id = format!("{with_time}_{number}");
        number += 1;
    }
    Ok(id)
}

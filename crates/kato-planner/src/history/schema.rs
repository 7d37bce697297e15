//! The tables of a history, and how those of older builds become today's.

use rusqlite::{Connection, TransactionBehavior};

use crate::history::HistoryError;

/// Marks a file as a history of ours; the letters `KATO`.
const APPLICATION_ID: i64 = 0x4b41_544f;

/// What makes a history of version n from one of version n - 1, from an empty file on.
///
/// Never change one that was released: add another.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE runs (
        run_id           TEXT NOT NULL PRIMARY KEY,
        -- Milliseconds since 1970, UTC.
        recorded_ms      INTEGER NOT NULL,
        -- Columns are what is searched and what other programs will want; the rest is JSON.
        chunk_sizes      TEXT NOT NULL,
        batch_size       INTEGER,
        workers          INTEGER,
        settings         TEXT NOT NULL,
        corpus_name      TEXT,
        corpus           TEXT NOT NULL,
        machine          TEXT NOT NULL,
        estimate         TEXT,
        complete         INTEGER NOT NULL,
        seconds          REAL NOT NULL,
        samples          INTEGER NOT NULL,
        tokens           INTEGER,
        disk_bytes       INTEGER,
        memory_bytes     INTEGER,
        outcome          TEXT NOT NULL,
        notes            TEXT NOT NULL
    ) STRICT;
    CREATE INDEX runs_by_time ON runs (recorded_ms);
    CREATE TABLE levels (
        run_id           TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
        level            INTEGER NOT NULL,
        node             TEXT NOT NULL,
        learns           INTEGER NOT NULL,
        patterns         INTEGER,
        bytes            INTEGER,
        PRIMARY KEY (run_id, level)
    ) STRICT;
    ",
    "
    -- Forecasts of runs to come.
    CREATE TABLE forecasts (
        recorded_ms      INTEGER NOT NULL,
        fingerprint      TEXT,
        settings         TEXT NOT NULL,
        corpus           TEXT NOT NULL,
        machine          TEXT NOT NULL,
        forecast         TEXT NOT NULL
    ) STRICT;
    CREATE INDEX forecasts_by_corpus ON forecasts (fingerprint);
    ",
];

/// What a file that can be opened as a database is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A history of ours.
    History,
    /// Nothing yet.
    Empty,
    /// The history of the Python original.
    Original,
    /// Something else.
    Foreign,
}

/// Finds out what is in a database.
pub(crate) fn content(connection: &Connection) -> rusqlite::Result<Content> {
    // One transaction sees one state: between two, another program may make the tables, and they
    // would look like those of something else.
    let connection = connection.unchecked_transaction()?;
    let id: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if id == APPLICATION_ID {
        return Ok(Content::History);
    }
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    if count("SELECT count(*) FROM sqlite_master")? == 0 {
        return Ok(Content::Empty);
    }
    Ok(
        match count("SELECT count(*) FROM sqlite_master WHERE name = 'training_runs'")? {
            0 => Content::Foreign,
            _ => Content::Original,
        },
    )
}

/// Brings a history, or an empty file, to today's version.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), HistoryError> {
    migrate_by(connection, MIGRATIONS)
}

fn version_up_to(connection: &Connection, known: i64) -> Result<i64, HistoryError> {
    let read = connection.query_row("PRAGMA user_version", [], |row| row.get(0));
    let found: i64 = read.map_err(HistoryError::sqlite("read"))?;
    match found <= known {
        true => Ok(found),
        false => Err(HistoryError::Newer { found, known }),
    }
}

fn migrate_by(connection: &mut Connection, migrations: &[&str]) -> Result<(), HistoryError> {
    let known = migrations.len() as i64;
    if version_up_to(connection, known)? == known {
        return Ok(());
    }
    let failed = HistoryError::sqlite("migrate");
    // Immediate: of two programs that open the file at once, one migrates, and the other looks
    // again when it may write.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(&failed)?;
    let found = version_up_to(&transaction, known)?;
    for migration in migrations.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(migration).map_err(&failed)?;
    }
    // A pragma takes no parameters; both numbers are ours.
    let marks = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {known};");
    transaction.execute_batch(&marks).map_err(&failed)?;
    transaction.commit().map_err(&failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_run_once_each_and_in_order() {
        let mut connection = Connection::open_in_memory().unwrap();
        let first = "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);";
        let second = "ALTER TABLE a ADD COLUMN y INTEGER; UPDATE a SET y = x + 1;";
        migrate_by(&mut connection, &[first]).unwrap();
        migrate_by(&mut connection, &[first, second]).unwrap();
        migrate_by(&mut connection, &[first, second]).unwrap();
        let rows = connection.query_row("SELECT count(*), max(y) FROM a", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        });
        assert_eq!(rows.unwrap(), (1, 2));
        let older = migrate_by(&mut connection, &[first]);
        assert!(matches!(
            older,
            Err(HistoryError::Newer { found: 2, known: 1 })
        ));
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        let broken = "CREATE TABLE a (x INTEGER); INSERT INTO nowhere VALUES (1);";
        assert!(migrate_by(&mut connection, &[broken]).is_err());
        assert_eq!(content(&connection).unwrap(), Content::Empty);
    }

    #[test]
    fn what_a_database_holds_is_recognised() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert_eq!(content(&connection).unwrap(), Content::Empty);
        migrate(&mut connection).unwrap();
        assert_eq!(content(&connection).unwrap(), Content::History);
        for (sql, expected) in [
            ("CREATE TABLE training_runs (x)", Content::Original),
            ("CREATE TABLE songs (x)", Content::Foreign),
        ] {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(sql).unwrap();
            assert_eq!(content(&connection).unwrap(), expected);
        }
    }
}

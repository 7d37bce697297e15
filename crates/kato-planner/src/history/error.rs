//! Errors of a history.

use std::path::PathBuf;

use kato_advice::ErrorClass;
use thiserror::Error;

/// The reason why a history cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// There is no such file.
    #[error("there is no history at {}: `kato train --history` makes one", path.display())]
    Missing {
        /// The path asked for.
        path: PathBuf,
    },
    /// The file is not a history, or is none that this build can read.
    #[error("{} is no history of runs: {reason}", path.display())]
    NotAHistory {
        /// The path asked for.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// A newer build has written the file.
    #[error(
        "the history has schema {found}, and this build knows up to {known}: use a newer build"
    )]
    Newer {
        /// The version of the schema that the file has.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// The file, or the directory that it lies in, may only be read.
    #[error("{} may only be read: make it and its directory writable, or choose another place", path.display())]
    ReadOnly {
        /// The path asked for.
        path: PathBuf,
    },
    /// No run has this id.
    #[error("no run `{run}` in the history{}", hint(candidates))]
    UnknownRun {
        /// The id or the beginning of one.
        run: String,
        /// Ids that begin so, where there are several.
        candidates: Vec<String>,
    },
    /// What is to be imported cannot be understood.
    #[error("failed to import {}: {reason}", path.display())]
    Import {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A value of a record is out of range.
    #[error("{field} is {value}: give a number of 0 or more")]
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// A part of a record is no JSON any more.
    #[error("the record of run `{run}` is damaged: {reason}; delete it, or restore the file")]
    Damaged {
        /// The run.
        run: String,
        /// What is wrong.
        reason: String,
    },
    /// A file cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// SQLite failed.
    #[error("failed to {action} the history")]
    Sqlite {
        /// What was to be done.
        action: &'static str,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl HistoryError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NotAHistory { .. } | Self::Newer { .. } => ErrorClass::Conflict,
            Self::Read { source, .. } => ErrorClass::of_io(source.kind()),
            Self::Sqlite { source, .. } => match source.downcast_ref() {
                Some(rusqlite::Error::SqliteFailure(failure, _)) => of_sqlite(failure.code),
                _ => ErrorClass::Other,
            },
            Self::Missing { .. }
            | Self::ReadOnly { .. }
            | Self::UnknownRun { .. }
            | Self::Import { .. }
            | Self::Value { .. }
            | Self::Damaged { .. } => ErrorClass::Other,
        }
    }

    /// Returns a conversion of SQLite's errors that says what was to be done.
    pub(crate) fn sqlite(action: &'static str) -> impl Fn(rusqlite::Error) -> Self {
        move |error| Self::Sqlite {
            action,
            source: Box::new(error),
        }
    }
}

/// Returns the class of a failure of SQLite.
const fn of_sqlite(code: rusqlite::ErrorCode) -> ErrorClass {
    match code {
        rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked => {
            ErrorClass::TryAgain
        }
        rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::OutOfMemory => ErrorClass::NoRoom,
        _ => ErrorClass::Other,
    }
}

/// Names the candidates, or how to see all.
fn hint(candidates: &[String]) -> String {
    match candidates {
        [] => ": `kato history list` shows all".to_owned(),
        several => format!(" alone: it could be {}", several.join(", ")),
    }
}

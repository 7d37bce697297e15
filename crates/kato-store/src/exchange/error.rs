//! Errors of exports and imports.

use std::io;

use kato_advice::{ErrorClass, ErrorKind};
use kato_model::{PatternName, RecordError};

use crate::StoreError;

/// An error of an export or an import.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The lines could not be written; what was written so far is only a part of an export.
    #[error("failed to write pattern {patterns_written} of an export")]
    Write {
        /// Number of patterns up to the last one that was passed to the writer, which need not have
        /// written it.
        patterns_written: u64,
        /// The writer's error.
        source: io::Error,
    },
    /// The lines could not be read.
    #[error("failed to read line {line} of an import; nothing was imported")]
    Read {
        /// Number of the line, from 1.
        line: u64,
        /// The reader's error.
        source: io::Error,
    },
    /// A line is not a pattern record, or its name or length does not fit its content.
    #[error("line {line} cannot be imported, so nothing was: correct or remove it")]
    Record {
        /// Number of the line, from 1.
        line: u64,
        /// The defect that was found.
        source: Box<RecordError>,
    },
    /// The file is of another kind than JSON Lines.
    #[error("it is {found}, so nothing was imported: give JSON Lines")]
    OtherKind {
        /// What it is.
        found: &'static str,
    },
    /// A line is not UTF-8.
    #[error("line {line} is not UTF-8, so nothing was imported: convert the file")]
    NotUtf8 {
        /// Number of the line, from 1.
        line: u64,
    },
    /// A line is longer than any pattern.
    #[error(
        "line {line} is longer than {limit} bytes, so nothing was imported: give one pattern a line"
    )]
    TooLong {
        /// Number of the line, from 1.
        line: u64,
        /// Most bytes of a line.
        limit: u64,
    },
    /// A pattern is retired, and the store has no place for tombstones: without its own it would be shown.
    #[error(
        "line {line} has retired pattern {name}, and this store cannot retire patterns, so nothing was imported: import into a \
         directory, or export again after `kato retire --undo` or `kato purge`"
    )]
    NoTombstones {
        /// Number of the line, from 1.
        line: u64,
        /// The pattern.
        name: PatternName,
    },
    /// A pattern that was never learned cannot be in a knowledge base.
    #[error(
        "line {line} gives pattern {name} the frequency 0, so nothing was imported: remove the line"
    )]
    ZeroFrequency {
        /// Number of the line, from 1.
        line: u64,
        /// The pattern.
        name: PatternName,
    },
}

impl ExchangeError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::Write { source, .. } | Self::Read { source, .. } => {
                ErrorKind::of_io(source.kind())
            }
            Self::NoTombstones { .. } => ErrorKind::InvalidArgument,
            Self::Record { .. }
            | Self::OtherKind { .. }
            | Self::NotUtf8 { .. }
            | Self::TooLong { .. }
            | Self::ZeroFrequency { .. } => ErrorKind::Malformed,
        }
    }
}

//! Errors of Parquet files.

use std::error::Error as StdError;

use kato_advice::{ErrorClass, ErrorKind};
use kato_model::PatternName;
use kato_model::naming::ParsePatternNameError;

use crate::StoreError;

/// An error of writing or reading a Parquet file of patterns.
///
/// After an error of an import nothing of it is visible, unless the store failed in its
/// [commit](crate::PatternStore::commit).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetError {
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be written; what was written so far is no Parquet file.
    #[error("failed to write a Parquet file after {patterns_written} patterns")]
    Write {
        /// Number of patterns up to the last one that was passed to the writer, which need not have
        /// written it.
        patterns_written: u64,
        /// The writer's error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A number is larger than the column's signed numbers. Only imports bring such ones.
    #[error(
        "pattern {name} has {column} {value}, more than a Parquet file of patterns holds: export JSON Lines"
    )]
    TooLarge {
        /// The pattern.
        name: PatternName,
        /// The column.
        column: &'static str,
        /// The number.
        value: u64,
    },
    /// The file could not be read: it is damaged, cut short, or something else.
    #[error(
        "failed to read a Parquet file, so nothing was imported: if it was not written to its end, write it again"
    )]
    Read {
        /// What was found.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The file was written by a later build, whose columns mean something else.
    #[error(
        "the file has version {found} of patterns, and this build reads version {known}: import it with a newer build"
    )]
    Version {
        /// The version in the file.
        found: String,
        /// The version of this build.
        known: &'static str,
    },
    /// A column is missing.
    #[error("the file has no column {column}, so nothing was imported: it has {found}")]
    MissingColumn {
        /// The column.
        column: &'static str,
        /// The columns that there are.
        found: String,
    },
    /// A column holds something else.
    #[error(
        "column {column} holds {found} and not {expected}, so nothing was imported: cast it when you write the file"
    )]
    ColumnType {
        /// The column.
        column: &'static str,
        /// What it should hold.
        expected: &'static str,
        /// What it holds.
        found: String,
    },
    /// A row is not a pattern.
    #[error("row {row} cannot be imported, so nothing was: correct or remove it")]
    Row {
        /// Number of the row, from 1.
        row: u64,
        /// What is wrong with it.
        source: Box<RowError>,
    },
}

impl ParquetError {
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
            Self::Version { .. } => ErrorKind::OtherVersion,
            Self::Write { source, .. } => ErrorKind::of_causes(source.as_ref()),
            Self::Read { source } => ErrorKind::of_causes(source.as_ref()).or(ErrorKind::Corrupt),
            Self::TooLarge { .. } => ErrorKind::Unsupported,
            Self::MissingColumn { .. } | Self::ColumnType { .. } | Self::Row { .. } => {
                ErrorKind::Malformed
            }
        }
    }
}

/// Why a row is not a pattern.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// There is no value where one is needed.
    #[error("{column} is null, or has an element that is null")]
    Null {
        /// The column.
        column: &'static str,
    },
    /// The name, or that of a child, is none.
    #[error("{column} holds what is no name")]
    NotAName {
        /// The column.
        column: &'static str,
        /// What was found.
        source: ParsePatternNameError,
    },
    /// The name is not that of the symbols.
    #[error("it is named {stated}, and its symbols have the name {computed}")]
    NameMismatch {
        /// The name in the row.
        stated: PatternName,
        /// The name of the symbols.
        computed: PatternName,
    },
    /// A pattern that was never learned cannot be in a knowledge base.
    #[error("its frequency is {found}, and has to be at least 1")]
    Frequency {
        /// The frequency.
        found: i128,
    },
    /// There are neither symbols nor children.
    #[error("symbols and children are both null")]
    NoSymbols,
    /// The children are not those that the symbols name.
    #[error("children are not the names of patterns among its symbols")]
    Children,
    /// The events do not hold as many symbols as there are.
    #[error("event_lengths do not add up to its {symbols} symbols")]
    EventLengths {
        /// The number of symbols.
        symbols: usize,
    },
    /// Emotives or metadata are not what the lines of an export have.
    #[error("{column} is not the JSON of an export")]
    Json {
        /// The column.
        column: &'static str,
        /// The parser's error.
        source: serde_json::Error,
    },
}

impl ParquetError {
    /// Wraps what the decoder, the disk or a check of the file as a whole has found.
    pub(super) fn read(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Read {
            source: source.into(),
        }
    }
}

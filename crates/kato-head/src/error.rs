//! What can go wrong.

use kato_advice::{ErrorClass, ErrorKind};
use kato_store::StoreError;
use thiserror::Error;

/// Why a head could not be built, or did not learn.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HeadError {
    /// The store could not be read.
    #[error("read the patterns of level {level} for the head")]
    Store {
        /// The level.
        level: usize,
        /// Why.
        source: StoreError,
    },
    /// An option lies outside its range.
    #[error("{option} is {value}; it has to be {expected}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Its value.
        value: String,
        /// What is possible.
        expected: &'static str,
    },
    /// There is no such level.
    #[error("there is no level {level}: the head counts {n_levels} levels, from 0 on")]
    UnknownLevel {
        /// The level asked for.
        level: usize,
        /// The number of levels.
        n_levels: usize,
    },
    /// A pattern was handed over after those of a higher level.
    #[error(
        "a pattern of level {level} comes after those of level {after}: hand over the levels from the lowest up"
    )]
    LevelOrder {
        /// The level of the pattern.
        level: usize,
        /// The level of the one before.
        after: usize,
    },
    /// The counts on the disk that the head reads are not what was written.
    #[error("the head's counts are damaged: {what}; `kato index` writes them again")]
    Damaged {
        /// What was found.
        what: String,
    },
    /// There are more distinct n-grams of one order than 32 bits can number.
    #[error(
        "the patterns hold more than 4 billion different n-grams of one order: choose a lower order"
    )]
    TooManyNgrams,
    /// There are more distinct symbols than 32 bits can number.
    #[error(
        "the patterns hold more than 4 billion different symbols, which is more than a head can number"
    )]
    TooManySymbols,
}

impl HeadError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store { source, .. } => source.kind(),
            Self::Option { .. } | Self::UnknownLevel { .. } | Self::LevelOrder { .. } => {
                ErrorKind::InvalidArgument
            }
            Self::Damaged { .. } => ErrorKind::Corrupt,
            Self::TooManyNgrams | Self::TooManySymbols => ErrorKind::Unsupported,
        }
    }
}

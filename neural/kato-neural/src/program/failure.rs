//! Why a command ends without what was asked for.

use std::error::Error;
use std::{fmt, io};

use kato_advice::ErrorClass;

use crate::run::{BatchTrialError, ReplicaError, RunError};

/// An error of a library that says what the user can do.
pub trait HasClass: Error + Send + Sync + 'static {
    /// Returns what the user can do about the error.
    fn class(&self) -> ErrorClass;
}

impl HasClass for BatchTrialError {
    fn class(&self) -> ErrorClass {
        Self::class(self)
    }
}

impl HasClass for ReplicaError {
    fn class(&self) -> ErrorClass {
        Self::class(self)
    }
}

impl HasClass for RunError {
    fn class(&self) -> ErrorClass {
        Self::class(self)
    }
}

/// Something else is where a file was to be written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Taken(String);

impl HasClass for Taken {
    fn class(&self) -> ErrorClass {
        ErrorClass::Conflict
    }
}

/// Why a command ended without what was asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum CommandFailure {
    /// A library cannot do it; what it says is said alone.
    Work(Box<dyn HasClass>),
    /// Standard output cannot be written to.
    Output(io::Error),
    /// The command was used wrongly.
    Usage(String),
    /// Another process tells why.
    Silent,
    /// Somebody asked to end it, and nothing of it is kept.
    Interrupted,
}

impl CommandFailure {
    /// Returns that something else is where a file was to be written: a conflict, in the words that are given.
    #[must_use]
    pub fn taken(text: String) -> Self {
        Self::Work(Box::new(Taken(text)))
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Work(error) => error.fmt(f),
            Self::Output(_) => f.write_str("the output cannot be written"),
            Self::Usage(text) => f.write_str(text),
            Self::Silent => f.write_str("another process has failed"),
            Self::Interrupted => f.write_str("interrupted: give the same command again"),
        }
    }
}

impl Error for CommandFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Work(error) => error.source(),
            Self::Output(error) => Some(error),
            Self::Usage(_) | Self::Silent | Self::Interrupted => None,
        }
    }
}

impl From<io::Error> for CommandFailure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl<E: HasClass> From<E> for CommandFailure {
    fn from(error: E) -> Self {
        Self::Work(Box::new(error))
    }
}

impl CommandFailure {
    /// Returns what the user can do about the failure.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Work(error) => error.class(),
            Self::Output(error) => ErrorClass::of_io(error.kind()),
            Self::Usage(_) => ErrorClass::Usage,
            Self::Silent => ErrorClass::Other,
            Self::Interrupted => ErrorClass::Interrupted,
        }
    }
}

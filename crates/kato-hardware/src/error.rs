//! Errors of requests.

use kato_advice::{ErrorClass, ErrorKind};

/// A request that cannot be carried out. What cannot be *measured* is no error but
/// [`Finding::Unknown`](crate::figure::Finding::Unknown).
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HardwareError {
    /// A setting is out of its range.
    #[error("{setting} is {given}: give {expected}")]
    OutOfRange {
        /// Name of the setting.
        setting: &'static str,
        /// The value that was given.
        given: String,
        /// The values that are valid.
        expected: &'static str,
    },
}

impl HardwareError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::OutOfRange { .. } => ErrorKind::InvalidArgument,
        }
    }
}

//! The backend that a measurement trains into.

use std::fmt;
use std::str::FromStr;

use crate::backend::{Backend, InvalidBackend};

/// A backend that is measured.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum MeasuredBackend {
    /// In a temporary directory.
    Embedded,
    /// A KATO server.
    Kato(String),
    /// A MongoDB.
    Mongodb(String),
}

/// The error of a name that is no backend to measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidMeasuredBackend {
    /// The name has a directory.
    #[error("embedded is measured in a temporary directory: name none")]
    Directory,
    /// The name is no backend.
    #[error("use embedded, or another place: {0}")]
    Backend(InvalidBackend),
}

impl FromStr for MeasuredBackend {
    type Err = InvalidMeasuredBackend;

    fn from_str(text: &str) -> Result<Self, InvalidMeasuredBackend> {
        if text == "embedded" {
            return Ok(Self::Embedded);
        }
        match text.parse().map_err(InvalidMeasuredBackend::Backend)? {
            Backend::Embedded(_) => Err(InvalidMeasuredBackend::Directory),
            Backend::Kato(url) => Ok(Self::Kato(url)),
            Backend::Mongodb(uri) => Ok(Self::Mongodb(uri)),
        }
    }
}

/// Shows the backend without credentials.
impl fmt::Display for MeasuredBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded"),
            Self::Kato(url) => Backend::Kato(url.clone()).fmt(f),
            Self::Mongodb(uri) => Backend::Mongodb(uri.clone()).fmt(f),
        }
    }
}

/// Shows the same as `Display`: a derived form would show passwords.
impl fmt::Debug for MeasuredBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

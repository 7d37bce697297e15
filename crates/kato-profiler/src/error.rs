//! The error of profiling.

use std::path::PathBuf;
use std::time::Duration;

use kato_advice::{ErrorClass, ErrorKind};
use thiserror::Error;

/// The reason why a profile could not be taken, written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The sampling interval is too short or too long.
    #[error(
        "a sampling interval of {interval:?} is out of range: choose 10 ms to 1 hour (1 s is the default)"
    )]
    Interval {
        /// The interval that was asked for.
        interval: Duration,
    },
    /// The timeline is too small or too large.
    #[error("a timeline of {points} points is out of range: choose 16 to 1,000,000")]
    TimelinePoints {
        /// The number that was asked for.
        points: usize,
    },
    /// The sampler thread could not be started.
    #[error(
        "the sampler thread could not be started; raise the limit of threads (ulimit -u, pids cgroup)"
    )]
    Thread(#[source] std::io::Error),
    /// A report could not be written.
    #[error(
        "{path} could not be written; check that its folder exists, may be written to and has room"
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A report could not be read.
    #[error("{path} could not be read; check the path")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A file is not an exported profile.
    #[error("{path} is no profile of format {expected}; export it again with this version")]
    Format {
        /// The file.
        path: PathBuf,
        /// The format that this version reads.
        expected: &'static str,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The summary could not be turned into JSON.
    #[error("the summary could not be turned into JSON")]
    Json(#[source] serde_json::Error),
    /// An experiment cannot be done with these settings.
    #[error("the throttle experiment cannot run: {reason}")]
    Experiment {
        /// What to change.
        reason: String,
    },
}

impl ProfileError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Interval { .. } | Self::TimelinePoints { .. } | Self::Experiment { .. } => {
                ErrorKind::InvalidArgument
            }
            Self::Thread(source) | Self::Write { source, .. } | Self::Read { source, .. } => {
                ErrorKind::of_io(source.kind())
            }
            Self::Format { .. } => ErrorKind::Malformed,
            Self::Json(_) => ErrorKind::Other,
        }
    }
}

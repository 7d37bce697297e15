//! Errors of estimates.

use std::path::PathBuf;

use kato_advice::{Advice, ErrorClass, ErrorKind};
use thiserror::Error;

/// The reason why there is no estimate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// There are no levels, more than there can be, or a chunk size that no level can have.
    #[error(
        "chunk size {chunk_size} at level {level}: give 1 to {max} levels, at least 1 at level 0 and 2 above",
        max = kato_learner::config::MAX_NODES
    )]
    ChunkSize {
        /// The level, from 0; one beyond the last when the number of levels is wrong.
        level: usize,
        /// The size asked for.
        chunk_size: usize,
    },
    /// Single names wait for the next document, so that what a document teaches depends on the one
    /// before.
    #[error("single names that wait for the next document cannot be estimated")]
    CarriedNames,
    /// The sample holds no learn call at level 0, so it says nothing of the corpus.
    #[error("the sample has no learn call at level 0: add documents, or check the chunk sizes")]
    EmptySample,
    /// There is nothing to estimate from.
    #[error("nothing to estimate from: give the builder a calibration")]
    NoModel,
    /// The target is 0, or not in a unit that the source of the estimate knows.
    #[error("the target {value} {unit} cannot be scaled to: {reason}")]
    Target {
        /// The size asked for.
        value: f64,
        /// Its unit.
        unit: &'static str,
        /// What to give instead.
        reason: &'static str,
    },
    /// The target is further from what was observed than the estimate can be trusted.
    #[error("the target is {ratio:.0} times what was observed, more than {limit:.0} times")]
    TooFar {
        /// Size of the target over what was observed.
        ratio: f64,
        /// Largest ratio that is answered.
        limit: f64,
    },
    /// A setting is outside what it can be.
    #[error("{setting} is {value}: give {allowed}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// The values that it can have.
        allowed: &'static str,
    },
    /// A record of a run contradicts itself.
    #[error("the record of the run says of level {level} {problem}: read it again from the run")]
    Record {
        /// The level, from 0.
        level: usize,
        /// The contradiction.
        problem: &'static str,
    },
    /// None of the runs can answer for this hierarchy.
    #[error(
        "no run has these chunk sizes: calibrate with a sample of the corpus, or with a run like that"
    )]
    NoSuchRun,
    /// A law cannot be fitted to so few or such values.
    #[error("too little to fit: {reason}")]
    Fit {
        /// What is missing.
        reason: &'static str,
    },
    /// A stored calibration or breakdown cannot be read.
    #[error("this is no JSON that this build reads: {reason}; make it again")]
    Json {
        /// The problem.
        reason: String,
    },
    /// A plot could not be written.
    #[error("failed to write the plot {}", path.display())]
    Plot {
        /// The file, or its directory.
        path: PathBuf,
        /// The problem.
        source: std::io::Error,
    },
}

/// Refuses a stored form of another version.
///
/// Before the rest is read: a form of another version lacks a field, and which one says nothing.
pub(crate) fn check_schema(json: &str, expected: u32) -> Result<(), EstimateError> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        schema: u32,
    }
    let Versioned { schema } = serde_json::from_str(json)?;
    match schema == expected {
        true => Ok(()),
        false => Err(EstimateError::Json {
            reason: format!("it has schema {schema}, and this build reads {expected}"),
        }),
    }
}

impl From<serde_json::Error> for EstimateError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json {
            reason: error.to_string(),
        }
    }
}

impl EstimateError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::ChunkSize { .. }
            | Self::NoModel
            | Self::Target { .. }
            | Self::TooFar { .. }
            | Self::Setting { .. } => ErrorKind::InvalidArgument,
            Self::CarriedNames => ErrorKind::Unsupported,
            Self::EmptySample | Self::Fit { .. } => ErrorKind::Empty,
            Self::Record { .. } | Self::Json { .. } => ErrorKind::Malformed,
            Self::NoSuchRun => ErrorKind::NotFound,
            Self::Plot { source, .. } => ErrorKind::of_io(source.kind()),
        }
    }

    /// Returns what to do about it, in names of this library, where the text does not say that.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        matches!(self, Self::TooFar { .. }).then(|| {
            Advice::new(&[
                "observe more",
                "ask for it all the same with `with_force(true)`",
            ])
        })
    }
}

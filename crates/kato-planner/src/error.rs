//! Errors of plans.

use kato_advice::{ErrorClass, ErrorKind};
use thiserror::Error;

/// The reason why there is no plan.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A number cannot be what it stands for.
    #[error("{what} is {value}: give {allowed}")]
    Value {
        /// What the number stands for.
        what: &'static str,
        /// The number.
        value: f64,
        /// What it can be.
        allowed: &'static str,
    },
    /// The catalogue cannot be read.
    #[error("the catalogue of machines is wrong: {reason}")]
    Catalogue {
        /// What is wrong.
        reason: String,
    },
    /// The recorded runs say too little.
    #[error("the recorded runs say too little: {reason}")]
    TooLittle {
        /// What is missing.
        reason: String,
    },
}

impl PlanError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Value { .. } => ErrorKind::InvalidArgument,
            Self::Catalogue { .. } => ErrorKind::Malformed,
            Self::TooLittle { .. } => ErrorKind::Empty,
        }
    }
}

/// Refuses numbers that are not finite or below 0.
pub(crate) fn at_least_zero(what: &'static str, value: f64) -> Result<f64, PlanError> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(PlanError::Value {
            what,
            value,
            allowed: "a finite number of 0 or more",
        }),
    }
}

/// Refuses numbers that are not finite or not above 0.
pub(crate) fn above_zero(what: &'static str, value: f64) -> Result<f64, PlanError> {
    match value.is_finite() && value > 0.0 {
        true => Ok(value),
        false => Err(PlanError::Value {
            what,
            value,
            allowed: "a finite number above 0",
        }),
    }
}

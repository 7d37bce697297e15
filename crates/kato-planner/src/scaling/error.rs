//! Errors of fits and predictions.

use kato_advice::{Advice, ErrorClass, ErrorKind};
use thiserror::Error;

/// The reason why there is no fit or no prediction.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ScalingError {
    /// There are too few sizes to say how anything grows.
    #[error("{sizes} different sizes were measured: at least 3 are needed, as far apart as can be")]
    TooFewSizes {
        /// Different sizes that were given.
        sizes: usize,
    },
    /// A size or a value is 0, negative, or no number.
    #[error("{what} {value} of measurement {position} is no number above 0: leave it out")]
    Value {
        /// `size` or `value`.
        what: &'static str,
        /// The number.
        value: f64,
        /// Its place among the measurements, from 0.
        position: usize,
    },
    /// No law was asked for that so few measurements can be fitted with.
    #[error("no law to choose from: with fewer than 5 measurements there are O(1) to O(n²) alone")]
    NoLaw,
    /// A setting is outside what it can be.
    #[error("{setting} is {value}: give {allowed}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// What it can be.
        allowed: &'static str,
    },
    /// The size is further from what was measured than the answer can be trusted.
    #[error("{size} is {ratio:.0} times what was measured, more than {limit:.0} times")]
    TooFar {
        /// The size asked for.
        size: f64,
        /// How many times the nearest measured size it is, or that is of it.
        ratio: f64,
        /// The largest ratio that is answered.
        limit: f64,
    },
    /// The columns of a regression say the same, or there are more of them than rows.
    #[error(
        "{rows} rows do not tell {columns} coefficients apart: add rows that differ, or leave out columns"
    )]
    Singular {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
}

impl ScalingError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Value { .. } | Self::NoLaw | Self::Setting { .. } | Self::TooFar { .. } => {
                ErrorKind::InvalidArgument
            }
            Self::TooFewSizes { .. } | Self::Singular { .. } => ErrorKind::Empty,
        }
    }

    /// Returns what to do about it, in names of this library, where the text does not say that.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        matches!(self, Self::TooFar { .. }).then(|| {
            Advice::new(&[
                "measure larger sizes",
                "ask for it all the same with `with_force(true)`",
            ])
        })
    }
}

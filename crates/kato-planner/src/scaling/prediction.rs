//! What a law says of a size that was not measured.

use serde::Serialize;

/// The value at a size, with the interval that is to hold a measurement there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Prediction {
    /// The size.
    pub size: f64,
    /// The value by the chosen law.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// Share of cases in which the interval is to hold a measurement.
    pub confidence: f64,
    /// How many times the largest measured size this is; at most 1 within what was measured.
    pub extrapolation: f64,
}

impl Prediction {
    /// Returns whether the interval holds a value.
    #[must_use]
    pub fn covers(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }
}

/// A value at which something changes that no measurement has seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    /// What happens there, in words: `the disk is full`.
    pub what: String,
    /// The value.
    pub value: f64,
}

impl Limit {
    /// Creates a limit.
    #[must_use]
    pub fn new(what: impl Into<String>, value: f64) -> Self {
        Self {
            what: what.into(),
            value,
        }
    }
}

/// The size at which a prediction meets a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Crossing {
    /// What happens there.
    pub what: String,
    /// The value of the limit.
    pub value: f64,
    /// The smallest size at which it may happen: where the interval meets the limit.
    pub earliest: Option<f64>,
    /// The size at which it is expected.
    pub expected: Option<f64>,
}

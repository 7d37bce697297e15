//! A number that is known between two ends.

use kato_model::forecast::ForecastValue;
use serde::{Deserialize, Serialize};

/// A number with the interval that is to hold the truth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The expected number.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Creates an interval; its ends are moved so that they hold the number.
    #[must_use]
    pub fn new(value: f64, low: f64, high: f64) -> Self {
        Self {
            value,
            low: low.min(value),
            high: high.max(value),
        }
    }

    /// Creates a number that is known exactly.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self::new(value, value, value)
    }

    /// Creates a number that may be off by a share to both sides.
    #[must_use]
    pub fn around(value: f64, share: f64) -> Self {
        Self::new(value, value * (1.0 - share), value * (1.0 + share))
    }

    /// Returns whether the interval holds a number.
    #[must_use]
    pub fn covers(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }

    /// Returns the interval times a number of 0 or more.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self::new(self.value * factor, self.low * factor, self.high * factor)
    }

    /// Returns the interval with ends that are a factor of 1 or more further away, as ratios.
    #[must_use]
    pub fn widened(&self, factor: f64) -> Self {
        Self::new(self.value, self.low / factor, self.high * factor)
    }

    /// Subtracts a part of the quantity, end by end, as both are large together; nothing falls below 0.
    #[must_use]
    pub fn minus(&self, part: Self) -> Self {
        let minus = |whole: f64, part: f64| (whole - part).max(0.0);
        Self::new(
            minus(self.value, part.value),
            minus(self.low, part.low),
            minus(self.high, part.high),
        )
    }

    /// Returns the interval divided by a positive number that is itself known between two ends.
    #[must_use]
    pub fn over(&self, by: Self) -> Self {
        Self::new(
            self.value / by.value,
            self.low / by.high,
            self.high / by.low,
        )
    }

    /// Returns the sum, where both may be off in the same direction.
    #[must_use]
    pub fn plus(&self, other: Self) -> Self {
        Self::new(
            self.value + other.value,
            self.low + other.low,
            self.high + other.high,
        )
    }

    /// Returns the larger one, end by end.
    #[must_use]
    pub fn or_more(&self, other: Self) -> Self {
        Self::new(
            self.value.max(other.value),
            self.low.max(other.low),
            self.high.max(other.high),
        )
    }
}

/// A number without an interval is taken as known exactly.
impl From<ForecastValue> for Interval {
    fn from(foretold: ForecastValue) -> Self {
        Self::new(
            foretold.value,
            foretold.low.unwrap_or(foretold.value),
            foretold.high.unwrap_or(foretold.value),
        )
    }
}

impl From<Interval> for ForecastValue {
    fn from(interval: Interval) -> Self {
        Self::with_interval(interval.value, interval.low, interval.high)
    }
}

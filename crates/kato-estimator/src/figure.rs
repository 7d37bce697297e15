//! Estimated numbers, each with an interval and the way it was obtained.

use serde::{Deserialize, Serialize};

use crate::Interval;

/// Largest half width of an interval of a logarithm: a factor of about a million either way. It
/// keeps the ends finite whatever the estimated error.
const MAX_SPREAD: f64 = 14.0;

/// How a figure was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Method {
    /// Counted: what was observed is all that is asked for.
    Counted,
    /// Counted in the sample or the run, or a share of it, and scaled by a ratio of sums or a regression.
    Ratio,
    /// Inferred from the repeats that were observed, among documents or by laws of growth.
    Growth,
    /// Follows from other figures.
    Derived,
}

/// An estimate with an interval.
///
/// The interval is to hold the truth in a share `confidence` of cases; `docs/costs.md` has how often
/// it did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Share of cases in which the interval is to hold the truth, 0 < x < 1.
    pub confidence: f64,
    /// How the value was obtained.
    pub method: Method,
}

impl Figure {
    /// Creates a positive figure whose error is a factor: `spread` is how far the ends of the interval
    /// of its logarithm are below and above.
    pub(crate) fn with_spread(
        value: f64,
        spread: [f64; 2],
        confidence: f64,
        method: Method,
    ) -> Self {
        let [below, above] = spread.map(|spread| spread.min(MAX_SPREAD).exp());
        Self {
            value,
            low: value / below,
            high: value * above,
            confidence,
            method,
        }
    }

    /// Returns the figure with its interval cut to what is possible; the value always stays inside.
    pub(crate) fn within(mut self, least: f64, most: f64) -> Self {
        self.low = self.low.max(least).min(self.value);
        self.high = self.high.min(most).max(self.value);
        self
    }

    /// Returns the sum of figures that may all be off in the same direction.
    pub(crate) fn sum<'a>(figures: impl IntoIterator<Item = &'a Self>, confidence: f64) -> Self {
        let zero = Self {
            value: 0.0,
            low: 0.0,
            high: 0.0,
            confidence,
            method: Method::Derived,
        };
        // Ends are added, not errors as squares: levels are fed by the same documents, so their
        // errors do not cancel.
        figures.into_iter().fold(zero, |sum, figure| Self {
            value: sum.value + figure.value,
            low: sum.low + figure.low,
            high: sum.high + figure.high,
            ..sum
        })
    }

    /// Returns whether the interval holds this value.
    ///
    /// ```
    /// use kato_estimator::{Figure, Method};
    ///
    /// let figure = Figure { value: 10.0, low: 8.0, high: 13.0, confidence: 0.9, method: Method::Ratio };
    /// assert!(figure.covers(12.0));
    /// assert!(!figure.covers(14.0));
    /// ```
    #[must_use]
    pub fn covers(&self, truth: f64) -> bool {
        self.interval().covers(truth)
    }

    /// Returns the estimate and its ends alone.
    #[must_use]
    pub fn interval(&self) -> Interval {
        Interval::new(self.value, self.low, self.high)
    }
}

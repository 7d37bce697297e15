//! The rates that stand still or fall as a power: constant and polynomial.

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::{require_not_negative, require_positive};

/// The settings of a rate that stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Constant {
    /// The rate.
    pub rate: f64,
}

impl Constant {
    /// Creates settings with this rate.
    #[must_use]
    pub const fn new(rate: f64) -> Self {
        Self { rate }
    }
}

/// The settings of a polynomial fall.
///
/// `min + (base − min)(1 − p/total)^power`, and `min` from `total` on. With `min_rate` 0 it is
/// PyTorch's `PolynomialLR`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Polynomial {
    /// The rate at the beginning.
    pub base_rate: f64,
    /// The rate at the end and after it (default 1e-6).
    #[serde(default = "crate::schedule::cosine::default_min_rate")]
    pub min_rate: f64,
    /// How long the fall is.
    pub total: f64,
    /// The exponent (default 1, a straight line).
    #[serde(default = "one")]
    pub power: f64,
}

fn one() -> f64 {
    1.0
}

impl Polynomial {
    /// Creates settings with a floor of 1e-6 and power 1.
    #[must_use]
    pub const fn new(base_rate: f64, total: f64) -> Self {
        Self {
            base_rate,
            // Not 0: a training that goes on for longer would learn nothing and not say so.
            min_rate: 1e-6,
            total,
            power: 1.0,
        }
    }

    /// Sets the rate at the end.
    #[must_use]
    pub const fn with_min_rate(mut self, min_rate: f64) -> Self {
        self.min_rate = min_rate;
        self
    }

    /// Sets the exponent.
    #[must_use]
    pub const fn with_power(mut self, power: f64) -> Self {
        self.power = power;
        self
    }

    pub(super) fn check(&self) -> Result<(), GradientError> {
        require_not_negative("base_rate", self.base_rate)?;
        require_not_negative("min_rate", self.min_rate)?;
        require_positive("total", self.total)?;
        require_positive("power", self.power)
    }

    pub(super) fn rate(&self, position: f64) -> f64 {
        // Behind the end the base of the power would be below 0, and the power a NaN.
        let left = (1.0 - position / self.total).max(0.0);
        self.min_rate + (self.base_rate - self.min_rate) * libm::pow(left, self.power)
    }
}

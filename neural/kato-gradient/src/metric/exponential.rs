//! A mean that forgets.

use serde::{Deserialize, Serialize};

use crate::error::require;
use crate::{GradientError, exact_float};

/// The exponential mean of a series, corrected for its beginning.
///
/// `m ← β·m + (1 − β)·v`, read as `m / (1 − βⁿ)`, so that the first values are not drawn towards
/// 0. Source: Kingma and Ba, "Adam", ICLR 2015, section 3. It depends on the order of the values,
/// and so cannot be merged. A value that is not finite is counted and left out.
///
/// ```
/// use kato_gradient::metric::ExponentialMean;
///
/// let mut mean = ExponentialMean::new(0.9)?;
/// assert_eq!(mean.value(), None);
/// mean.add(2.0);
/// assert!((mean.value().unwrap() - 2.0).abs() < 1e-12);
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExponentialMean {
    #[serde(with = "exact_float")]
    past_weight: f64,
    #[serde(with = "exact_float")]
    mean: f64,
    /// βⁿ: a product, so that no count can overflow.
    #[serde(with = "exact_float")]
    left_of_begin: f64,
    n_not_finite: u64,
}

impl ExponentialMean {
    /// Creates a mean of nothing; `past_weight` is β, 0.9 for about the last ten values.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] when the weight is below 0, or 1 or more.
    pub fn new(past_weight: f64) -> Result<Self, GradientError> {
        let holds = (0.0..1.0).contains(&past_weight);
        require(
            holds,
            "past_weight",
            past_weight,
            "a number from 0 and below 1",
        )?;
        Ok(Self {
            past_weight,
            // Not the first value: the correction needs to know what the mean began with.
            mean: 0.0,
            left_of_begin: 1.0,
            n_not_finite: 0,
        })
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            // One NaN would stay in the mean for ever, and hide all that comes after it.
            self.n_not_finite += 1;
            return;
        }
        self.mean = self.past_weight * self.mean + (1.0 - self.past_weight) * value;
        // A product rather than a power: it is right for any count, and goes to 0 by itself.
        self.left_of_begin *= self.past_weight;
    }

    /// Returns the mean; none before the first finite value.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        (self.left_of_begin < 1.0).then(|| self.mean / (1.0 - self.left_of_begin))
    }

    /// Returns how many values were left out, as they were not finite.
    #[must_use]
    pub const fn n_not_finite(&self) -> u64 {
        self.n_not_finite
    }
}

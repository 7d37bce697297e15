//! Means, weighted or under a mask.

use serde::{Deserialize, Serialize};

use super::ExactSum;
use crate::GradientError;
use crate::error::require_length;

/// The mean of a stream, `Σ wᵢ·vᵢ / Σ wᵢ`, exact under merging in any order.
///
/// Both sums are exact; each product is rounded alone, and the quotient when it is read.
///
/// ```
/// use kato_gradient::metric::Mean;
///
/// let mut losses = Mean::new();
/// losses.add_masked(&[0.5, 1.5, 99.0], &[1.0, 1.0, 0.0])?;
/// let mut of_another_worker = Mean::new();
/// of_another_worker.add_weighted(4.0, 2.0); // the mean of two tokens
/// losses.merge(&of_another_worker);
/// assert_eq!(losses.value(), Some(2.5));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mean {
    sum: ExactSum,
    weight: ExactSum,
}

impl Mean {
    /// Creates a mean of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value with weight 1.
    pub fn add(&mut self, value: f64) {
        self.add_weighted(value, 1.0);
    }

    /// Adds a value with a weight; for the mean of a batch, how many tokens it is of.
    ///
    /// A weight of 0 leaves the value out, whatever it is.
    pub fn add_weighted(&mut self, value: f64, weight: f64) {
        // What padding holds is nothing: 0 · NaN must not reach the sum.
        if weight != 0.0 {
            // The product is rounded by itself, so it is the same beside any neighbours.
            self.sum.add(value * weight);
            self.weight.add(weight);
        }
    }

    /// Adds values with the weights of a mask.
    ///
    /// # Errors
    ///
    /// [`GradientError::Length`] when the mask is not as long as the values; nothing is added.
    pub fn add_masked(&mut self, values: &[f32], mask: &[f32]) -> Result<(), GradientError> {
        require_length("the mask", mask.len(), values.len())?;
        for (value, weight) in values.iter().zip(mask) {
            self.add_weighted(f64::from(*value), f64::from(*weight));
        }
        Ok(())
    }

    /// Adds what another mean holds.
    pub fn merge(&mut self, other: &Self) {
        self.sum.merge(&other.sum);
        self.weight.merge(&other.weight);
    }

    /// Returns the mean; none where the weights sum up to 0.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        let weight = self.weight.value();
        // Nothing was measured, which is neither 0 nor an error.
        (weight != 0.0).then(|| self.sum.value() / weight)
    }

    /// Returns the sum of the weights: the number of values where all have weight 1.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.weight.value()
    }
}

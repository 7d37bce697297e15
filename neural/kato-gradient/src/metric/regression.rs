//! Errors of predicted numbers.

use serde::{Deserialize, Serialize};

use super::ExactSum;
use crate::GradientError;
use crate::error::require_length;

/// Mean absolute error, mean squared error and R² of a stream, exact under merging.
///
/// Each error is rounded alone; the squares of the targets are added without any rounding, and
/// their spread is taken in twice the precision of `f64`, so that R² is right where the targets
/// lie far from 0.
///
/// ```
/// use kato_gradient::metric::RegressionScores;
///
/// let mut errors = RegressionScores::new();
/// errors.add_all(&[1.0, 2.0, 4.0], &[1.0, 2.0, 3.0])?;
/// assert_eq!(errors.mean_absolute_error(), Some(1.0 / 3.0));
/// assert_eq!(errors.r_squared(), Some(0.5));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegressionScores {
    n: u64,
    absolute_errors: ExactSum,
    squared_errors: ExactSum,
    targets: ExactSum,
    squared_targets: ExactSum,
}

impl RegressionScores {
    /// Creates one that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one prediction and what it should have been.
    pub fn add(&mut self, predicted: f64, target: f64) {
        let error = predicted - target;
        self.n += 1;
        self.absolute_errors.add(error.abs());
        self.squared_errors.add(error * error);
        self.targets.add(target);
        let square = target * target;
        self.squared_targets.add(square);
        // What the product was rounded by is an f64 itself, but for tiny numbers.
        let rest = target.mul_add(target, -square);
        // The square of a huge target is infinite, and its rest a NaN that would hide it.
        if rest.is_finite() {
            self.squared_targets.add(rest);
        }
    }

    /// Adds predictions and what they should have been.
    ///
    /// # Errors
    ///
    /// [`GradientError::Length`] when there are not as many of both; nothing is added.
    pub fn add_all(&mut self, predicted: &[f32], target: &[f32]) -> Result<(), GradientError> {
        require_length("the target", target.len(), predicted.len())?;
        for (predicted, target) in predicted.iter().zip(target) {
            self.add(f64::from(*predicted), f64::from(*target));
        }
        Ok(())
    }

    /// Adds the predictions whose mask is not 0.
    ///
    /// # Errors
    ///
    /// [`GradientError::Length`] when the three differ in length; nothing is added.
    pub fn add_masked(
        &mut self,
        predicted: &[f32],
        target: &[f32],
        mask: &[f32],
    ) -> Result<(), GradientError> {
        require_length("the target", target.len(), predicted.len())?;
        require_length("the mask", mask.len(), predicted.len())?;
        for ((predicted, target), mask) in predicted.iter().zip(target).zip(mask) {
            // Not a product with the mask: what padding holds may be NaN.
            if *mask != 0.0 {
                self.add(f64::from(*predicted), f64::from(*target));
            }
        }
        Ok(())
    }

    /// Adds what another has seen.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.absolute_errors.merge(&other.absolute_errors);
        self.squared_errors.merge(&other.squared_errors);
        self.targets.merge(&other.targets);
        self.squared_targets.merge(&other.squared_targets);
    }

    /// Returns how many predictions there were.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// Returns `Σ|p − t| / n`, in the unit of the targets; none without predictions.
    #[must_use]
    pub fn mean_absolute_error(&self) -> Option<f64> {
        self.mean_of(&self.absolute_errors)
    }

    /// Returns `Σ(p − t)² / n`; none without predictions.
    #[must_use]
    pub fn mean_squared_error(&self) -> Option<f64> {
        self.mean_of(&self.squared_errors)
    }

    /// Returns the root of the mean squared error, in the unit of the targets.
    #[must_use]
    pub fn root_mean_squared_error(&self) -> Option<f64> {
        self.mean_squared_error().map(f64::sqrt)
    }

    /// Returns R², `1 − Σ(p − t)² / Σ(t − mean(t))²`; none without predictions, or where all targets
    /// are equal.
    ///
    /// 1 is perfect, 0 is as good as the mean of the targets, and below 0 is worse.
    #[must_use]
    pub fn r_squared(&self) -> Option<f64> {
        let spread = self.spread_of_targets()?;
        // Equal targets explain nothing; the quotient would be infinite or NaN.
        (spread > 0.0).then(|| 1.0 - self.squared_errors.value() / spread)
    }

    /// Returns `Σt² − (Σt)²/n` of pairs of numbers; of numbers alone, all digits could cancel.
    fn spread_of_targets(&self) -> Option<f64> {
        if self.n == 0 {
            return None;
        }
        let n = self.n as f64;
        let (sum, sum_rest) = self.targets.value_and_rest();
        let (squares, squares_rest) = self.squared_targets.value_and_rest();
        // (sum + sum_rest)², without the square of the rest, which is below the last digit.
        let square = sum * sum;
        let square_rest = sum.mul_add(sum, -square) + 2.0 * sum * sum_rest;
        let quotient = square / n;
        let quotient_rest = ((-quotient).mul_add(n, square) + square_rest) / n;
        Some((squares - quotient) + (squares_rest - quotient_rest))
    }

    fn mean_of(&self, sum: &ExactSum) -> Option<f64> {
        (self.n > 0).then(|| sum.value() / self.n as f64)
    }
}

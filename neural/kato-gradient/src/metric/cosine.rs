//! The mean similarity of vectors.

use serde::{Deserialize, Serialize};

use super::Mean;
use crate::GradientError;
use crate::error::{require, require_length};

/// Returns the cosine of the angle between two vectors, `a·b / max(|a||b|, 1e-8)`.
///
/// Computed in `f64`, in which the products of `f32`s are exact. A vector of zeros has the cosine
/// 0 with every other. The floor keeps the quotient finite.
///
/// # Errors
///
/// [`GradientError::Length`] when the vectors differ in length.
pub fn cosine(a: &[f32], b: &[f32]) -> Result<f64, GradientError> {
    require_length("the second vector", b.len(), a.len())?;
    let (mut dot, mut a_squared, mut b_squared) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (f64::from(*a), f64::from(*b));
        dot += a * b;
        a_squared += a * a;
        b_squared += b * b;
    }
    // One root of the product: it is exact for equal vectors, and squares of `f32`s are far from
    // the ends of `f64`'s range.
    let norms = f64::sqrt(a_squared * b_squared);
    // Rounding may bring the quotient above 1; `clamp` keeps a NaN.
    Ok((dot / norms.max(1e-8)).clamp(-1.0, 1.0))
}

/// The mean cosine of predicted and true vectors, a token at a time, exact under merging.
///
/// ```
/// use kato_gradient::metric::CosineMean;
///
/// let mut mean = CosineMean::new();
/// // Two tokens of two numbers each, the second of them padding.
/// let (predicted, target) = ([3.0, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 1.0]);
/// mean.add_rows(&predicted, &target, 2, &[1.0, 0.0])?;
/// assert_eq!(mean.value(), Some(1.0));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CosineMean {
    mean: Mean,
}

impl CosineMean {
    /// Creates a mean of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one pair of vectors.
    ///
    /// # Errors
    ///
    /// [`GradientError::Length`] when they differ in length.
    pub fn add(&mut self, predicted: &[f32], target: &[f32]) -> Result<(), GradientError> {
        self.mean.add(cosine(predicted, target)?);
        Ok(())
    }

    /// Adds rows of vectors of `width` numbers, each with the weight of a mask.
    ///
    /// Shapes: `[n, width]`, `[n, width]` and `[n]`.
    ///
    /// # Errors
    ///
    /// [`GradientError::Length`] when the shapes do not fit, [`GradientError::Setting`] when
    /// `width` is 0; nothing is added.
    pub fn add_rows(
        &mut self,
        predicted: &[f32],
        target: &[f32],
        width: usize,
        mask: &[f32],
    ) -> Result<(), GradientError> {
        require(width > 0, "width", width, "at least 1")?;
        let n_numbers = mask.len().saturating_mul(width);
        require_length("the prediction", predicted.len(), n_numbers)?;
        require_length("the target", target.len(), n_numbers)?;
        let rows = predicted.chunks(width).zip(target.chunks(width));
        for ((predicted, target), weight) in rows.zip(mask) {
            // What padding holds costs nothing.
            if *weight != 0.0 {
                self.mean
                    .add_weighted(cosine(predicted, target)?, f64::from(*weight));
            }
        }
        Ok(())
    }

    /// Adds what another mean holds.
    pub fn merge(&mut self, other: &Self) {
        self.mean.merge(&other.mean);
    }

    /// Returns the mean; none where nothing was added.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.mean.value()
    }
}

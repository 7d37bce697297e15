//! Norms of gradients: of all parameters together, and of the last steps.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::ExactSum;
use crate::error::require;
use crate::{GradientError, exact_float};

/// Returns the norm of all gradients together, `√Σ g²`, whatever the order of the parts.
///
/// Squares of `f32`s are exact in `f64`, and so is their sum: the norm does not depend on which
/// thread holds which part.
///
/// ```
/// assert_eq!(kato_gradient::metric::global_norm([&[3.0_f32][..], &[4.0]]), 5.0);
/// ```
#[must_use]
pub fn global_norm<'a>(gradients: impl IntoIterator<Item = &'a [f32]>) -> f64 {
    let mut squares = ExactSum::new();
    for gradient in gradients.into_iter().flatten() {
        // In f32 the squares of large gradients would overflow.
        let gradient = f64::from(*gradient);
        squares.add(gradient * gradient);
    }
    squares.value().sqrt()
}

/// Returns what all gradients are multiplied by so that their norm is at most `max_norm`:
/// `min(1, max_norm / norm)`.
///
/// One factor for all parameters keeps the direction of the step; a factor for each would not.
/// PyTorch's `clip_grad_norm_` adds 1e-6 to the norm, which makes the step as much too short. A
/// norm of NaN gives a factor of NaN.
///
/// ```
/// assert_eq!(kato_gradient::metric::clip_factor(4.0, 1.0), 0.25);
/// assert_eq!(kato_gradient::metric::clip_factor(0.5, 1.0), 1.0);
/// ```
#[must_use]
pub fn clip_factor(norm: f64, max_norm: f64) -> f64 {
    // A short gradient keeps its length, and a norm of 0 is not divided by.
    if norm <= max_norm {
        1.0
    } else {
        max_norm / norm
    }
}

/// The norms of the last steps, to see a gradient that vanishes or explodes.
///
/// ```
/// use kato_gradient::metric::NormWindow;
///
/// let mut window = NormWindow::new(100)?;
/// [1.0, 1.2, 0.9, f64::INFINITY].into_iter().for_each(|norm| window.add(norm));
/// assert_eq!(window.summary().map(|norms| (norms.median, norms.max)), Some((1.0, 1.2)));
/// assert!(window.is_spike(30.0, 10.0));
/// assert_eq!(window.n_not_finite(), 1);
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormWindow {
    size: usize,
    last: VecDeque<Norm>,
    n_not_finite: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Norm(#[serde(with = "exact_float")] f64);

/// The norms of a [`NormWindow`] in short.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NormSummary {
    /// How many there are.
    pub n: usize,
    /// The least.
    pub min: f64,
    /// The middle one; of an even number the upper of the two in the middle.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub max: f64,
}

impl NormWindow {
    /// Creates a window of the last `size` steps.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] when the size is 0.
    pub fn new(size: usize) -> Result<Self, GradientError> {
        require(size > 0, "size", size, "at least 1")?;
        Ok(Self {
            size,
            last: VecDeque::new(),
            n_not_finite: 0,
        })
    }

    /// Adds the norm of one more step; one that is not finite is only counted.
    pub fn add(&mut self, norm: f64) {
        if !norm.is_finite() {
            self.n_not_finite += 1;
            return;
        }
        // More than one may go where a window was saved larger.
        while self.last.len() >= self.size.max(1) {
            self.last.pop_front();
        }
        self.last.push_back(Norm(norm));
    }

    /// Returns the norms in short; none before the first finite one.
    #[must_use]
    pub fn summary(&self) -> Option<NormSummary> {
        let mut norms: Vec<f64> = self.last.iter().map(|norm| norm.0).collect();
        // Sorted when it is read: that is once an epoch, and steps are many.
        norms.sort_unstable_by(f64::total_cmp);
        let mut sum = ExactSum::new();
        norms.iter().for_each(|norm| sum.add(*norm));
        Some(NormSummary {
            n: norms.len(),
            min: *norms.first()?,
            median: norms[norms.len() / 2],
            mean: sum.value() / norms.len() as f64,
            max: *norms.last()?,
        })
    }

    /// Returns whether a norm is more than `factor` times the median of the window, or not finite.
    ///
    /// The median does not move with the few norms that are to be found. Nothing finite is a spike
    /// of an empty window.
    #[must_use]
    pub fn is_spike(&self, norm: f64, factor: f64) -> bool {
        !norm.is_finite()
            || self
                .summary()
                .is_some_and(|norms| norm > factor * norms.median)
    }

    /// Returns how many norms were not finite, since the beginning.
    #[must_use]
    pub const fn n_not_finite(&self) -> u64 {
        self.n_not_finite
    }
}

//! Says whether a metric is to fall or to rise.

use serde::{Deserialize, Serialize};

/// Which values of a metric are the better ones.
///
/// ```
/// use kato_gradient::Goal;
///
/// assert!(Goal::Min.is_better(0.4, 0.5, 0.01));
/// assert!(!Goal::Max.is_better(0.505, 0.5, 0.01));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Less is better: losses and errors.
    Min,
    /// More is better: accuracies and similarities.
    Max,
}

impl Goal {
    /// Returns whether `new` is better than `best` by more than `min_delta`, in the metric's unit.
    ///
    /// A NaN is never better than anything, and every number is better than a NaN.
    #[must_use]
    pub fn is_better(self, new: f64, best: f64, min_delta: f64) -> bool {
        // Comparisons with a NaN are all false: a best of NaN would otherwise stay for ever.
        if new.is_nan() || best.is_nan() {
            return !new.is_nan();
        }
        match self {
            Self::Min => new < best - min_delta,
            Self::Max => new > best + min_delta,
        }
    }

    /// Returns whether `value` is as good as `target` or better.
    #[must_use]
    pub fn reaches(self, value: f64, target: f64) -> bool {
        match self {
            Self::Min => value <= target,
            Self::Max => value >= target,
        }
    }
}

//! When to stop.

use serde::{Deserialize, Serialize};

use crate::error::{require, require_not_negative};
use crate::{Goal, GradientError, exact_float};

/// The settings of [`EarlyStop`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EarlyStopSettings {
    /// Whether the metric is to fall or to rise (default: to fall).
    pub goal: Goal,
    /// After how many observations in a row without an improvement to stop (default 20).
    pub patience: u32,
    /// How much better than the best an observation has to be (default 1e-5), in the metric's
    /// unit.
    pub min_delta: f64,
    /// The value at which there is nothing left to reach; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
}

impl Default for EarlyStopSettings {
    fn default() -> Self {
        Self {
            goal: Goal::Min,
            patience: 20,
            min_delta: 1e-5,
            // What is good enough depends on the metric.
            target: None,
        }
    }
}

impl EarlyStopSettings {
    /// Creates settings with this goal, patience 20, and improvements of 1e-5.
    #[must_use]
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            ..Self::default()
        }
    }

    /// Sets after how many observations without an improvement to stop.
    #[must_use]
    pub const fn with_patience(mut self, patience: u32) -> Self {
        self.patience = patience;
        self
    }

    /// Sets what counts as an improvement.
    #[must_use]
    pub const fn with_min_delta(mut self, min_delta: f64) -> Self {
        self.min_delta = min_delta;
        self
    }

    /// Sets the value at which to stop.
    #[must_use]
    pub const fn with_target(mut self, target: f64) -> Self {
        self.target = Some(target);
        self
    }
}

/// What one observation means for the training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopVerdict {
    /// The metric is the best so far: save this model.
    Improved,
    /// It is not, and training goes on.
    Waiting {
        /// At which observation in a row without an improvement, counted from here, to stop.
        n_left: u32,
    },
    /// The target is reached: save this model, which is the best, and stop.
    ReachedTarget,
    /// The patience is at its end: stop, and take the best model.
    OutOfPatience,
}

impl StopVerdict {
    /// Returns whether to stop.
    #[must_use]
    pub const fn is_stop(self) -> bool {
        matches!(self, Self::ReachedTarget | Self::OutOfPatience)
    }
}

/// What an [`EarlyStop`] has seen, to be saved.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EarlyStopState {
    /// The best metric; none before the first observation that is a number.
    #[serde(with = "exact_float::option", default)]
    pub best: Option<f64>,
    /// Which observation brought it, counted from 0.
    pub best_at: u64,
    /// How many observations there were.
    pub n_observations: u64,
    /// How many of them in a row brought no improvement.
    pub n_without: u32,
}

/// Stops a training whose metric no longer gets better, or is good enough.
///
/// ```
/// use kato_gradient::Goal;
/// use kato_gradient::stop::{EarlyStop, EarlyStopSettings, StopVerdict};
///
/// let settings = EarlyStopSettings::new(Goal::Max).with_patience(2).with_target(0.95);
/// let mut stop = EarlyStop::new(settings)?;
/// assert_eq!(stop.observe(0.80), StopVerdict::Improved);
/// assert_eq!(stop.observe(0.79), StopVerdict::Waiting { n_left: 1 });
/// assert_eq!(stop.observe(0.96), StopVerdict::ReachedTarget);
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EarlyStop {
    settings: EarlyStopSettings,
    state: EarlyStopState,
}

impl EarlyStop {
    /// Creates one that has seen nothing.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] names the first setting that cannot be.
    pub fn new(settings: EarlyStopSettings) -> Result<Self, GradientError> {
        Self::from_state(settings, EarlyStopState::default())
    }

    /// Goes on from a saved state; the settings may be others than before.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] names the first setting that cannot be.
    pub fn from_state(
        settings: EarlyStopSettings,
        state: EarlyStopState,
    ) -> Result<Self, GradientError> {
        // Without patience the first observation without an improvement would stop, as with 1.
        require(
            settings.patience > 0,
            "patience",
            settings.patience,
            "at least 1",
        )?;
        require_not_negative("min_delta", settings.min_delta)?;
        if let Some(target) = settings.target {
            require(!target.is_nan(), "target", target, "a number")?;
        }
        Ok(Self { settings, state })
    }

    /// Takes the metric of one more evaluation. A NaN is no improvement.
    pub fn observe(&mut self, metric: f64) -> StopVerdict {
        let settings = &self.settings;
        let state = &mut self.state;
        let index = state.n_observations;
        state.n_observations += 1;
        // The first observation has nothing to be better than, but it must be a number.
        let improved = !metric.is_nan()
            && state
                .best
                .is_none_or(|best| settings.goal.is_better(metric, best, settings.min_delta));
        // A target counts even where it is missed by less than `min_delta` before, and the model
        // that reaches it is the one to take.
        let target = settings.target;
        if target.is_some_and(|target| settings.goal.reaches(metric, target)) {
            state.best = Some(metric);
            state.best_at = index;
            state.n_without = 0;
            return StopVerdict::ReachedTarget;
        }
        if improved {
            state.best = Some(metric);
            state.best_at = index;
            state.n_without = 0;
            return StopVerdict::Improved;
        }
        state.n_without = state.n_without.saturating_add(1);
        match settings.patience.saturating_sub(state.n_without) {
            // Also after the end, should a caller go on all the same.
            0 => StopVerdict::OutOfPatience,
            n_left => StopVerdict::Waiting { n_left },
        }
    }

    /// Returns what has been seen, to be saved.
    #[must_use]
    pub const fn state(&self) -> &EarlyStopState {
        &self.state
    }
}

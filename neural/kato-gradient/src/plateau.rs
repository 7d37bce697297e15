//! A learning rate that falls where a metric no longer gets better.

use serde::{Deserialize, Serialize};

use crate::error::{require, require_not_negative, require_positive, require_share};
use crate::{Goal, GradientError, exact_float};

/// How an improvement is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DeltaMode {
    /// As a share of the best value: with 0.01 a loss of 0.5 has to fall below 0.495.
    #[default]
    Relative,
    /// In the metric's unit.
    Absolute,
}

/// The settings of [`Plateau`].
///
/// [`new`](Self::new) has the defaults of PyTorch's `ReduceLROnPlateau`,
/// [`adaptive`](Self::adaptive) those of a rate that follows a smoothed metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PlateauSettings {
    /// The rate at the beginning.
    pub base_rate: f64,
    /// Whether the metric is to fall or to rise.
    pub goal: Goal,
    /// What the rate is multiplied by at a plateau.
    pub factor: f64,
    /// How many observations in a row may bring no improvement; the next one lowers the rate.
    pub patience: u32,
    /// How much better than the best an observation has to be to count as an improvement.
    pub min_delta: f64,
    /// How `min_delta` is measured.
    pub delta_mode: DeltaMode,
    /// How many observations after a fall of the rate are not counted.
    pub cooldown: u32,
    /// The lowest rate.
    pub min_rate: f64,
    /// The weight of the past in the smoothed metric; 0 for none.
    pub smoothing: f64,
}

impl Default for PlateauSettings {
    fn default() -> Self {
        Self {
            base_rate: 1e-3,
            // As a loss is what most trainings watch.
            goal: Goal::Min,
            factor: 0.1,
            patience: 10,
            min_delta: 1e-4,
            delta_mode: DeltaMode::Relative,
            cooldown: 0,
            min_rate: 0.0,
            smoothing: 0.0,
        }
    }
}

impl PlateauSettings {
    /// Creates settings with PyTorch's defaults: factor 0.1 after more than 10 observations
    /// without an improvement.
    #[must_use]
    pub fn new(base_rate: f64) -> Self {
        Self {
            base_rate,
            ..Self::default()
        }
    }

    /// Creates settings of the adaptive schedule: an exponential mean of weight 0.9, factor 0.5
    /// after more than 10 observations without an improvement by 1e-4, not below 1e-7, cooldown 5.
    #[must_use]
    pub fn adaptive(base_rate: f64) -> Self {
        Self {
            factor: 0.5,
            delta_mode: DeltaMode::Absolute,
            cooldown: 5,
            min_rate: 1e-7,
            smoothing: 0.9,
            ..Self::new(base_rate)
        }
    }

    /// Sets what the rate is multiplied by, and how many observations may bring no improvement before.
    #[must_use]
    pub const fn with_factor(mut self, factor: f64, patience: u32) -> Self {
        self.factor = factor;
        self.patience = patience;
        self
    }

    /// Sets what counts as an improvement.
    #[must_use]
    pub const fn with_min_delta(mut self, min_delta: f64, mode: DeltaMode) -> Self {
        self.min_delta = min_delta;
        self.delta_mode = mode;
        self
    }

    fn check(&self) -> Result<(), GradientError> {
        require_positive("base_rate", self.base_rate)?;
        let holds = self.factor > 0.0 && self.factor < 1.0;
        require(holds, "factor", self.factor, "a number between 0 and 1")?;
        require_not_negative("min_delta", self.min_delta)?;
        require_not_negative("min_rate", self.min_rate)?;
        require_share("smoothing", self.smoothing)?;
        let wanted = "a number below 1";
        require(self.smoothing < 1.0, "smoothing", self.smoothing, wanted)
    }
}

/// What a [`Plateau`] has seen, to be saved.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PlateauState {
    /// The smoothed metric; none before the first finite observation.
    #[serde(with = "exact_float::option", default)]
    pub smoothed: Option<f64>,
    /// The best smoothed metric; none before the first finite observation.
    #[serde(with = "exact_float::option", default)]
    pub best: Option<f64>,
    /// How many observations in a row brought no improvement.
    pub n_without: u32,
    /// How many observations to come are not counted.
    pub n_cooling: u32,
    /// How often the rate was lowered.
    pub n_falls: u32,
}

/// A learning rate that is lowered when a metric no longer gets better.
///
/// The rate is a function of the state, `max(base·factor^falls, min)`, so resuming needs nothing
/// else. The smoothed metric is `s ← smoothing·s + (1 − smoothing)·m`, from the first observation
/// on. An observation that is no finite number counts as one without improvement and leaves the
/// mean as it is.
///
/// ```
/// use kato_gradient::plateau::{Plateau, PlateauSettings};
///
/// let settings = PlateauSettings::new(1e-3).with_factor(0.5, 1);
/// let mut plateau = Plateau::new(settings)?;
/// assert_eq!(plateau.observe(0.7), 1e-3);
/// assert_eq!(plateau.observe(0.7), 1e-3); // one is forgiven
/// assert_eq!(plateau.observe(0.7), 5e-4);
/// let resumed = Plateau::from_state(settings, *plateau.state())?;
/// assert_eq!(resumed.rate(), 5e-4);
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plateau {
    settings: PlateauSettings,
    state: PlateauState,
}

impl Plateau {
    /// Creates one that has seen nothing.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] names the first setting that cannot be.
    pub fn new(settings: PlateauSettings) -> Result<Self, GradientError> {
        Self::from_state(settings, PlateauState::default())
    }

    /// Goes on from a saved state; the settings may be others than before.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] names the first setting that cannot be.
    pub fn from_state(
        settings: PlateauSettings,
        state: PlateauState,
    ) -> Result<Self, GradientError> {
        settings.check()?;
        Ok(Self { settings, state })
    }

    /// Takes the metric of one more epoch, and returns the rate from now on.
    pub fn observe(&mut self, metric: f64) -> f64 {
        let improved = self.takes_as_improvement(metric);
        let state = &mut self.state;
        state.n_without = if improved {
            0
        } else {
            state.n_without.saturating_add(1)
        };
        // Counted down by improvements, too: it is time that has to pass.
        if state.n_cooling > 0 {
            state.n_cooling -= 1;
            state.n_without = 0;
        }
        if state.n_without > self.settings.patience {
            state.n_without = 0;
            state.n_cooling = self.settings.cooldown;
            // At the floor a fall would change nothing now, but the rate of a later run with a
            // lower floor.
            if self.rate() > self.settings.min_rate {
                self.state.n_falls += 1;
            }
        }
        self.rate()
    }

    /// Returns the rate.
    #[must_use]
    pub fn rate(&self) -> f64 {
        // A power of a count rather than a product that is kept: the state holds whole numbers and
        // the rate is a function of them.
        let fallen = libm::pow(self.settings.factor, f64::from(self.state.n_falls));
        (self.settings.base_rate * fallen).max(self.settings.min_rate)
    }

    /// Returns what has been seen, to be saved.
    #[must_use]
    pub const fn state(&self) -> &PlateauState {
        &self.state
    }

    fn takes_as_improvement(&mut self, metric: f64) -> bool {
        if !metric.is_finite() {
            return false;
        }
        let smoothing = self.settings.smoothing;
        let smoothed = match self.state.smoothed {
            Some(past) => smoothing * past + (1.0 - smoothing) * metric,
            None => metric,
        };
        self.state.smoothed = Some(smoothed);
        let improved = self.state.best.is_none_or(|best| {
            let delta = match self.settings.delta_mode {
                DeltaMode::Absolute => self.settings.min_delta,
                // The size of the best: a share of a negative number would turn the direction.
                DeltaMode::Relative => self.settings.min_delta * best.abs(),
            };
            self.settings.goal.is_better(smoothed, best, delta)
        });
        // Only now: the comparison above needs the old one.
        if improved {
            self.state.best = Some(smoothed);
        }
        improved
    }
}

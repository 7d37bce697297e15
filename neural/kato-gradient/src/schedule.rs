//! Learning rates as pure functions of the position in the training.

mod annealing;
mod cosine;
mod cyclical;
mod one_cycle;

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::require_not_negative;

pub use annealing::{Constant, Polynomial};
pub use cosine::{CosineRestarts, WarmupCosine};
pub use cyclical::{CycleMode, Cyclical};
pub use one_cycle::{Annealing, OneCycle};

/// The settings of one schedule, as they stand in a file under its `kind`.
///
/// All lengths of one schedule are in one unit, optimizer steps or epochs; positions are in the
/// same unit and need not be whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ScheduleSettings {
    /// The same rate always.
    Constant(Constant),
    /// A linear rise, then half a cosine.
    WarmupCosine(WarmupCosine),
    /// Half cosines one after another, each from a lower peak.
    CosineRestarts(CosineRestarts),
    /// A power of what is left of the training.
    Polynomial(Polynomial),
    /// Triangles between two rates.
    Cyclical(Cyclical),
    /// One rise and one fall to almost nothing.
    OneCycle(OneCycle),
}

/// A schedule whose settings were checked.
///
/// A schedule is a function and has no state, so a run that is resumed needs its position alone.
/// The same position gives the same bits: powers and cosines are not the platform's.
///
/// ```
/// use kato_gradient::schedule::{CosineRestarts, Schedule};
///
/// // Positions in epochs: restarts after epochs 10, 30, 70, …
/// let schedule = Schedule::new(CosineRestarts::new(2.5e-4, 10.0))?;
/// assert_eq!(schedule.rate(0.0), 2.5e-4);
/// assert!(schedule.rate(9.99) < 1.1e-6);
/// assert_eq!(schedule.rate(10.0), 2.5e-4 * 0.95);
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ScheduleSettings", into = "ScheduleSettings")]
pub struct Schedule {
    settings: ScheduleSettings,
}

impl Schedule {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] names the first setting that cannot be.
    pub fn new(settings: impl Into<ScheduleSettings>) -> Result<Self, GradientError> {
        let settings = settings.into();
        match &settings {
            ScheduleSettings::Constant(s) => require_not_negative("rate", s.rate)?,
            ScheduleSettings::WarmupCosine(s) => s.check()?,
            ScheduleSettings::CosineRestarts(s) => s.check()?,
            ScheduleSettings::Polynomial(s) => s.check()?,
            ScheduleSettings::Cyclical(s) => s.check()?,
            ScheduleSettings::OneCycle(s) => s.check()?,
        }
        Ok(Self { settings })
    }

    /// Returns the learning rate at a position, in the unit of the settings' lengths.
    ///
    /// The first optimizer step is at 0. A position below 0 or NaN counts as 0,
    /// and one above 2⁵³ as 2⁵³.
    #[must_use]
    pub fn rate(&self, position: f64) -> f64 {
        // `max` gives the other operand for a NaN, where `clamp` would keep it.
        let position = position.max(0.0);
        // Above 2^53 a position has no neighbours at a distance of 1, and the arithmetic of cycles
        // would overflow.
        let position = position.min(9_007_199_254_740_992.0);
        match &self.settings {
            ScheduleSettings::Constant(s) => s.rate,
            ScheduleSettings::WarmupCosine(s) => s.rate(position),
            ScheduleSettings::CosineRestarts(s) => s.rate(position),
            ScheduleSettings::Polynomial(s) => s.rate(position),
            ScheduleSettings::Cyclical(s) => s.rate(position),
            ScheduleSettings::OneCycle(s) => s.rate(position),
        }
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &ScheduleSettings {
        &self.settings
    }
}

impl TryFrom<ScheduleSettings> for Schedule {
    type Error = GradientError;

    fn try_from(settings: ScheduleSettings) -> Result<Self, GradientError> {
        Self::new(settings)
    }
}

impl From<Schedule> for ScheduleSettings {
    fn from(schedule: Schedule) -> Self {
        schedule.settings
    }
}

macro_rules! settings_from {
    ($($kind:ident),*) => {$(
        impl From<$kind> for ScheduleSettings {
            fn from(settings: $kind) -> Self {
                Self::$kind(settings)
            }
        }
    )*};
}

settings_from!(
    Constant,
    WarmupCosine,
    CosineRestarts,
    Polynomial,
    Cyclical,
    OneCycle
);

/// Returns the point of half a cosine from `from` to `to`, at a `share` from 0 to 1 of its way.
fn half_cosine(from: f64, to: f64, share: f64) -> f64 {
    let weight = (1.0 + libm::cos(std::f64::consts::PI * share)) / 2.0;
    linear(to, from, weight)
}

/// Returns the point of a straight line from `from` to `to`, at a `share` from 0 to 1 of its way.
fn linear(from: f64, to: f64, share: f64) -> f64 {
    // Weights rather than a difference: at 0 and 1 they are exact, so a peak is the peak to the
    // bit, and no rate is outside of the two.
    from * (1.0 - share) + to * share
}

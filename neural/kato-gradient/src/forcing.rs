//! Which share of a decoder's inputs are true tokens and not its own predictions.

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::{require, require_positive, require_share};

/// The share of time steps whose input is the true one, as a function of the position.
///
/// Positions are in the unit of the lengths, steps or epochs. The last three are the decays of
/// Bengio et al., "Scheduled sampling for sequence prediction", NeurIPS 2015.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ForcingSettings {
    /// The same share always.
    Constant {
        /// The share.
        ratio: f64,
    },
    /// A straight line from `start` to `end` over `length`, and `end` after it.
    Linear {
        /// The share at position 0.
        start: f64,
        /// The share at the end.
        end: f64,
        /// How long the line is.
        length: f64,
    },
    /// `base^position`.
    Exponential {
        /// The share at position 1; between 0 and 1.
        base: f64,
    },
    /// `k / (k + exp(position / k))`.
    InverseSigmoid {
        /// The larger, the later the fall; at least 1.
        k: f64,
    },
}

impl Default for ForcingSettings {
    fn default() -> Self {
        Self::Constant { ratio: 0.5 }
    }
}

/// A share of forced time steps whose settings were checked: a pure function of the position.
///
/// ```
/// use kato_gradient::forcing::{Forcing, ForcingSettings};
///
/// let forcing = Forcing::new(ForcingSettings::Linear { start: 0.9, end: 0.1, length: 50.0 })?;
/// assert_eq!((forcing.ratio(0.0), forcing.ratio(25.0), forcing.ratio(99.0)), (0.9, 0.5, 0.1));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ForcingSettings", into = "ForcingSettings")]
pub struct Forcing {
    settings: ForcingSettings,
}

impl Forcing {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] names the first setting that cannot be.
    pub fn new(settings: ForcingSettings) -> Result<Self, GradientError> {
        match settings {
            ForcingSettings::Constant { ratio } => require_share("ratio", ratio)?,
            ForcingSettings::Linear { start, end, length } => {
                require_share("start", start)?;
                require_share("end", end)?;
                require_positive("length", length)?;
            }
            ForcingSettings::Exponential { base } => require_share("base", base)?,
            ForcingSettings::InverseSigmoid { k } => {
                let holds = k.is_finite() && k >= 1.0;
                require(holds, "k", k, "a finite number of at least 1")?;
            }
        }
        Ok(Self { settings })
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &ForcingSettings {
        &self.settings
    }

    /// Returns the share at a position, from 0 to 1. A position below 0 or NaN counts as 0.
    #[must_use]
    pub fn ratio(&self, position: f64) -> f64 {
        let position = position.max(0.0);
        let ratio = match self.settings {
            ForcingSettings::Constant { ratio } => ratio,
            ForcingSettings::Linear { start, end, length } => {
                let share = (position / length).min(1.0);
                // Weights rather than a difference: both ends are met to the bit.
                start * (1.0 - share) + end * share
            }
            // `libm`, since the platform's own functions differ in their last bits, and a draw may
            // hang on one.
            ForcingSettings::Exponential { base } => libm::pow(base, position),
            ForcingSettings::InverseSigmoid { k } => k / (k + libm::exp(position / k)),
        };
        // Rounding may pass an end by a digit.
        ratio.clamp(0.0, 1.0)
    }
}

impl TryFrom<ForcingSettings> for Forcing {
    type Error = GradientError;

    fn try_from(settings: ForcingSettings) -> Result<Self, GradientError> {
        Self::new(settings)
    }
}

impl From<Forcing> for ForcingSettings {
    fn from(forcing: Forcing) -> Self {
        forcing.settings
    }
}

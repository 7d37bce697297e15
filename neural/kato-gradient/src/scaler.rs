//! A factor that keeps small gradients of half precision above zero.

use serde::{Deserialize, Serialize};

use crate::error::{require, require_positive};
use crate::{GradientError, exact_float};

/// The settings of [`LossScaler`]; the defaults are those of PyTorch's `GradScaler`, which has no bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LossScalerSettings {
    /// The factor at the beginning (default 65,536).
    pub initial_scale: f32,
    /// What the factor is multiplied by after `growth_interval` steps (default 2).
    pub growth: f32,
    /// What the factor is multiplied by after an overflow (default 0.5).
    pub backoff: f32,
    /// After how many steps in a row without an overflow the factor grows (default 2,000).
    pub growth_interval: u32,
    /// The least factor (default 2⁻¹⁴, where even the smallest overflow has another cause).
    pub min_scale: f32,
    /// The greatest factor (default 2⁶⁴).
    pub max_scale: f32,
}

impl Default for LossScalerSettings {
    fn default() -> Self {
        Self {
            // Powers of two change no digit of a gradient, only its exponent.
            initial_scale: 65_536.0,
            growth: 2.0,
            backoff: 0.5,
            growth_interval: 2000,
            min_scale: 1.0 / 16_384.0,
            max_scale: 18_446_744_073_709_551_616.0,
        }
    }
}

impl LossScalerSettings {
    /// Sets the factor at the beginning.
    #[must_use]
    pub const fn with_initial_scale(mut self, initial_scale: f32) -> Self {
        self.initial_scale = initial_scale;
        self
    }

    /// Sets after how many steps without an overflow the factor grows.
    #[must_use]
    pub const fn with_growth_interval(mut self, growth_interval: u32) -> Self {
        self.growth_interval = growth_interval;
        self
    }

    fn check(&self) -> Result<(), GradientError> {
        require_positive("min_scale", self.min_scale.into())?;
        let holds = self.max_scale.is_finite() && self.max_scale >= self.min_scale;
        require(
            holds,
            "max_scale",
            self.max_scale,
            "a finite number of at least min_scale",
        )?;
        let holds = (self.min_scale..=self.max_scale).contains(&self.initial_scale);
        let wanted = "a number from min_scale to max_scale";
        require(holds, "initial_scale", self.initial_scale, wanted)?;
        let holds = self.growth.is_finite() && self.growth >= 1.0;
        require(
            holds,
            "growth",
            self.growth,
            "a finite number of at least 1",
        )?;
        // With 1 the same step would overflow for ever.
        let holds = self.backoff > 0.0 && self.backoff < 1.0;
        require(holds, "backoff", self.backoff, "a number between 0 and 1")?;
        let wanted = "at least 1";
        require(
            self.growth_interval > 0,
            "growth_interval",
            self.growth_interval,
            wanted,
        )
    }
}

/// What a [`LossScaler`] has come to, to be saved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LossScalerState {
    /// The factor.
    #[serde(with = "exact_float")]
    pub scale: f32,
    /// How many steps in a row had no overflow since the factor last changed.
    pub n_good: u32,
    /// How many steps were skipped in all.
    pub n_skipped: u64,
}

/// What to do with the gradients of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScaledStep {
    /// They are finite: step.
    Apply,
    /// They have overflowed: skip the step. The next one has a smaller factor.
    Skip,
    /// They have overflowed with the least factor: skip, and end the training unless it recovers,
    /// because its loss itself is no longer finite.
    SkipAtFloor,
}

/// Scales the loss of a training in half precision and skips the steps that overflow.
///
/// The order of a step: multiply the loss by [`scale`](Self::scale), go backward, multiply the
/// gradients by [`inverse_scale`](Self::inverse_scale), see whether they are
/// [finite](all_finite), [`update`](Self::update), and only after [`ScaledStep::Apply`] clip and
/// step. bf16 has the range of f32 and needs none of it. Source: Micikevicius et al., "Mixed
/// precision training", ICLR 2018.
///
/// ```
/// use kato_gradient::scaler::{LossScaler, LossScalerSettings, ScaledStep, all_finite};
///
/// let mut scaler = LossScaler::new(LossScalerSettings::default().with_growth_interval(2))?;
/// assert_eq!(scaler.update(all_finite(&[1.0, f32::INFINITY])), ScaledStep::Skip);
/// assert_eq!(scaler.scale(), 32_768.0);
/// scaler.update(true);
/// scaler.update(true);
/// assert_eq!(scaler.scale(), 65_536.0);
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LossScaler {
    settings: LossScalerSettings,
    state: LossScalerState,
}

impl LossScaler {
    /// Creates one with the factor of the beginning.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] names the first setting that cannot be.
    pub fn new(settings: LossScalerSettings) -> Result<Self, GradientError> {
        let state = LossScalerState {
            scale: settings.initial_scale,
            n_good: 0,
            n_skipped: 0,
        };
        Self::from_state(settings, state)
    }

    /// Goes on from a saved state.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] names the first setting that cannot be;
    /// [`GradientError::State`] says that the factor is outside of the settings' bounds.
    pub fn from_state(
        settings: LossScalerSettings,
        state: LossScalerState,
    ) -> Result<Self, GradientError> {
        // Here and not in `new`, as both ways lead through it.
        settings.check()?;
        if !(settings.min_scale..=settings.max_scale).contains(&state.scale) {
            return Err(GradientError::State {
                what: "loss scale",
                why: format!("{} is outside of min_scale and max_scale", state.scale),
            });
        }
        Ok(Self { settings, state })
    }

    /// Returns what the loss is multiplied by.
    #[must_use]
    pub const fn scale(&self) -> f32 {
        self.state.scale
    }

    /// Returns what the gradients are multiplied by before they are clipped.
    #[must_use]
    pub const fn inverse_scale(&self) -> f32 {
        // Exact for the powers of two that the defaults lead to.
        1.0 / self.state.scale
    }

    /// Takes whether all gradients of a step are finite, and says what to do with them.
    pub fn update(&mut self, finite: bool) -> ScaledStep {
        let settings = &self.settings;
        let state = &mut self.state;
        if !finite {
            // Seen before the factor falls: the gradients were made with this one.
            let at_floor = state.scale <= settings.min_scale;
            state.scale = (state.scale * settings.backoff).max(settings.min_scale);
            // An overflow says that the factor was at its limit: growing has to wait anew.
            state.n_good = 0;
            state.n_skipped += 1;
            return if at_floor {
                ScaledStep::SkipAtFloor
            } else {
                ScaledStep::Skip
            };
        }
        state.n_good += 1;
        if state.n_good >= settings.growth_interval {
            state.scale = (state.scale * settings.growth).min(settings.max_scale);
            state.n_good = 0;
        }
        ScaledStep::Apply
    }

    /// Returns what it has come to, to be saved.
    #[must_use]
    pub const fn state(&self) -> &LossScalerState {
        &self.state
    }
}

/// Returns whether all values are finite.
#[must_use]
pub fn all_finite(values: &[f32]) -> bool {
    // Blocks let the compiler test many values at a time, and still end early.
    values.chunks(1024).all(|block| {
        block
            .iter()
            .fold(true, |all, value| all & value.is_finite())
    })
}

//! The rates that go up and down between two bounds.

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::{require, require_not_negative, require_positive};

/// How the amplitude of a cyclical rate changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CycleMode {
    /// It stays.
    #[default]
    Triangular,
    /// It is halved with each cycle.
    Triangular2,
    /// It is multiplied by `gamma` with each unit of position.
    ExpRange,
}

/// The settings of triangles between two rates.
///
/// In cycle `i`, `rise + fall` long, `h` goes in a straight line from 0 to 1 and back; the rate is
/// `min + (max − min)·h·a` with the amplitude `a` = 1, 2⁻ⁱ or `gamma^p`. Only the amplitude is
/// scaled, never the lower bound, as in PyTorch's `CyclicLR`. Source: Smith, "Cyclical learning
/// rates for training neural networks", WACV 2017.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Cyclical {
    /// The lower bound (`base_lr`).
    pub min_rate: f64,
    /// The upper bound of the first cycle (`max_lr`).
    pub max_rate: f64,
    /// How long the way up is (default 100).
    #[serde(default = "default_half")]
    pub rise: f64,
    /// How long the way down is (default 100).
    #[serde(default = "default_half")]
    pub fall: f64,
    /// How the amplitude changes (default: it stays).
    #[serde(default)]
    pub mode: CycleMode,
    /// What the amplitude is multiplied by in the mode `exp_range` (default 0.99).
    #[serde(default = "default_gamma")]
    pub gamma: f64,
}

fn default_half() -> f64 {
    100.0
}

fn default_gamma() -> f64 {
    0.99
}

impl Cyclical {
    /// Creates settings with half cycles of 100 and an amplitude that stays.
    #[must_use]
    pub const fn new(min_rate: f64, max_rate: f64) -> Self {
        Self {
            min_rate,
            max_rate,
            rise: 100.0,
            fall: 100.0,
            mode: CycleMode::Triangular,
            gamma: 0.99,
        }
    }

    /// Sets how long the ways up and down are.
    #[must_use]
    pub const fn with_halves(mut self, rise: f64, fall: f64) -> Self {
        self.rise = rise;
        self.fall = fall;
        self
    }

    /// Sets how the amplitude changes.
    #[must_use]
    pub const fn with_mode(mut self, mode: CycleMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets what the amplitude is multiplied by in the mode `exp_range`.
    #[must_use]
    pub const fn with_gamma(mut self, gamma: f64) -> Self {
        self.gamma = gamma;
        self
    }

    pub(super) fn check(&self) -> Result<(), GradientError> {
        require_not_negative("min_rate", self.min_rate)?;
        let holds = self.max_rate.is_finite() && self.max_rate >= self.min_rate;
        require(
            holds,
            "max_rate",
            self.max_rate,
            "a finite number of at least min_rate",
        )?;
        require_positive("rise", self.rise)?;
        require_positive("fall", self.fall)?;
        let holds = self.gamma > 0.0 && self.gamma <= 1.0;
        require(holds, "gamma", self.gamma, "a number above 0 and up to 1")
    }

    pub(super) fn rate(&self, position: f64) -> f64 {
        let length = self.rise + self.fall;
        // Counted from 0, so that the first cycle has the whole amplitude.
        let cycle = (position / length).floor();
        // Not `position % length`: cycle and rest must agree where the quotient is rounded.
        let inside = (position - cycle * length).clamp(0.0, length);
        // Both ways apart, as they may differ in length.
        let height = if inside <= self.rise {
            inside / self.rise
        } else {
            (length - inside) / self.fall
        };
        let amplitude = match self.mode {
            CycleMode::Triangular => 1.0,
            CycleMode::Triangular2 => libm::exp2(-cycle),
            // Of the position and not of the cycle: the amplitude shrinks inside a cycle as well.
            CycleMode::ExpRange => libm::pow(self.gamma, position),
        };
        self.min_rate + (self.max_rate - self.min_rate) * height * amplitude
    }
}

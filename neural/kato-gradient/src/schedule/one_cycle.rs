//! The rate that rises once and then falls to almost nothing.

use serde::{Deserialize, Serialize};

use super::{half_cosine, linear};
use crate::GradientError;
use crate::error::{require, require_positive};

/// The line along which a rate goes from one value to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Annealing {
    /// Half a cosine.
    #[default]
    Cosine,
    /// A straight line.
    Linear,
}

impl Annealing {
    fn between(self, from: f64, to: f64, share: f64) -> f64 {
        match self {
            Self::Cosine => half_cosine(from, to, share),
            Self::Linear => linear(from, to, share),
        }
    }
}

/// The settings of one rise and one fall.
///
/// The rate goes from `max/div` up to `max` at `peak`, then down to `max/div/final_div` at
/// `total`, and stays there. With `three_phase` it comes back to `max/div` at twice `peak` first.
/// Source: Smith and Topin, "Super-convergence", 2018; [`from_steps`](Self::from_steps) is
/// PyTorch's `OneCycleLR`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OneCycle {
    /// The highest rate.
    pub max_rate: f64,
    /// Where the rate is highest.
    pub peak: f64,
    /// Where the rate is lowest.
    pub total: f64,
    /// The line up and down (default: half a cosine).
    #[serde(default)]
    pub annealing: Annealing,
    /// What the highest rate is divided by at the beginning (default 25).
    #[serde(default = "default_div")]
    pub div: f64,
    /// What the rate of the beginning is divided by at the end (default 10,000).
    #[serde(default = "default_final_div")]
    pub final_div: f64,
    /// Whether the rate comes back to that of the beginning before its last fall (default: no).
    #[serde(default)]
    pub three_phase: bool,
}

fn default_div() -> f64 {
    25.0
}

fn default_final_div() -> f64 {
    1e4
}

impl OneCycle {
    /// Creates settings with the peak at 0.3 of `total`, and PyTorch's divisors.
    #[must_use]
    pub const fn new(max_rate: f64, total: f64) -> Self {
        Self {
            max_rate,
            // PyTorch's share.
            peak: 0.3 * total,
            total,
            annealing: Annealing::Cosine,
            div: 25.0,
            final_div: 1e4,
            three_phase: false,
        }
    }

    /// Creates settings for a number of optimizer steps, reckoned as PyTorch reckons.
    ///
    /// The first of `n_steps` steps is at 0 and the last at `n_steps − 1`, which is the end; the
    /// peak is at `rise_share·n_steps − 1`.
    #[must_use]
    pub const fn from_steps(max_rate: f64, n_steps: u32, rise_share: f64) -> Self {
        let n_steps = n_steps as f64;
        // Counted from 0, the last of n steps is at n − 1: there the rate has to be lowest.
        let mut settings = Self::new(max_rate, n_steps - 1.0);
        settings.peak = rise_share * n_steps - 1.0;
        settings
    }

    /// Sets where the rate is highest.
    #[must_use]
    pub const fn with_peak(mut self, peak: f64) -> Self {
        self.peak = peak;
        self
    }

    /// Sets the line up and down.
    #[must_use]
    pub const fn with_annealing(mut self, annealing: Annealing) -> Self {
        self.annealing = annealing;
        self
    }

    /// Makes the rate come back to that of the beginning before its last fall.
    #[must_use]
    pub const fn with_three_phases(mut self) -> Self {
        self.three_phase = true;
        self
    }

    pub(super) fn check(&self) -> Result<(), GradientError> {
        require_positive("max_rate", self.max_rate)?;
        // At 0 there would be no rise, and a division by it.
        require_positive("peak", self.peak)?;
        // The third phase has to have a length, too.
        let last_fall = if self.three_phase { 2.0 } else { 1.0 } * self.peak;
        let wanted = "a finite number above peak (above twice peak with three_phase)";
        let holds = self.total.is_finite() && self.total > last_fall;
        require(holds, "total", self.total, wanted)?;
        require_positive("div", self.div)?;
        require_positive("final_div", self.final_div)
    }

    pub(super) fn rate(&self, position: f64) -> f64 {
        let start = self.max_rate / self.div;
        let end = start / self.final_div;
        // A training that goes on for longer than planned must not rise again.
        let position = position.min(self.total);
        if position <= self.peak {
            let share = position / self.peak;
            return self.annealing.between(start, self.max_rate, share);
        }
        // The way down is as long as the way up in three phases, and all that is left in two.
        let after = position - self.peak;
        if !self.three_phase {
            let share = after / (self.total - self.peak);
            return self.annealing.between(self.max_rate, end, share);
        }
        if after <= self.peak {
            let share = after / self.peak;
            return self.annealing.between(self.max_rate, start, share);
        }
        let share = (after - self.peak) / (self.total - 2.0 * self.peak);
        self.annealing.between(start, end, share)
    }
}

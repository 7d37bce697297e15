//! The rates that fall along half a cosine: once after a warm-up, or again and again.

use serde::{Deserialize, Serialize};

use super::{half_cosine, linear};
use crate::GradientError;
use crate::error::{require, require_not_negative, require_positive};

pub(super) fn default_min_rate() -> f64 {
    1e-6
}

fn default_start_rate() -> f64 {
    1e-8
}

fn default_warmup() -> f64 {
    5.0
}

/// The settings of a linear rise that half a cosine follows.
///
/// `start + (base − start)·p/warmup` while `p < warmup`, then
/// `min + (base − min)(1 + cos(π(p − warmup)/(total − warmup)))/2`, and `min` from `total` on.
/// The second part is that of Loshchilov and Hutter, "SGDR", ICLR 2017, without restarts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WarmupCosine {
    /// The rate at the end of the warm-up.
    pub base_rate: f64,
    /// The rate at position 0 (default 1e-8).
    #[serde(default = "default_start_rate")]
    pub start_rate: f64,
    /// The rate at the end and after it (default 1e-6).
    #[serde(default = "default_min_rate")]
    pub min_rate: f64,
    /// How long the warm-up is (default 5); 0 for none.
    #[serde(default = "default_warmup")]
    pub warmup: f64,
    /// Where the cosine ends, counted from position 0.
    pub total: f64,
}

impl WarmupCosine {
    /// Creates settings with a warm-up of 5 from 1e-8, and a floor of 1e-6.
    #[must_use]
    pub const fn new(base_rate: f64, total: f64) -> Self {
        Self {
            base_rate,
            start_rate: 1e-8,
            min_rate: 1e-6,
            warmup: 5.0,
            total,
        }
    }

    /// Sets how long the warm-up is.
    #[must_use]
    pub const fn with_warmup(mut self, warmup: f64) -> Self {
        self.warmup = warmup;
        self
    }

    /// Sets the rate at position 0.
    #[must_use]
    pub const fn with_start_rate(mut self, start_rate: f64) -> Self {
        self.start_rate = start_rate;
        self
    }

    /// Sets the rate at the end.
    #[must_use]
    pub const fn with_min_rate(mut self, min_rate: f64) -> Self {
        self.min_rate = min_rate;
        self
    }

    pub(super) fn check(&self) -> Result<(), GradientError> {
        require_not_negative("base_rate", self.base_rate)?;
        require_not_negative("start_rate", self.start_rate)?;
        require_not_negative("min_rate", self.min_rate)?;
        require_not_negative("warmup", self.warmup)?;
        let holds = self.total.is_finite() && self.total > self.warmup;
        require(holds, "total", self.total, "a finite number above warmup")
    }

    pub(super) fn rate(&self, position: f64) -> f64 {
        // Never with a warm-up of 0, so nothing is divided by it.
        if position < self.warmup {
            let share = position / self.warmup;
            return linear(self.start_rate, self.base_rate, share);
        }
        let share = (position - self.warmup) / (self.total - self.warmup);
        half_cosine(self.base_rate, self.min_rate, share.min(1.0))
    }
}

/// The settings of half cosines that begin again, each from a lower peak.
///
/// Cycle `i` is `first_cycle·factorⁱ` long; at `p` inside it the rate is
/// `min + (base·decayⁱ − min)(1 + cos(πp/length))/2`, and `min` once `base·decayⁱ` is below it. With
/// `decay` 1 it is PyTorch's `CosineAnnealingWarmRestarts`, after Loshchilov and Hutter, "SGDR", ICLR 2017.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CosineRestarts {
    /// The rate at position 0.
    pub base_rate: f64,
    /// How long the first cycle is (`T_0`).
    pub first_cycle: f64,
    /// How many times as long as the one before each cycle is (`T_mult`; default 2); at least 1.
    #[serde(default = "default_factor")]
    pub factor: f64,
    /// The rate at the end of each cycle (`eta_min`; default 1e-6).
    #[serde(default = "default_min_rate")]
    pub min_rate: f64,
    /// What the peak is multiplied by at each restart (default 0.95).
    #[serde(default = "default_decay")]
    pub decay: f64,
}

fn default_factor() -> f64 {
    2.0
}

fn default_decay() -> f64 {
    0.95
}

impl CosineRestarts {
    /// Creates settings with factor 2, floor 1e-6 and decay 0.95.
    #[must_use]
    pub const fn new(base_rate: f64, first_cycle: f64) -> Self {
        Self {
            base_rate,
            first_cycle,
            factor: 2.0,
            min_rate: 1e-6,
            decay: 0.95,
        }
    }

    /// Sets how many times as long as the one before each cycle is.
    #[must_use]
    pub const fn with_factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// Sets the rate at the end of each cycle.
    #[must_use]
    pub const fn with_min_rate(mut self, min_rate: f64) -> Self {
        self.min_rate = min_rate;
        self
    }

    /// Sets what the peak is multiplied by at each restart.
    #[must_use]
    pub const fn with_decay(mut self, decay: f64) -> Self {
        self.decay = decay;
        self
    }

    pub(super) fn check(&self) -> Result<(), GradientError> {
        require_not_negative("base_rate", self.base_rate)?;
        require_positive("first_cycle", self.first_cycle)?;
        // Below 1 the cycles would shrink and end at a finite position.
        let holds = self.factor.is_finite() && self.factor >= 1.0;
        require(
            holds,
            "factor",
            self.factor,
            "a finite number of at least 1",
        )?;
        require_not_negative("min_rate", self.min_rate)?;
        require_positive("decay", self.decay)
    }

    /// Returns the number of the cycle at a position, and the share of it that is over.
    fn cycle(&self, position: f64) -> (f64, f64) {
        let cycles = position / self.first_cycle;
        // The logarithm of 1 is 0: equal cycles are counted by division.
        if self.factor == 1.0 {
            let cycle = cycles.floor();
            return (cycle, cycles - cycle);
        }
        // Cycle i begins after (factorⁱ − 1)/(factor − 1) first cycles, solved for i.
        let exponent = libm::log(1.0 + cycles * (self.factor - 1.0)) / libm::log(self.factor);
        let begin = |cycle: f64| (libm::pow(self.factor, cycle) - 1.0) / (self.factor - 1.0);
        let mut cycle = exponent.floor();
        // A logarithm is rounded: at a restart it may name the cycle beside.
        if begin(cycle + 1.0) <= cycles {
            cycle += 1.0;
        } else if begin(cycle) > cycles {
            cycle -= 1.0;
        }
        let share = (cycles - begin(cycle)) / libm::pow(self.factor, cycle);
        (cycle, share)
    }

    pub(super) fn rate(&self, position: f64) -> f64 {
        let (cycle, share) = self.cycle(position);
        // A peak that has decayed below the floor would make the rate rise inside a cycle.
        let peak = (self.base_rate * libm::pow(self.decay, cycle)).max(self.min_rate);
        half_cosine(peak, self.min_rate, share.clamp(0.0, 1.0))
    }
}

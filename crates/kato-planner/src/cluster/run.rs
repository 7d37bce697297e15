//! The run that is simulated.

use serde::Serialize;

use crate::PlanError;
use crate::error::{above_zero, at_least_zero};

/// A run on many machines.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusterRun {
    /// Tokens of the corpus.
    pub tokens: f64,
    /// Tasks of the plan.
    pub n_tasks: u64,
    /// Ranges of names.
    pub n_ranges: u64,
    /// Levels.
    pub n_levels: u64,
    /// Machines.
    pub n_workers: u64,
    /// Standard deviation of the logarithm of what a task takes.
    pub spread: f64,
    /// How often a machine dies in an hour.
    pub deaths_a_worker_hour: f64,
    /// Seconds until another takes its place.
    pub restart_seconds: f64,
    /// What decides lengths and deaths.
    pub seed: u64,
}

impl ClusterRun {
    /// Creates a run of three levels on one machine. Machines die once in a hundred hours and are back after
    /// a minute; tasks spread by a tenth.
    #[must_use]
    pub fn new(tokens: f64, n_tasks: u64) -> Self {
        Self {
            tokens,
            n_tasks,
            n_ranges: 1,
            n_levels: 3,
            n_workers: 1,
            spread: 0.1,
            deaths_a_worker_hour: 0.01,
            restart_seconds: 60.0,
            seed: 1,
        }
    }

    /// Sets the number of machines.
    #[must_use]
    pub fn with_workers(mut self, n_workers: u64) -> Self {
        self.n_workers = n_workers;
        self
    }

    /// Sets the number of ranges of names.
    #[must_use]
    pub fn with_ranges(mut self, n_ranges: u64) -> Self {
        self.n_ranges = n_ranges;
        self
    }

    /// Sets the number of levels.
    #[must_use]
    pub fn with_levels(mut self, n_levels: u64) -> Self {
        self.n_levels = n_levels;
        self
    }

    /// Sets the standard deviation of the logarithm of what a task takes.
    #[must_use]
    pub fn with_spread(mut self, spread: f64) -> Self {
        self.spread = spread;
        self
    }

    /// Sets how often a machine dies in an hour, and how many seconds pass until another is there.
    #[must_use]
    pub fn with_deaths(mut self, a_worker_hour: f64, restart_seconds: f64) -> Self {
        self.deaths_a_worker_hour = a_worker_hour;
        self.restart_seconds = restart_seconds;
        self
    }

    /// Sets what decides lengths and deaths.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Refuses numbers that no run has.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        above_zero("tokens", self.tokens)?;
        for (what, number) in [
            ("n_tasks", self.n_tasks),
            ("n_ranges", self.n_ranges),
            ("n_levels", self.n_levels),
            ("n_workers", self.n_workers),
        ] {
            above_zero(what, number as f64)?;
            // Each is an entry of a queue.
            if number > MOST {
                return Err(PlanError::Value {
                    what,
                    value: number as f64,
                    allowed: "at most 10 million",
                });
            }
        }
        if self.n_ranges.saturating_mul(self.n_levels) > MOST {
            return Err(PlanError::Value {
                what: "n_ranges times n_levels",
                value: self.n_ranges as f64 * self.n_levels as f64,
                allowed: "at most 10 million",
            });
        }
        if !(0.0..=2.0).contains(&self.spread) {
            return Err(PlanError::Value {
                what: "spread",
                value: self.spread,
                allowed: "a number from 0 to 2",
            });
        }
        at_least_zero("restart_seconds", self.restart_seconds)?;
        at_least_zero("deaths_a_worker_hour", self.deaths_a_worker_hour)?;
        Ok(())
    }
}

/// Most tasks, ranges, levels or machines.
const MOST: u64 = 10_000_000;

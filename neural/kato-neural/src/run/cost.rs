//! What a run will take, from its first steps.

use serde::Serialize;

use super::peak_bytes;

/// What a run will take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunCost {
    /// Trained numbers of the model.
    pub n_parameters: usize,
    /// Optimiser steps of all epochs.
    pub n_steps: u64,
    /// Seconds an optimiser step.
    pub step_s: f64,
    /// Seconds of a judgement of all that validates.
    pub judge_s: f64,
    /// Hours of all epochs, judgements included, if nothing stops the run early.
    pub hours: f64,
    /// The most memory of this process so far; `None` where the system does not tell.
    pub peak_bytes: Option<u64>,
    /// Bytes of a checkpoint: weights and two moments.
    pub checkpoint_bytes: u64,
}

impl RunCost {
    /// Computes it from a measured step and a measured judgement, each in seconds, for a run of so many
    /// steps and epochs.
    #[must_use]
    pub fn new(
        n_parameters: usize,
        (n_steps, n_epochs): (u64, u64),
        (step_s, judge_s): (f64, f64),
    ) -> Self {
        Self {
            n_parameters,
            n_steps,
            step_s,
            judge_s,
            hours: (n_steps as f64 * step_s + n_epochs as f64 * judge_s) / 3600.0,
            peak_bytes: peak_bytes(),
            checkpoint_bytes: 3 * 4 * n_parameters as u64,
        }
    }
}

//! Several micro-batches for one optimizer step, each with its exact share.

use std::ops::Range;

use crate::GradientError;
use crate::error::require;

/// Which micro-batches make up each optimizer step of an epoch.
///
/// The last group may be smaller; it is stepped like every other. Schedules count
/// [`n_steps`](Self::n_steps), which are optimizer steps, and not batches.
///
/// ```
/// use kato_gradient::accumulation::AccumulationPlan;
///
/// let plan = AccumulationPlan::new(10, 4)?;
/// assert_eq!(plan.groups().collect::<Vec<_>>(), [0..4, 4..8, 8..10]);
/// assert_eq!(plan.n_steps(), 3);
/// assert!(plan.is_step_after(3) && plan.is_step_after(9) && !plan.is_step_after(8));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccumulationPlan {
    n_batches: usize,
    group_size: usize,
}

impl AccumulationPlan {
    /// Creates the plan of an epoch with this many micro-batches, `group_size` to a step.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] when the group size is 0.
    pub fn new(n_batches: usize, group_size: usize) -> Result<Self, GradientError> {
        require(group_size > 0, "group_size", group_size, "at least 1")?;
        Ok(Self {
            n_batches,
            group_size,
        })
    }

    /// Creates the plan whose groups have at least `target` items, of micro-batches of
    /// `batch_size`.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] when either size is 0.
    pub fn from_target(
        n_batches: usize,
        batch_size: usize,
        target: usize,
    ) -> Result<Self, GradientError> {
        require(batch_size > 0, "batch_size", batch_size, "at least 1")?;
        require(target > 0, "target", target, "at least 1")?;
        // Rounded up: a step of more items than asked for is steadier, one of fewer is not.
        Self::new(n_batches, target.div_ceil(batch_size))
    }

    /// Returns how many micro-batches a group has; the last of an epoch may have fewer.
    #[must_use]
    pub const fn group_size(&self) -> usize {
        self.group_size
    }

    /// Returns how many optimizer steps the epoch has, that of the last partial group included.
    #[must_use]
    pub const fn n_steps(&self) -> usize {
        self.n_batches.div_ceil(self.group_size)
    }

    /// Returns the micro-batches of an optimizer step, counted from 0; empty after the last.
    #[must_use]
    pub fn group(&self, step: usize) -> Range<usize> {
        // A step behind the last has no micro-batches rather than wrong ones.
        let begin = step.saturating_mul(self.group_size).min(self.n_batches);
        begin..begin.saturating_add(self.group_size).min(self.n_batches)
    }

    /// Iterates over the groups of the epoch.
    #[must_use]
    pub fn groups(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        (0..self.n_steps()).map(|step| self.group(step))
    }

    /// Returns whether the optimizer steps after this micro-batch, counted from 0.
    #[must_use]
    pub const fn is_step_after(&self, batch: usize) -> bool {
        let next = batch.saturating_add(1);
        next.is_multiple_of(self.group_size) || next == self.n_batches
    }
}

/// Returns what the mean loss of each micro-batch of a group is multiplied by, so that the sum
/// is the mean over all tokens of the group: `tokens[i] / Σ tokens`.
///
/// The division is the only rounding. With `1 / group_size` instead, a token of a short batch
/// would weigh more than one of a long batch, and the last partial group would be too small.
/// All weights are 0 where no token counts; such a group has nothing to learn from.
///
/// ```
/// use kato_gradient::accumulation::token_weights;
///
/// assert_eq!(token_weights(&[300, 100]), [0.75, 0.25]);
/// assert_eq!(token_weights(&[0, 0]), [0.0, 0.0]);
/// ```
#[must_use]
pub fn token_weights(n_tokens: &[u64]) -> Vec<f64> {
    // A sum of `u64` in `u128` cannot overflow.
    let total: u128 = n_tokens.iter().map(|n| u128::from(*n)).sum();
    // 0 / 1 where there is nothing to divide by.
    let total = total.max(1) as f64;
    n_tokens.iter().map(|n| *n as f64 / total).collect()
}

/// Splits a batch that does not fit into micro-batches of at most `max_items`, about equally
/// large.
///
/// Together with [`token_weights`] they give the gradient of the whole batch.
///
/// # Errors
///
/// [`GradientError::Setting`] when `max_items` is 0.
///
/// ```
/// use kato_gradient::accumulation::split_batch;
///
/// assert_eq!(split_batch(10, 4)?, [0..3, 3..6, 6..10]);
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
pub fn split_batch(n_items: usize, max_items: usize) -> Result<Vec<Range<usize>>, GradientError> {
    require(max_items > 0, "max_items", max_items, "at least 1")?;
    // As few parts as there can be, then of equal size: a small last one would use the machine
    // badly.
    let n_parts = n_items.div_ceil(max_items);
    let edge = |part: usize| (part as u128 * n_items as u128 / n_parts as u128) as usize;
    Ok((0..n_parts)
        .map(|part| edge(part)..edge(part + 1))
        .collect())
}

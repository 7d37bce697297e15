//! Divides a batch into tasks, which run whole sequences without meeting one another.

use super::layer::At;
use crate::error::{Error, check};

/// Rows of a task at most: two pairs, between which a panel stays in the cache.
const MAX_ROWS: usize = 16;
/// Rows of a run at most.
const RUN: usize = 128;
/// Rows of a strip.
const STRIP: usize = 8;

/// Sequences of a batch that one task runs.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Places in the batch, longest sequence first.
    pub(super) rows: Vec<usize>,
    /// Lengths of these sequences.
    pub(super) lengths: Vec<usize>,
    /// Sequences that are longer than a step, for each step: the first ones.
    pub(super) active: Vec<usize>,
    /// Rows of the tape that hold a valid step, in order.
    pub(super) valid: Vec<u32>,
}

impl Plan {
    /// Number of steps that any sequence has.
    pub(super) const fn n_steps(&self) -> usize {
        self.active.len()
    }

    /// Number of sequences, which is the distance from a step to the next on the tape.
    pub(super) const fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns a number that no other row of the batch and no other step has, for dropout.
    pub(super) fn number(&self, t: usize, r: usize) -> u64 {
        crate::dropout::number(t, self.rows[r])
    }

    /// Returns the valid rows in runs that lie together: some steps that all rows have, or one step.
    /// Weights are read once for a run, and its rows stay in the cache.
    pub(super) fn runs(&self) -> impl Iterator<Item = At> + '_ {
        let n_rows = self.n_rows();
        let most = RUN / n_rows.max(1);
        let mut t = 0;
        std::iter::from_fn(move || {
            let active = *self.active.get(t)?;
            let whole = self.active[t..]
                .iter()
                .take(most)
                .take_while(|&&active| active == n_rows);
            // Where some have ended, a step stands alone: rows between would hold nothing valid.
            let steps = whole.count().max(1);
            let active = if steps > 1 { steps * n_rows } else { active };
            let run = At { t, n_rows, active };
            t += steps;
            Some(run)
        })
    }

    /// Fills the plan for rows with these lengths.
    fn fill(&mut self, rows: &[usize], length: impl Fn(usize) -> usize) {
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.lengths.clear();
        self.lengths.extend(rows.iter().map(|&row| length(row)));
        let steps = self.lengths.first().copied().unwrap_or(0);
        self.active.clear();
        self.valid.clear();
        for t in 0..steps {
            // Lengths fall along the rows, so those that go on are the first ones.
            let active = self.lengths.partition_point(|&length| length > t);
            self.active.push(active);
            let first = t * self.rows.len();
            self.valid
                .extend((first..first + active).map(|row| row as u32));
        }
    }
}

/// Divides a batch: a function of its size and lengths alone, so that sums have one order.
pub(super) fn divide<T: Default + AsMut<Plan>>(
    tasks: &mut Vec<T>,
    order: &mut Vec<usize>,
    batch: usize,
    steps: usize,
    lengths: Option<&[usize]>,
) -> Result<(), Error> {
    if batch.saturating_mul(steps) > u32::MAX as usize {
        return Err(Error::Option {
            option: "batch",
            reason: "at most 2³² rows over all steps",
        });
    }
    // Kept from call to call, as everything that a pass needs.
    order.clear();
    order.extend(0..batch);
    if let Some(lengths) = lengths {
        check("lengths", "batch", lengths.len(), batch)?;
        if lengths.iter().any(|&length| length > steps) {
            return Err(Error::Option {
                option: "lengths",
                reason: "at most the number of steps",
            });
        }
        // Sequences of like length share a task, and the order of equal ones is the batch's. The
        // key holds the place, so a sort without a buffer keeps that order.
        order.sort_unstable_by_key(|&row| (std::cmp::Reverse(lengths[row]), row));
    }
    // Two threads should have work, and a strip should be full.
    let rows = batch
        .div_ceil(2)
        .next_multiple_of(STRIP)
        .clamp(STRIP, MAX_ROWS);
    let n_tasks = batch.div_ceil(rows);
    // Tasks that stay keep their buffers.
    tasks.truncate(n_tasks);
    tasks.resize_with(n_tasks, T::default);
    for (task, rows) in tasks.iter_mut().zip(order.chunks(rows)) {
        task.as_mut()
            .fill(rows, |row| lengths.map_or(steps, |lengths| lengths[row]));
    }
    Ok(())
}

//! Divides a batch into tasks, which run whole sequences without meeting one another.

use std::ops::Range;

use rayon::current_num_threads;

use super::layer::At;
use crate::error::{Error, check};

/// Rows of a unit at most: two strips, between which a panel stays in the cache.
const MAX_ROWS: usize = 16;
/// Units of a task at most: their rows read each weight once, and more would not fit the cache beside it.
const MAX_UNITS: usize = 4;
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
    /// Rows of the tape that hold a valid step: unit behind unit, of each one in order.
    valid: Vec<u32>,
    /// Where each unit's lie among them.
    units: Vec<Range<usize>>,
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

    /// Returns the valid rows of some steps in runs that lie together: steps that all rows have, or one step.
    /// Weights are read once for a run, and its rows stay in the cache.
    pub(super) fn runs(&self, steps: Range<usize>) -> impl Iterator<Item = At> + '_ {
        let n_rows = self.n_rows();
        let most = RUN / n_rows.max(1);
        let mut rest = &self.active[steps.clone()];
        let mut t = steps.start;
        std::iter::from_fn(move || {
            let active = *rest.first()?;
            let whole = rest
                .iter()
                .take(most)
                .take_while(|&&active| active == n_rows);
            // Where some have ended, a step stands alone: rows between would hold nothing valid.
            let steps = whole.count().max(1);
            let active = if steps > 1 { steps * n_rows } else { active };
            let run = At { t, n_rows, active };
            rest = &rest[steps..];
            t += steps;
            Some(run)
        })
    }

    /// Fills the plan for rows with these lengths, of which so many are a unit.
    fn fill(&mut self, rows: &[usize], per_unit: usize, length: impl Fn(usize) -> usize) {
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.lengths.clear();
        self.lengths.extend(rows.iter().map(|&row| length(row)));
        let steps = self.lengths.first().copied().unwrap_or(0);
        self.active.clear();
        // Lengths fall along the rows, so those that go on are the first ones.
        let active = |t| self.lengths.partition_point(|&length| length > t);
        self.active.extend((0..steps).map(active));
        self.valid.clear();
        self.units.clear();
        for first in (0..rows.len()).step_by(per_unit) {
            let begun = self.valid.len();
            for (t, &active) in self.active.iter().enumerate() {
                let until = active.clamp(first, first + per_unit);
                let place = |row| (t * rows.len() + row) as u32;
                self.valid.extend((first..until).map(place));
            }
            self.units.push(begun..self.valid.len());
        }
    }
}

/// Counts the units of all tasks.
pub(super) fn n_units<T: AsRef<Plan>>(tasks: &[T]) -> usize {
    tasks.iter().map(|task| task.as_ref().units.len()).sum()
}

/// Returns a unit's task, and its valid rows. Sums over rows run through the units by number, however many a task has.
pub(super) fn unit<T: AsRef<Plan>>(tasks: &[T], number: usize) -> (&T, &[u32]) {
    // All tasks but the last have as many as the first.
    let per_task = tasks[0].as_ref().units.len();
    let task = &tasks[number / per_task];
    let plan = task.as_ref();
    (task, &plan.valid[plan.units[number % per_task].clone()])
}

/// Divides a batch into units, a function of its size and lengths alone, so that sums have one order; and deals
/// these out to as many tasks as there are threads, or more. A task reads weights once for all its units.
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
    let n_units = batch.div_ceil(rows);
    let units = (n_units / current_num_threads()).clamp(1, MAX_UNITS);
    let n_tasks = n_units.div_ceil(units);
    // Tasks that stay keep their buffers.
    tasks.truncate(n_tasks);
    tasks.resize_with(n_tasks, T::default);
    for (task, of_task) in tasks.iter_mut().zip(order.chunks(rows * units)) {
        let length = |row: usize| lengths.map_or(steps, |lengths| lengths[row]);
        task.as_mut().fill(of_task, rows, length);
    }
    Ok(())
}

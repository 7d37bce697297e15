//! Batches one after another over all epochs, and the place among them.

use serde::{Deserialize, Serialize};

use super::{EpochPlan, Replica, Sampler};
use crate::GradientError;

/// A place between two batches, to be saved with a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SamplerPosition {
    /// The epoch of the next batch, counted from 0.
    pub epoch: u64,
    /// The next batch, counted from 0 inside its epoch.
    pub batch: u64,
    /// What the order depends on: items, lengths, settings and seed.
    pub fingerprint: u32,
}

/// One batch, or one replica's part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedBatch {
    /// Its epoch, counted from 0.
    pub epoch: u64,
    /// Its number inside the epoch, counted from 0.
    pub index: usize,
    /// The indices of its items; there may be none where there are more replicas than items.
    pub items: Vec<usize>,
    /// Whether it is the last of its epoch.
    pub ends_epoch: bool,
}

/// Iterates over the batches of one epoch after the other, without end.
///
/// ```
/// use kato_gradient::sampler::{PlannedBatches, Sampler, Shuffled};
///
/// let sampler = Sampler::from_n_items(Shuffled::new(4), 10, 7)?;
/// let mut whole = PlannedBatches::new(sampler.clone());
/// whole.nth(3); // three batches an epoch: one of the second epoch is taken
/// let resumed = PlannedBatches::resume(sampler, whole.position())?;
/// assert!(whole.take(20).eq(resumed.take(20)));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PlannedBatches {
    sampler: Sampler,
    replica: Replica,
    epoch: u64,
    next: usize,
    plan: EpochPlan,
    fingerprint: u32,
}

impl PlannedBatches {
    /// Begins with the first epoch.
    #[must_use]
    pub fn new(sampler: Sampler) -> Self {
        Self {
            replica: Replica::SINGLE,
            epoch: 0,
            next: 0,
            plan: sampler.plan(0),
            fingerprint: sampler.fingerprint(),
            sampler,
        }
    }

    /// Goes on from a saved position; nothing of what came before is made again.
    ///
    /// # Errors
    ///
    /// [`GradientError::State`] when the position was saved with other items, settings or seed.
    pub fn resume(sampler: Sampler, position: SamplerPosition) -> Result<Self, GradientError> {
        let refused = |why: String| GradientError::State {
            what: "position of the sampler",
            why,
        };
        let fingerprint = sampler.fingerprint();
        // Another order would repeat some items and pass over others without a word.
        if fingerprint != position.fingerprint {
            let why = "items, lengths, settings or seed are others".to_owned();
            return Err(refused(why));
        }
        // Saved with 64 bits, so that a position can be carried between machines.
        let next = usize::try_from(position.batch).unwrap_or(usize::MAX);
        if next >= sampler.n_batches() {
            let n_batches = sampler.n_batches();
            return Err(refused(format!(
                "batch {next} of an epoch of {n_batches} batches"
            )));
        }
        Ok(Self {
            replica: Replica::SINGLE,
            epoch: position.epoch,
            next,
            plan: sampler.plan(position.epoch),
            fingerprint,
            sampler,
        })
    }

    /// Takes one replica's part of each batch. The position is the same for all replicas.
    #[must_use]
    pub const fn with_replica(mut self, replica: Replica) -> Self {
        self.replica = replica;
        self
    }

    /// Returns the place before the next batch.
    #[must_use]
    pub const fn position(&self) -> SamplerPosition {
        SamplerPosition {
            epoch: self.epoch,
            batch: self.next as u64,
            fingerprint: self.fingerprint,
        }
    }

    /// Returns the sampler.
    #[must_use]
    pub const fn sampler(&self) -> &Sampler {
        &self.sampler
    }
}

impl Iterator for PlannedBatches {
    type Item = PlannedBatch;

    fn next(&mut self) -> Option<PlannedBatch> {
        // An empty part is a batch as well: every replica has to take part in each step.
        let items = self.plan.part(self.next, self.replica)?;
        let mut batch = PlannedBatch {
            epoch: self.epoch,
            index: self.next,
            items: items.to_vec(),
            ends_epoch: false,
        };
        self.next += 1;
        if self.next == self.plan.n_batches() {
            batch.ends_epoch = true;
            // Moved on at once, so that a position is never behind the last batch of an epoch.
            self.epoch += 1;
            self.next = 0;
            self.plan = self.sampler.plan(self.epoch);
        }
        Some(batch)
    }
}

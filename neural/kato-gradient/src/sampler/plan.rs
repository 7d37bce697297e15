//! The batches of one epoch, each of which can be asked for alone.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::require;

/// One of several replicas that share the batches.
///
/// ```
/// use kato_gradient::sampler::Replica;
///
/// // Ten items over three replicas.
/// let parts = (0..3).map(|rank| Replica::new(rank, 3).map(|replica| replica.part(10)));
/// assert_eq!(parts.collect::<Result<Vec<_>, _>>()?, [0..3, 3..6, 6..10]);
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReplicaFields", into = "ReplicaFields")]
pub struct Replica {
    rank: usize,
    n_replicas: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplicaFields {
    rank: usize,
    n_replicas: usize,
}

impl Replica {
    /// The only replica.
    pub const SINGLE: Self = Self {
        rank: 0,
        n_replicas: 1,
    };

    /// Creates the replica with a number, counted from 0.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] when the number is none of the replicas'.
    pub fn new(rank: usize, n_replicas: usize) -> Result<Self, GradientError> {
        require(
            rank < n_replicas,
            "rank",
            rank,
            "a number below n_replicas, counted from 0",
        )?;
        Ok(Self { rank, n_replicas })
    }

    /// Returns which of `n_items` are this replica's.
    ///
    /// The parts of all replicas are in order, hold each item once, and differ by at most one in
    /// size. Where there are more replicas than items, some parts are empty.
    #[must_use]
    pub fn part(&self, n_items: usize) -> Range<usize> {
        let edge = |rank: usize| {
            // The product of two sizes may be more than a size can hold; the quotient is at most
            // `n_items`.
            (rank as u128 * n_items as u128 / self.n_replicas as u128) as usize
        };
        // Neighbours share an edge, so no item is in two parts or in none.
        edge(self.rank)..edge(self.rank + 1)
    }
}

impl TryFrom<ReplicaFields> for Replica {
    type Error = GradientError;

    fn try_from(fields: ReplicaFields) -> Result<Self, GradientError> {
        Self::new(fields.rank, fields.n_replicas)
    }
}

impl From<Replica> for ReplicaFields {
    fn from(replica: Replica) -> Self {
        Self {
            rank: replica.rank,
            n_replicas: replica.n_replicas,
        }
    }
}

/// All batches of one epoch, as indices of items.
///
/// Any batch can be asked for alone and by any thread, so which worker prepares it changes
/// nothing, and going on in the middle of an epoch skips in constant time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochPlan {
    items: Vec<usize>,
    /// Where in `items` each batch ends.
    ends: Vec<usize>,
    n_dropped: usize,
}

impl EpochPlan {
    /// Joins batches in their order.
    pub(super) fn from_batches<'a>(
        batches: impl IntoIterator<Item = &'a [usize]>,
        n_items: usize,
    ) -> Self {
        let mut items = Vec::with_capacity(n_items);
        // One list and its cuts rather than a list a batch: two allocations an epoch.
        let mut ends = Vec::new();
        for batch in batches {
            items.extend_from_slice(batch);
            ends.push(items.len());
        }
        // Said, so that nothing is left out in silence.
        let n_dropped = n_items - items.len();
        Self {
            items,
            ends,
            n_dropped,
        }
    }

    /// Returns how many batches there are.
    #[must_use]
    pub fn n_batches(&self) -> usize {
        self.ends.len()
    }

    /// Returns how many items `drop_last` leaves out of this epoch.
    #[must_use]
    pub const fn n_dropped(&self) -> usize {
        self.n_dropped
    }

    /// Returns the items of a batch, counted from 0; none after the last.
    #[must_use]
    pub fn batch(&self, index: usize) -> Option<&[usize]> {
        let end = *self.ends.get(index)?;
        // A batch begins where the one before it ends.
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.items[begin..end])
    }

    /// Returns the part of a batch that one replica computes; none after the last batch.
    ///
    /// The batches are the same for any number of replicas, and each item is in one part. The
    /// part may be empty where there are more replicas than items.
    #[must_use]
    pub fn part(&self, index: usize, replica: Replica) -> Option<&[usize]> {
        self.batch(index)
            .map(|batch| &batch[replica.part(batch.len())])
    }

    /// Iterates over the batches.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[usize]> {
        (0..self.n_batches()).map(|index| self.batch(index).unwrap_or_default())
    }
}

//! Talk between replicas that train one model together: threads, or processes.
//!
//! All that is needed is that each one's bytes reach every other. Sums are made from them in the
//! order of ranks, so that every replica has the same bits, and has them again in another run.

mod tcp;
mod threads;

use std::fmt::Debug;
use std::time::Duration;

use bytemuck::Pod;

pub use tcp::{TcpGroup, TcpOptions};
pub use threads::ThreadGroup;

/// One of several replicas, of which every one makes the same calls in the same order.
pub trait Collective: Debug + Send + Sync {
    /// The number of this replica, from 0.
    fn rank(&self) -> usize;

    /// How many replicas there are.
    fn n_ranks(&self) -> usize;

    /// Hands bytes to all replicas, and returns what each has handed over, by rank; waits for the
    /// slowest. Each may hand over another number of bytes.
    ///
    /// # Errors
    ///
    /// Where another replica is gone, or does not answer in time.
    fn gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError>;
}

/// Why replicas could not talk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectiveError {
    /// Another replica has ended or failed.
    #[error(
        "another replica is gone; look at its error, and begin all of them from the last checkpoint"
    )]
    Gone,
    /// A connection failed.
    #[error("rank {rank}: {action}; begin all replicas from the last checkpoint")]
    Connection {
        /// Who tells it.
        rank: usize,
        /// What was tried.
        action: &'static str,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// Another replica has said nothing for too long.
    #[error(
        "replica {rank} has said nothing for {} s: it is stopped, or its share takes longer; begin all from the last checkpoint, with a longer limit if need be",
        waited.as_secs()
    )]
    Silent {
        /// Which one.
        rank: usize,
        /// How long it was waited for.
        waited: Duration,
    },
    /// Not all replicas came together in time.
    #[error(
        "{n_missing} of {n_ranks} replicas did not come within {} s, replica {first} among them; start them, or give them longer",
        waited.as_secs()
    )]
    Missing {
        /// How many are missing.
        n_missing: usize,
        /// The first of them.
        first: usize,
        /// How many there should be.
        n_ranks: usize,
        /// How long they were waited for.
        waited: Duration,
    },
    /// What another replica says does not fit.
    #[error("replicas do not fit together: {reason}; start all with the same settings and program")]
    Mismatch {
        /// What differs.
        reason: String,
    },
}

impl CollectiveError {
    /// Returns whether it tells only that another replica has ended, whose own error says more.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Gone | Self::Connection { .. })
    }
}

/// Returns what each replica has handed over, as numbers.
pub(crate) fn gather_numbers<T: Pod>(
    collective: &dyn Collective,
    mine: &[T],
) -> Result<Vec<Vec<T>>, CollectiveError> {
    let all = collective.gather(bytemuck::cast_slice(mine))?;
    // Copied: bytes of another replica need not lie where numbers may.
    let numbers = all.iter().map(|bytes| {
        debug_assert!(
            bytes.len().is_multiple_of(size_of::<T>()),
            "numbers are whole"
        );
        bytemuck::pod_collect_to_vec(bytes)
    });
    Ok(numbers.collect())
}

/// Adds what each replica has, in the order of ranks.
pub(crate) fn sum_f32(
    collective: &dyn Collective,
    values: &mut [f32],
) -> Result<(), CollectiveError> {
    let all = gather_numbers(collective, values)?;
    // From zero and in the order of ranks: the own share waits for its turn, as everywhere.
    values.fill(0.0);
    for other in all {
        // Another model would be added in part without a word.
        if other.len() != values.len() {
            let reason = format!("{} numbers to be added to {}", other.len(), values.len());
            return Err(CollectiveError::Mismatch { reason });
        }
        values
            .iter_mut()
            .zip(other)
            .for_each(|(sum, other)| *sum += other);
    }
    Ok(())
}

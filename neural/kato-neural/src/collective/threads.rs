//! Replicas that are threads of one process.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::{Collective, CollectiveError};

/// One of several threads that train together.
///
/// ```
/// use kato_neural::collective::{Collective, ThreadGroup};
///
/// let said = std::thread::scope(|scope| {
///     let threads = ThreadGroup::split(2)
///         .into_iter()
///         .map(|replica| scope.spawn(move || replica.gather(&[replica.rank() as u8; 2])));
///     let threads: Vec<_> = threads.collect();
///     threads
///         .into_iter()
///         .map(|thread| thread.join().expect("no panic"))
///         .collect::<Result<Vec<_>, _>>()
/// })?;
/// assert_eq!(said, [[[0, 0], [1, 1]], [[0, 0], [1, 1]]]);
/// # Ok::<(), kato_neural::collective::CollectiveError>(())
/// ```
#[derive(Debug)]
pub struct ThreadGroup {
    rank: usize,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    n_ranks: usize,
    round: Mutex<Round>,
    changed: Condvar,
}

/// One exchange: all hand over, then all take.
#[derive(Debug, Default)]
struct Round {
    number: u64,
    given: Vec<Option<Vec<u8>>>,
    result: Arc<Vec<Vec<u8>>>,
    is_broken: bool,
}

impl ThreadGroup {
    /// Makes `n_ranks` replicas, one for each thread.
    ///
    /// # Panics
    ///
    /// Panics if there are none.
    #[must_use]
    pub fn split(n_ranks: usize) -> Vec<Self> {
        assert!(n_ranks > 0, "at least one replica");
        let round = Round {
            given: vec![None; n_ranks],
            ..Round::default()
        };
        let shared = Arc::new(Shared {
            n_ranks,
            round: Mutex::new(round),
            changed: Condvar::new(),
        });
        let ranks = (0..n_ranks).map(|rank| Self {
            rank,
            shared: Arc::clone(&shared),
        });
        ranks.collect()
    }
}

impl Collective for ThreadGroup {
    fn rank(&self) -> usize {
        self.rank
    }

    fn n_ranks(&self) -> usize {
        self.shared.n_ranks
    }

    fn gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        let shared = &self.shared;
        let mut round = shared.round.lock().unwrap_or_else(PoisonError::into_inner);
        if round.is_broken {
            return Err(CollectiveError::Gone);
        }
        let number = round.number;
        // A copy, as this replica may go on and change its own before others have read it.
        round.given[self.rank] = Some(mine.to_vec());
        if round.given.iter().all(Option::is_some) {
            // The last one ends the round; the place is free for the next at once, as each of the
            // others holds the result before it can hand over anything again.
            let given = round.given.iter_mut().filter_map(mem::take);
            round.result = Arc::new(given.collect());
            round.number += 1;
            shared.changed.notify_all();
        }
        while round.number == number {
            if round.is_broken {
                return Err(CollectiveError::Gone);
            }
            let woken = shared.changed.wait(round);
            round = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let result = Arc::clone(&round.result);
        // Copied outside of the lock.
        drop(round);
        Ok(result.to_vec())
    }
}

impl Drop for ThreadGroup {
    /// Those who wait for this one would wait for ever.
    fn drop(&mut self) {
        let mut round = self
            .shared
            .round
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        round.is_broken = true;
        self.shared.changed.notify_all();
    }
}

//! A budget of memory that all requests share, and the shares that they hold of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::time::{self, Instant};

/// Largest size of a share that counts as small, in bytes.
pub(crate) const SMALL: usize = 64 << 10;

/// Divisor of the part of a budget that only small shares may take, so that they are served while
/// large ones fill the rest.
const KEPT_FOR_SMALL: usize = 8;

/// A number of bytes that may be held at a time.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    held: AtomicUsize,
    freed: Notify,
}

/// A part of a budget that one holder has taken, returned when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: AtomicUsize,
}

/// The reason why a share cannot grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetError {
    /// Other shares hold too much at the moment.
    Exhausted,
    /// The share would be larger than any may be.
    TooLarge,
}

/// Returns the largest size of one share of a budget.
pub(crate) const fn largest_share(limit: usize) -> usize {
    limit - limit / KEPT_FOR_SMALL
}

impl Budget {
    /// Creates a budget of so many bytes.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            held: AtomicUsize::new(0),
            freed: Notify::new(),
        })
    }

    /// Creates a share that holds nothing yet.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share {
            budget: Arc::clone(self),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Returns the bytes that all shares hold at the moment.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns the largest size of one share.
    const fn largest(&self) -> usize {
        largest_share(self.limit)
    }

    /// Takes bytes for a share that will hold `total`.
    fn take(&self, bytes: usize, total: usize) -> Result<(), BudgetError> {
        if total > self.largest() {
            return Err(BudgetError::TooLarge);
        }
        // By the size of the whole share, not of this step: a large share that grows in small steps
        // must not use up what is kept for small ones.
        let ceiling = if total <= SMALL {
            self.limit
        } else {
            self.largest()
        };
        let fits = |held: usize| held.checked_add(bytes).filter(|held| *held <= ceiling);
        // Test and increase in one atomic step, so that the sum never exceeds the ceiling. Relaxed
        // is enough: the counter guards no other memory.
        let taken = self
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        taken.map(drop).map_err(|_| BudgetError::Exhausted)
    }

    /// Returns bytes to the budget and wakes those that wait for room.
    fn release(&self, bytes: usize) {
        if bytes > 0 {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
            self.freed.notify_waiters();
        }
    }
}

impl Share {
    /// Returns the bytes that the share holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the most bytes that the share may hold.
    pub(crate) fn most(&self) -> usize {
        self.budget.largest()
    }

    /// Takes more bytes if there is room right now.
    pub(crate) fn grow(&self, more: usize) -> Result<(), BudgetError> {
        self.budget
            .take(more, self.bytes().saturating_add(more))
            .inspect(|()| {
                self.bytes.fetch_add(more, Ordering::Relaxed);
            })
    }

    /// Takes more bytes as soon as there is room, or gives up at the deadline. A share that waits
    /// keeps what it holds, so two that wait for each other both wait in vain; and there is no
    /// queue, so that a large share never holds up a small one.
    pub(crate) async fn grow_until(
        &self,
        more: usize,
        deadline: Instant,
    ) -> Result<(), BudgetError> {
        loop {
            // Before the attempt: the future receives every `notify_waiters` from its creation on,
            // so bytes that are returned between the attempt and the waiting are not missed.
            let freed = self.budget.freed.notified();
            match self.grow(more) {
                Err(BudgetError::Exhausted) => {}
                settled => return settled,
            }
            if time::timeout_at(deadline, freed).await.is_err() {
                return Err(BudgetError::Exhausted);
            }
        }
    }

    /// Returns all but so many bytes to the budget.
    pub(crate) fn shrink_to(&self, bytes: usize) {
        // One atomic step, so that of two calls at a time each returns only what it has taken off.
        let before = self.bytes.fetch_min(bytes, Ordering::Relaxed);
        self.budget.release(before.saturating_sub(bytes));
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.release(*self.bytes.get_mut());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn shares_hold_no_more_than_the_budget_and_small_ones_find_room_beside_large_ones() {
        let budget = Budget::new(8 * SMALL);
        let (large, other) = (budget.share(), budget.share());
        assert_eq!(large.grow(7 * SMALL + 1), Err(BudgetError::TooLarge));
        assert_eq!(large.grow(4 * SMALL), Ok(()));
        assert_eq!(other.grow(4 * SMALL), Err(BudgetError::Exhausted));
        assert_eq!(other.grow(3 * SMALL), Ok(()));
        let small = budget.share();
        assert_eq!(small.grow(SMALL), Ok(()));
        assert_eq!(budget.share().grow(1), Err(BudgetError::Exhausted));
        large.shrink_to(SMALL);
        assert_eq!(budget.held(), 5 * SMALL);
        drop((large, other, small));
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test]
    async fn a_share_that_waits_grows_when_another_gives_back_and_gives_up_in_time() {
        let budget = Budget::new(8 * SMALL);
        let (first, second) = (budget.share(), budget.share());
        first.grow(7 * SMALL).unwrap();
        let soon = Instant::now() + Duration::from_millis(10);
        assert_eq!(
            second.grow_until(2 * SMALL, soon).await,
            Err(BudgetError::Exhausted)
        );
        let far = Instant::now() + Duration::from_secs(600);
        let waits = second.grow_until(2 * SMALL, far);
        let gives_back = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        assert_eq!(tokio::join!(waits, gives_back).0, Ok(()));
    }
}

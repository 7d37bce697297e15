//! Memory that requests may take, all together: a budget of bytes, and the shares that they hold of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::time::{self, Instant};

/// Bytes up to which a share is small.
pub(crate) const SMALL: usize = 64 << 10;

/// The part of a budget that only small shares may take, so that they are served while large ones fill the rest: one in so many.
const KEPT_FOR_SMALL: usize = 8;

/// Bytes that may be held at a time.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    held: AtomicUsize,
    freed: Notify,
}

/// What somebody holds of a budget, given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: AtomicUsize,
}

/// Why a share does not grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scarce {
    /// Others hold too much at the moment.
    Now,
    /// It would be more than anybody may hold.
    Ever,
}

/// The most that one share of a budget may hold.
pub(crate) const fn largest_share(limit: usize) -> usize {
    limit - limit / KEPT_FOR_SMALL
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            held: AtomicUsize::new(0),
            freed: Notify::new(),
        })
    }

    /// A share of nothing yet.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share {
            budget: Arc::clone(self),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Bytes that are held now.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    const fn largest(&self) -> usize {
        largest_share(self.limit)
    }

    /// Takes bytes for a share that will hold `total`.
    fn take(&self, bytes: usize, total: usize) -> Result<(), Scarce> {
        if total > self.largest() {
            return Err(Scarce::Ever);
        }
        let ceiling = if total <= SMALL {
            self.limit
        } else {
            self.largest()
        };
        let fits = |held: usize| held.checked_add(bytes).filter(|held| *held <= ceiling);
        let taken = self
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        taken.map(drop).map_err(|_| Scarce::Now)
    }

    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
            self.freed.notify_waiters();
        }
    }
}

impl Share {
    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The most that it may hold.
    pub(crate) fn most(&self) -> usize {
        self.budget.largest()
    }

    /// Takes more, if there is room right now.
    pub(crate) fn grow(&self, more: usize) -> Result<(), Scarce> {
        self.budget
            .take(more, self.bytes().saturating_add(more))
            .inspect(|()| {
                self.bytes.fetch_add(more, Ordering::Relaxed);
            })
    }

    /// Takes more as soon as there is room, or gives up at the deadline. Whoever waits keeps what it holds, so two that wait for
    /// each other both wait in vain; and nobody stands in a line, so that a large share never holds up a small one.
    pub(crate) async fn grow_until(&self, more: usize, deadline: Instant) -> Result<(), Scarce> {
        loop {
            let freed = self.budget.freed.notified();
            match self.grow(more) {
                Err(Scarce::Now) => {}
                settled => return settled,
            }
            if time::timeout_at(deadline, freed).await.is_err() {
                return Err(Scarce::Now);
            }
        }
    }

    /// Gives back all but so many bytes.
    pub(crate) fn shrink_to(&self, bytes: usize) {
        let before = self.bytes.fetch_min(bytes, Ordering::Relaxed);
        self.budget.give_back(before.saturating_sub(bytes));
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.give_back(*self.bytes.get_mut());
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
        assert_eq!(large.grow(7 * SMALL + 1), Err(Scarce::Ever));
        assert_eq!(large.grow(4 * SMALL), Ok(()));
        assert_eq!(other.grow(4 * SMALL), Err(Scarce::Now));
        assert_eq!(other.grow(3 * SMALL), Ok(()));
        let small = budget.share();
        assert_eq!(small.grow(SMALL), Ok(()));
        assert_eq!(budget.share().grow(1), Err(Scarce::Now));
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
        assert_eq!(second.grow_until(2 * SMALL, soon).await, Err(Scarce::Now));
        let far = Instant::now() + Duration::from_secs(600);
        let waits = second.grow_until(2 * SMALL, far);
        let gives_back = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        assert_eq!(tokio::join!(waits, gives_back).0, Ok(()));
    }
}

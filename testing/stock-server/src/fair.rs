//! Lock that is handed over in the order in which it was asked for.

use std::collections::VecDeque;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Lock of KATO's kind: asyncio's locks are fair, while those of the system need not be.
#[derive(Debug, Default)]
pub(crate) struct FairLock {
    queue: Mutex<Queue>,
}

/// Threads that wait, in order.
#[derive(Debug, Default)]
struct Queue {
    is_held: bool,
    waiting: VecDeque<Sender<()>>,
}

/// Guard of the lock. Dropping it hands the lock to the next in the queue.
#[derive(Debug)]
pub(crate) struct Held(Arc<FairLock>);

impl FairLock {
    /// Waits for all that asked before, and takes the lock.
    pub(crate) fn acquire(self: &Arc<Self>) -> Held {
        let turn = {
            let mut queue = self.queue();
            if queue.is_held {
                let (next, turn) = channel();
                queue.waiting.push_back(next);
                Some(turn)
            } else {
                queue.is_held = true;
                None
            }
        };
        if let Some(turn) = turn {
            turn.recv().expect("whoever holds it hands it over");
        }
        Held(Arc::clone(self))
    }

    /// Locks the queue, for a moment only.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        // The lock stays held while it is handed over, so that no newcomer can take it in between.
        match queue.waiting.pop_front() {
            // The receiver waits until it is its turn, so that sending cannot fail.
            Some(next) => drop(next.send(())),
            None => queue.is_held = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn first_come_first_served() {
        let lock = Arc::new(FairLock::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let held = lock.acquire();
        let waiters: Vec<_> = (0..8)
            .map(|idx| {
                let (own, order) = (Arc::clone(&lock), Arc::clone(&order));
                let waiter = thread::spawn(move || {
                    let _held = own.acquire();
                    order.lock().unwrap().push(idx);
                });
                kato_test_needs::wait_until("it waits", || lock.queue().waiting.len() > idx);
                waiter
            })
            .collect();
        drop(held);
        for waiter in waiters {
            waiter.join().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}

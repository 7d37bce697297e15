//! Permits for work, shared out by node, so that no node keeps the others waiting.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A number of permits, of which every node may have a share. The next free permit goes to a
/// request of the node that has the fewest permits; among equals to the node that was served least
/// recently, then to the request that came first.
#[derive(Debug, Clone)]
pub(super) struct FairSemaphore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    per_node: usize,
    queues: Mutex<Queues>,
}

#[derive(Debug)]
struct Queues {
    free: usize,
    /// Counts arrivals and services, to tell earlier from later ones.
    tick: u64,
    /// Nodes that work or wait, and no others, so that their number is bounded as requests are.
    by_node: HashMap<Arc<str>, Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    busy: usize,
    /// Tick at which a permit was given out last.
    served: u64,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    since: u64,
    turn: oneshot::Sender<Permit>,
}

/// A permit, returned when it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    /// `None` once it is returned.
    shared: Option<Arc<Shared>>,
    node: Arc<str>,
}

impl FairSemaphore {
    /// Creates so many permits, of which one node has a part at most.
    pub(super) fn new(n_permits: usize, per_node: usize) -> Self {
        let queues = Queues {
            free: n_permits,
            tick: 0,
            by_node: HashMap::new(),
        };
        Self(Arc::new(Shared {
            per_node,
            queues: Mutex::new(queues),
        }))
    }

    /// Returns how many permits one node may have.
    pub(super) fn per_node(&self) -> usize {
        self.0.per_node
    }

    /// Waits for a permit.
    pub(super) async fn acquire(&self, node: &str) -> Permit {
        let node: Arc<str> = Arc::from(node);
        let mut guard = WaitGuard {
            semaphore: self,
            turn: self.0.lock().enqueue(&node),
            node,
            is_done: false,
        };
        // After the queue has the request: if a permit is free, this gives it to the request
        // itself.
        self.0.grant_permits();
        let permit = (&mut guard.turn).await;
        guard.is_done = true;
        permit.expect("who waits is only forgotten when it is gone")
    }
}

/// A request that waits, removed from its queue when it is dropped.
struct WaitGuard<'a> {
    semaphore: &'a FairSemaphore,
    node: Arc<str>,
    turn: oneshot::Receiver<Permit>,
    is_done: bool,
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // From here on no permit can be sent to this request. One that was sent already is
            // dropped together with the receiver, which returns it; that takes the lock, and
            // happens after this function has released it.
            self.turn.close();
            self.semaphore.0.lock().remove_cancelled(&self.node);
        }
    }
}

impl Shared {
    /// Returns the queues, locked.
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives free permits to those whose turn it is.
    fn grant_permits(self: &Arc<Self>) {
        let mut queues = self.lock();
        while let Some((node, turn)) = queues.next(self.per_node) {
            let permit = Permit {
                shared: Some(Arc::clone(self)),
                node,
            };
            // The request may have gone at this very moment. Then the permit is returned here
            // rather than by its drop, which would take the lock that is held.
            if let Err(mut permit) = turn.send(permit) {
                mem::take(&mut permit.shared);
                queues.release(&permit.node);
            }
        }
    }
}

impl Queues {
    /// Adds a request to its node's queue.
    fn enqueue(&mut self, node: &Arc<str>) -> oneshot::Receiver<Permit> {
        self.tick += 1;
        let (turn, receiver) = oneshot::channel();
        let queue = self.by_node.entry(Arc::clone(node)).or_default();
        queue.waiting.push_back(Waiter {
            since: self.tick,
            turn,
        });
        receiver
    }

    /// Returns whose turn it is, if there is a permit for anybody; the permit counts as given out.
    fn next(&mut self, per_node: usize) -> Option<(Arc<str>, oneshot::Sender<Permit>)> {
        if self.free == 0 {
            return None;
        }
        let may_have = |queue: &Queue| queue.busy < per_node;
        let (node, queue) = self
            .by_node
            .iter_mut()
            .filter(|(_, queue)| may_have(queue) && !queue.waiting.is_empty())
            // Arrivals have distinct ticks, so the choice never depends on the order of the hash
            // map.
            .min_by_key(|(_, queue)| {
                let since = queue.waiting.front().map(|first| first.since);
                (queue.busy, queue.served, since)
            })?;
        let first = queue.waiting.pop_front()?;
        self.tick += 1;
        queue.served = self.tick;
        queue.busy += 1;
        self.free -= 1;
        Some((Arc::clone(node), first.turn))
    }

    /// Returns a permit of a node.
    fn release(&mut self, node: &Arc<str>) {
        self.free += 1;
        if let Some(queue) = self.by_node.get_mut(node) {
            queue.busy -= 1;
        }
        self.remove_cancelled(node);
    }

    /// Forgets the requests of a node that wait no more, and the node if none is left.
    fn remove_cancelled(&mut self, node: &Arc<str>) {
        let Some(queue) = self.by_node.get_mut(node) else {
            return;
        };
        queue.waiting.retain(|waiting| !waiting.turn.is_closed());
        if queue.busy == 0 && queue.waiting.is_empty() {
            self.by_node.remove(node);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            // The lock is released between the two calls; `grant_permits` takes it again.
            shared.lock().release(&self.node);
            shared.grant_permits();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    /// The permit, if there is one at once.
    async fn now(entering: &mut (impl Future<Output = Permit> + Unpin)) -> Option<Permit> {
        std::future::poll_fn(|cx| {
            let poll = std::pin::Pin::new(&mut *entering).poll(cx);
            Poll::Ready(match poll {
                Poll::Ready(permit) => Some(permit),
                Poll::Pending => None,
            })
        })
        .await
    }

    #[tokio::test]
    async fn a_node_has_its_share_at_most_and_others_find_a_place_at_once() {
        let semaphore = FairSemaphore::new(4, 2);
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(semaphore.acquire("a").await);
        }
        let mut third = Box::pin(semaphore.acquire("a"));
        assert!(now(&mut third).await.is_none());
        held.push(semaphore.acquire("b").await);
        held.push(semaphore.acquire("b").await);
        held.clear();
        assert!(now(&mut third).await.is_some());
    }

    #[tokio::test]
    async fn nodes_take_turns_however_many_of_one_wait() {
        let semaphore = FairSemaphore::new(1, 1);
        let held = semaphore.acquire("a").await;
        let mut of_a = Vec::new();
        for _ in 0..3 {
            let mut waiting = Box::pin(semaphore.acquire("a"));
            assert!(now(&mut waiting).await.is_none());
            of_a.push(waiting);
        }
        let mut of_b = Box::pin(semaphore.acquire("b"));
        assert!(now(&mut of_b).await.is_none());
        drop(held);
        // Node a was served last.
        assert!(now(&mut of_a[0]).await.is_none());
        let held = now(&mut of_b).await.expect("it is the turn of node b");
        drop(held);
        assert!(now(&mut of_a[0]).await.is_some());
        assert!(now(&mut of_a[1]).await.is_some());
    }

    #[tokio::test]
    async fn who_stops_waiting_takes_no_place_and_leaves_nothing_behind() {
        let semaphore = FairSemaphore::new(1, 1);
        let held = semaphore.acquire("a").await;
        for _ in 0..1000 {
            let mut gone = Box::pin(semaphore.acquire("b"));
            assert!(now(&mut gone).await.is_none());
        }
        assert_eq!(semaphore.0.lock().by_node.len(), 1);
        let mut granted = Box::pin(semaphore.acquire("c"));
        assert!(now(&mut granted).await.is_none());
        drop(held);
        // The permit was handed over, and its taker is gone.
        drop(granted);
        let held = semaphore.acquire("d").await;
        drop(held);
        assert!(semaphore.0.lock().by_node.is_empty());
        assert_eq!(semaphore.0.lock().free, 1);
    }
}

//! The heads of nodes and hierarchies of nodes: counted when they are first asked, and kept in step
//! with what the nodes are taught.

mod feed;
mod live;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard, TryLockError, TryLockResult,
};
use std::thread;
use std::time::Duration;

use kato_head::Head;
use kato_prediction::{Cancel, Cancelled};

pub(crate) use self::feed::Listeners;
use self::live::LiveHead;
pub(crate) use self::live::{Listing, bytes_of_listing};
use crate::ServiceError;
use crate::charge::{Charge, Charges};
use crate::node::LoadedNode;

/// Most heads that are kept.
const MAX_HEADS: usize = 64;

/// Time between two looks whether it is somebody's turn, who may have to give up meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// All heads of a service.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    slots: Mutex<Vec<Arc<Slot>>>,
    /// Held while one is counted, which takes memory beside those that are kept.
    counting: Mutex<()>,
    /// Held while the patterns of one are listed, which takes memory as well.
    listing: Mutex<()>,
    charges: Charges,
    clock: AtomicU64,
}

/// The place of one head.
#[derive(Debug)]
struct Slot {
    /// The processor ids of its nodes, from the lowest level up.
    key: Vec<String>,
    /// When it was last asked, on the clock of all.
    used: AtomicU64,
    live: RwLock<Option<LiveHead>>,
    charge: Charge,
}

impl Heads {
    /// Asks the head of nodes, from the lowest level up, which has counted everything that they
    /// were taught before the call.
    pub(crate) fn ask<T>(
        &self,
        (key, nodes): (Vec<String>, &[Arc<LoadedNode>]),
        limit: usize,
        cancel: &Cancel,
        ask: impl FnOnce(&Head) -> T,
    ) -> Result<T, ServiceError> {
        let slot = self.slot(key);
        {
            // Side by side with others, where there is nothing new.
            let live = turn(cancel, || slot.live.try_read())?;
            if let Some(live) = live.as_ref().filter(|live| live.is_current(nodes)) {
                return Ok(ask(live.head()));
            }
        }
        let mut place = turn(cancel, || slot.live.try_write())?;
        let (current, ()) = self.bring_up(&slot, &mut place, nodes, limit, cancel, |live| {
            Ok(live.catch_up(nodes)?.then_some(()))
        })?;
        Ok(ask(current.head()))
    }

    /// Asks the head of nodes, with a list of the patterns that it counts. Others who ask it wait
    /// meanwhile only where there is something new to count.
    pub(crate) fn ask_with_listing<T>(
        &self,
        (key, nodes): (Vec<String>, &[Arc<LoadedNode>]),
        limit: usize,
        cancel: &Cancel,
        ask: impl FnOnce(&Head, Listing) -> T,
    ) -> Result<T, ServiceError> {
        let slot = self.slot(key);
        // One list at a time, for as long as it is looked at.
        let _listing = turn(cancel, || self.listing.try_lock())?;
        let mut place = turn(cancel, || slot.live.try_write())?;
        let (_, listing) = self.bring_up(&slot, &mut place, nodes, limit, cancel, |live| {
            live.list(nodes)
        })?;
        let place = RwLockWriteGuard::downgrade(place);
        let live = place.as_ref().expect("a head was put there under the lock");
        Ok(ask(live.head(), listing))
    }

    /// Makes the head at a place count what its nodes were taught, by `step`, and counts anew where
    /// that returns `None`.
    fn bring_up<'a, T>(
        &self,
        slot: &Arc<Slot>,
        place: &'a mut Option<LiveHead>,
        nodes: &[Arc<LoadedNode>],
        limit: usize,
        cancel: &Cancel,
        mut step: impl FnMut(&mut LiveHead) -> Result<Option<T>, ServiceError>,
    ) -> Result<(&'a LiveHead, T), ServiceError> {
        // Taken out, so that one that fails on the way is gone.
        let mut live = place.take().filter(|live| live.is_of(nodes));
        loop {
            let mut current = match live.take() {
                Some(live) => live,
                None => {
                    slot.charge.set(0);
                    let _counting = turn(cancel, || self.counting.try_lock())?;
                    LiveHead::count(nodes, limit, cancel)?
                }
            };
            let Some(found) = step(&mut current)? else {
                continue;
            };
            slot.charge.set(current.bytes());
            self.make_room(slot, limit);
            if current.bytes() > limit {
                slot.charge.set(0);
                return Err(ServiceError::HeadMemoryFull { limit });
            }
            return Ok((place.insert(current), found));
        }
    }

    /// Drops the heads whose nodes have left memory.
    pub(crate) fn drop_gone(&self) {
        self.lock().retain(|slot| match slot.live.try_read() {
            Ok(live) => live.as_ref().is_some_and(LiveHead::is_alive),
            // Somebody is at work with it.
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Poisoned(_)) => false,
        });
    }

    /// Returns the place of a head, made if there is none.
    fn slot(&self, key: Vec<String>) -> Arc<Slot> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut slots = self.lock();
        if let Some(slot) = slots.iter().find(|slot| slot.key == key) {
            slot.used.store(now, Ordering::Relaxed);
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot {
            key,
            used: AtomicU64::new(now),
            live: RwLock::default(),
            charge: self.charges.charge(0),
        });
        slots.push(Arc::clone(&slot));
        while slots.len() > MAX_HEADS {
            drop_oldest(&mut slots, &slot);
        }
        slot
    }

    /// Drops heads, those first that were not asked for longest, until what is left takes no more
    /// than it may.
    fn make_room(&self, for_slot: &Arc<Slot>, limit: usize) {
        let mut slots = self.lock();
        // One that somebody still asks gives its memory back after that.
        while self.charges.bytes() > limit && drop_oldest(&mut slots, for_slot) {}
    }

    /// Returns how many are kept, and the bytes that they take.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.lock().len(), self.charges.bytes())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops the slot that was not asked for longest, but not this one; returns whether there was one.
fn drop_oldest(slots: &mut Vec<Arc<Slot>>, keep: &Arc<Slot>) -> bool {
    let others = slots.iter().enumerate();
    let others = others.filter(|(_, slot)| !Arc::ptr_eq(slot, keep));
    let oldest = others.min_by_key(|(_, slot)| slot.used.load(Ordering::Relaxed));
    let Some((idx, _)) = oldest else {
        return false;
    };
    slots.swap_remove(idx);
    true
}

/// Waits for a lock as long as anybody waits for the answer.
fn turn<G>(cancel: &Cancel, mut lock: impl FnMut() -> TryLockResult<G>) -> Result<G, Cancelled> {
    loop {
        match lock() {
            Ok(guard) => return Ok(guard),
            // A head in the middle of something was taken out of its place.
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                cancel.check()?;
                thread::sleep(LOOK_AGAIN);
            }
        }
    }
}

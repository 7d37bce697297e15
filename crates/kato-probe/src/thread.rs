//! Threads of a stage: each adds up its own time by state, and anyone may read it at any moment.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use crate::reading::{StateSeconds, ThreadReading};
use crate::state::State;

thread_local! {
    /// The stages that this thread works for; the last one counts.
    static CURRENT: RefCell<Vec<Arc<Slot>>> = const { RefCell::new(Vec::new()) };
}

/// What one thread has done. Only that thread writes it; the version makes what others read one moment's picture.
#[derive(Debug)]
pub(crate) struct Slot {
    origin: Instant,
    label: String,
    tid: Option<u32>,
    /// Share of its busy time, in millionths, that the stage is slowed down by.
    throttle: Arc<AtomicU64>,
    /// Odd while the thread writes.
    version: AtomicU64,
    state: AtomicU64,
    since: AtomicU64,
    nanos: [AtomicU64; State::COUNT],
    items: AtomicU64,
    /// Nanoseconds that the thread still has to pause; below 0 it has paused too long.
    owed: AtomicI64,
}

/// Shortest pause of a slowed stage: shorter ones are saved up, because sleeping is not that exact.
const SHORTEST_PAUSE_NANOS: i64 = 2_000_000;

impl Slot {
    pub(crate) fn new(origin: Instant, throttle: Arc<AtomicU64>) -> Self {
        let thread = std::thread::current();
        let label = match thread.name() {
            Some(name) => name.to_owned(),
            None => format!("{:?}", thread.id()),
        };
        Self {
            origin,
            label,
            tid: thread_id(),
            throttle,
            version: AtomicU64::new(0),
            state: AtomicU64::new(State::Idle.index() as u64),
            since: AtomicU64::new(nanos(origin.elapsed())),
            nanos: std::array::from_fn(|_| AtomicU64::new(0)),
            items: AtomicU64::new(0),
            owed: AtomicI64::new(0),
        }
    }

    fn state(&self) -> State {
        State::from_index(self.state.load(Ordering::Relaxed) as usize)
    }

    /// Ends the present state and begins the next. Only called by the slot's own thread.
    fn set(&self, next: State) {
        let present = self.state();
        let since = self.since.load(Ordering::Relaxed);
        if present == State::Busy {
            self.slow_down(nanos(self.origin.elapsed()).saturating_sub(since));
        }
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        // Only now: a reader that still saw the old version has read the clock before.
        let now = nanos(self.origin.elapsed());
        self.nanos[present.index()].fetch_add(now.saturating_sub(since), Ordering::Relaxed);
        self.state.store(next.index() as u64, Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
        self.version.store(version + 2, Ordering::Release);
    }

    /// Makes a throttled thread pause for its share of what it has just worked; the pause counts as work.
    fn slow_down(&self, worked: u64) {
        let millionths = self.throttle.load(Ordering::Relaxed);
        if millionths == 0 {
            return;
        }
        let share = u128::from(worked) * u128::from(millionths) / 1_000_000;
        let share = i64::try_from(share).unwrap_or(i64::MAX);
        let mut owed = self.owed.load(Ordering::Relaxed).saturating_add(share);
        if owed >= SHORTEST_PAUSE_NANOS {
            let start = Instant::now();
            std::thread::sleep(Duration::from_nanos(owed.unsigned_abs()));
            // Sleeping takes longer than asked for: what was paused too long is taken off the next pauses.
            owed -= i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX);
        }
        self.owed.store(owed, Ordering::Relaxed);
    }

    /// What the thread has done until now, the present state included.
    pub(crate) fn read(&self) -> ThreadReading {
        loop {
            // Before the rest: the sums are never ahead of what the next reader will see.
            let now = nanos(self.origin.elapsed());
            fence(Ordering::SeqCst);
            let version = self.version.load(Ordering::Acquire);
            let state = self.state();
            let since = self.since.load(Ordering::Relaxed);
            let mut nanos_by_state: [u64; State::COUNT] =
                std::array::from_fn(|index| self.nanos[index].load(Ordering::Relaxed));
            let items = self.items.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if version % 2 == 1 || version != self.version.load(Ordering::Relaxed) {
                std::thread::yield_now();
                continue;
            }
            nanos_by_state[state.index()] += now.saturating_sub(since);
            return ThreadReading {
                label: self.label.clone(),
                tid: self.tid,
                state,
                in_state: Duration::from_nanos(now.saturating_sub(since)).as_secs_f64(),
                seconds: StateSeconds::from_nanos(nanos_by_state),
                items,
            };
        }
    }
}

/// While it lives, the thread belongs to a stage; made by [`Probe::thread`](crate::Probe::thread).
#[derive(Debug)]
#[must_use = "the thread leaves the stage when this is dropped"]
pub struct ThreadGuard {
    joined: Option<Joined>,
    /// A thread's marks are its own.
    not_send: PhantomData<*const ()>,
}

#[derive(Debug)]
struct Joined {
    slot: Arc<Slot>,
    depth: usize,
    /// What the thread did for the stage that it has left meanwhile.
    before: Option<State>,
}

impl ThreadGuard {
    pub(crate) fn off() -> Self {
        Self {
            joined: None,
            not_send: PhantomData,
        }
    }

    pub(crate) fn join(slot: Arc<Slot>) -> Self {
        let joined = CURRENT.try_with(|current| {
            let mut current = current.borrow_mut();
            let before = current.last().map(|outer| {
                let before = outer.state();
                outer.set(State::Idle);
                before
            });
            current.push(Arc::clone(&slot));
            Joined {
                slot,
                depth: current.len() - 1,
                before,
            }
        });
        Self {
            joined: joined.ok(),
            not_send: PhantomData,
        }
    }
}

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        let Some(joined) = self.joined.take() else {
            return;
        };
        joined.slot.set(State::Idle);
        // A thread that ends takes its marks with it.
        let _ = CURRENT.try_with(|current| current.borrow_mut().truncate(joined.depth));
        if let Some(before) = joined.before {
            set(before);
        }
    }
}

/// Runs `mark` with the stage that the current thread works for, if it works for one.
fn with_current<T>(mark: impl FnOnce(&Slot) -> T) -> Option<T> {
    CURRENT
        .try_with(|current| current.borrow().last().map(|slot| mark(slot)))
        .ok()
        .flatten()
}

/// Says what the current thread does from now on. Without effect on a thread that belongs to no stage.
pub fn set(state: State) {
    let _ = with_current(|slot| slot.set(state));
}

/// Says what the current thread does until the guard is dropped; then it goes on with what it did before.
pub fn during(state: State) -> StateGuard {
    StateGuard {
        before: with_current(|slot| {
            let before = slot.state();
            slot.set(state);
            before
        }),
        not_send: PhantomData,
    }
}

/// [`during`] a wait.
pub fn waiting(wait: crate::Wait) -> StateGuard {
    during(State::Blocked(wait))
}

/// Counts items that the current thread has done for its stage: documents, calls, bytes, whatever the stage counts.
pub fn add_items(items: u64) {
    let _ = with_current(|slot| slot.items.fetch_add(items, Ordering::Relaxed));
}

/// Ends a state when dropped; made by [`during`].
#[derive(Debug)]
#[must_use = "the state ends when this is dropped"]
pub struct StateGuard {
    before: Option<State>,
    not_send: PhantomData<*const ()>,
}

impl Drop for StateGuard {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            set(before);
        }
    }
}

/// The number under which the kernel keeps the current thread, where it can be had.
fn thread_id() -> Option<u32> {
    let link = std::fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

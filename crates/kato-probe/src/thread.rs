//! Threads of a stage: each adds up its own time by state, and any thread may read the sums at any
//! moment.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use crate::reading::{StateSeconds, ThreadReading};
use crate::state::ThreadState;

thread_local! {
    /// Stack of the stages that this thread has joined; it works for the last one.
    static CURRENT: RefCell<Vec<Membership>> = const { RefCell::new(Vec::new()) };
}

/// A stage that a thread has joined.
struct Membership {
    slot: Arc<Slot>,
    /// State to be resumed when the stages joined after this one are left.
    paused: ThreadState,
}

/// Sums of one thread, which only that thread writes. The version makes it a sequence lock: what
/// other threads read belongs to one moment, and the writer never waits for a reader.
#[derive(Debug)]
pub(crate) struct Slot {
    origin: Instant,
    label: String,
    tid: Option<u32>,
    /// Nanoseconds from `origin` to the beginning of the first state.
    joined: u64,
    /// Share of its busy time, in millionths, for which a thread of the stage has to pause.
    throttle: Arc<AtomicU64>,
    /// Odd while the thread writes.
    version: AtomicU64,
    state: AtomicU64,
    /// Nanoseconds from `origin` to the beginning of the present state.
    since: AtomicU64,
    /// Nanoseconds in each state, without the present stretch.
    nanos: [AtomicU64; ThreadState::COUNT],
    items: AtomicU64,
    /// Nanoseconds for which the thread still has to pause; below 0 it has paused too long.
    pause_debt: AtomicI64,
}

/// Shortest pause of a throttled stage. Shorter ones are saved up, because sleeping is not that
/// exact.
const SHORTEST_PAUSE_NANOS: i64 = 2_000_000;

impl Slot {
    /// Creates the slot of the current thread, idle from this moment.
    pub(crate) fn new(origin: Instant, throttle: Arc<AtomicU64>) -> Self {
        let thread = std::thread::current();
        let label = match thread.name() {
            Some(name) => name.to_owned(),
            None => format!("{:?}", thread.id()),
        };
        let joined = nanos(origin.elapsed());
        Self {
            origin,
            label,
            tid: thread_id(),
            joined,
            throttle,
            version: AtomicU64::new(0),
            state: AtomicU64::new(ThreadState::Idle.index() as u64),
            since: AtomicU64::new(joined),
            nanos: std::array::from_fn(|_| AtomicU64::new(0)),
            items: AtomicU64::new(0),
            pause_debt: AtomicI64::new(0),
        }
    }

    fn state(&self) -> ThreadState {
        ThreadState::from_index(self.state.load(Ordering::Relaxed) as usize)
    }

    /// Ends the present state and begins the next. Only called by the slot's own thread.
    fn set(&self, next: ThreadState) {
        // Nobody else writes these fields, so relaxed loads return what this thread stored last.
        let present = self.state();
        let since = self.since.load(Ordering::Relaxed);
        // Done before the version becomes odd, because readers retry for as long as it is.
        if present == ThreadState::Busy {
            self.slow_down(nanos(self.origin.elapsed()).saturating_sub(since));
        }
        let version = self.version.load(Ordering::Relaxed);
        // A store and no `fetch_add`, as there is one writer.
        self.version.store(version + 1, Ordering::Relaxed);
        // Pairs with the first fence of `read`: a reader that still sees the old version has read
        // the clock before this thread does. What it returns is then never ahead of these sums.
        fence(Ordering::SeqCst);
        let now = nanos(self.origin.elapsed());
        self.nanos[present.index()].fetch_add(now.saturating_sub(since), Ordering::Relaxed);
        self.state.store(next.index() as u64, Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
        // Publishes all stores above to a reader that loads this version.
        self.version.store(version + 2, Ordering::Release);
    }

    /// Pauses a throttled thread for its share of the time that it has just worked; the pause
    /// counts as work.
    fn slow_down(&self, worked: u64) {
        let millionths = self.throttle.load(Ordering::Relaxed);
        if millionths == 0 {
            return;
        }
        // An hour in nanoseconds times 10^7 millionths, the most there is, exceeds 64 bits.
        let share = u128::from(worked) * u128::from(millionths) / 1_000_000;
        let share = i64::try_from(share).unwrap_or(i64::MAX);
        let mut pause_debt = self
            .pause_debt
            .load(Ordering::Relaxed)
            .saturating_add(share);
        if pause_debt >= SHORTEST_PAUSE_NANOS {
            let start = Instant::now();
            std::thread::sleep(Duration::from_nanos(pause_debt.unsigned_abs()));
            // Sleeping takes longer than asked for: the surplus is taken off the next pauses.
            pause_debt -= i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX);
        }
        self.pause_debt.store(pause_debt, Ordering::Relaxed);
    }

    /// Returns what the thread has done until now, the present state included.
    pub(crate) fn read(&self) -> ThreadReading {
        loop {
            // The clock comes first, so that no later reading is behind this one; see `set`.
            let now = nanos(self.origin.elapsed());
            fence(Ordering::SeqCst);
            let version = self.version.load(Ordering::Acquire);
            let state = self.state();
            let since = self.since.load(Ordering::Relaxed);
            let mut nanos_by_state: [u64; ThreadState::COUNT] =
                std::array::from_fn(|index| self.nanos[index].load(Ordering::Relaxed));
            // Not covered by the version: items have no part in the time by state.
            let items = self.items.load(Ordering::Relaxed);
            // Keeps the loads above before the second look at the version.
            fence(Ordering::Acquire);
            if version % 2 == 1 || version != self.version.load(Ordering::Relaxed) {
                // The thread is in the middle of `set`, a few instructions long, unless it lost its
                // processor there; then it needs this one.
                std::thread::yield_now();
                continue;
            }
            nanos_by_state[state.index()] += now.saturating_sub(since);
            return ThreadReading {
                label: self.label.clone(),
                tid: self.tid,
                joined: Duration::from_nanos(self.joined).as_secs_f64(),
                state,
                in_state: Duration::from_nanos(now.saturating_sub(since)).as_secs_f64(),
                seconds: StateSeconds::from_nanos(nanos_by_state),
                items,
            };
        }
    }
}

/// Membership of a thread in a stage, made by [`Probe::thread`](crate::Probe::thread). The thread
/// leaves the stage when it is dropped.
#[derive(Debug)]
#[must_use = "the thread leaves the stage when this is dropped"]
pub struct ThreadGuard {
    slot: Option<Arc<Slot>>,
    /// Keeps the guard on its thread, because marks are thread-local.
    not_send: PhantomData<*const ()>,
}

impl ThreadGuard {
    /// Returns a guard of no stage, for a probe that is off.
    pub(crate) fn off() -> Self {
        Self {
            slot: None,
            not_send: PhantomData,
        }
    }

    /// Puts the slot on top of the current thread's stack; the stage below becomes idle.
    pub(crate) fn join(slot: Arc<Slot>) -> Self {
        // Fails while the variables of an ending thread are destroyed. Then nothing is marked.
        let joined = CURRENT.try_with(|current| {
            let mut current = current.borrow_mut();
            if let Some(outer) = current.last_mut() {
                outer.paused = outer.slot.state();
                outer.slot.set(ThreadState::Idle);
            }
            current.push(Membership {
                slot: Arc::clone(&slot),
                paused: ThreadState::Idle,
            });
        });
        Self {
            slot: joined.ok().map(|()| slot),
            not_send: PhantomData,
        }
    }
}

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else {
            return;
        };
        slot.set(ThreadState::Idle);
        // Fails in an ending thread, which takes its marks with it.
        let _ = CURRENT.try_with(|current| {
            let mut current = current.borrow_mut();
            // By identity, as guards need not be dropped in the reverse order of joining: the
            // thread goes on working for the stages that it joined later.
            let find = |member: &Membership| Arc::ptr_eq(&member.slot, &slot);
            let Some(at) = current.iter().rposition(find) else {
                return;
            };
            current.remove(at);
            if at == current.len()
                && let Some(below) = current.last()
            {
                below.slot.set(below.paused);
            }
        });
    }
}

/// Calls `mark` with the slot of the stage that the current thread works for, if there is one.
///
/// The stack stays borrowed meanwhile, so `mark` must not join or leave a stage.
fn with_current<T>(mark: impl FnOnce(&Slot) -> T) -> Option<T> {
    CURRENT
        .try_with(|current| current.borrow().last().map(|member| mark(&member.slot)))
        .ok()
        .flatten()
}

/// Sets what the current thread does from now on. It has no effect on a thread that belongs to no
/// stage.
pub fn set(state: ThreadState) {
    let _ = with_current(|slot| slot.set(state));
}

/// Sets what the current thread does until the guard is dropped; then its former state is resumed.
pub fn during(state: ThreadState) -> StateGuard {
    StateGuard {
        before: with_current(|slot| {
            let before = slot.state();
            slot.set(state);
            (address(slot), before)
        }),
        not_send: PhantomData,
    }
}

/// Marks the current thread as blocked on `wait` until the guard is dropped, as [`during`] does.
pub fn waiting(wait: crate::Wait) -> StateGuard {
    during(ThreadState::Blocked(wait))
}

/// Adds items that the current thread has done for its stage: documents, calls, bytes, whatever the
/// stage counts.
pub fn add_items(items: u64) {
    let _ = with_current(|slot| slot.items.fetch_add(items, Ordering::Relaxed));
}

/// Guard of a state, made by [`during`] and [`waiting`]. The state ends when it is dropped.
#[derive(Debug)]
#[must_use = "the state ends when this is dropped"]
pub struct StateGuard {
    /// The stage, by the address of the thread's slot, and the state to be resumed in it.
    before: Option<(usize, ThreadState)>,
    not_send: PhantomData<*const ()>,
}

impl Drop for StateGuard {
    fn drop(&mut self) {
        let Some((stage, before)) = self.before else {
            return;
        };
        // Fails in an ending thread, which takes its marks with it.
        let _ = CURRENT.try_with(|current| {
            let mut current = current.borrow_mut();
            // The thread may have joined another stage meanwhile, or left this one.
            let find = |member: &Membership| address(&member.slot) == stage;
            let Some(at) = current.iter().rposition(find) else {
                return;
            };
            let is_last = at + 1 == current.len();
            let member = &mut current[at];
            if is_last {
                member.slot.set(before);
            } else {
                member.paused = before;
            }
        });
    }
}

/// Returns where a slot lies, which tells it from others for as long as it is there.
fn address(slot: &Slot) -> usize {
    // A reference of its own in every guard would cost more than the mark.
    std::ptr::from_ref(slot).addr()
}

/// Returns the kernel's number of the current thread; `None` where `/proc` does not say it.
fn thread_id() -> Option<u32> {
    let link = std::fs::read_link("/proc/thread-self").ok()?;
    // The link reads `PID/task/TID`.
    link.file_name()?.to_str()?.parse().ok()
}

/// Returns a time in nanoseconds; 64 bits hold 584 years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

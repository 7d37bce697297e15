//! Readings: everything that a probe has counted, at one moment.

use serde::{Deserialize, Serialize};

use crate::state::ThreadState;
use crate::{LatencyHistogram, Wait};

/// Everything that a probe has counted since it was made.
///
/// All sums only grow, so the difference of two readings says what happened between them. Idle time
/// is the exception: a thread that leaves its stage takes its own along.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reading {
    /// Seconds since the probe was made.
    pub seconds: f64,
    /// The stages, upstream first.
    pub stages: Vec<StageReading>,
    /// The queues, in the order in which they were registered.
    pub queues: Vec<QueueReading>,
    /// The nodes, in the order in which they were registered.
    pub nodes: Vec<NodeReading>,
    /// The peers of calls, in the order in which they were registered.
    pub calls: Vec<CallReading>,
}

/// A stage: all threads that have worked for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageReading {
    /// Its name.
    pub name: String,
    /// Time by state over all its threads, also those that have left, without the latter's idle
    /// time.
    pub seconds: StateSeconds,
    /// Items over all its threads.
    pub items: u64,
    /// The threads that work for it now.
    pub threads: Vec<ThreadReading>,
    /// How many threads have left it.
    pub ended_threads: u64,
}

/// A thread of a stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ThreadReading {
    /// The thread's name, or its number where it has none.
    pub label: String,
    /// The kernel's number of the thread, where it is known.
    pub tid: Option<u32>,
    /// Time at which it joined the stage, in seconds since the probe was made. A thread that
    /// leaves and joins again counts from zero: equal threads with another time here do not go
    /// on from each other.
    pub joined: f64,
    /// Its present state.
    pub state: ThreadState,
    /// Time since it entered that state, in seconds.
    pub in_state: f64,
    /// Time by state since it joined the stage.
    pub seconds: StateSeconds,
    /// Items that it has done.
    pub items: u64,
}

/// Seconds by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StateSeconds {
    /// Doing nothing for the stage.
    pub idle: f64,
    /// Working, or on the way to a processor.
    pub busy: f64,
    /// Waiting for input.
    pub starved: f64,
    /// Waiting for room downstream.
    pub blocked_downstream: f64,
    /// Waiting for a server.
    pub blocked_server: f64,
    /// Waiting for a lock.
    pub blocked_lock: f64,
    /// Waiting for a disk.
    pub blocked_disk: f64,
}

impl StateSeconds {
    /// Converts nanoseconds by [`ThreadState::index`].
    pub(crate) fn from_nanos(nanos: [u64; ThreadState::COUNT]) -> Self {
        let seconds = |state: ThreadState| nanos[state.index()] as f64 * 1e-9;
        Self {
            idle: seconds(ThreadState::Idle),
            busy: seconds(ThreadState::Busy),
            starved: seconds(ThreadState::Starved),
            blocked_downstream: seconds(ThreadState::Blocked(Wait::Downstream)),
            blocked_server: seconds(ThreadState::Blocked(Wait::Server)),
            blocked_lock: seconds(ThreadState::Blocked(Wait::Lock)),
            blocked_disk: seconds(ThreadState::Blocked(Wait::Disk)),
        }
    }

    /// Returns the seconds in one state.
    #[must_use]
    pub fn of(&self, state: ThreadState) -> f64 {
        match state {
            ThreadState::Idle => self.idle,
            ThreadState::Busy => self.busy,
            ThreadState::Starved => self.starved,
            ThreadState::Blocked(Wait::Downstream) => self.blocked_downstream,
            ThreadState::Blocked(Wait::Server) => self.blocked_server,
            ThreadState::Blocked(Wait::Lock) => self.blocked_lock,
            ThreadState::Blocked(Wait::Disk) => self.blocked_disk,
        }
    }

    /// Returns the seconds in all states but idle.
    #[must_use]
    pub fn present(&self) -> f64 {
        self.busy
            + self.starved
            + self.blocked_downstream
            + self.blocked_server
            + self.blocked_lock
            + self.blocked_disk
    }

    /// Adds the seconds of another thread.
    pub fn add(&mut self, other: &Self) {
        self.idle += other.idle;
        self.busy += other.busy;
        self.starved += other.starved;
        self.blocked_downstream += other.blocked_downstream;
        self.blocked_server += other.blocked_server;
        self.blocked_lock += other.blocked_lock;
        self.blocked_disk += other.blocked_disk;
    }

    /// Returns the seconds that were added after an earlier reading; 0 for a state that has shrunk.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        // Idle time shrinks when threads leave, and sums of floating-point numbers taken in another
        // order may differ in the last bits.
        let left = |now: f64, before: f64| (now - before).max(0.0);
        Self {
            idle: left(self.idle, earlier.idle),
            busy: left(self.busy, earlier.busy),
            starved: left(self.starved, earlier.starved),
            blocked_downstream: left(self.blocked_downstream, earlier.blocked_downstream),
            blocked_server: left(self.blocked_server, earlier.blocked_server),
            blocked_lock: left(self.blocked_lock, earlier.blocked_lock),
            blocked_disk: left(self.blocked_disk, earlier.blocked_disk),
        }
    }
}

/// A queue between two stages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QueueReading {
    /// Its name.
    pub name: String,
    /// Items in it now.
    pub len: u64,
    /// How many it can hold.
    pub capacity: u64,
}

/// The learn calls of a node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeReading {
    /// Its name.
    pub name: String,
    /// Its learn calls.
    pub learns: u64,
    /// Latencies of the learn calls that were timed.
    pub latency: LatencyHistogram,
}

/// The calls to one peer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallReading {
    /// The peer.
    pub peer: String,
    /// Calls in flight.
    pub in_flight: u64,
    /// Calls without an answer: cancelled, refused, timed out.
    pub failed: u64,
    /// Round trips of the answered calls.
    pub latency: LatencyHistogram,
}

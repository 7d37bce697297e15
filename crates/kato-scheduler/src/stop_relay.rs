//! The thread of a session that passes a stop on to what waits.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::{Backend, StopSignal};

/// Time between two looks at the stop signal.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// Time after which a read that a stop finds under way is taken to be waiting.
const LONGEST_READ: Duration = Duration::from_millis(200);

/// Passes a stop on to what waits for something outside of this process.
pub(crate) struct StopRelay<'a, B, I> {
    pub(crate) stop: &'a StopSignal,
    pub(crate) backend: &'a B,
    pub(crate) reading: ReadingMark,
    pub(crate) interrupt_reading: I,
    pub(crate) session_ends: Receiver<Infallible>,
}

impl<B: Backend, I: Fn()> StopRelay<'_, B, I> {
    /// Runs until the session ends.
    pub(crate) fn run(self) {
        while !self.stop.is_stopped() {
            if self.has_ended(STOP_INTERVAL) {
                return;
            }
        }
        self.backend.interrupt();
        // A loader that only reads goes on to its next look at the stop, and can be read on later; one
        // that waits cannot.
        loop {
            let before = self.reading.get();
            if self.has_ended(LONGEST_READ) {
                return;
            }
            if ReadingMark::is_reading(before) && self.reading.get() == before {
                (self.interrupt_reading)();
                return;
            }
        }
    }

    /// Waits for the end of the session; returns whether it came.
    fn has_ended(&self, within: Duration) -> bool {
        self.session_ends.recv_timeout(within) != Err(RecvTimeoutError::Timeout)
    }
}

/// A mark of reads: odd while one is under way, another for each.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadingMark(Arc<AtomicU64>);

impl ReadingMark {
    /// Marks the beginning or the end of a read.
    pub(crate) fn turn(&self) {
        // Relaxed: the mark stands for itself.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    const fn is_reading(mark: u64) -> bool {
        mark % 2 == 1
    }
}

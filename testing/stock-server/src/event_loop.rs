//! The one event loop: nothing happens beside it, and all work takes its time there.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::fair::{FairLock, Held};
use crate::values::Serving;

/// Event loop of a server, which requests hold in turn.
#[derive(Debug)]
pub(crate) struct EventLoop {
    lock: Arc<FairLock>,
    serving: Serving,
}

/// Right of a request to the loop, for all of it or for one piece of work at a time.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    event_loop: &'a EventLoop,
    whole: Option<Held>,
}

impl EventLoop {
    /// Creates a loop that nothing holds.
    pub(crate) fn new(serving: Serving) -> Self {
        Self {
            lock: Arc::default(),
            serving,
        }
    }

    /// Begins a request, which may have to wait for the whole of those before it.
    pub(crate) fn enter(&self) -> Turn<'_> {
        Turn {
            event_loop: self,
            whole: (self.serving == Serving::Whole).then(|| self.lock.acquire()),
        }
    }
}

impl Turn<'_> {
    /// Waits for the loop, after all that asked for it before, for one piece of work. Dropping the
    /// result lets others in.
    pub(crate) fn hold(&self) -> Option<Held> {
        match self.whole {
            // The request holds the loop already, and the lock cannot be taken twice.
            Some(_) => None,
            None => Some(self.event_loop.lock.acquire()),
        }
    }
}

/// Lets time go by while the loop is held.
pub(crate) fn pass(time: Duration) {
    if !time.is_zero() {
        // Asleep, not busy: what a real server computes must not slow down the tests beside it.
        thread::sleep(time);
    }
}

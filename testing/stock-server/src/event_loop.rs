//! The one event loop: nothing happens beside it, and whatever happens takes its time there.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::fair::{FairLock, Held};
use crate::values::Serving;

#[derive(Debug)]
pub(crate) struct EventLoop {
    lock: Arc<FairLock>,
    serving: Serving,
}

/// A request's right to the loop: for all of it, or for one piece of work at a time.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    event_loop: &'a EventLoop,
    whole: Option<Held>,
}

impl EventLoop {
    pub(crate) fn new(serving: Serving) -> Self {
        Self {
            lock: Arc::default(),
            serving,
        }
    }

    /// A request begins.
    pub(crate) fn enter(&self) -> Turn<'_> {
        Turn {
            event_loop: self,
            whole: (self.serving == Serving::Whole).then(|| self.lock.acquire()),
        }
    }
}

impl Turn<'_> {
    /// The loop for one piece of work, after all that asked for it before; dropping it lets others in.
    pub(crate) fn hold(&self) -> Option<Held> {
        match self.whole {
            Some(_) => None,
            None => Some(self.event_loop.lock.acquire()),
        }
    }
}

/// Lets time go by, while the loop is held.
pub(crate) fn pass(time: Duration) {
    if !time.is_zero() {
        thread::sleep(time);
    }
}

//! The clients that are connected, so that a test can wait until all have gone.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Clients of a server.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    connected: usize,
    /// Those of them that wait until the others have gone.
    waiting: usize,
}

/// Guard of a connection, dropped when all that came over it is done.
#[derive(Debug)]
pub(crate) struct Connected(Arc<Clients>);

impl Clients {
    /// Notes a client, before the next one is accepted: who connects later finds it counted.
    pub(crate) fn enter(self: &Arc<Self>) -> Connected {
        self.counts().connected += 1;
        Connected(Arc::clone(self))
    }

    /// Waits, for a client that is connected, until no others are but such as wait likewise.
    pub(crate) fn wait_alone(&self) {
        let mut counts = self.counts();
        counts.waiting += 1;
        self.changed.notify_all();
        let have_gone = self
            .changed
            .wait_while(counts, |counts| counts.connected > counts.waiting);
        have_gone.unwrap_or_else(PoisonError::into_inner).waiting -= 1;
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.counts().connected -= 1;
        self.0.changed.notify_all();
    }
}

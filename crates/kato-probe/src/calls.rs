//! Round trips to a server, also from async code, where what waits is no thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::histogram::AtomicHistogram;
use crate::reading::CallReading;

/// Times the calls to one peer; made by [`Probe::calls`](crate::Probe::calls), free when the probe is off.
#[derive(Debug, Clone, Default)]
pub struct CallProbe(Option<Arc<CallCounts>>);

#[derive(Debug, Default)]
pub(crate) struct CallCounts {
    in_flight: AtomicU64,
    failed: AtomicU64,
    latency: AtomicHistogram,
}

impl CallProbe {
    pub(crate) fn new(counts: Option<Arc<CallCounts>>) -> Self {
        Self(counts)
    }

    /// Begins a call. It ends with [`CallTimer::finish`]; one that is dropped before has failed.
    pub fn start(&self) -> CallTimer {
        CallTimer(self.0.as_ref().map(|counts| {
            counts.in_flight.fetch_add(1, Ordering::Relaxed);
            (Arc::clone(counts), Instant::now())
        }))
    }
}

/// A call on its way.
#[derive(Debug)]
#[must_use = "a call that is dropped counts as failed"]
pub struct CallTimer(Option<(Arc<CallCounts>, Instant)>);

impl CallTimer {
    /// The answer has come.
    pub fn finish(mut self) {
        if let Some((counts, start)) = self.0.take() {
            counts.latency.record(start.elapsed(), 1);
            counts.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for CallTimer {
    fn drop(&mut self) {
        if let Some((counts, _)) = self.0.take() {
            counts.failed.fetch_add(1, Ordering::Relaxed);
            counts.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl CallCounts {
    pub(crate) fn read(&self, peer: &str) -> CallReading {
        CallReading {
            peer: peer.to_owned(),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            latency: self.latency.read(),
        }
    }
}

//! Timing of round trips to a server, also from async code, where no thread waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::histogram::AtomicHistogram;
use crate::reading::CallReading;

/// Timer of the calls to one peer, made by [`Probe::calls`](crate::Probe::calls). It costs next to nothing
/// when the probe is off.
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

    /// Starts timing a call, which ends with [`CallTimer::finish`].
    ///
    /// A call whose timer is dropped before that counts as failed.
    pub fn start(&self) -> CallTimer {
        CallTimer(self.0.as_ref().map(|counts| {
            // Relaxed here and below: each counter is a statistic of its own, and nobody concludes
            // from one of them what another must be.
            counts.in_flight.fetch_add(1, Ordering::Relaxed);
            (Arc::clone(counts), Instant::now())
        }))
    }
}

/// A call in flight, made by [`CallProbe::start`].
#[derive(Debug)]
#[must_use = "a call that is dropped counts as failed"]
pub struct CallTimer(Option<(Arc<CallCounts>, Instant)>);

impl CallTimer {
    /// Ends the call as answered and counts its round trip.
    pub fn finish(mut self) {
        // Taken out, because `drop` runs at the end of this function and would count a failure.
        if let Some((counts, start)) = self.0.take() {
            counts.latency.record(start.elapsed(), 1);
            counts.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for CallTimer {
    fn drop(&mut self) {
        // The time of a failed call is left out: a timeout or a refusal is no round trip.
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

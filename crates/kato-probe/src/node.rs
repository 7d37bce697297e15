//! Counting and timing of a node's learn calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::histogram::AtomicHistogram;
use crate::reading::NodeReading;

/// Counter of a node's learn calls, made by [`Probe::node`](crate::Probe::node). It costs next to nothing
/// when the probe is off.
#[derive(Debug, Clone, Default)]
pub struct NodeProbe(Option<Arc<NodeCounts>>);

#[derive(Debug, Default)]
pub(crate) struct NodeCounts {
    learns: AtomicU64,
    latency: AtomicHistogram,
}

impl NodeProbe {
    pub(crate) fn new(counts: Option<Arc<NodeCounts>>) -> Self {
        Self(counts)
    }

    /// Returns whether the probe is on.
    ///
    /// A caller that computes something for the profile alone can skip it otherwise.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Adds learn calls to the node's count.
    pub fn learned(&self, learns: u64) {
        if let Some(counts) = &self.0 {
            counts.learns.fetch_add(learns, Ordering::Relaxed);
        }
    }

    /// Adds `learns` learn calls that took `time` together to the latencies, each as one
    /// latency of their mean.
    ///
    /// It does not count them as learned, so that a part of all calls can be timed.
    pub fn timed(&self, learns: u64, time: Duration) {
        // Durations divide by 32 bits only. More calls than that in one piece are not timed, and
        // none have no mean.
        if let Some(counts) = &self.0
            && let Ok(n) = u32::try_from(learns)
            && n > 0
        {
            counts.latency.record(time / n, learns);
        }
    }
}

impl NodeCounts {
    pub(crate) fn read(&self, name: &str) -> NodeReading {
        NodeReading {
            name: name.to_owned(),
            learns: self.learns.load(Ordering::Relaxed),
            latency: self.latency.read(),
        }
    }
}

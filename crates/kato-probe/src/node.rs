//! What a node learns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::histogram::AtomicHistogram;
use crate::reading::NodeReading;

/// Counts a node's learn calls; made by [`Probe::node`](crate::Probe::node), free when the probe is off.
#[derive(Debug, Clone, Default)]
pub struct NodeProbe(Option<Arc<NodeCounts>>);

#[derive(Debug, Default)]
pub(crate) struct NodeCounts {
    observations: AtomicU64,
    latency: AtomicHistogram,
}

impl NodeProbe {
    pub(crate) fn new(counts: Option<Arc<NodeCounts>>) -> Self {
        Self(counts)
    }

    /// Whether anybody counts: what is only worked out for a profile need not be otherwise.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Counts learn calls.
    pub fn learned(&self, observations: u64) {
        if let Some(counts) = &self.0 {
            counts
                .observations
                .fetch_add(observations, Ordering::Relaxed);
        }
    }

    /// Notes that `observations` learn calls took `time` together; each counts as one latency of their mean. Does not count them
    /// as learned, so that a part of all calls can be timed.
    pub fn timed(&self, observations: u64, time: Duration) {
        if let Some(counts) = &self.0
            && let Ok(n) = u32::try_from(observations)
            && n > 0
        {
            counts.latency.record(time / n, observations);
        }
    }
}

impl NodeCounts {
    pub(crate) fn read(&self, name: &str) -> NodeReading {
        NodeReading {
            name: name.to_owned(),
            observations: self.observations.load(Ordering::Relaxed),
            latency: self.latency.read(),
        }
    }
}

//! Counters of requests, by kind.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallKind {
    /// Creating, looking up, configuring, extending or deleting a session.
    Session,
    /// One observation.
    Observe,
    /// A sequence of observations, with or without learns.
    ObserveSequence,
    /// A learn.
    Learn,
    /// A batch of learns.
    LearnBatch,
    /// Clearing the short-term memory or the knowledge base.
    Clear,
    /// Reading the short-term memory.
    Stm,
    /// Reading predictions.
    Predictions,
    /// Asking about the patterns, symbols and percepts of the node, or changing them.
    Node,
    /// Asking the server about itself, its cache and the records of runs, or changing those.
    Monitoring,
}

impl CallKind {
    /// Returns the word for the kind in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Observe => "observe",
            Self::ObserveSequence => "observe_sequence",
            Self::Learn => "learn",
            Self::LearnBatch => "learn_batch",
            Self::Clear => "clear",
            Self::Stm => "stm",
            Self::Predictions => "predictions",
            Self::Node => "node",
            Self::Monitoring => "monitoring",
        }
    }
}

// In the order of declaration: counters are found by the number of the variant.
const KINDS: [CallKind; 10] = [
    CallKind::Session,
    CallKind::Observe,
    CallKind::ObserveSequence,
    CallKind::Learn,
    CallKind::LearnBatch,
    CallKind::Clear,
    CallKind::Stm,
    CallKind::Predictions,
    CallKind::Node,
    CallKind::Monitoring,
];

/// The requests that a client has made so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Calls {
    /// Number of all requests, repeated ones included.
    pub requests: u64,
    /// Number of requests that repeated another; one that is sent anew only because its session was
    /// lost is none of them.
    pub retries: u64,
    /// Number of attempts to make a session anew in place of one that was lost or left.
    pub recoveries: u64,
    /// Number of requests by kind; kinds without any are left out.
    pub by_kind: BTreeMap<CallKind, u64>,
}

impl Calls {
    /// Returns what was added since `before`, an earlier value of the same client.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            retries: self.retries.saturating_sub(before.retries),
            recoveries: self.recoveries.saturating_sub(before.recoveries),
            by_kind: self
                .by_kind
                .iter()
                .map(|(kind, n)| {
                    (
                        *kind,
                        n - before.by_kind.get(kind).copied().unwrap_or(0).min(*n),
                    )
                })
                .filter(|(_, n)| *n > 0)
                .collect(),
        }
    }

    /// Adds the requests of another client.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.retries += other.retries;
        self.recoveries += other.recoveries;
        for (kind, n) in &other.by_kind {
            *self.by_kind.entry(*kind).or_default() += n;
        }
    }

    /// Returns the number of requests of one kind.
    #[must_use]
    pub fn of(&self, kind: CallKind) -> u64 {
        self.by_kind.get(&kind).copied().unwrap_or(0)
    }
}

/// The counters behind [`Calls`], shared by all that send for one client.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    by_kind: [AtomicU64; KINDS.len()],
    retries: AtomicU64,
    recoveries: AtomicU64,
}

impl Counters {
    /// Counts a request.
    pub(crate) fn count(&self, kind: CallKind) {
        self.by_kind[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that repeats another.
    pub(crate) fn count_retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a session that is made anew.
    pub(crate) fn count_recovery(&self) {
        self.recoveries.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the present values.
    pub(crate) fn read(&self) -> Calls {
        let by_kind: BTreeMap<_, _> = KINDS
            .iter()
            .map(|kind| (*kind, self.by_kind[*kind as usize].load(Ordering::Relaxed)))
            .filter(|(_, n)| *n > 0)
            .collect();
        Calls {
            // Not a counter of its own, so that the sum is right whatever is counted meanwhile.
            requests: by_kind.values().sum(),
            retries: self.retries.load(Ordering::Relaxed),
            recoveries: self.recoveries.load(Ordering::Relaxed),
            by_kind,
        }
    }
}

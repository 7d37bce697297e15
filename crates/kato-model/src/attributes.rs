//! Attributes of a pattern: what a knowledge base may keep beside its content and frequency.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::emotives::{DEFAULT_PERSISTENCE, EmotiveWindow, add_emotives};
use crate::{EmotiveMap, Metadata};

/// The place where a pattern was first seen: the earliest one, whatever the order of learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FirstSeen {
    /// Number of the document in the corpus, from 0.
    #[serde(alias = "sample_idx")]
    pub document_idx: u64,
    /// Number of the pattern's first token among the document's learned tokens, from 0.
    pub token_idx: u64,
}

/// Limits on the attributes that are kept of a pattern; one setting for the life of a knowledge
/// base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeLimits {
    /// Emotive maps of the window (KATO's `PERSISTENCE`). Default 5.
    pub persistence: NonZeroUsize,
    /// Values kept for each metadata key, the smallest ones; `None`, the default, keeps all, as
    /// KATO does.
    pub metadata_values: Option<NonZeroUsize>,
}

impl Default for AttributeLimits {
    fn default() -> Self {
        Self {
            persistence: DEFAULT_PERSISTENCE,
            metadata_values: None,
        }
    }
}

/// Everything kept about a pattern beside its symbols and frequency. Most patterns have none of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, into = "Stored", from = "Stored")]
pub struct Attributes {
    /// Learn calls beyond the one that carries these attributes, for patterns that are imported
    /// with their frequency.
    pub extra_frequency: u64,
    /// Symbols of each event, where events hold other numbers of symbols than one.
    pub event_lengths: Option<Box<[u32]>>,
    /// Metadata.
    pub metadata: Metadata,
    /// The latest emotives.
    pub emotives: EmotiveWindow,
    /// Sum for every emotive, over all learns that carried emotives, of the learn's
    /// [mean](crate::emotives::mean_emotives).
    ///
    /// KATO keeps such sums for symbols: that of a symbol is the sum over the patterns that hold
    /// it.
    pub affinity: EmotiveMap,
}

impl Attributes {
    /// Adds what another learn call of the same pattern attached.
    ///
    /// Commutative and associative under one set of limits, but for the affinity, whose sums
    /// are rounded (see [`add_emotives`]).
    pub fn merge(&mut self, other: Self, limits: &AttributeLimits) {
        self.extra_frequency = self.extra_frequency.saturating_add(other.extra_frequency);
        // The name fixes the events, so all lengths that are present agree.
        if self.event_lengths.is_none() {
            self.event_lengths = other.event_lengths;
        }
        self.metadata.merge(other.metadata, limits.metadata_values);
        self.emotives.merge(other.emotives, limits.persistence);
        add_emotives(&mut self.affinity, &other.affinity);
    }

    /// Returns the bytes that the attributes take in memory, themselves included, roughly.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        // A flat allowance for a `String`, its share of a tree node and the allocator's overhead.
        // Callers only compare sums of it with a budget of memory.
        const NODE: usize = 64;
        let lengths = self
            .event_lengths
            .as_ref()
            .map_or(0, |lengths| lengths.len() * 4);
        let metadata: usize = self
            .metadata
            .iter()
            .map(|(key, values)| {
                key.len() + NODE + values.iter().map(|value| value.len() + NODE).sum::<usize>()
            })
            .sum();
        let emotives: usize = self
            .emotives
            .entries()
            .iter()
            .flat_map(|entry| entry.emotives.keys())
            .chain(self.affinity.keys())
            .map(|key| key.len() + NODE)
            .sum();
        size_of::<Self>() + lengths + metadata + emotives
    }
}

/// The form of [`Attributes`] in files: short keys, empty parts left out.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    #[serde(rename = "l", skip_serializing_if = "Option::is_none")]
    event_lengths: Option<Box<[u32]>>,
    #[serde(rename = "m", skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
    #[serde(rename = "e", skip_serializing_if = "Vec::is_empty")]
    emotives: Vec<((u64, u64), EmotiveMap)>,
    #[serde(rename = "a", skip_serializing_if = "EmotiveMap::is_empty")]
    affinity: EmotiveMap,
}

impl From<Attributes> for Stored {
    fn from(attributes: Attributes) -> Self {
        let entries = attributes.emotives.entries();
        Self {
            emotives: entries
                .iter()
                .map(|entry| (entry.position, entry.emotives.clone()))
                .collect(),
            event_lengths: attributes.event_lengths,
            metadata: attributes.metadata,
            affinity: attributes.affinity,
        }
    }
}

impl From<Stored> for Attributes {
    fn from(stored: Stored) -> Self {
        let mut emotives = EmotiveWindow::default();
        // The limit was applied before the attributes were written and is not known here, so the
        // window keeps as many maps as there are.
        let persistence = NonZeroUsize::new(stored.emotives.len()).unwrap_or(DEFAULT_PERSISTENCE);
        for (position, map) in stored.emotives {
            emotives.learn(position, map, persistence);
        }
        // The frequency of a stored pattern has its own place, so no extra is left to remember.
        Self {
            extra_frequency: 0,
            event_lengths: stored.event_lengths,
            metadata: stored.metadata,
            emotives,
            affinity: stored.affinity,
        }
    }
}

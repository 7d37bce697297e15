//! The learns of a node since the last commit, in a compact form.

use std::collections::HashMap;

use kato_model::{AttributeLimits, Attributes, Metadata, PatternName, VectorName};

/// Learns that the store does not have yet. The content of patterns is in the node's index.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    learned: HashMap<PatternName, Learned, foldhash::fast::RandomState>,
    vectors: Vec<(VectorName, Vec<f64>)>,
    /// Learn calls, all patterns together.
    calls: u64,
}

/// The pending learns of one pattern.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Learn calls.
    pub(crate) count: u64,
    /// Metadata, emotives and affinity, where there are any.
    pub(crate) attributes: Option<Box<Attributes>>,
}

impl Pending {
    /// Adds a learn of a pattern.
    pub(crate) fn count(&mut self, name: PatternName) {
        self.learned.entry(name).or_default().count += 1;
        self.calls += 1;
    }

    /// Keeps what a learn attached to a pattern.
    pub(crate) fn attach(
        &mut self,
        name: PatternName,
        attributes: Attributes,
        limits: &AttributeLimits,
    ) {
        let learned = self.learned.entry(name).or_default();
        learned.attach(attributes, limits);
    }

    /// Keeps a vector that the store does not have yet.
    pub(crate) fn record_vector(&mut self, name: VectorName, elements: &[f64]) {
        self.vectors.push((name, elements.to_vec()));
    }

    /// Adds other pending learns; used to take back what could not be committed.
    pub(crate) fn merge(&mut self, other: Self, limits: &AttributeLimits) {
        // The order of merging does not matter: counts and affinities are sums, metadata are
        // unions, and emotives carry their positions.
        for (name, learned) in other.learned {
            let held = self.learned.entry(name).or_default();
            held.count += learned.count;
            if let Some(attributes) = learned.attributes {
                held.attach(*attributes, limits);
            }
        }
        self.vectors.extend(other.vectors);
        self.calls += other.calls;
    }

    /// Returns the metadata that is pending for a pattern.
    pub(crate) fn metadata(&self, name: &PatternName) -> Option<&Metadata> {
        let attributes = self.learned.get(name)?.attributes.as_ref()?;
        Some(&attributes.metadata)
    }

    pub(crate) fn learned(&self) -> impl Iterator<Item = (&PatternName, &Learned)> {
        self.learned.iter()
    }

    pub(crate) fn vectors(&self) -> &[(VectorName, Vec<f64>)] {
        &self.vectors
    }

    /// Returns the bytes of memory that the learns take, metadata, emotives and vectors not counted.
    pub(crate) fn heap_bytes(&self) -> usize {
        // The table has a byte of the hash for each entry.
        self.learned.capacity() * (size_of::<(PatternName, Learned)>() + 1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.learned.is_empty() && self.vectors.is_empty()
    }

    /// Returns the number of learn calls, all patterns together.
    pub(crate) const fn calls(&self) -> u64 {
        self.calls
    }
}

impl Learned {
    /// Merges what another learn attached.
    fn attach(&mut self, attributes: Attributes, limits: &AttributeLimits) {
        let held = self.attributes.get_or_insert_default();
        held.merge(attributes, limits);
    }
}

//! Settings of the embedded store.

use kato_model::AttributeLimits;

/// Settings of the embedded store.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EmbeddedOptions {
    /// Segments above which a commit merges the smaller ones. More make commits cheaper and
    /// look-ups dearer: a look-up searches every segment. Default 64, at least 2.
    pub max_segments: usize,
    /// Patterns of one node above which a segment is left alone. Merging takes four bytes of
    /// memory for each. Default 24 million.
    pub max_segment_patterns: u64,
    /// Limits on the attributes kept of a pattern; used when a knowledge base is created, ignored
    /// afterwards.
    pub attribute_limits: AttributeLimits,
    /// Reaction of opening to a damaged newest commit. Default: go back to the one before.
    pub damage_policy: DamagePolicy,
}

/// The reaction of opening to a newest commit that is damaged, where the one before it is whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamagePolicy {
    /// Goes back to the commit before and says so
    /// ([`EmbeddedStore::recovered`](crate::EmbeddedStore::recovered)). Right for training, which
    /// goes on from the checkpoint that it finds.
    #[default]
    GoBack,
    /// Refuses with [`StoreError::Corrupt`](crate::StoreError::Corrupt) and leaves the files alone.
    /// Right where others rely on the newest commit, as a journal does that was cut off behind it.
    Refuse,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            max_segments: 64,
            // At four bytes for each, a merge takes about 100 MB of memory.
            max_segment_patterns: 24_000_000,
            attribute_limits: AttributeLimits::default(),
            damage_policy: DamagePolicy::default(),
        }
    }
}

//! The embedded store's settings.

use kato_model::AttributeLimits;

/// The embedded store's settings.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EmbeddedOptions {
    /// Segments above which a commit merges the smaller ones. More make commits cheaper and look-ups dearer: a
    /// look-up asks every segment. Default 64, at least 2.
    pub max_segments: usize,
    /// Patterns of one node above which a segment is left alone. Merging takes four bytes of memory for each.
    /// Default 24 million.
    pub max_segment_patterns: u64,
    /// How much of a pattern's attributes is kept; counts when a knowledge base is created, ignored afterwards.
    pub attribute_limits: AttributeLimits,
    /// What opening does when the newest commit is damaged. Default: go back to the one before.
    pub damage_policy: DamagePolicy,
}

/// What opening does when the newest commit is damaged and the one before it is whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DamagePolicy {
    /// Goes back to the commit before and says so ([`EmbeddedStore::recovered`](crate::EmbeddedStore::recovered)). Right
    /// for training, which goes on from the checkpoint that it finds.
    #[default]
    GoBack,
    /// Refuses with [`StoreError::Corrupt`](crate::StoreError::Corrupt) and leaves the files alone. Right where others rely
    /// on the newest commit, as a journal does that was cut off behind it.
    Refuse,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            max_segments: 64,
            max_segment_patterns: 24_000_000,
            attribute_limits: AttributeLimits::default(),
            damage_policy: DamagePolicy::default(),
        }
    }
}

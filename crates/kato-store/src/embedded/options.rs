//! Settings of the embedded store.

use std::num::NonZeroUsize;

use kato_model::AttributeLimits;

/// Settings of the embedded store.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EmbeddedOptions {
    /// Segments above which the smaller ones are merged; those that hold half of
    /// `max_segment_patterns` or more are left alone and do not count. More make commits cheaper and
    /// look-ups dearer: a look-up searches every segment. Default 64, at least 2.
    pub max_segments: usize,
    /// Patterns of one node in a merged segment at most. Merging takes four bytes of memory for
    /// each. Default 24 million.
    pub max_segment_patterns: u64,
    /// Who waits for merges. Default: the commit that makes them necessary.
    pub merging: Merging,
    /// Merges that go on [beside commits](Merging::Beside) at once, at most; each is one thread's work.
    /// `None`, the default, for one for every four threads that the machine runs at once.
    pub max_merges: Option<NonZeroUsize>,
    /// Part of a node's patterns in a segment, in percent, that may be deleted of it before it is written
    /// again without them. Until then they take their room on the disk. 0 rewrites at once, so that nothing
    /// of a forgotten pattern is left in any file. Default 12, at most 100.
    pub max_deleted_percent: u8,
    /// Limits on the attributes kept of a pattern; used when a knowledge base is created, ignored
    /// afterwards.
    pub attribute_limits: AttributeLimits,
    /// Reaction of opening to a damaged newest commit. Default: refuse.
    pub damage_policy: DamagePolicy,
}

/// The place where the merges are done that keep the number of segments down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Merging {
    /// In the commit that has too many segments, which waits. There are never more than so many, and
    /// no thread but the caller's works.
    #[default]
    InCommit,
    /// On threads beside commits, while more is learned; a later commit puts the merged segments in
    /// place of the others. A commit waits only when there are twice as many segments as the setting
    /// allows, and as the commit brings, which is when learning is faster than the disk. A merge that
    /// goes on when the store is closed is abandoned. Right for training, which commits all the time.
    Beside,
}

/// The reaction of opening to a newest commit that is damaged, where the one before it is whole.
///
/// What is damaged and has a second copy, such as the manifest, is no loss, and opens under every
/// policy; [`EmbeddedStore::recovered`](crate::EmbeddedStore::recovered) tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamagePolicy {
    /// Refuses with [`StoreError::Corrupt`](crate::StoreError::Corrupt), which says what is whole,
    /// what is lost and what to do, and leaves the files alone.
    #[default]
    Refuse,
    /// Goes back to the commit before and says so
    /// ([`EmbeddedStore::recovered`](crate::EmbeddedStore::recovered)), unless that holds nothing.
    /// What was learned since is missing from every answer.
    GoBack,
    /// Goes back, also to a commit that holds nothing. Right for training alone, whose corpus is at
    /// hand: from the checkpoint that it finds it learns again what is lost.
    Relearn,
}

impl EmbeddedOptions {
    /// Sets who waits for merges.
    #[must_use]
    pub fn with_merging(mut self, merging: Merging) -> Self {
        self.merging = merging;
        self
    }

    /// Sets the reaction of opening to a damaged newest commit.
    #[must_use]
    pub fn with_damage_policy(mut self, policy: DamagePolicy) -> Self {
        self.damage_policy = policy;
        self
    }
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            max_segments: 64,
            // At four bytes for each, a merge takes about 100 MB of memory.
            max_segment_patterns: 24_000_000,
            merging: Merging::default(),
            max_merges: None,
            max_deleted_percent: 12,
            attribute_limits: AttributeLimits::default(),
            damage_policy: DamagePolicy::default(),
        }
    }
}

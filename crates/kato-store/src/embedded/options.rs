//! Settings of the embedded store.

use std::num::NonZeroUsize;

use kato_model::AttributeLimits;

use super::segment::Depth;

/// Largest number of patterns of one node that a merge puts into one segment, whatever the options
/// say: ranks are 32-bit numbers, and text symbols need some as well.
const MAX_RANKS: u64 = 1 << 30;

/// Settings of the embedded store.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EmbeddedOptions {
    /// Segments above which the smaller ones are merged; those that hold more than half of
    /// `max_segment_patterns` are left alone and do not count. More make commits cheaper and
    /// look-ups dearer: a look-up searches every segment. Default 64, at least 2.
    pub max_segments: usize,
    /// Patterns of one node in a merged segment at most. Merging takes four bytes of memory for
    /// each. Default 24 million.
    pub max_segment_patterns: u64,
    /// Who waits for merges. Default: the commit that makes them necessary.
    pub merging: Merging,
    /// Merges that go on [beside commits](Merging::Beside) at once, at most; each is one thread's work.
    /// `None`, the default, for one for every four threads that the machine runs at once, at least one.
    pub max_merges: Option<NonZeroUsize>,
    /// Part of a node's patterns in a segment, in percent, that may be deleted of it before it is written
    /// again without them. Until then they take their room on the disk. 0 rewrites at once, so that no
    /// segment holds a forgotten pattern, but for its name where others refer to it. With 100 or more they
    /// go with a merge, or by [`drop_deleted`](crate::EmbeddedStore::drop_deleted). Default 12.
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
    /// In the commit that has too many segments, which waits: the caller's thread merges.
    #[default]
    InCommit,
    /// On threads beside commits, while more is learned; a later commit puts the merged segments in
    /// place of the others. A commit waits only where it would make more than twice as many segments as
    /// the setting allows, and as it brings, which is when learning is faster than the disk. A merge that
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
    /// What was learned since is missing from every answer. Opening reads all of the knowledge base:
    /// damage that only a later read would find is found.
    GoBack,
    /// Goes back, also to a commit that holds nothing. Right for training alone, whose corpus is at
    /// hand: from the checkpoint that it finds it learns again what is lost. It reads all, too.
    Relearn,
}

impl DamagePolicy {
    /// Returns how much opening reads: who asks to go back has met damage, wherever it is.
    pub(super) const fn depth(self) -> Depth {
        match self {
            Self::Refuse => Depth::Indexes,
            Self::GoBack | Self::Relearn => Depth::Everything,
        }
    }
}

impl EmbeddedOptions {
    /// Returns whether commits merge a segment of so many patterns of its largest node: not if another
    /// of its size would not fit into one with it.
    #[must_use]
    pub fn is_mergeable(&self, patterns: u64) -> bool {
        patterns <= self.max_segment_patterns.min(MAX_RANKS) / 2
    }

    /// Returns the positions of the segments that are to be merged, of mergeable ones with so many
    /// patterns of their largest node each, where these and those to come are `excess` too many, beside
    /// one. A pure function, by which a forecast can tell what training will leave.
    ///
    /// They are the smallest, down to about half of the limit, which leaves room for as many commits
    /// until the next merge; and on as long as the next larger one is no larger than all those together.
    /// So what is written again is, as a rule, in a segment twice as large at least.
    ///
    /// ```
    /// use kato_store::embedded::EmbeddedOptions;
    ///
    /// let mut options = EmbeddedOptions::default();
    /// options.max_segments = 4;
    /// assert_eq!(options.to_merge(&[51, 4, 16, 4, 4], 0), [1, 3, 4]);
    /// ```
    #[must_use]
    pub fn to_merge(&self, patterns: &[u64], excess: usize) -> Vec<usize> {
        let most = self.most();
        let count = most + 1 + excess - most / 2;
        let sizes = patterns.iter().copied().enumerate().collect();
        self.smallest(sizes, |n_chosen, patterns, size| {
            n_chosen < count || size <= patterns
        })
    }

    /// Returns the number of segments above which the smaller ones are merged.
    pub(super) fn most(&self) -> usize {
        self.max_segments.max(2)
    }

    /// Returns the smallest of some segments that fit into one together, as long as `is_wanted` says so
    /// of their number, their patterns and those of the next one.
    pub(super) fn smallest(
        &self,
        mut sizes: Vec<(usize, u64)>,
        is_wanted: impl Fn(usize, u64, u64) -> bool,
    ) -> Vec<usize> {
        sizes.sort_by_key(|&(_, size)| size);
        let most = self.max_segment_patterns.min(MAX_RANKS);
        let (mut n_chosen, mut patterns) = (0, 0_u64);
        let chosen = sizes.into_iter().take_while(|&(_, size)| {
            let is_chosen = is_wanted(n_chosen, patterns, size);
            n_chosen += 1;
            // An upper bound, as a name that several segments hold is one pattern in the result.
            patterns = patterns.saturating_add(size);
            is_chosen && patterns <= most
        });
        chosen.map(|(idx, _)| idx).collect()
    }

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

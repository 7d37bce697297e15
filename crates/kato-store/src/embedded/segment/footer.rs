//! A segment's footer: the place of each part, and what the segment counts.

use serde::{Deserialize, Serialize};

use super::foreign::ForeignNames;

/// The place of one part of the file, with its checksum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) crc32: u32,
}

/// One node of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NodeFooter {
    pub(super) dictionary: Part,
    /// Text symbols in the dictionary.
    pub(super) n_literals: u64,
    pub(super) index: Part,
    /// Offset of the byte after the last block.
    pub(super) blocks_end: u64,
    pub(super) totals: NodeTotals,
    /// The vectors, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) vectors: Option<Extent>,
    /// The foreign names, if there are any; only in version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) foreign: Option<ForeignNames>,
}

/// The place of the vectors of a node; every vector has its own checksum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl Extent {
    /// Returns the offset of the byte after the last; `None` if there is no such number.
    pub(super) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.bytes)
    }
}

/// The totals of a node, counted over learn calls, as in KATO's `totals` document, and the number
/// of distinct patterns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeTotals {
    /// Distinct patterns in this segment.
    pub(crate) patterns: u64,
    /// Learn calls: the sum of frequencies.
    pub(crate) observations: u64,
    /// Symbols over all learn calls.
    pub(crate) symbols: u64,
    /// Distinct symbols of each learn call, summed.
    pub(crate) member_symbols: u64,
}

impl NodeTotals {
    /// Adds the counts of other patterns.
    pub(crate) fn add(&mut self, more: &Self) {
        self.patterns = self.patterns.saturating_add(more.patterns);
        self.observations = self.observations.saturating_add(more.observations);
        self.symbols = self.symbols.saturating_add(more.symbols);
        self.member_symbols = self.member_symbols.saturating_add(more.member_symbols);
    }

    /// Returns the counts without those of some of the patterns.
    pub(crate) fn without(&self, gone: &Self) -> Self {
        Self {
            patterns: self.patterns.saturating_sub(gone.patterns),
            observations: self.observations.saturating_sub(gone.observations),
            symbols: self.symbols.saturating_sub(gone.symbols),
            member_symbols: self.member_symbols.saturating_sub(gone.member_symbols),
        }
    }

    /// Returns whether a count has stopped at the largest number: nothing can be taken from it then.
    pub(crate) fn has_stopped(&self) -> bool {
        [self.observations, self.symbols, self.member_symbols].contains(&u64::MAX)
    }

    /// Counts one pattern.
    ///
    /// Counts stay at the largest number rather than wrap: imported frequencies may be any.
    pub(crate) fn count(&mut self, frequency: u64, n_symbols: u64, n_distinct: u64) {
        self.patterns += 1;
        self.observations = self.observations.saturating_add(frequency);
        self.symbols = self
            .symbols
            .saturating_add(frequency.saturating_mul(n_symbols));
        self.member_symbols = self
            .member_symbols
            .saturating_add(frequency.saturating_mul(n_distinct));
    }
}

/// The JSON at the end of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Footer {
    pub(super) nodes: Vec<NodeFooter>,
    /// Sample index and id of documents, JSON Lines.
    pub(super) documents: Part,
}

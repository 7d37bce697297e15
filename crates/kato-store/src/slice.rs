//! Slices: one level of a knowledge base, or a range of its names, in name order and with children
//! by name, for machines that learn and merge one knowledge base together.
//!
//! A segment numbers the patterns of its level below, so segments of different machines can only be
//! merged level by level and by whoever has all of them. A slice names its children, so any range of
//! names of any level can be merged by itself, anywhere. `docs/file-format.md` gives every byte.
//!
//! * [`write_batch`] writes what one batch taught a level.
//! * [`merge`] merges slices into one, cut into [`NameRanges`].
//! * [`compare`] counts what two sides hold of a level that the other does not.
//! * [`seal`] makes a segment of one range of all levels.
//! * [`EmbeddedStore::create_from_segments`](crate::EmbeddedStore::create_from_segments) makes an
//!   ordinary knowledge base of the segments of all ranges.
//!
//! A slice is one file: a head with its text symbols, then its [`SlicePart`]s, one for each range.
//! The head followed by any one of the parts is a slice again, so a range can be fetched alone.

mod compare;
mod format;
mod merge;
mod ranges;
mod reader;
mod references;
mod seal;
mod source;
mod walk;
mod writer;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use compare::{SliceDifference, compare};
pub use merge::{MAX_INPUTS, merge};
pub use ranges::NameRanges;
pub use seal::seal;
pub use source::SliceSource;
pub use writer::write_batch;

/// A slice that was written: where its parts lie in the file, and what they count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceSummary {
    /// Bytes of the head: the text symbols of all parts.
    pub head_bytes: u64,
    /// The parts in the order of their ranges, one for each.
    pub parts: Vec<SlicePart>,
}

/// The patterns of one range of names in a slice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlicePart {
    /// Where the part begins in the file.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// Distinct patterns.
    pub patterns: u64,
    /// Learn calls: the sum of frequencies.
    pub learns: u64,
}

impl SliceSummary {
    /// Returns the size of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.head_bytes + self.parts.iter().map(|part| part.bytes).sum::<u64>()
    }

    /// Returns the bytes of the file that are a slice of one range of names: the head and its part. `None`
    /// where there is no such range, or its part ends beyond what a file can be.
    #[must_use]
    pub fn ranges_of(&self, range: usize) -> Option<Vec<Range<u64>>> {
        let (head, part) = (0..self.head_bytes, self.parts.get(range)?);
        let part = part.offset..part.offset.checked_add(part.bytes)?;
        // One request where they follow each other.
        let parts = match head.end == part.start {
            true => [0..part.end, 0..0],
            false => [head, part],
        };
        Some(parts.into_iter().filter(|part| !part.is_empty()).collect())
    }

    /// Returns the number of distinct patterns.
    #[must_use]
    pub fn patterns(&self) -> u64 {
        self.parts.iter().map(|part| part.patterns).sum()
    }

    /// Returns the number of learn calls.
    #[must_use]
    pub fn learns(&self) -> u64 {
        let parts = self.parts.iter();
        parts.fold(0, |sum, part| sum.saturating_add(part.learns))
    }
}

#[cfg(test)]
mod tests;

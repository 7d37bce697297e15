//! Segments: immutable files that each hold what one batch taught every node, or a merge of
//! several.
//!
//! A segment is self-contained. For every node, from the bottom up, it holds
//!
//! * **foreign names**, in version 2: names of children that the node below does not hold in this
//!   segment, sorted;
//! * a **dictionary**: the text symbols in use, sorted;
//! * **blocks** of up to [`BLOCK_PATTERNS`] patterns in name order: first their 20-byte names, then
//!   their records;
//! * a **block index**: offset, first name and CRC-32 of every block;
//! * **vectors** in name order, where there are any, each with its CRC-32.
//!
//! A symbol in a record is a fixed-width number: below the node below's pattern count it is the
//! *rank* of a child pattern in this segment, then come the foreign names, from there on it is the
//! rank of a text symbol in the dictionary. So a child costs 4 bytes at most instead of the 45 of
//! its name. A JSON footer locates the parts. `docs/file-format.md` gives every byte.

mod block;
mod deleted;
mod dictionary;
mod file;
mod footer;
mod foreign;
mod handles;
mod reader;
mod record;
mod vector;
mod writer;

use std::path::Path;

pub(crate) use deleted::{Deleted, DeletedRun};
pub(crate) use dictionary::Dictionary;
pub(crate) use footer::NodeTotals;
pub(crate) use foreign::ForeignCursor;
pub use handles::set_max_open_segments;
pub(crate) use reader::{
    BlockBuffer, Depth, NodeRun, Renumbering, RenumberingScratch, Segment, VectorCursor,
};
pub(crate) use record::{Extras, RawRecord, push_varint, take_slice, take_varint, width_for};
pub(crate) use writer::{SegmentWriter, WrittenSegment, count_distinct};

use crate::{Place, StoreError, StoreErrorKind};

/// Largest number of symbols of one node, ranks of the node below included: numbers have 32 bits.
const MAX_NUMBERS: u64 = u32::MAX as u64;

/// Creates the error for content that no segment can hold.
pub(crate) fn too_large(path: &Path, reason: &'static str) -> StoreError {
    StoreError::from_backend(StoreErrorKind::TooLarge, Place::from_path(path), reason)
}

/// Number of patterns in a full block. More make reads of one pattern slower, fewer make the index
/// larger.
pub(crate) const BLOCK_PATTERNS: usize = 256;

/// First and last bytes of a segment file, by its version from 1 on. Version 2 has foreign names.
const MAGICS: [[u8; 8]; 2] = [*b"KATOSEG1", *b"KATOSEG2"];

/// Number of the first and of the last bytes.
const MAGIC_BYTES: usize = MAGICS[0].len();

//! The foreign names of a node: names of patterns that are symbols of the node and that the node
//! below does not hold in the same segment.
//!
//! They ascend, in blocks of [`BLOCK_NAMES`], each followed by its CRC-32. All blocks but the last
//! have one size, so the place of a name follows from its number and no index is needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kato_model::PatternName;
use serde::{Deserialize, Serialize};

use super::Segment;
use super::file::SegmentFile;
use crate::StoreError;

/// Number of names in a full block.
const BLOCK_NAMES: u32 = 256;

/// Number of bytes of the names of a full block.
const NAMES_BYTES: usize = BLOCK_NAMES as usize * PatternName::BYTES;

/// Number of bytes of the checksum after a block.
const CRC32_BYTES: usize = size_of::<u32>();

/// Number of bytes of a full block and its checksum.
const BLOCK_BYTES: usize = NAMES_BYTES + CRC32_BYTES;

/// The place of the foreign names of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ForeignNames {
    pub(super) offset: u64,
    /// Number of names.
    pub(super) names: u64,
}

impl ForeignNames {
    /// Returns the offset of the byte after the last; `None` if there is no such number.
    pub(super) fn end(&self) -> Option<u64> {
        let names = self.names.checked_mul(PatternName::BYTES as u64)?;
        let checksums = self.names.div_ceil(u64::from(BLOCK_NAMES)) * CRC32_BYTES as u64;
        self.offset.checked_add(names)?.checked_add(checksums)
    }
}

/// The foreign names of a node that is open.
#[derive(Debug)]
pub(super) struct ForeignTable {
    offset: u64,
    n_names: u32,
    /// Blocks whose checksum was seen to match, so that single names can be read without the whole
    /// block.
    checked: Vec<AtomicBool>,
}

impl ForeignTable {
    /// Creates the table of a place within the file, with at most as many names as there are numbers.
    pub(super) fn new(place: Option<ForeignNames>, n_names: u32) -> Self {
        let n_blocks = n_names.div_ceil(BLOCK_NAMES);
        Self {
            offset: place.map_or(0, |place| place.offset),
            n_names,
            checked: (0..n_blocks).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Returns the number of names.
    pub(super) fn len(&self) -> u32 {
        self.n_names
    }

    /// Returns the name of this number; `None` if there are fewer.
    pub(super) fn name(
        &self,
        file: &SegmentFile,
        number: u32,
    ) -> Result<Option<PatternName>, StoreError> {
        if number >= self.n_names {
            return Ok(None);
        }
        let (block_idx, within) = (number / BLOCK_NAMES, number % BLOCK_NAMES);
        // Relaxed will do: a thread that misses the flag only checks again.
        if !self.checked[block_idx as usize].load(Ordering::Relaxed) {
            self.load(file, block_idx, &mut Vec::new())?;
        }
        let mut name = [0; PatternName::BYTES];
        let place = self.offset_of(block_idx) + u64::from(within) * PatternName::BYTES as u64;
        file.read_at(&mut name, place)?;
        Ok(Some(PatternName::from_bytes(name)))
    }

    /// Reads the names of a block, after checking them.
    fn load(
        &self,
        file: &SegmentFile,
        block_idx: u32,
        block: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let left = self.n_names - block_idx * BLOCK_NAMES;
        let length = left.min(BLOCK_NAMES) as usize * PatternName::BYTES;
        block.resize(length + CRC32_BYTES, 0);
        let start = self.offset_of(block_idx);
        file.read_at(block, start)?;
        if crc32fast::hash(&block[..length]).to_le_bytes() != block[length..] {
            return Err(file.corrupt(format!(
                "the checksum of foreign names at byte {start} does not match"
            )));
        }
        block.truncate(length);
        self.checked[block_idx as usize].store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Returns where a block begins in the file.
    fn offset_of(&self, block_idx: u32) -> u64 {
        // Opening has checked that the table lies within the file, so the sum is an offset.
        self.offset + u64::from(block_idx) * BLOCK_BYTES as u64
    }
}

/// Foreign names on their way into a file.
#[derive(Debug, Default)]
pub(super) struct ForeignBlock {
    bytes: Vec<u8>,
}

impl ForeignBlock {
    /// Appends a name; returns whether the block is full.
    pub(super) fn push(&mut self, name: PatternName) -> bool {
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.len() == NAMES_BYTES
    }

    /// Takes the block with its checksum; `None` if it has no name.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        if self.bytes.is_empty() {
            return None;
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        Some(bytes)
    }
}

/// A walk along the foreign names of a node in order, a block in memory at a time.
#[derive(Debug)]
pub(crate) struct ForeignCursor {
    segment: Arc<Segment>,
    node_idx: usize,
    block: Vec<u8>,
    /// Number of the current name.
    number: u32,
    name: Option<PatternName>,
}

impl ForeignCursor {
    /// Creates a cursor at the first name.
    pub(crate) fn new(segment: Arc<Segment>, node_idx: usize) -> Result<Self, StoreError> {
        Self::from_leading(segment, node_idx, 0)
    }

    /// Creates a cursor at the first name whose leading bytes are at least `leading`.
    pub(crate) fn from_leading(
        segment: Arc<Segment>,
        node_idx: usize,
        leading: u64,
    ) -> Result<Self, StoreError> {
        // Bisection over the first names of the blocks: the last block that begins below `leading`.
        let n_blocks = segment.n_foreign(node_idx).div_ceil(BLOCK_NAMES);
        let (mut low, mut high) = (0, n_blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            let first = segment.foreign_name(node_idx, middle * BLOCK_NAMES)?;
            match first.leading_u64() < leading {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let mut cursor = Self {
            segment,
            node_idx,
            block: Vec::new(),
            number: low.saturating_sub(1) * BLOCK_NAMES,
            name: None,
        };
        cursor.load_current()?;
        while cursor.name.is_some_and(|name| name.leading_u64() < leading) {
            cursor.advance()?;
        }
        Ok(cursor)
    }

    /// Returns the current name; `None` past the last.
    pub(crate) fn name(&self) -> Option<PatternName> {
        self.name
    }

    /// Returns the current name's number among the foreign names.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Moves to the next name.
    pub(crate) fn advance(&mut self) -> Result<(), StoreError> {
        let before = self.name;
        self.number += 1;
        self.load_current()?;
        // Merging relies on the order, which no checksum covers.
        match (before, self.name) {
            (Some(before), Some(name)) if before >= name => {
                Err(self.segment.corrupt("its foreign names do not ascend"))
            }
            _ => Ok(()),
        }
    }

    /// Loads the name of the current number.
    fn load_current(&mut self) -> Result<(), StoreError> {
        self.name = None;
        let table = self.segment.foreign_table(self.node_idx);
        if self.number >= table.len() {
            return Ok(());
        }
        let within = self.number % BLOCK_NAMES;
        if within == 0 || self.block.is_empty() {
            let block_idx = self.number / BLOCK_NAMES;
            table.load(self.segment.file(), block_idx, &mut self.block)?;
        }
        let (names, _) = self.block.as_chunks();
        self.name = names
            .get(within as usize)
            .copied()
            .map(PatternName::from_bytes);
        Ok(())
    }
}

//! Blocks of patterns and the index that finds them.

use kato_model::PatternName;

use super::BLOCK_PATTERNS;

/// Number of bytes of one entry of the block index: offset, leading bytes of the first name,
/// CRC-32.
const ENTRY_BYTES: usize = 8 + 8 + 4;

/// The index entry of one block: its place, the beginning of its first name, its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockEntry {
    pub(super) offset: u64,
    /// [`PatternName::leading_u64`] of the first name.
    pub(super) first: u64,
    pub(super) crc32: u32,
}

/// All blocks of a node, each of [`BLOCK_PATTERNS`] patterns but the last: 20 bytes a block in the file, 24
/// in memory.
#[derive(Debug, Default)]
pub(super) struct BlockIndex {
    pub(super) entries: Vec<BlockEntry>,
    pub(super) blocks_end: u64,
}

impl BlockIndex {
    /// Returns the bytes of an index.
    pub(super) fn encode(entries: &[BlockEntry]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(entries.len() * ENTRY_BYTES);
        for entry in entries {
            bytes.extend_from_slice(&entry.offset.to_le_bytes());
            bytes.extend_from_slice(&entry.first.to_le_bytes());
            bytes.extend_from_slice(&entry.crc32.to_le_bytes());
        }
        bytes
    }

    /// Decodes an index; `None` if the bytes are not an index of `n_patterns` patterns ending at
    /// `blocks_end`.
    pub(super) fn decode(bytes: &[u8], n_patterns: usize, blocks_end: u64) -> Option<Self> {
        let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
        // A last entry that is cut off fails in `get`, so the length needs no check of its own.
        // Room is made for as many as there are: there may be millions.
        let mut entries = Vec::with_capacity(bytes.len().div_ceil(ENTRY_BYTES));
        for entry in bytes.chunks(ENTRY_BYTES) {
            entries.push(BlockEntry {
                offset: number(entry.get(..8)?)?,
                first: number(entry.get(8..16)?)?,
                crc32: u32::from_le_bytes(entry.get(16..)?.try_into().ok()?),
            });
        }
        let index = Self {
            entries,
            blocks_end,
        };
        // Offsets ascend strictly, as no block is empty. Leading bytes may repeat, where different
        // names share them.
        let ascending = index
            .entries
            .is_sorted_by(|a, b| a.offset < b.offset && a.first <= b.first);
        let ends_after_last = index
            .entries
            .last()
            .is_none_or(|last| last.offset < blocks_end);
        (ascending && ends_after_last && index.entries.len() == n_patterns.div_ceil(BLOCK_PATTERNS))
            .then_some(index)
    }

    /// Returns start and end of a block in the file.
    pub(super) fn range(&self, block_idx: usize) -> Option<(u64, u64)> {
        let start = self.entries.get(block_idx)?.offset;
        let end = self
            .entries
            .get(block_idx + 1)
            .map_or(self.blocks_end, |next| next.offset);
        Some((start, end))
    }

    /// Returns the first block that can hold names with these leading bytes or larger ones.
    pub(super) fn first_block_for(&self, leading: u64) -> usize {
        // Names with equal leading bytes may begin in the block before the first that starts with
        // them.
        self.entries
            .partition_point(|entry| entry.first < leading)
            .saturating_sub(1)
    }
}

/// Returns the name that begins at a byte of a block.
pub(super) fn block_name(block: &[u8], at: usize) -> Option<PatternName> {
    let bytes = block.get(at..at + PatternName::BYTES)?;
    bytes.try_into().ok().map(PatternName::from_bytes)
}

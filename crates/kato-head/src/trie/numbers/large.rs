//! The numbers of a column that do not fit there.

use kato_columns::CheckedBytes;

use super::{LARGE, LARGE_HALF, half};

/// Numbers of a column whose large ones are looked for together.
pub(crate) const LARGE_BLOCK: usize = 256;

/// The large numbers of a column.
#[derive(Debug)]
pub(crate) struct Large {
    /// Of each [`LARGE_BLOCK`] numbers, where the large ones begin, with 4 bytes.
    blocks: CheckedBytes,
    /// Of each large one its place in the block, a byte, ascending.
    places: CheckedBytes,
    /// 4 bytes each.
    numbers: CheckedBytes,
}

impl Large {
    /// Joins the columns of large numbers.
    pub(crate) const fn new(
        blocks: CheckedBytes,
        places: CheckedBytes,
        numbers: CheckedBytes,
    ) -> Self {
        Self {
            blocks,
            places,
            numbers,
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let columns = [&self.blocks, &self.places, &self.numbers];
        columns.into_iter().map(CheckedBytes::heap_bytes).sum()
    }

    /// Returns the number of a place that has a byte of its own.
    #[inline]
    pub(super) fn of_byte(&self, byte: u8, place: usize) -> u32 {
        match byte {
            LARGE => self.get(place),
            small => small.into(),
        }
    }

    /// Returns the number of a place that has half a byte.
    #[inline]
    pub(super) fn of_half(&self, byte: u8, place: usize) -> u32 {
        match half(byte, place) {
            LARGE_HALF => self.get(place),
            small => small.into(),
        }
    }

    /// Returns the large number of a place; any where a file is damaged.
    #[inline(never)]
    pub(super) fn get(&self, place: usize) -> u32 {
        let (block, at) = (place / LARGE_BLOCK, (place % LARGE_BLOCK) as u8);
        let blocks = self.blocks.view();
        let start = blocks.u32(block) as usize;
        let end = match (block + 1) * 4 < self.blocks.len() {
            true => blocks.u32(block + 1) as usize,
            false => self.places.len(),
        };
        // There are no more in a block than numbers; what a damaged file says leads no further.
        let len = end.saturating_sub(start).min(LARGE_BLOCK);
        let places = self.places.view().slice(start, len);
        let before = places.partition_point(|&place| place < at);
        self.numbers.view().u32(start.saturating_add(before))
    }
}

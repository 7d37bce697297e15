//! Numbers that ascend, or nearly: of each its distance from a line through its block, in as many bits as the
//! largest takes.
//!
//! A column of them consists of the distances of every [`BLOCK_NUMBERS`], as many as these even where fewer are
//! left, from the lowest bits of the first byte on; and of a head for every block: the least that the numbers are
//! above their line (6 bytes), by how much the line rises from one number to the next (4), where the distances
//! begin, in units of 16 bytes (5), and the bits of each (1). Numbers are counted modulo 2⁴⁸.

#![expect(
    clippy::cast_possible_truncation,
    reason = "positions beyond any column are found out where it is read"
)]

#[cfg(any(test, feature = "disk"))]
use super::bits;
use super::layout::LayoutError;
use kato_columns::{CheckedBytes, View};

/// Numbers under one head.
pub const BLOCK_NUMBERS: usize = 128;

/// Bytes of a head.
const HEAD: usize = 16;

/// Bytes of the distances of a block for each of their bits.
const UNIT: usize = BLOCK_NUMBERS / 8;

/// The bits of a number that count.
const MASK: u64 = (1 << 48) - 1;

/// Most bits of a distance: with those before it in its first byte they are in one word.
const MOST_BITS: usize = 56;

/// Bytes that two distances are in, from the first byte of the first on.
const TWO: usize = 16;

/// Numbers that are packed block by block.
#[cfg(any(test, feature = "disk"))]
#[derive(Debug, Default)]
pub(crate) struct NumberPacker {
    block: Vec<u64>,
    heads: Vec<u8>,
    /// Where the next distances begin, in [`UNIT`]s.
    at: u64,
}

#[cfg(any(test, feature = "disk"))]
impl NumberPacker {
    /// Adds a number below 2⁴⁷, and appends what is complete by it.
    pub(crate) fn push(&mut self, number: u64, out: &mut Vec<u8>) {
        self.block.push(number);
        if self.block.len() == BLOCK_NUMBERS {
            self.pack(out);
        }
    }

    /// Appends what is left.
    pub(crate) fn finish(mut self, out: &mut Vec<u8>) {
        if !self.block.is_empty() {
            self.pack(out);
        }
        out.append(&mut self.heads);
    }

    fn pack(&mut self, out: &mut Vec<u8>) {
        let (first, last) = (self.block[0], self.block[self.block.len() - 1]);
        let n_steps = (self.block.len() as u64 - 1).max(1);
        let slope = (last.saturating_sub(first) / n_steps).min(u32::MAX.into());
        let line = (0..).map(|nth: u64| nth * slope);
        // Signed, as some are below the line.
        let above = self.block.iter().zip(line);
        let above = above.map(|(number, line)| number.wrapping_sub(line) as i64);
        let base = above.clone().min().unwrap_or(0);
        let distances = above.map(|above| above.wrapping_sub(base).cast_unsigned());
        let n_bits = distances
            .clone()
            .max()
            .map_or(0, |most| u64::BITS - most.leading_zeros());
        self.heads.extend(&base.to_le_bytes()[..6]);
        self.heads.extend(&slope.to_le_bytes()[..4]);
        self.heads.extend(&self.at.to_le_bytes()[..5]);
        self.heads.push(n_bits as u8);
        self.at += u64::from(n_bits);
        let end = out.len() + n_bits as usize * UNIT;
        bits::append(distances, n_bits, out);
        out.resize(end, 0);
        self.block.clear();
    }
}

/// A column of packed numbers.
#[derive(Debug, Clone)]
pub(super) struct PackedNumbers {
    column: CheckedBytes,
    n_numbers: usize,
    /// Where the heads begin.
    heads: usize,
}

impl PackedNumbers {
    /// Takes a column of so many numbers.
    pub(super) fn new(column: CheckedBytes, n_numbers: usize) -> Result<Self, LayoutError> {
        let n_bytes = n_numbers.div_ceil(BLOCK_NUMBERS).checked_mul(HEAD);
        let heads = n_bytes.and_then(|n_bytes| column.len().checked_sub(n_bytes));
        match heads.filter(|heads| heads.is_multiple_of(UNIT)) {
            Some(heads) => Ok(Self {
                column,
                n_numbers,
                heads,
            }),
            None => Err(LayoutError(
                "a column has another size than its numbers need",
            )),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.n_numbers
    }

    /// Returns the bytes of memory beside those of the column.
    pub(super) fn heap_bytes(&self) -> usize {
        self.column.heap_bytes()
    }

    pub(super) fn view(&self) -> NumbersView<'_> {
        NumbersView {
            column: self.column.view(),
            heads: self.heads,
        }
    }
}

/// Packed numbers to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumbersView<'a> {
    column: View<'a>,
    heads: usize,
}

/// What a head says of its block.
#[derive(Debug, Clone, Copy)]
struct Block {
    base: u64,
    slope: u64,
    /// Where the distances begin, in bits.
    at: usize,
    n_bits: usize,
}

impl NumbersView<'_> {
    /// Returns a number; 0 where it is damaged or not there.
    #[inline]
    pub(super) fn get(self, idx: usize) -> u64 {
        self.number(self.block(idx), idx)
    }

    /// Returns where a thing begins and how long it is, where the numbers are the offsets of things, and one more;
    /// length 0 where they contradict each other.
    #[inline]
    pub(super) fn range(self, idx: usize) -> (usize, usize) {
        self.range_in(self.block(idx), idx)
    }

    /// Replaces `out` by the ranges of things. What each waits for, memory brings for all at once, and a disk,
    /// too.
    pub(super) fn read_ranges(
        self,
        idxs: impl Iterator<Item = usize> + Clone,
        out: &mut Vec<(usize, usize)>,
    ) {
        let heads = idxs.clone().map(|idx| (self.head(idx), HEAD));
        self.column.will_read(heads);
        let blocks: Vec<(Block, usize)> = idxs.map(|idx| (self.block(idx), idx)).collect();
        let distances = blocks
            .iter()
            .map(|(block, idx)| (block.bit_of(*idx) / 8, TWO));
        self.column.will_read(distances);
        out.clear();
        let blocks = blocks.into_iter();
        out.extend(blocks.map(|(block, idx)| self.range_in(block, idx)));
    }

    /// Returns the range of a thing whose number is in a block.
    #[inline]
    fn range_in(self, block: Block, idx: usize) -> (usize, usize) {
        let next = idx.wrapping_add(1);
        let [start, end] = match next.is_multiple_of(BLOCK_NUMBERS) {
            true => [self.number(block, idx), self.get(next)],
            false => self.two(block, idx),
        };
        let place = usize::try_from(start).unwrap_or(usize::MAX);
        match end.checked_sub(start).map(usize::try_from) {
            Some(Ok(length)) => (place, length),
            _ => {
                self.column.raise_damage();
                (place, 0)
            }
        }
    }

    /// Says that the ranges of things will soon be read.
    pub(super) fn will_read(self, idxs: impl Iterator<Item = usize> + Clone) {
        self.column
            .will_read(idxs.clone().map(|idx| (self.head(idx), HEAD)));
        self.column.will_read(idxs.map(|idx| {
            let block = self.block(idx);
            (block.bit_of(idx) / 8, TWO)
        }));
    }

    /// Says that the numbers from one to another will soon be read, both of which are there.
    pub(super) fn will_read_row(self, [first, last]: [usize; 2]) {
        let (head, last_head) = (self.head(first), self.head(last));
        self.column
            .will_read([(head, last_head.saturating_sub(head).saturating_add(HEAD))]);
        let [first, last] = [first, last].map(|idx| self.block(idx).bit_of(idx) / 8);
        self.column
            .will_read([(first, last.saturating_sub(first).saturating_add(8))]);
    }

    /// Returns where the head of a number's block lies.
    #[inline]
    fn head(self, idx: usize) -> usize {
        self.heads.saturating_add(idx / BLOCK_NUMBERS * HEAD)
    }

    /// Reads the head of a number's block; that of zeros where it is damaged or not there.
    #[inline]
    fn block(self, idx: usize) -> Block {
        let head = u128::from_le_bytes(self.column.array(self.head(idx)));
        let block = Block {
            base: head as u64 & MASK,
            slope: u64::from((head >> 48) as u32),
            at: (((head >> 80) as u64 & ((1 << 40) - 1)) as usize).saturating_mul(UNIT * 8),
            n_bits: (head >> 120) as usize,
        };
        if block.n_bits > MOST_BITS {
            // Only a file that was written so has distances of more bits.
            self.column.raise_damage();
            return Block { n_bits: 0, ..block };
        }
        block
    }

    /// Returns a number of a block and the one after it, which is in the block as well.
    #[inline]
    fn two(self, block: Block, idx: usize) -> [u64; 2] {
        let line = block.base + block.slope * (idx % BLOCK_NUMBERS) as u64;
        let [first, second] = match block.n_bits {
            0 => [0; 2],
            n_bits => {
                let bit = block.bit_of(idx);
                // The heads are behind the distances, so as much can be read of the last as well.
                let bits = u128::from_le_bytes(self.column.array(bit / 8)) >> (bit % 8);
                [bits, bits >> n_bits].map(|bits| bits as u64 & ((1 << n_bits) - 1))
            }
        };
        [line + first, line + block.slope + second].map(|number| number & MASK)
    }

    /// Returns a number of a block.
    #[inline]
    fn number(self, block: Block, idx: usize) -> u64 {
        let line = block.slope * (idx % BLOCK_NUMBERS) as u64;
        let distance = match block.n_bits {
            0 => 0,
            n_bits => {
                let bit = block.bit_of(idx);
                // The heads are behind the distances, so a word can be read of the last as well.
                let bits = u64::from_le_bytes(self.column.array(bit / 8)) >> (bit % 8);
                bits & ((1 << n_bits) - 1)
            }
        };
        (block.base + line + distance) & MASK
    }
}

impl Block {
    /// Returns where the distance of a number begins, in bits.
    #[inline]
    const fn bit_of(&self, idx: usize) -> usize {
        self.at.saturating_add(idx % BLOCK_NUMBERS * self.n_bits)
    }
}

#[cfg(test)]
mod tests;

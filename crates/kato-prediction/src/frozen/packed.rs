//! Ascending ranks as bytes: few as they are, others as the gaps between them, each in as many bits as the
//! largest takes.
//!
//! A rank has as many bytes as [all of the node need](rank_bytes). Up to [`FEW_RANKS`] are written one after the
//! other. The bytes of a longer list, of which there are more, are: the number of ranks (LEB128); the bits of a
//! gap (a byte); the first rank of every [`BLOCK_RANKS`]; and the gaps, from the lowest bits of the first byte
//! on. A gap is how many numbers lie between a rank and the one before it in its block. A list with signatures
//! goes on with them, 4 bytes each; only [long ones](LONGEST_UNSIGNED_LIST) have some. What a list of more lacks
//! to be longer than one of few is filled with zeros.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a gap has at most 32 bits, and a rank is cut out of bits that were one"
)]

use std::ops::Range;

use kato_columns::View;

#[cfg(any(test, feature = "disk"))]
use super::bits;
use super::signature::LONGEST_UNSIGNED_LIST;

/// Ranks that can be read without those before them.
pub(super) const BLOCK_RANKS: usize = 128;

/// Ranks of a list that are written as they are, at most.
const FEW_RANKS: usize = 4;

/// Bytes before the first ranks, at most.
const MOST_HEAD_BYTES: usize = 6;

/// Returns the bytes of a rank in the lists of so many patterns.
pub(crate) const fn rank_bytes(n_patterns: u64) -> usize {
    match n_patterns {
        0..=0x1_0000 => 2,
        0x1_0001..=0x100_0000 => 3,
        _ => 4,
    }
}

/// Returns the fewest bytes of a list of more than a few ranks.
const fn least_bytes(rank_bytes: usize) -> usize {
    FEW_RANKS * rank_bytes + 1
}

/// Appends ascending ranks to bytes, of so many each, with the signatures of a list that has some.
#[cfg(any(test, feature = "disk"))]
pub(crate) fn pack(
    ranks: &[u32],
    rank_bytes: usize,
    signatures: impl Iterator<Item = u32>,
    out: &mut Vec<u8>,
) {
    let append = |rank: u32, out: &mut Vec<u8>| out.extend(&rank.to_le_bytes()[..rank_bytes]);
    if ranks.len() <= FEW_RANKS {
        ranks.iter().for_each(|&rank| append(rank, out));
        return;
    }
    let start = out.len();
    let mut rest = ranks.len();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    let blocks = || ranks.chunks(BLOCK_RANKS);
    let gaps = || blocks().flat_map(|block| block.windows(2).map(|two| two[1] - two[0] - 1));
    // The highest bit of all is that of the largest.
    let width = u32::BITS - gaps().fold(0, |all, gap| all | gap).leading_zeros();
    out.push(width as u8);
    blocks().for_each(|block| append(block[0], out));
    bits::append(gaps().map(u64::from), width, out);
    out.extend(signatures.flat_map(u32::to_le_bytes));
    // Behind the signatures: these are found behind the gaps.
    out.resize(out.len().max(start + least_bytes(rank_bytes)), 0);
}

/// Packed ranks to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedRanks<'a> {
    column: View<'a>,
    n_ranks: usize,
    rank_bytes: usize,
    /// Bits of a gap.
    width: usize,
    /// Where the first ranks of blocks begin, and where the gaps do.
    firsts: usize,
    gaps: usize,
}

impl<'a> PackedRanks<'a> {
    /// Finds the parts of a list that lies in a range of bytes; there is nothing in a damaged one.
    ///
    /// `rank_bytes` are those of a rank, and `signature_bytes` of a signature where the list is long; 0 without
    /// any.
    pub(super) fn new(
        column: View<'a>,
        (start, len): (usize, usize),
        rank_bytes: usize,
        signature_bytes: usize,
    ) -> Self {
        let nothing = Self {
            column,
            n_ranks: 0,
            rank_bytes,
            width: 0,
            firsts: start,
            gaps: start,
        };
        if len < least_bytes(rank_bytes) {
            if !len.is_multiple_of(rank_bytes) {
                column.raise_damage();
                return nothing;
            }
            return Self {
                n_ranks: len / rank_bytes,
                // A damaged offset may be any number.
                gaps: start.saturating_add(len),
                ..nothing
            };
        }
        let head = column.slice(start, len.min(MOST_HEAD_BYTES));
        let n_more = head.iter().take_while(|&&byte| byte >= 0x80).count();
        let Some(&width) = head.get(n_more + 1) else {
            return nothing;
        };
        let n_ranks = head[..=n_more]
            .iter()
            .rev()
            .fold(0_u64, |n, &byte| n << 7 | u64::from(byte & 0x7F));
        let n_ranks = n_ranks as usize;
        let firsts = start + n_more + 2;
        let ranks = Self {
            n_ranks,
            width: usize::from(width),
            firsts,
            gaps: firsts + n_ranks.div_ceil(BLOCK_RANKS).saturating_mul(rank_bytes),
            ..nothing
        };
        let signature_bytes = match n_ranks > LONGEST_UNSIGNED_LIST {
            true => signature_bytes,
            false => 0,
        };
        let end = ranks
            .signatures()
            .saturating_add(n_ranks.saturating_mul(signature_bytes));
        let end = end.max(start.saturating_add(least_bytes(rank_bytes)));
        let is_few = n_ranks <= FEW_RANKS;
        if is_few || usize::from(width) > 32 || end != start.saturating_add(len) {
            // Only a file that was written so has lists of another size than they say.
            column.raise_damage();
            return nothing;
        }
        ranks
    }

    /// Returns the number of ranks.
    pub(super) const fn len(&self) -> usize {
        self.n_ranks
    }

    /// Returns whether the ranks are written as they are.
    const fn are_few(&self) -> bool {
        self.n_ranks <= FEW_RANKS
    }

    /// Returns where signatures begin; a list of few has none.
    pub(super) const fn signatures(&self) -> usize {
        let n_gaps = self.n_ranks - self.n_ranks.div_ceil(BLOCK_RANKS);
        self.gaps + (n_gaps * self.width).div_ceil(8)
    }

    /// Returns the first rank of a block; of few ranks, any one.
    pub(super) fn first_of(&self, block: usize) -> u32 {
        let at = self.firsts + block * self.rank_bytes;
        rank_of(self.column.slice(at, self.rank_bytes))
    }

    /// Returns the place of the first rank of the last block, of those from one place up to another, that does
    /// not begin beyond a rank; the first place if all do.
    pub(super) fn block_place(&self, places: Range<usize>, rank: u32) -> usize {
        let (first, end) = (places.start / BLOCK_RANKS, places.end.div_ceil(BLOCK_RANKS));
        let (mut lo, mut hi, mut step) = (first, first + 1, 1);
        // Doubling steps, as the place is near where many ranks are sought one after another.
        while hi < end && self.first_of(hi) <= rank {
            lo = hi;
            hi += step;
            step *= 2;
        }
        hi = hi.min(end);
        while lo + 1 < hi {
            let middle = lo + (hi - lo) / 2;
            match self.first_of(middle) <= rank {
                true => lo = middle,
                false => hi = middle,
            }
        }
        places.start.max(lo * BLOCK_RANKS)
    }

    /// Replaces `out` by the ranks at places; by none where they are damaged.
    pub(super) fn read(&self, places: Range<usize>, out: &mut Vec<u32>) {
        out.clear();
        if places.is_empty() {
            return;
        }
        if self.are_few() {
            let at = self.firsts + places.start * self.rank_bytes;
            let bytes = self.column.slice(at, places.len() * self.rank_bytes);
            out.extend(bytes.chunks_exact(self.rank_bytes).map(rank_of));
            return;
        }
        let first = places.start / BLOCK_RANKS;
        for block in first..places.end.div_ceil(BLOCK_RANKS) {
            if !self.append_block(block, out) {
                out.clear();
                return;
            }
        }
        out.truncate(places.end - first * BLOCK_RANKS);
        out.drain(..places.start - first * BLOCK_RANKS);
    }

    /// Appends the ranks of a block; `false` where they are damaged.
    fn append_block(&self, block: usize, out: &mut Vec<u32>) -> bool {
        let n_gaps = (self.n_ranks - block * BLOCK_RANKS).min(BLOCK_RANKS) - 1;
        let start = block * (BLOCK_RANKS - 1) * self.width;
        let n_bytes = (start % 8 + n_gaps * self.width).div_ceil(8);
        let bytes = self.column.slice(self.gaps + start / 8, n_bytes);
        if bytes.len() < n_bytes {
            return false;
        }
        let mask = (1_u64 << self.width) - 1;
        let (mut rank, mut bit) = (self.first_of(block), start % 8);
        out.push(rank);
        out.extend((0..n_gaps).map(|_| {
            let gap = word(bytes, bit / 8) >> (bit % 8) & mask;
            bit += self.width;
            // Wraps around in a file that was written so; such a rank is none.
            rank = rank.wrapping_add(gap as u32).wrapping_add(1);
            rank
        }));
        true
    }

    /// Says that the ranks at places will soon be read.
    pub(super) fn will_read(&self, places: Range<usize>) {
        if self.are_few() {
            let len = self.n_ranks * self.rank_bytes;
            return self.column.will_read([(self.firsts, len)]);
        }
        let (first, end) = (places.start / BLOCK_RANKS, places.end.div_ceil(BLOCK_RANKS));
        let of_block = (BLOCK_RANKS - 1) * self.width;
        let gaps = (first * of_block / 8, ((end - first) * of_block).div_ceil(8));
        let last = self.signatures().saturating_sub(self.gaps + gaps.0);
        self.column.will_read([
            (
                self.firsts + first * self.rank_bytes,
                (end - first) * self.rank_bytes,
            ),
            (self.gaps + gaps.0, gaps.1.min(last)),
        ]);
    }
}

/// Returns up to 4 bytes as a rank.
#[inline]
fn rank_of(bytes: &[u8]) -> u32 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |rank, &byte| rank << 8 | u32::from(byte))
}

/// Returns up to 8 bytes as a number.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(&word) => u64::from_le_bytes(word),
        None => {
            let rest = bytes.get(at..).unwrap_or_default().iter();
            rest.rev()
                .fold(0, |word, &byte| word << 8 | u64::from(byte))
        }
    }
}

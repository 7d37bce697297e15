//! Bits in a column, and how many of them are set in front of any place.
//!
//! A line of 64 bytes holds 480 bits and, in front of them, the number of bits set before the line: so one
//! line, which is what a processor fetches at a time, answers a question.

use std::io;

use kato_columns::CheckedBytes;
use kato_columns::files::{ColumnWriter, FileError};

/// Bytes of a line.
const LINE: usize = 64;

/// Bits of the number at the beginning of a line.
const HEAD: usize = 32;

/// Bits of a line.
const BITS: usize = LINE * 8 - HEAD;

/// A column of bits that is written from front to back.
#[derive(Debug)]
pub(crate) struct BitsWriter {
    column: ColumnWriter,
    line: [u64; LINE / 8],
    /// Bits in the line, its head among them.
    len: usize,
    n_set: u32,
}

impl BitsWriter {
    pub(crate) const fn new(column: ColumnWriter) -> Self {
        Self {
            column,
            line: [0; LINE / 8],
            len: HEAD,
            n_set: 0,
        }
    }

    /// Appends a bit.
    pub(crate) fn push(&mut self, bit: bool) -> Result<(), FileError> {
        self.line[self.len / 64] |= u64::from(bit) << (self.len % 64);
        self.len += 1;
        if self.len == HEAD + BITS {
            self.end_line()?;
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), FileError> {
        for word in self.line {
            self.column.push(&word.to_le_bytes())?;
        }
        // The head counts as one of the words only up to here.
        let bits: u32 = self.line.iter().map(|word| word.count_ones()).sum();
        let n_set = self.n_set.checked_add(bits - self.n_set.count_ones());
        self.n_set = n_set.ok_or_else(|| {
            let reason = "a document is too long for its places to be kept";
            FileError::io("write", self.column.path())(io::Error::other(reason))
        })?;
        self.line = [0; LINE / 8];
        self.line[0] = u64::from(self.n_set);
        self.len = HEAD;
        Ok(())
    }

    /// Ends the last line, which may be empty, and returns the column.
    pub(crate) fn finish(mut self) -> Result<ColumnWriter, FileError> {
        self.end_line()?;
        Ok(self.column)
    }
}

/// A column of bits.
#[derive(Debug, Clone)]
pub(crate) struct Bits(CheckedBytes);

impl Bits {
    pub(crate) const fn new(column: CheckedBytes) -> Self {
        Self(column)
    }

    /// Returns the bit at a place, and how many are set in front of it. Zeros where the column is damaged.
    #[inline]
    pub(crate) fn get(&self, at: u64) -> (bool, u64) {
        let (line, bit) = self.line(at);
        let is_set = line[bit / 64] >> (bit % 64) & 1 == 1;
        (is_set, Self::set_before(&line, bit))
    }

    /// Returns how many bits are set in front of a place, which may be behind the last bit.
    #[inline]
    pub(crate) fn rank(&self, at: u64) -> u64 {
        let (line, bit) = self.line(at);
        Self::set_before(&line, bit)
    }

    /// Returns how many bits are set in front of each of two places.
    #[inline]
    pub(crate) fn ranks(&self, low: u64, high: u64) -> (u64, u64) {
        let bits = BITS as u64;
        if low / bits != high / bits {
            return (self.rank(low), self.rank(high));
        }
        let (line, bit) = self.line(low);
        let of_high = HEAD + (high % bits) as usize;
        (
            Self::set_before(&line, bit),
            Self::set_before(&line, of_high),
        )
    }

    /// Has memory send what is known of a place, which will soon be asked for.
    #[inline]
    pub(crate) fn fetch(&self, at: u64) {
        self.0.view().prefetch(Self::start_of_line(at));
    }

    #[inline]
    fn start_of_line(at: u64) -> usize {
        let line = usize::try_from(at / BITS as u64);
        line.map_or(usize::MAX, |line| line.saturating_mul(LINE))
    }

    #[inline]
    fn line(&self, at: u64) -> ([u64; LINE / 8], usize) {
        let bits = BITS as u64;
        let bytes: [u8; LINE] = self.0.view().array(Self::start_of_line(at));
        let mut line = [0; LINE / 8];
        for (word, bytes) in line.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        // Below 480.
        (line, HEAD + (at % bits) as usize)
    }

    #[inline]
    fn set_before(line: &[u64; LINE / 8], bit: usize) -> u64 {
        let head = line[0] & u64::from(u32::MAX);
        let whole = line[..bit / 64].iter().map(|word| word.count_ones());
        let rest = line[bit / 64] & ((1 << (bit % 64)) - 1);
        let counted = whole.sum::<u32>() + rest.count_ones() - head.count_ones();
        head + u64::from(counted)
    }
}

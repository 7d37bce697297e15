//! Writing columns of numbers most of which are small; the large ones stand beside.

use kato_columns::files::ColumnWriter;

use super::CountsError;
use super::columns::{Columns, names_of_large};
use crate::trie::numbers::{LARGE, LARGE_BLOCK, LARGE_HALF, LINE_NUMBERS};

/// Returns whether most n-grams of so many symbols are rare and few continue them, so that half a byte holds their
/// counts, and a byte tells where what continues them begins.
pub(super) const fn is_narrow(n: usize) -> bool {
    n > 2
}

/// The numbers of a column that do not fit there, and their places.
struct LargeWriter {
    blocks: ColumnWriter,
    places: ColumnWriter,
    numbers: ColumnWriter,
    /// How many numbers the column has, and how many of them are large.
    len: usize,
    n_large: u32,
}

impl LargeWriter {
    fn create(columns: &Columns, name: &str) -> Result<Self, CountsError> {
        let [blocks, places, numbers] = names_of_large(name);
        Ok(Self {
            blocks: columns.create(&blocks)?,
            places: columns.create(&places)?,
            numbers: columns.create(&numbers)?,
            len: 0,
            n_large: 0,
        })
    }

    /// Takes the next number of the column.
    #[inline]
    fn push(&mut self, number: u32, is_large: bool) -> Result<(), CountsError> {
        let place = self.len % LARGE_BLOCK;
        self.len += 1;
        if place == 0 {
            self.blocks.push(&self.n_large.to_le_bytes())?;
        }
        if is_large {
            self.n_large += 1;
            // A block is no longer than a byte tells.
            self.places.push(&[place as u8])?;
            self.numbers.push(&number.to_le_bytes())?;
        }
        Ok(())
    }

    fn end(self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        let [blocks, places, numbers] = names_of_large(name);
        columns.end(&blocks, self.blocks)?;
        columns.end(&places, self.places)?;
        columns.end(&numbers, self.numbers)
    }
}

/// A column of counts.
pub(super) struct SmallWriter {
    small: ColumnWriter,
    large: LargeWriter,
    is_narrow: bool,
    /// The lower half of a byte whose upper half is to come.
    half: u8,
}

impl SmallWriter {
    /// Creates a column of n-grams of `n` symbols.
    pub(super) fn create(columns: &Columns, n: usize, name: &str) -> Result<Self, CountsError> {
        Ok(Self {
            small: columns.create(name)?,
            large: LargeWriter::create(columns, name)?,
            is_narrow: is_narrow(n),
            half: 0,
        })
    }

    #[inline]
    pub(super) fn push(&mut self, number: u32) -> Result<(), CountsError> {
        let largest = if self.is_narrow { LARGE_HALF } else { LARGE };
        let small = u8::try_from(number).unwrap_or(largest).min(largest);
        self.large.push(number, small == largest)?;
        if !self.is_narrow {
            self.small.push(&[small])?;
        } else if self.large.len.is_multiple_of(2) {
            self.small.push(&[small << 4 | self.half])?;
        } else {
            self.half = small;
        }
        Ok(())
    }

    /// Ends the column.
    pub(super) fn end(mut self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        if self.is_narrow && !self.large.len.is_multiple_of(2) {
            self.small.push(&[self.half])?;
        }
        columns.end(name, self.small)?;
        self.large.end(columns, name)
    }
}

/// A column of the places at which what continues each n-gram begins.
pub(super) struct StartsWriter {
    starts: ColumnWriter,
    /// `None` where each has 4 bytes.
    lines: Option<LargeWriter>,
    /// The first number of the line at hand.
    first: u32,
}

impl StartsWriter {
    /// Creates a column of n-grams of `n` symbols.
    pub(super) fn create(columns: &Columns, n: usize, name: &str) -> Result<Self, CountsError> {
        let large = || LargeWriter::create(columns, name);
        Ok(Self {
            starts: columns.create(name)?,
            lines: is_narrow(n).then(large).transpose()?,
            first: 0,
        })
    }

    #[inline]
    pub(super) fn push(&mut self, start: u32) -> Result<(), CountsError> {
        let Some(large) = &mut self.lines else {
            return Ok(self.starts.push(&start.to_le_bytes())?);
        };
        if large.len.is_multiple_of(LINE_NUMBERS) {
            self.first = start;
            self.starts.push(&start.to_le_bytes())?;
        }
        // They ascend.
        let more = u8::try_from(start - self.first).unwrap_or(LARGE);
        large.push(start, more == LARGE)?;
        Ok(self.starts.push(&[more])?)
    }

    /// Ends the column.
    pub(super) fn end(self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        columns.end(name, self.starts)?;
        self.lines.map_or(Ok(()), |large| large.end(columns, name))
    }
}

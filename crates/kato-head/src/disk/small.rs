//! Writing columns of numbers most of which are small; the large ones stand beside.

use kato_columns::files::ColumnWriter;

use super::CountsError;
use super::columns::{Columns, large, large_places};
use crate::trie::numbers::{LARGE, LARGE_HALF, LINE_NUMBERS};

/// Returns whether most n-grams of so many symbols are rare and few continue them, so that half a byte holds their
/// counts, and a byte tells where what continues them begins.
pub(super) const fn is_narrow(n: usize) -> bool {
    n > 2
}

/// The numbers of a column that do not fit there, and their places.
struct LargeWriter {
    places: ColumnWriter,
    numbers: ColumnWriter,
}

impl LargeWriter {
    fn create(columns: &Columns, name: &str) -> Result<Self, CountsError> {
        Ok(Self {
            places: columns.create(&large_places(name))?,
            numbers: columns.create(&large(name))?,
        })
    }

    fn push(&mut self, place: u32, number: u32) -> Result<(), CountsError> {
        self.places.push(&place.to_le_bytes())?;
        Ok(self.numbers.push(&number.to_le_bytes())?)
    }

    fn end(self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        columns.end(&large_places(name), self.places)?;
        columns.end(&large(name), self.numbers)
    }
}

/// A column of counts.
pub(super) struct SmallWriter {
    small: ColumnWriter,
    large: LargeWriter,
    len: u32,
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
            len: 0,
            is_narrow: is_narrow(n),
            half: 0,
        })
    }

    #[inline]
    pub(super) fn push(&mut self, number: u32) -> Result<(), CountsError> {
        let largest = if self.is_narrow { LARGE_HALF } else { LARGE };
        let small = u8::try_from(number).unwrap_or(largest).min(largest);
        if small == largest {
            self.large.push(self.len, number)?;
        }
        if !self.is_narrow {
            self.small.push(&[small])?;
        } else if self.len.is_multiple_of(2) {
            self.half = small;
        } else {
            self.small.push(&[small << 4 | self.half])?;
        }
        self.len += 1;
        Ok(())
    }

    /// Ends the column.
    pub(super) fn end(mut self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        if self.is_narrow && !self.len.is_multiple_of(2) {
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
    len: u32,
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
            len: 0,
            first: 0,
        })
    }

    #[inline]
    pub(super) fn push(&mut self, start: u32) -> Result<(), CountsError> {
        let Some(large) = &mut self.lines else {
            return Ok(self.starts.push(&start.to_le_bytes())?);
        };
        if (self.len as usize).is_multiple_of(LINE_NUMBERS) {
            self.first = start;
            self.starts.push(&start.to_le_bytes())?;
        }
        // They ascend.
        let more = u8::try_from(start - self.first).unwrap_or(LARGE);
        if more == LARGE {
            large.push(self.len, start)?;
        }
        self.len += 1;
        Ok(self.starts.push(&[more])?)
    }

    /// Ends the column.
    pub(super) fn end(self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        columns.end(name, self.starts)?;
        self.lines.map_or(Ok(()), |large| large.end(columns, name))
    }
}

//! Writing columns of numbers most of which are small; the large ones stand beside.

use kato_columns::files::ColumnWriter;

use super::CountsError;
use super::columns::{Columns, name_of_others, names_of_large};
use super::starts::Line;
use crate::trie::numbers::{LARGE, LARGE_BLOCK, LARGE_HALF, ONES};

/// The numbers of a column that do not fit there, and their places.
pub(super) struct LargeWriter {
    blocks: ColumnWriter,
    places: ColumnWriter,
    numbers: ColumnWriter,
    /// How many numbers the column has, and how many of them are large.
    len: usize,
    n_large: u32,
}

impl LargeWriter {
    pub(super) fn create(columns: &Columns, name: &str) -> Result<Self, CountsError> {
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
    pub(super) fn push(&mut self, number: u32, is_large: bool) -> Result<(), CountsError> {
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

    pub(super) fn end(self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        let [blocks, places, numbers] = names_of_large(name);
        columns.end(&blocks, self.blocks)?;
        columns.end(&places, self.places)?;
        columns.end(&numbers, self.numbers)
    }
}

/// A column of counts.
pub(super) enum SmallWriter {
    /// Bytes.
    Bytes(ColumnWriter, LargeWriter),
    /// Bits that say which are 1.
    Ones(OnesWriter),
}

/// A column most of whose numbers are 1.
pub(super) struct OnesWriter {
    lines: ColumnWriter,
    line: Line,
    /// Those that are not 1: half a byte each, and the large ones.
    others: ColumnWriter,
    large: LargeWriter,
    /// The lower half of a byte whose upper half is to come.
    half: u8,
}

impl OnesWriter {
    fn create(columns: &Columns, name: &str) -> Result<Self, CountsError> {
        let others = name_of_others(name);
        Ok(Self {
            lines: columns.create(name)?,
            line: Line::default(),
            others: columns.create(&others)?,
            large: LargeWriter::create(columns, &others)?,
            half: 0,
        })
    }

    #[inline]
    fn push(&mut self, number: u32) -> Result<(), CountsError> {
        if self.line.len == ONES {
            self.lines.push(&self.line.bytes)?;
            self.line.len = 0;
        }
        if self.line.len == 0 {
            // There are fewer numbers than 2³².
            self.line.begin(self.large.len as u32);
        }
        self.line.push(u8::from(number != 1), 1);
        if number == 1 {
            return Ok(());
        }
        let small = u8::try_from(number).unwrap_or(LARGE_HALF).min(LARGE_HALF);
        self.large.push(number, small == LARGE_HALF)?;
        match self.large.len.is_multiple_of(2) {
            true => self.others.push(&[small << 4 | self.half])?,
            false => self.half = small,
        }
        Ok(())
    }

    fn end(mut self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        if self.line.len > 0 {
            self.lines.push(&self.line.bytes)?;
        }
        if !self.large.len.is_multiple_of(2) {
            self.others.push(&[self.half])?;
        }
        let others = name_of_others(name);
        columns.end(name, self.lines)?;
        columns.end(&others, self.others)?;
        self.large.end(columns, &others)
    }
}

impl SmallWriter {
    /// Creates a column of n-grams of `n` symbols.
    pub(super) fn create(columns: &Columns, n: usize, name: &str) -> Result<Self, CountsError> {
        Ok(match are_mostly_ones(n) {
            true => Self::Ones(OnesWriter::create(columns, name)?),
            false => Self::Bytes(columns.create(name)?, LargeWriter::create(columns, name)?),
        })
    }

    #[inline]
    pub(super) fn push(&mut self, number: u32) -> Result<(), CountsError> {
        match self {
            Self::Bytes(bytes, large) => {
                let small = u8::try_from(number).unwrap_or(LARGE);
                large.push(number, small == LARGE)?;
                Ok(bytes.push(&[small])?)
            }
            Self::Ones(ones) => ones.push(number),
        }
    }

    /// Ends the column.
    pub(super) fn end(self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        match self {
            Self::Bytes(bytes, large) => {
                columns.end(name, bytes)?;
                large.end(columns, name)
            }
            Self::Ones(ones) => ones.end(columns, name),
        }
    }
}

/// Returns whether most n-grams of so many symbols are rare, and few continue them.
pub(super) const fn are_mostly_ones(n: usize) -> bool {
    n > 2
}

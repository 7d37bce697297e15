//! The columns of counts: their names, written one after the other and mapped.

use std::path::Path;

use kato_columns::files::{ColumnList, ColumnSetWriter, ColumnWriter};
use kato_columns::{CheckedBytes, Damage};

use super::CountsError;
use crate::trie::numbers::{LARGE, Numbers, Width};
use crate::trie::sums::{SUMS_BYTES, WrittenSums};
use crate::trie::{LaterColumns, Level};

pub(super) const TEXTS: &str = "texts";
pub(super) const TEXT_STARTS: &str = "text_starts";

/// Returns the name of a column of the n-grams, or contexts, of so many symbols.
pub(super) fn name_of(length: usize, column: &str) -> String {
    format!("{length}.{column}")
}

/// Columns that are written, those of small numbers among them.
#[derive(Debug)]
pub(super) struct Columns(ColumnSetWriter);

impl Columns {
    pub(super) fn new(dir: &Path) -> Self {
        Self(ColumnSetWriter::new(dir))
    }

    pub(super) fn dir(&self) -> &Path {
        self.0.dir()
    }

    pub(super) fn create(&self, name: &str) -> Result<ColumnWriter, CountsError> {
        Ok(self.0.create(name)?)
    }

    pub(super) fn end(&mut self, name: &str, column: ColumnWriter) -> Result<(), CountsError> {
        Ok(self.0.end(name, column)?)
    }

    pub(super) fn small(&self, name: &str) -> Result<SmallWriter, CountsError> {
        Ok(SmallWriter {
            small: self.create(name)?,
            places: self.create(&large_places(name))?,
            numbers: self.create(&large(name))?,
            len: 0,
        })
    }

    pub(super) fn end_small(&mut self, name: &str, column: SmallWriter) -> Result<(), CountsError> {
        self.end(name, column.small)?;
        self.end(&large_places(name), column.places)?;
        self.end(&large(name), column.numbers)
    }

    /// Maps a column that was written.
    pub(super) fn map(&self, name: &str, damage: &Damage) -> Result<CheckedBytes, CountsError> {
        Ok(self.0.map(name, damage)?)
    }

    /// Writes the checksums, waits until the disk has them, and returns the list of all columns.
    pub(super) fn finish(self) -> Result<ColumnList, CountsError> {
        Ok(self.0.finish()?)
    }
}

fn large_places(name: &str) -> String {
    format!("{name}_large_places")
}

fn large(name: &str) -> String {
    format!("{name}_large")
}

/// A column of numbers most of which are small.
pub(super) struct SmallWriter {
    small: ColumnWriter,
    places: ColumnWriter,
    numbers: ColumnWriter,
    len: u32,
}

impl SmallWriter {
    #[inline]
    pub(super) fn push(&mut self, number: u32) -> Result<(), CountsError> {
        match u8::try_from(number) {
            Ok(small) if small != LARGE => self.small.push(&[small])?,
            _ => {
                self.small.push(&[LARGE])?;
                self.places.push(&self.len.to_le_bytes())?;
                self.numbers.push(&number.to_le_bytes())?;
            }
        }
        self.len += 1;
        Ok(())
    }
}

/// Finds a column by its name.
pub(super) type Find<'a> = dyn FnMut(&str) -> Result<CheckedBytes, CountsError> + 'a;

/// Returns a column of numbers most of which are small.
pub(super) fn small(name: &str, find: &mut Find<'_>) -> Result<Numbers, CountsError> {
    let large = [find(&large_places(name))?, find(&large(name))?];
    Ok(Numbers::from_file(find(name)?, Width::Byte(large)))
}

/// What of the columns of an order is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Has {
    /// Symbols, counts, and where the followers begin.
    Counts,
    /// The symbols to the left as well.
    Continuations,
}

/// Returns the n-grams of `n` symbols; those of the longest have no followers.
pub(super) fn level(
    n: usize,
    is_longest: bool,
    symbol_bytes: u8,
    has: Has,
    find: &mut Find<'_>,
) -> Result<Level, CountsError> {
    let width = match symbol_bytes {
        2 => Width::Two,
        _ => Width::Four,
    };
    let symbols = Numbers::from_file(find(&name_of(n, "symbols"))?, width);
    let counts = small(&name_of(n, "counts"), find)?;
    let (mut starts, mut continuations) = (Numbers::default(), Numbers::default());
    if !is_longest {
        starts = Numbers::from_file(find(&name_of(n, "starts"))?, Width::Four);
        if has == Has::Continuations {
            continuations = small(&name_of(n, "continuations"), find)?;
        }
    }
    Ok(Level::new(symbols, counts, continuations, starts))
}

/// Returns what a unit has of the n-grams of `n` symbols.
pub(super) fn later(n: usize, find: &mut Find<'_>) -> Result<LaterColumns, CountsError> {
    let mut numbers = |column: &str| -> Result<Numbers, CountsError> {
        Ok(Numbers::from_file(find(&name_of(n, column))?, Width::Four))
    };
    Ok(LaterColumns {
        changed: numbers("changed")?,
        changed_counts: numbers("changed_counts")?,
        contexts: numbers("contexts")?,
        starts: numbers("starts")?,
        symbols: numbers("symbols")?,
        counts: numbers("counts")?,
    })
}

/// Returns the sums of the contexts of `length` symbols.
pub(super) fn sums(length: usize, find: &mut Find<'_>) -> Result<WrittenSums, CountsError> {
    let ids = Numbers::from_file(find(&name_of(length, "summed"))?, Width::Four);
    let sums = find(&name_of(length, "sums"))?;
    if sums.len() != ids.len() * SUMS_BYTES {
        let reason = "sums have another size than what they are of";
        return Err(CountsError::damaged(Path::new("sums"), reason));
    }
    Ok(WrittenSums(ids, sums))
}

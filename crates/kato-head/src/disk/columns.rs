//! The columns of counts: their names, written one after the other and mapped.

use std::path::Path;

use kato_columns::files::{ColumnList, ColumnSetWriter, ColumnWriter};
use kato_columns::{CheckedBytes, DamageWatch};

use super::CountsError;
use super::small::are_mostly_ones;
use crate::trie::numbers::{Large, Lines, Numbers, Step, Width};
use crate::trie::sums::{SUMS_BYTES, WrittenSums};
use crate::trie::{LaterColumns, Level};

pub(super) const TEXTS: &str = "texts";
pub(super) const TEXT_STARTS: &str = "text_starts";

/// Returns the name of a column of the n-grams, or contexts, of so many symbols.
pub(super) fn name_of(length: usize, column: &str) -> String {
    format!("{length}.{column}")
}

/// Columns that are written.
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

    /// Maps a column that was written.
    pub(super) fn map(
        &self,
        name: &str,
        damage: &DamageWatch,
    ) -> Result<CheckedBytes, CountsError> {
        Ok(self.0.map(name, damage)?)
    }

    /// Writes the checksums, waits until the disk has them, and returns the list of all columns.
    pub(super) fn finish(self) -> Result<ColumnList, CountsError> {
        Ok(self.0.finish()?)
    }
}

/// Returns the names of the columns that hold the large numbers of another one.
pub(super) fn names_of_large(name: &str) -> [String; 3] {
    ["large_blocks", "large_places", "large"].map(|column| format!("{name}_{column}"))
}

/// Returns the name of the column of those numbers of another one that are not 1.
pub(super) fn name_of_others(name: &str) -> String {
    format!("{name}_others")
}

/// Returns how wide the steps are between the places where what continues n-grams of `n` symbols begins; `None`
/// where each place has 4 bytes.
pub(super) const fn step(n: usize) -> Option<Step> {
    match n {
        0 | 1 => None,
        // Each is followed by some.
        2 => Some(Step::Byte),
        _ => Some(Step::Half),
    }
}

/// Finds a column by its name.
pub(super) type Find<'a> = dyn FnMut(&str) -> Result<CheckedBytes, CountsError> + 'a;

fn large(name: &str, find: &mut Find<'_>) -> Result<Large, CountsError> {
    let [blocks, places, numbers] = names_of_large(name);
    Ok(Large::new(find(&blocks)?, find(&places)?, find(&numbers)?))
}

/// Returns a column of `len` counts of n-grams of `n` symbols.
pub(super) fn small(
    n: usize,
    column: &str,
    len: usize,
    find: &mut Find<'_>,
) -> Result<Numbers, CountsError> {
    let name = name_of(n, column);
    if are_mostly_ones(n) {
        let others = name_of_others(&name);
        let large = large(&others, find)?;
        return Ok(Numbers::ones(find(&name)?, len, find(&others)?, large));
    }
    let width = Width::Byte(large(&name, find)?);
    Ok(Numbers::from_file(find(&name)?, width))
}

/// Returns where what continues each of `len` n-grams of `n` symbols begins, and where all of it ends.
pub(super) fn starts(n: usize, len: usize, find: &mut Find<'_>) -> Result<Numbers, CountsError> {
    let name = name_of(n, "starts");
    let width = match step(n) {
        Some(step) => Width::Lines(Lines::new(step, large(&name, find)?), len + 1),
        None => Width::Four,
    };
    Ok(Numbers::from_file(find(&name)?, width))
}

/// Returns the n-grams of `n` symbols; those of the longest have no followers.
pub(super) fn level(
    n: usize,
    is_longest: bool,
    symbol_bytes: u8,
    find: &mut Find<'_>,
) -> Result<Level, CountsError> {
    let width = match symbol_bytes {
        2 => Width::Two,
        _ => Width::Four,
    };
    let symbols = Numbers::from_file(find(&name_of(n, "symbols"))?, width);
    let counts = small(n, "counts", symbols.len(), find)?;
    let (mut followers, mut continuations) = (Numbers::default(), Numbers::default());
    if !is_longest {
        followers = starts(n, symbols.len(), find)?;
        continuations = small(n, "continuations", symbols.len(), find)?;
    }
    Ok(Level::new(symbols, counts, continuations, followers))
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
    Ok(WrittenSums::new(ids, sums))
}

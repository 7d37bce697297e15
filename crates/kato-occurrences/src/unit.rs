//! A unit that is mapped: how often its text holds a sequence, where, and what stands at a place.
//!
//! The places of the text are sorted by what follows them, so the places that a sequence follows are
//! neighbours, a range of *rows*. What stands in front of each row's place leads from the range of a
//! sequence to that of one longer by a symbol in front, and from a row to that of the place before.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use kato_columns::files::{ColumnSet, FileError, watch};
use kato_columns::{CheckedBytes, DamageWatch};

use crate::OccurrencesError;
use crate::bits::Bits;
use crate::code::Code;
use crate::cuts::Cuts;
use crate::documents::DocumentTable;
use crate::header::Header;
use crate::sequence::Sequence;
use crate::unit_writer::{BETWEEN, FIRST_TOKEN, MARKS, PLACES, ROWS, SEQUENCE, STEP, SYMBOLS};

/// The rows of the places that a sequence follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Rows {
    pub(crate) const fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// A unit of occurrences.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) header: Header,
    pub(crate) documents: DocumentTable,
    pub(crate) cuts: Cuts,
    damage: DamageWatch,
    sequence: Sequence,
    marks: Bits,
    places: CheckedBytes,
    rows: CheckedBytes,
    /// What each symbol is: a token and two more.
    symbols: Vec<u32>,
    /// The row at which those of each symbol begin, and the end.
    starts: Vec<u64>,
}

impl Unit {
    /// Opens a unit; what is read of it here are its symbols.
    pub(crate) fn open(dir: &Path, header: Header) -> Result<Self, OccurrencesError> {
        // Ahead of the maps, so that no write to one of them is missed.
        let damage = watch(&[dir]);
        let columns = ColumnSet::open(dir, &header.list(), &damage)?;
        let column = columns.find(SYMBOLS)?;
        let (mut symbols, mut counts, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        let view = column.view();
        let mut sum = 0u64;
        for idx in 0..column.len() / 8 {
            let count = view.u32(2 * idx + 1);
            sum += u64::from(count);
            symbols.push(view.u32(2 * idx));
            counts.push(count);
            starts.push(sum);
        }
        let n_expected = header.tokens.checked_add(header.documents);
        let is_whole = symbols.starts_with(&[0, BETWEEN])
            && symbols.is_sorted()
            && n_expected.and_then(|n| n.checked_add(2)) == Some(sum)
            && u32::try_from(sum).is_ok();
        if let Some(what) = damage.what() {
            return Err(OccurrencesError::Damaged { what });
        }
        if !is_whole {
            return Err(FileError::damaged(dir, "its parts contradict each other").into());
        }
        Ok(Self {
            documents: DocumentTable::open(&columns, header.documents)?,
            cuts: Cuts::open(&columns, header.levels)?,
            sequence: Sequence::new(Code::new(&counts), columns.find(SEQUENCE)?),
            marks: Bits::new(columns.find(MARKS)?),
            places: columns.find(PLACES)?,
            rows: columns.find(ROWS)?,
            header,
            damage,
            symbols,
            starts,
        })
    }

    /// Compares all bytes of a unit with their checksums.
    pub(crate) fn check(dir: &Path, header: &Header) -> Result<(), OccurrencesError> {
        let dir = dir.join(header.name());
        let damage = watch(&[&dir]);
        let columns = ColumnSet::open(&dir, &header.list(), &damage)?;
        for (name, _) in &header.columns {
            let path = dir.join(name);
            let read = || {
                let mut file = File::open(&path)?;
                columns
                    .find(name)
                    .map_err(std::io::Error::other)?
                    .check_all(|at, buffer| {
                        file.seek(SeekFrom::Start(at))?;
                        file.read_exact(buffer)
                    })
            };
            read().map_err(FileError::io("read", &path))?;
        }
        match damage.what() {
            None => Ok(()),
            Some(what) => Err(OccurrencesError::Damaged { what }),
        }
    }

    /// Reads, and drops what was read where the unit is damaged.
    pub(crate) fn read<T>(&self, read: impl FnMut() -> T) -> Result<T, OccurrencesError> {
        self.damage.read(read).ok_or_else(|| {
            let what = self.damage.what().unwrap_or_default();
            OccurrencesError::Damaged { what }
        })
    }

    /// Returns the symbol of a token; `None` if it is nowhere.
    pub(crate) fn symbol(&self, token: u32) -> Option<u32> {
        let symbol = token.checked_add(FIRST_TOKEN)?;
        Some(self.symbols.binary_search(&symbol).ok()? as u32)
    }

    /// Returns the rows of a symbol.
    pub(crate) fn rows_of(&self, symbol: u32) -> Rows {
        Rows {
            start: self.starts[symbol as usize],
            end: self.starts[symbol as usize + 1],
        }
    }

    /// Returns the rows of a sequence with a symbol in front of it.
    pub(crate) fn extend(&self, rows: Rows, symbol: u32) -> Rows {
        let (start, end) = self.sequence.ranks(symbol, rows.start, rows.end);
        let first = self.starts[symbol as usize];
        Rows {
            start: first.saturating_add(start),
            end: first.saturating_add(end),
        }
    }

    /// Returns the rows of a sequence.
    pub(crate) fn find(&self, tokens: &[u32]) -> Option<Rows> {
        let mut symbols = tokens.iter().rev().map(|&token| self.symbol(token));
        let mut rows = self.rows_of(symbols.next()??);
        for symbol in symbols {
            rows = self.extend(rows, symbol?);
            if rows.len() == 0 {
                return None;
            }
        }
        Some(rows)
    }

    /// Returns the place of a row.
    pub(crate) fn place(&self, row: u64) -> u64 {
        let mut row = row;
        for steps in 0..STEP {
            let (is_known, before) = self.marks.get(row);
            if is_known {
                let known = self.places.view();
                let known = known.u32(usize::try_from(before).unwrap_or(usize::MAX));
                return u64::from(known) * STEP + steps;
            }
            row = self.row_before(row).0;
        }
        // One of so many neighbours is known.
        self.places.view().raise_damage();
        0
    }

    /// Returns the tokens from a place of the text to another, in one document.
    pub(crate) fn tokens(&self, from: u64, to: u64) -> Vec<u32> {
        let known = to.div_ceil(STEP);
        let end = self.starts[self.starts.len() - 1] - 1;
        let (mut place, mut row) = match known * STEP <= end {
            true => {
                let known = usize::try_from(known).unwrap_or(usize::MAX);
                let row = u64::from(self.rows.view().u32(known));
                (known as u64 * STEP, row)
            }
            // The end of the text is its smallest symbol.
            false => (end, 0),
        };
        let mut tokens = Vec::new();
        while place > from {
            let (before, symbol) = self.row_before(row);
            place -= 1;
            row = before;
            if place < to {
                let symbol = self.symbols[symbol as usize];
                tokens.push(symbol.saturating_sub(FIRST_TOKEN));
            }
        }
        tokens.reverse();
        tokens
    }

    /// Returns the row of the place before that of a row, and the symbol there.
    fn row_before(&self, row: u64) -> (u64, u32) {
        let (symbol, before) = self.sequence.get(row);
        (self.starts[symbol as usize].saturating_add(before), symbol)
    }
}

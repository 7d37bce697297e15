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
use crate::sequence::{Counting, Sequence};
use crate::unit_writer::{BETWEEN, FIRST_TOKEN, MARKS, PLACES, ROWS, SEQUENCE, STEP, SYMBOLS};

/// The rows of the places that a sequence follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

    /// Returns how many places a unit's last document takes, with the mark behind it.
    pub(crate) fn last_places(units: &Path, header: &Header) -> Result<u64, OccurrencesError> {
        let unit = Self::open(&units.join(header.name()), header.clone())?;
        unit.read(|| unit.documents.last_places())
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

    /// Lengthens sequences, of which these are the rows, by a symbol in front of each.
    pub(crate) fn extend_each(&self, sequences: &mut [(Rows, u32)]) {
        let counting = |&(rows, symbol): &(Rows, u32)| {
            let Rows { start, end } = rows;
            self.sequence.counting(symbol, start, end)
        };
        let mut counted: Vec<Counting> = sequences.iter().map(counting).collect();
        self.sequence.count_each(&mut counted);
        for ((rows, symbol), counted) in sequences.iter_mut().zip(counted) {
            let of_symbol = self.rows_of(*symbol);
            // Whatever a damaged unit says, so that its rows come to an end.
            let row = |n: u64| of_symbol.start.saturating_add(n).min(of_symbol.end);
            *rows = Rows {
                start: row(counted.low),
                end: row(counted.high),
            };
        }
    }

    /// Returns the rows of a sequence.
    pub(crate) fn find(&self, tokens: &[u32]) -> Option<Rows> {
        let mut symbols = tokens.iter().rev().map(|&token| self.symbol(token));
        let mut rows = self.rows_of(symbols.next()??);
        for symbol in symbols {
            let mut longer = [(rows, symbol?)];
            self.extend_each(&mut longer);
            rows = longer[0].0;
            if rows.len() == 0 {
                return None;
            }
        }
        Some(rows)
    }

    /// Returns the places of rows.
    pub(crate) fn places(&self, rows: &[u64]) -> Vec<u64> {
        let known = self.places.view();
        let mut places = vec![0; rows.len()];
        let mut open: Vec<usize> = (0..rows.len()).collect();
        let mut rows = rows.to_vec();
        for steps in 0..STEP {
            rows.iter().for_each(|&row| self.marks.fetch(row));
            let mut left = Vec::with_capacity(open.len());
            let mut rows_left = Vec::with_capacity(open.len());
            for (&idx, &row) in open.iter().zip(&rows) {
                let (is_known, before) = self.marks.get(row);
                if is_known {
                    let known = known.u32(usize::try_from(before).unwrap_or(usize::MAX));
                    places[idx] = u64::from(known) * STEP + steps;
                } else {
                    left.push(idx);
                    rows_left.push(row);
                }
            }
            if left.is_empty() {
                return places;
            }
            (open, rows) = (left, rows_left);
            self.go_back(&mut rows);
        }
        // One of so many neighbours is known.
        known.raise_damage();
        places
    }

    /// Returns the tokens from one place of the text to another, in one document, of each pair.
    pub(crate) fn tokens(&self, pairs: &[[u64; 2]]) -> Vec<Vec<u32>> {
        let mut found: Vec<Vec<u32>> = vec![Vec::new(); pairs.len()];
        // The pair, its place at the moment, and the row of that.
        let mut open = Vec::new();
        let mut rows = Vec::new();
        for (idx, &[from, to]) in pairs.iter().enumerate() {
            let (place, row) = self.known_behind(to);
            if from < to && from < place {
                open.push((idx, place));
                rows.push(row);
            }
        }
        while !open.is_empty() {
            let symbols = self.go_back(&mut rows);
            for ((idx, place), symbol) in open.iter_mut().zip(symbols) {
                *place -= 1;
                if *place < pairs[*idx][1] {
                    let symbol = self.symbols[symbol as usize];
                    found[*idx].push(symbol.saturating_sub(FIRST_TOKEN));
                }
            }
            let is_left: Vec<bool> = open
                .iter()
                .map(|&(idx, place)| place > pairs[idx][0])
                .collect();
            let mut kept = is_left.iter();
            open.retain(|_| kept.next() == Some(&true));
            let mut kept = is_left.iter();
            rows.retain(|_| kept.next() == Some(&true));
        }
        found.iter_mut().for_each(|tokens| tokens.reverse());
        found
    }

    /// Returns the first place from one on whose row is known, with the row.
    fn known_behind(&self, place: u64) -> (u64, u64) {
        let known = place.div_ceil(STEP);
        let end = self.starts[self.starts.len() - 1] - 1;
        match known * STEP <= end {
            true => {
                let row = usize::try_from(known).unwrap_or(usize::MAX);
                (known * STEP, u64::from(self.rows.view().u32(row)))
            }
            // The end of the text is its smallest symbol.
            false => (end, 0),
        }
    }

    /// Replaces rows by those of the places before theirs, and returns the symbols there.
    fn go_back(&self, rows: &mut [u64]) -> Vec<u32> {
        let symbols = self.sequence.get_each(rows);
        for (row, &symbol) in rows.iter_mut().zip(&symbols) {
            *row = row.saturating_add(self.starts[symbol as usize]);
        }
        symbols
    }
}

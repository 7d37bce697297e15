//! Where the learn calls of every level begin in a unit's text.
//!
//! A *border* of a level is the first token of a learn call, or what follows its last one. Every border of a
//! level is one of the level below, so a level has a bit for each border of the one below it, the lowest for
//! each place of the text. Between two documents all levels have a border.

use kato_columns::files::{ColumnSet, ColumnSetWriter, FileError};
use kato_learner::DocumentPlan;

use crate::bits::{Bits, BitsWriter};

fn column(level: usize) -> String {
    format!("borders.{level}")
}

/// Writes the borders of a unit.
#[derive(Debug)]
pub(crate) struct CutsWriter {
    levels: Vec<BitsWriter>,
    /// Learn calls of each level.
    calls: Vec<u64>,
    /// Borders of a level in the document, and of the level below.
    borders: [Vec<u32>; 2],
}

impl CutsWriter {
    /// Begins with the mark in front of the first document.
    pub(crate) fn new(columns: &ColumnSetWriter, n_levels: usize) -> Result<Self, FileError> {
        let mut levels = Vec::new();
        for level in 0..n_levels {
            let mut bits = BitsWriter::new(columns.create(&column(level))?);
            bits.push(true)?;
            levels.push(bits);
        }
        Ok(Self {
            levels,
            calls: vec![0; n_levels],
            borders: Default::default(),
        })
    }

    /// Appends a document and the mark behind it.
    pub(crate) fn push(&mut self, plan: &DocumentPlan) -> Result<(), FileError> {
        let n_tokens = plan.n_tokens() as u32;
        let [below, borders] = &mut self.borders;
        below.clear();
        below.extend(0..=n_tokens);
        // Behind the last learn call of the level below.
        let mut end_below = n_tokens;
        for (level, bits) in self.levels.iter_mut().enumerate() {
            borders.clear();
            let mut n_symbols = 0;
            for call in plan.calls(level) {
                borders.push(call.first_token);
                n_symbols += call.symbols.len();
                self.calls[level] += u64::from(call.name.is_some());
            }
            if level > 0 && n_symbols > 0 {
                let mut rest = plan.calls(level - 1).skip(n_symbols);
                let n_below = plan.calls(level - 1).len();
                end_below = match rest.next() {
                    Some(call) => call.first_token,
                    // A name from further below went up behind the last call.
                    None if n_symbols > n_below => n_tokens,
                    None => end_below,
                };
            }
            if n_symbols > 0 && end_below < n_tokens {
                borders.push(end_below);
            }
            borders.push(n_tokens);
            let mut own = borders.iter().peekable();
            for border in &*below {
                let is_own = own.next_if_eq(&border).is_some();
                bits.push(is_own)?;
            }
            std::mem::swap(below, borders);
        }
        Ok(())
    }

    /// Ends, and returns the number of learn calls of each level.
    pub(crate) fn finish(self, columns: &mut ColumnSetWriter) -> Result<Vec<u64>, FileError> {
        for (level, bits) in self.levels.into_iter().enumerate() {
            columns.end(&column(level), bits.finish()?)?;
        }
        Ok(self.calls)
    }
}

/// The borders of a unit.
#[derive(Debug)]
pub(crate) struct Cuts(Vec<Bits>);

impl Cuts {
    pub(crate) fn open(columns: &ColumnSet, n_levels: usize) -> Result<Self, FileError> {
        let level = |level| Ok(Bits::new(columns.find(&column(level))?));
        (0..n_levels).map(level).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) const fn n_levels(&self) -> usize {
        self.0.len()
    }

    /// Returns how many levels, from the lowest up, have a border at a place.
    pub(crate) fn levels_at(&self, place: u64) -> usize {
        let mut at = place;
        for (level, bits) in self.0.iter().enumerate() {
            let (is_border, below) = bits.get(at);
            if !is_border {
                return level;
            }
            at = below;
        }
        self.0.len()
    }
}

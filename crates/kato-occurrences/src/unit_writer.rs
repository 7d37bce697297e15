//! Writes a unit: the text of some documents, sorted by what follows each of its places.

use std::path::{Path, PathBuf};

use kato_columns::files::{ColumnSetWriter, FileError};
use kato_learner::DocumentPlan;

use crate::OccurrencesError;
use crate::bits::BitsWriter;
use crate::code::Code;
use crate::cuts::CutsWriter;
use crate::documents::DocumentTableWriter;
use crate::header::{Header, Position};
use crate::sequence;
use crate::suffix_array::suffix_array;

/// The symbol at the end of a unit's text.
pub(crate) const END: u32 = 0;

/// The symbol in front of every document and behind the last one.
pub(crate) const BETWEEN: u32 = 1;

/// The first symbol that is a token.
pub(crate) const FIRST_TOKEN: u32 = 2;

/// Places of the text from one whose row is known to the next.
pub(crate) const STEP: u64 = 64;

pub(crate) const SEQUENCE: &str = "sequence";
pub(crate) const SYMBOLS: &str = "symbols";
pub(crate) const MARKS: &str = "marks";
pub(crate) const PLACES: &str = "places";
pub(crate) const ROWS: &str = "rows";

/// A unit that is being written.
#[derive(Debug)]
pub(crate) struct UnitWriter {
    dir: PathBuf,
    columns: ColumnSetWriter,
    documents: DocumentTableWriter,
    cuts: CutsWriter,
    text: Vec<u32>,
}

impl UnitWriter {
    pub(crate) fn new(dir: &Path, n_levels: usize) -> Result<Self, FileError> {
        let columns = ColumnSetWriter::new(dir);
        Ok(Self {
            dir: dir.to_owned(),
            documents: DocumentTableWriter::new(&columns)?,
            cuts: CutsWriter::new(&columns, n_levels)?,
            columns,
            text: vec![BETWEEN],
        })
    }

    /// Returns the length of the text so far.
    pub(crate) const fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the number of documents so far.
    pub(crate) const fn n_documents(&self) -> u64 {
        self.documents.len()
    }

    /// Appends a document.
    pub(crate) fn push(
        &mut self,
        number: u64,
        id: &str,
        plan: &DocumentPlan,
    ) -> Result<(), FileError> {
        self.documents.push(self.text.len() as u32, number, id)?;
        self.cuts.push(plan)?;
        let tokens = plan.tokens().iter().map(|token| token + FIRST_TOKEN);
        self.text.extend(tokens);
        self.text.push(BETWEEN);
        Ok(())
    }

    /// Sorts and writes all, the header last.
    pub(crate) fn finish(
        self,
        source: &str,
        promotes: bool,
        [from, to]: [Position; 2],
    ) -> Result<(PathBuf, Header), OccurrencesError> {
        let Self {
            dir,
            mut columns,
            documents,
            cuts,
            mut text,
        } = self;
        let n_documents = documents.len();
        let n_tokens = text.len() as u64 - 1 - n_documents;
        documents.finish(text.len() as u32, &mut columns)?;
        let calls = cuts.finish(&mut columns)?;
        text.push(END);
        let counts = renumber(&mut text, &mut columns)?;
        let rows = suffix_array(&text, counts.len());
        write_places(&rows, &mut columns)?;
        // In front of each row's place, in the order of rows.
        let mut before = rows;
        for at in &mut before {
            *at = match at.checked_sub(1) {
                Some(before) => text[before as usize],
                None => END,
            };
        }
        drop(text);
        let column = columns.create(SEQUENCE)?;
        let column = sequence::write(&Code::new(&counts), &mut before, column)?;
        columns.end(SEQUENCE, column)?;
        let list = columns.finish()?;
        let header = Header {
            format_version: Header::version(),
            source: source.to_owned(),
            levels: calls.len(),
            promotes,
            from,
            to,
            documents: n_documents,
            tokens: n_tokens,
            calls,
            columns: list.columns,
            checksums_crc32: list.checksums_crc32,
        };
        header.write(&dir)?;
        Ok((dir, header))
    }
}

/// Numbers the symbols that occur without gaps, writes which tokens they are and how often each occurs, and
/// returns the latter.
fn renumber(text: &mut [u32], columns: &mut ColumnSetWriter) -> Result<Vec<u32>, FileError> {
    let most = text.iter().max().map_or(0, |&symbol| symbol as usize);
    let mut of_symbol = vec![0u32; most + 1];
    for &symbol in &*text {
        of_symbol[symbol as usize] += 1;
    }
    let mut column = columns.create(SYMBOLS)?;
    let mut counts = Vec::new();
    for (symbol, number) in (0..).zip(&mut of_symbol) {
        let count = std::mem::replace(number, counts.len() as u32);
        if count > 0 {
            counts.push(count);
            let token: u32 = symbol;
            column.push(&token.to_le_bytes())?;
            column.push(&count.to_le_bytes())?;
        }
    }
    columns.end(SYMBOLS, column)?;
    for symbol in text {
        *symbol = of_symbol[*symbol as usize];
    }
    Ok(counts)
}

/// Writes every 64th place with its row, both ways.
fn write_places(rows: &[u32], columns: &mut ColumnSetWriter) -> Result<(), FileError> {
    let step = STEP as u32;
    let mut marks = BitsWriter::new(columns.create(MARKS)?);
    let mut places = columns.create(PLACES)?;
    let mut row_of = vec![0u32; rows.len().div_ceil(STEP as usize)];
    for (row, &place) in (0u32..).zip(rows) {
        let is_known = place % step == 0;
        marks.push(is_known)?;
        if is_known {
            places.push(&(place / step).to_le_bytes())?;
            row_of[(place / step) as usize] = row;
        }
    }
    columns.end(MARKS, marks.finish()?)?;
    columns.end(PLACES, places)?;
    let mut column = columns.create(ROWS)?;
    for row in row_of {
        column.push(&row.to_le_bytes())?;
    }
    columns.end(ROWS, column)
}

//! The documents of a unit: where each begins in its text, its number and its name.

use kato_columns::CheckedBytes;
use kato_columns::files::{ColumnSet, ColumnSetWriter, ColumnWriter, FileError};

/// Documents whose names follow each other, each written as what it shares with the one before.
const BLOCK: u64 = 32;

pub(crate) const STARTS: &str = "starts";
pub(crate) const NAMES: &str = "names";
pub(crate) const NAME_BLOCKS: &str = "name_blocks";

/// A document as a place tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentRef {
    /// Its number in the corpus, from 0.
    pub number: u64,
    /// Its name, as the [writer](crate::Writer::push) was told.
    pub id: String,
}

/// Writes the documents of a unit.
#[derive(Debug)]
pub(crate) struct DocumentTableWriter {
    starts: ColumnWriter,
    names: ColumnWriter,
    blocks: ColumnWriter,
    n: u64,
    name_bytes: u64,
    last: DocumentRef,
}

impl DocumentTableWriter {
    pub(crate) fn new(columns: &ColumnSetWriter) -> Result<Self, FileError> {
        Ok(Self {
            starts: columns.create(STARTS)?,
            names: columns.create(NAMES)?,
            blocks: columns.create(NAME_BLOCKS)?,
            n: 0,
            name_bytes: 0,
            last: DocumentRef {
                number: 0,
                id: String::new(),
            },
        })
    }

    pub(crate) const fn len(&self) -> u64 {
        self.n
    }

    /// Appends a document that begins at a place of the text.
    pub(crate) fn push(&mut self, start: u32, number: u64, id: &str) -> Result<(), FileError> {
        self.starts.push(&start.to_le_bytes())?;
        if self.n.is_multiple_of(BLOCK) {
            self.blocks.push(&self.name_bytes.to_le_bytes())?;
            self.last.number = 0;
            self.last.id.clear();
        }
        let pairs = self.last.id.bytes().zip(id.bytes());
        let shared = pairs.take_while(|(a, b)| a == b).count();
        let mut record = Vec::new();
        push_number(&mut record, number.wrapping_sub(self.last.number));
        push_number(&mut record, shared as u64);
        push_number(&mut record, (id.len() - shared) as u64);
        record.extend_from_slice(&id.as_bytes()[shared..]);
        self.names.push(&record)?;
        self.name_bytes += record.len() as u64;
        self.last.number = number;
        id.clone_into(&mut self.last.id);
        self.n += 1;
        Ok(())
    }

    /// Ends with the place behind the last document.
    pub(crate) fn finish(
        mut self,
        end: u32,
        columns: &mut ColumnSetWriter,
    ) -> Result<(), FileError> {
        self.starts.push(&end.to_le_bytes())?;
        columns.end(STARTS, self.starts)?;
        columns.end(NAMES, self.names)?;
        columns.end(NAME_BLOCKS, self.blocks)
    }
}

/// Appends a number, seven bits a byte, the lowest first.
fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The documents of a unit.
#[derive(Debug)]
pub(crate) struct DocumentTable {
    starts: CheckedBytes,
    names: CheckedBytes,
    blocks: CheckedBytes,
    n: u64,
}

impl DocumentTable {
    pub(crate) fn open(columns: &ColumnSet, n: u64) -> Result<Self, FileError> {
        Ok(Self {
            starts: columns.find(STARTS)?,
            names: columns.find(NAMES)?,
            blocks: columns.find(NAME_BLOCKS)?,
            n,
        })
    }

    /// Returns the document at a place of the text: which of the unit's it is, where it begins, and where
    /// it ends.
    pub(crate) fn at(&self, place: u64) -> (u64, u64, u64) {
        let starts = self.starts.view();
        let start = |idx: u64| u64::from(starts.u32(usize::try_from(idx).unwrap_or(usize::MAX)));
        let (mut low, mut high) = (0, self.n);
        while high - low > 1 {
            let middle = low.midpoint(high);
            match start(middle) <= place {
                true => low = middle,
                false => high = middle,
            }
        }
        // In front of the next one lies the mark that separates them.
        (low, start(low), start(low + 1).saturating_sub(1))
    }

    /// Returns how many places the last document takes, with the mark behind it; 0 if there is none.
    pub(crate) fn last_places(&self) -> u64 {
        let starts = self.starts.view();
        let start = |idx: u64| u64::from(starts.u32(usize::try_from(idx).unwrap_or(usize::MAX)));
        let last = self.n.checked_sub(1);
        last.map_or(0, |last| start(self.n).saturating_sub(start(last)))
    }

    /// Returns a document's number and name.
    pub(crate) fn document(&self, idx: u64) -> DocumentRef {
        let block = usize::try_from(idx / BLOCK).unwrap_or(usize::MAX);
        let mut at = usize::try_from(self.blocks.view().u64(block)).unwrap_or(usize::MAX);
        let mut document = DocumentRef {
            number: 0,
            id: String::new(),
        };
        let mut id = Vec::new();
        for _ in 0..=idx % BLOCK {
            document.number = document.number.wrapping_add(self.number(&mut at));
            let shared = usize::try_from(self.number(&mut at)).unwrap_or(usize::MAX);
            let rest = usize::try_from(self.number(&mut at)).unwrap_or(usize::MAX);
            id.truncate(shared);
            id.extend_from_slice(self.names.view().slice(at, rest));
            at = at.saturating_add(rest);
        }
        match String::from_utf8(id) {
            Ok(id) => document.id = id,
            Err(_) => self.names.view().raise_damage(),
        }
        document
    }

    fn number(&self, at: &mut usize) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.names.view().array(*at);
            *at = at.saturating_add(1);
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
}

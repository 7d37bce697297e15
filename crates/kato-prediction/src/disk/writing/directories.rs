//! Writing lists, and the directories that tell where each begins.

use std::collections::BTreeMap;
use std::path::Path;

use crate::frozen::{Column, LONGEST_UNSIGNED_LIST, pack, rank_bytes};

use super::columns::{ColumnWriter, NumberWriter};
use super::lists::ListBuilder;
use super::posting::Posting;
use crate::disk::IndexFileError;

/// A writer of the lists of single symbols.
pub(super) struct SymbolLists {
    column: Column,
    directory: DirectoryWriter,
    lists: ListWriter,
}

impl SymbolLists {
    /// Creates the files of keys, starts and lists.
    pub(super) fn create(
        of: &ListBuilder<'_>,
        [keys, starts, lists]: [Column; 3],
    ) -> Result<Self, IndexFileError> {
        Ok(Self {
            column: lists,
            directory: DirectoryWriter::create(of.dir, of.node_idx, [keys, starts])?,
            lists: ListWriter::create(of, lists)?,
        })
    }

    /// Appends the list of a symbol in a class, unless it is empty.
    pub(super) fn push<'p>(
        &mut self,
        class: usize,
        mut list: impl Iterator<Item = &'p Posting> + Clone,
        has_signatures: bool,
    ) -> Result<(), IndexFileError> {
        let all = list.clone();
        let Some(posting) = list.next() else {
            return Ok(());
        };
        self.directory
            .begin(class, posting.first(), self.lists.n_bytes)?;
        self.lists.push(all, has_signatures)
    }

    /// Ends the files, and returns the part of the keys of each class.
    pub(super) fn finish(self, of: &mut ListBuilder<'_>) -> Result<Vec<[u64; 2]>, IndexFileError> {
        let n_bytes = self.lists.n_bytes;
        of.written.insert(self.column, self.lists.column.finish()?);
        of.finish_directory(self.directory, n_bytes)
    }
}

/// A writer of lists.
pub(super) struct ListWriter {
    pub(super) column: ColumnWriter,
    pub(super) n_bytes: u64,
    rank_bytes: usize,
    ranks: Vec<u32>,
    bytes: Vec<u8>,
}

impl ListWriter {
    pub(super) fn create(of: &ListBuilder<'_>, column: Column) -> Result<Self, IndexFileError> {
        Ok(Self {
            column: ColumnWriter::create(of.dir, of.node_idx, column)?,
            n_bytes: 0,
            rank_bytes: rank_bytes(of.layout.n_patterns),
            ranks: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// Appends a list.
    pub(super) fn push<'p>(
        &mut self,
        list: impl Iterator<Item = &'p Posting> + Clone,
        has_signatures: bool,
    ) -> Result<(), IndexFileError> {
        self.ranks.clear();
        self.ranks
            .extend(list.clone().map(|posting| posting.rank()));
        self.bytes.clear();
        let n_signatures = match has_signatures && self.ranks.len() > LONGEST_UNSIGNED_LIST {
            true => self.ranks.len(),
            false => 0,
        };
        let signatures = list.take(n_signatures).map(|posting| posting.signature());
        pack(&self.ranks, self.rank_bytes, signatures, &mut self.bytes);
        self.n_bytes += self.bytes.len() as u64;
        self.column.push(&self.bytes)
    }
}

/// A writer of keys and of where their lists begin.
pub(super) struct DirectoryWriter {
    pub(super) columns: [Column; 2],
    pub(super) keys: NumberWriter,
    pub(super) starts: NumberWriter,
    pub(super) n_keys: u64,
    last: Option<(usize, u32)>,
    /// By class, the place of its first key.
    pub(super) first_keys: BTreeMap<usize, u64>,
}

impl DirectoryWriter {
    pub(super) fn create(
        dir: &Path,
        node_idx: usize,
        columns: [Column; 2],
    ) -> Result<Self, IndexFileError> {
        let [keys, starts] = columns;
        Ok(Self {
            columns,
            keys: NumberWriter::create(dir, node_idx, keys)?,
            starts: NumberWriter::create(dir, node_idx, starts)?,
            n_keys: 0,
            last: None,
            first_keys: BTreeMap::new(),
        })
    }

    /// Begins the list of a key at an offset, unless it is the key before; returns whether it did.
    pub(super) fn begin(
        &mut self,
        class: usize,
        key: u32,
        offset: u64,
    ) -> Result<bool, IndexFileError> {
        if self.last == Some((class, key)) {
            return Ok(false);
        }
        self.last = Some((class, key));
        self.first_keys.entry(class).or_insert(self.n_keys);
        self.keys.push(key.into())?;
        self.n_keys += 1;
        self.starts.push(offset)?;
        Ok(true)
    }

    /// Lets the next key be a new one, even if it equals the last.
    pub(super) fn forget_key(&mut self) {
        self.last = None;
    }
}

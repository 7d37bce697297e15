//! Writing columns, with a checksum for every block.

use std::path::Path;

pub(super) use kato_columns::files::WrittenColumn;

use crate::frozen::{Column, NumberPacker};

use crate::disk::IndexFileError;
use crate::disk::files::column_path;

/// A column that is written from front to back.
pub(super) struct ColumnWriter(kato_columns::files::ColumnWriter);

impl ColumnWriter {
    /// Creates the file of a column.
    pub(super) fn create(
        dir: &Path,
        node_idx: usize,
        column: Column,
    ) -> Result<Self, IndexFileError> {
        let path = column_path(dir, node_idx, column);
        let writer = kato_columns::files::ColumnWriter::create(&path);
        writer.map(Self).map_err(IndexFileError::of_files)
    }

    /// Appends bytes.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), IndexFileError> {
        self.0.push(bytes).map_err(IndexFileError::of_files)
    }

    /// Writes what is left and waits until the disk has it.
    pub(super) fn finish(self) -> Result<WrittenColumn, IndexFileError> {
        self.0.finish().map_err(IndexFileError::of_files)
    }
}

/// A column of packed numbers that is written from front to back.
pub(super) struct NumberWriter {
    column: ColumnWriter,
    packer: NumberPacker,
    bytes: Vec<u8>,
}

impl NumberWriter {
    /// Creates the file of a column.
    pub(super) fn create(
        dir: &Path,
        node_idx: usize,
        column: Column,
    ) -> Result<Self, IndexFileError> {
        Ok(Self {
            column: ColumnWriter::create(dir, node_idx, column)?,
            packer: NumberPacker::default(),
            bytes: Vec::new(),
        })
    }

    /// Appends a number.
    #[inline]
    pub(super) fn push(&mut self, number: u64) -> Result<(), IndexFileError> {
        self.packer.push(number, &mut self.bytes);
        if self.bytes.is_empty() {
            return Ok(());
        }
        let pushed = self.column.push(&self.bytes);
        self.bytes.clear();
        pushed
    }

    /// Writes what is left and waits until the disk has it.
    pub(super) fn finish(mut self) -> Result<WrittenColumn, IndexFileError> {
        self.packer.finish(&mut self.bytes);
        self.column.push(&self.bytes)?;
        self.column.finish()
    }
}

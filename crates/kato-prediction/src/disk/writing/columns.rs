//! Writing columns, with a checksum for every block.

use std::path::Path;

pub(super) use kato_columns::files::WrittenColumn;

use crate::frozen::{Column, OFFSET_BASE};

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

/// The two columns of offsets.
pub(super) struct OffsetWriter {
    starts: ColumnWriter,
    bases: ColumnWriter,
    n_offsets: usize,
    base: u64,
}

impl OffsetWriter {
    pub(super) fn create(
        dir: &Path,
        node_idx: usize,
        starts: Column,
        bases: Column,
    ) -> Result<Self, IndexFileError> {
        Ok(Self {
            starts: ColumnWriter::create(dir, node_idx, starts)?,
            bases: ColumnWriter::create(dir, node_idx, bases)?,
            n_offsets: 0,
            base: 0,
        })
    }

    /// Appends the offset of the next thing, no less than that before; `false` if it is too far
    /// from its base.
    pub(super) fn push(&mut self, offset: u64) -> Result<bool, IndexFileError> {
        if self.n_offsets.is_multiple_of(OFFSET_BASE) {
            self.base = offset;
            self.bases.push(&offset.to_le_bytes())?;
        }
        self.n_offsets += 1;
        match u32::try_from(offset - self.base) {
            Ok(start) => self.starts.push(&start.to_le_bytes()).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Returns starts and bases.
    pub(super) fn finish(self) -> Result<[WrittenColumn; 2], IndexFileError> {
        Ok([self.starts.finish()?, self.bases.finish()?])
    }
}

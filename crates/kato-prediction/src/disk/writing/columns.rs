//! Writing columns, with a checksum for every block.

use std::fs::File;
use std::io::{BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use crate::frozen::{BLOCK_BYTES, Column, OFFSET_BASE};

use crate::disk::IndexFileError;
use crate::disk::files::column_path;

/// A column that is written from front to back.
pub(super) struct ColumnWriter {
    out: BufWriter<File>,
    path: PathBuf,
    block: Vec<u8>,
    bytes: u64,
    checksums: Vec<u32>,
}

/// A column that was written.
pub(super) struct WrittenColumn {
    pub(super) bytes: u64,
    pub(super) checksums: Vec<u32>,
}

impl ColumnWriter {
    /// Creates the file of a column.
    pub(super) fn create(
        dir: &Path,
        node_idx: usize,
        column: Column,
    ) -> Result<Self, IndexFileError> {
        let path = column_path(dir, node_idx, column);
        let file = File::create_new(&path).map_err(IndexFileError::io("create", &path))?;
        Ok(Self {
            out: BufWriter::with_capacity(1 << 18, file),
            path,
            block: Vec::with_capacity(BLOCK_BYTES),
            bytes: 0,
            checksums: Vec::new(),
        })
    }

    /// Appends bytes.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), IndexFileError> {
        if self.block.len() + bytes.len() < BLOCK_BYTES {
            self.block.extend_from_slice(bytes);
            return Ok(());
        }
        self.push_over_blocks(bytes)
    }

    /// Appends bytes that reach the end of a block.
    fn push_over_blocks(&mut self, mut bytes: &[u8]) -> Result<(), IndexFileError> {
        while !bytes.is_empty() {
            let room = BLOCK_BYTES - self.block.len();
            let (part, rest) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(part);
            bytes = rest;
            if self.block.len() == BLOCK_BYTES {
                self.write_block()?;
            }
        }
        Ok(())
    }

    fn write_block(&mut self) -> Result<(), IndexFileError> {
        self.checksums.push(crc32fast::hash(&self.block));
        self.bytes += self.block.len() as u64;
        let written = self.out.write_all(&self.block);
        written.map_err(IndexFileError::io("write", &self.path))?;
        self.block.clear();
        Ok(())
    }

    /// Writes what is left and waits until the disk has it.
    pub(super) fn finish(mut self) -> Result<WrittenColumn, IndexFileError> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        let file = self.out.into_inner().map_err(IntoInnerError::into_error);
        let synced = file.and_then(|file| file.sync_all());
        synced.map_err(IndexFileError::io("flush", &self.path))?;
        Ok(WrittenColumn {
            bytes: self.bytes,
            checksums: self.checksums,
        })
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

//! Writing columns, with a checksum for every block.

use std::fs::File;
use std::io::{BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use super::FileError;
use crate::BLOCK_BYTES;

/// A column that is written from front to back.
#[derive(Debug)]
pub struct ColumnWriter {
    out: BufWriter<File>,
    path: PathBuf,
    block: Vec<u8>,
    bytes: u64,
    checksums: Vec<u32>,
}

/// A column that was written.
#[derive(Debug, Clone, Default)]
pub struct WrittenColumn {
    /// Its length.
    pub bytes: u64,
    /// The CRC-32 of every block.
    pub checksums: Vec<u32>,
}

impl ColumnWriter {
    /// Creates the file of a column, which is not there yet.
    ///
    /// # Errors
    ///
    /// [`FileError::Io`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let file = File::create_new(path).map_err(FileError::io("create", path))?;
        Ok(Self {
            out: BufWriter::with_capacity(1 << 18, file),
            path: path.to_owned(),
            block: Vec::with_capacity(BLOCK_BYTES),
            bytes: 0,
            checksums: Vec::new(),
        })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends bytes.
    ///
    /// # Errors
    ///
    /// [`FileError::Io`].
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        if self.block.len() + bytes.len() < BLOCK_BYTES {
            self.block.extend_from_slice(bytes);
            return Ok(());
        }
        self.push_over_blocks(bytes)
    }

    /// Appends bytes that reach the end of a block.
    fn push_over_blocks(&mut self, mut bytes: &[u8]) -> Result<(), FileError> {
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

    fn write_block(&mut self) -> Result<(), FileError> {
        self.checksums.push(crc32fast::hash(&self.block));
        self.bytes += self.block.len() as u64;
        let written = self.out.write_all(&self.block);
        written.map_err(FileError::io("write", &self.path))?;
        self.block.clear();
        Ok(())
    }

    /// Writes what is left and waits until the disk has it.
    ///
    /// # Errors
    ///
    /// [`FileError::Io`].
    pub fn finish(mut self) -> Result<WrittenColumn, FileError> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        let file = self.out.into_inner().map_err(IntoInnerError::into_error);
        let synced = file.and_then(|file| file.sync_all());
        synced.map_err(FileError::io("flush", &self.path))?;
        Ok(WrittenColumn {
            bytes: self.bytes,
            checksums: self.checksums,
        })
    }
}

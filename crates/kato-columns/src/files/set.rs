//! Directories of columns: written one after the other, listed with one file of all their checksums, and
//! mapped again by that list.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{ColumnWriter, FileError, WrittenColumn, map};
use crate::{BLOCK_BYTES, CheckedBytes, DamageWatch};

/// The file of all checksums in a directory of columns.
const CHECKSUMS: &str = "CHECKSUMS";

/// The columns of a directory that is being written.
#[derive(Debug)]
pub struct ColumnSetWriter {
    dir: PathBuf,
    written: Vec<(String, WrittenColumn)>,
}

/// The columns of a directory, as its header keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnList {
    /// Names and bytes, in the order of the checksums.
    pub columns: Vec<(String, u64)>,
    /// The CRC-32 of the file of checksums.
    pub checksums_crc32: u32,
}

/// The mapped columns of a directory.
#[derive(Debug)]
pub struct ColumnSet {
    dir: PathBuf,
    columns: Vec<(String, CheckedBytes)>,
}

impl ColumnSetWriter {
    /// Begins with no column in a directory that is there and empty.
    #[must_use]
    pub fn new(dir: impl AsRef<Path>) -> Self {
        let dir = dir.as_ref().to_owned();
        let written = Vec::new();
        Self { dir, written }
    }

    /// Returns the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Creates the file of a column.
    ///
    /// # Errors
    ///
    /// [`FileError::Io`].
    pub fn create(&self, name: &str) -> Result<ColumnWriter, FileError> {
        ColumnWriter::create(self.dir.join(name))
    }

    /// Takes a column that is whole.
    ///
    /// # Errors
    ///
    /// [`FileError::Io`].
    pub fn end(&mut self, name: &str, column: ColumnWriter) -> Result<(), FileError> {
        self.written.push((name.to_owned(), column.finish()?));
        Ok(())
    }

    /// Maps a column that was taken.
    ///
    /// # Errors
    ///
    /// [`FileError::Damaged`] when there is none, and [`FileError::Io`].
    pub fn map(&self, name: &str, damage: &DamageWatch) -> Result<CheckedBytes, FileError> {
        let path = self.dir.join(name);
        let found = self.written.iter().find(|(written, _)| written == name);
        let (_, column) = found.ok_or_else(|| FileError::damaged(&path, "it is not written"))?;
        map(&path, column.bytes, column.checksums.clone().into(), damage)
    }

    /// Writes the checksums, waits until the disk has them, and returns the list of all columns.
    ///
    /// # Errors
    ///
    /// [`FileError::Io`].
    pub fn finish(self) -> Result<ColumnList, FileError> {
        let checksums = self
            .written
            .iter()
            .flat_map(|(_, column)| &column.checksums);
        let bytes: Vec<u8> = checksums.flat_map(|crc| crc.to_le_bytes()).collect();
        let path = self.dir.join(CHECKSUMS);
        let write = || {
            let mut file = File::create_new(&path)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        write().map_err(FileError::io("write", &path))?;
        let column = |(name, column): (String, WrittenColumn)| (name, column.bytes);
        Ok(ColumnList {
            columns: self.written.into_iter().map(column).collect(),
            checksums_crc32: crc32fast::hash(&bytes),
        })
    }
}

impl ColumnSet {
    /// Maps the columns of a directory. `damage` has to [watch](super::watch) it already, so that no write
    /// to a column is missed.
    ///
    /// # Errors
    ///
    /// [`FileError::Damaged`] when they are not those of the list, and [`FileError::Io`].
    pub fn open(
        dir: impl AsRef<Path>,
        list: &ColumnList,
        damage: &DamageWatch,
    ) -> Result<Self, FileError> {
        let dir = dir.as_ref();
        let path = dir.join(CHECKSUMS);
        let bytes = fs::read(&path).map_err(FileError::io("read", &path))?;
        let n_blocks =
            |bytes: u64| usize::try_from(bytes.div_ceil(BLOCK_BYTES as u64)).unwrap_or(usize::MAX);
        let sizes = list.columns.iter().map(|(_, bytes)| n_blocks(*bytes));
        let expected = sizes.fold(0usize, usize::saturating_add);
        if crc32fast::hash(&bytes) != list.checksums_crc32
            || Some(bytes.len()) != expected.checked_mul(4)
        {
            return Err(FileError::damaged(&path, "its checksum does not match"));
        }
        let crcs = bytes.as_chunks().0.iter();
        let mut checksums = crcs.map(|&crc| u32::from_le_bytes(crc));
        let mut columns = Vec::new();
        for (name, bytes) in &list.columns {
            let of_column: Box<[u32]> = checksums.by_ref().take(n_blocks(*bytes)).collect();
            // Names are those of files in the directory and nowhere else.
            if name.contains(['/', '\\']) {
                return Err(FileError::damaged(&path, "a column has another place"));
            }
            let column = map(&dir.join(name), *bytes, of_column, damage)?;
            columns.push((name.clone(), column));
        }
        Ok(Self {
            dir: dir.to_owned(),
            columns,
        })
    }

    /// Returns the column of a name.
    ///
    /// # Errors
    ///
    /// [`FileError::Damaged`] when there is none.
    pub fn find(&self, name: &str) -> Result<CheckedBytes, FileError> {
        let found = self.columns.iter().find(|(found, _)| found == name);
        found.map_or_else(
            || Err(FileError::damaged(&self.dir.join(name), "it is not there")),
            |(_, column)| Ok(column.clone()),
        )
    }

    /// Returns all columns, each with its file.
    pub fn into_columns(self) -> impl Iterator<Item = (PathBuf, CheckedBytes)> {
        let Self { dir, columns } = self;
        let columns = columns.into_iter();
        columns.map(move |(name, column)| (dir.join(name), column))
    }
}

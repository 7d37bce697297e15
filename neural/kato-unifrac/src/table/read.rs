//! Tables from files, whose format their first bytes say.

use std::path::Path;

use super::{Table, TableError, biom_hdf5};
use crate::error::UnifracError;

impl Table {
    /// Reads a table from a file: BIOM 2.1, BIOM 1.0, or text with tabs.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no table.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, UnifracError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| UnifracError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_bytes(bytes).map_err(|source| UnifracError::Table {
            path: path.to_owned(),
            source,
        })
    }

    /// Reads a table from the bytes of a file of any of the formats.
    ///
    /// # Errors
    ///
    /// The bytes are no table.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, TableError> {
        if bytes.starts_with(biom_hdf5::MAGIC) {
            return Self::from_biom_hdf5(bytes);
        }
        if bytes.starts_with(b"\x1f\x8b") {
            return Err(TableError::Compressed);
        }
        let is_json = bytes.trim_ascii_start().starts_with(b"{");
        if is_json {
            return Self::from_biom_json(&bytes);
        }
        let text = str::from_utf8(&bytes).map_err(|_| TableError::UnknownFormat)?;
        if !text.contains('\t') {
            return Err(TableError::UnknownFormat);
        }
        Self::from_classic(text)
    }
}

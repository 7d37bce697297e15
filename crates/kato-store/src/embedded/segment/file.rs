//! Positioned, checked reads of a segment file.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::footer::Part;
use crate::StoreError;

/// An open segment file. Reads carry their own position, so threads share it.
#[derive(Debug)]
pub(super) struct SegmentFile {
    file: File,
    path: PathBuf,
}

impl SegmentFile {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(|source| StoreError::io("open", path, source))?;
        Ok(Self {
            file,
            path: path.to_owned(),
        })
    }

    pub(super) fn bytes(&self) -> Result<u64, StoreError> {
        let metadata = self
            .file
            .metadata()
            .map_err(|source| StoreError::io("examine", &self.path, source))?;
        Ok(metadata.len())
    }

    /// Fills `buffer` from `offset` on.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), StoreError> {
        read_exact_at(&self.file, buffer, offset).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => self.corrupt("it is shorter than its footer says"),
            _ => StoreError::io("read", &self.path, source),
        })
    }

    /// Reads a whole part and checks it.
    pub(super) fn read_part(&self, part: &Part, what: &str) -> Result<Vec<u8>, StoreError> {
        let length = usize::try_from(part.bytes)
            .map_err(|_| self.corrupt(format!("its {what} is too large")))?;
        if part
            .offset
            .checked_add(part.bytes)
            .is_none_or(|end| self.bytes().is_ok_and(|bytes| end > bytes))
        {
            return Err(self.corrupt(format!("its {what} lies outside the file")));
        }
        let mut bytes = vec![0; length];
        self.read_at(&mut bytes, part.offset)?;
        if crc32fast::hash(&bytes) != part.crc32 {
            return Err(self.corrupt(format!("the checksum of its {what} does not match")));
        }
        Ok(bytes)
    }

    pub(super) fn corrupt(&self, reason: impl Into<String>) -> StoreError {
        StoreError::corrupt(&self.path, reason)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    use std::os::windows::fs::FileExt;

    while !buffer.is_empty() {
        match file.seek_read(buffer, offset)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

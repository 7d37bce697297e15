//! Positioned, checked reads of a segment file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::footer::Part;
use super::handles::Handle;
use crate::StoreError;

/// A segment file. Reads carry their own position, so threads share it.
#[derive(Debug)]
pub(super) struct SegmentFile {
    path: PathBuf,
    /// Opens the file whenever it is read, unless it is held.
    handle: Handle,
    /// The open file, once it has to be readable whatever becomes of its name.
    held: OnceLock<File>,
}

impl SegmentFile {
    /// Creates a file that is opened when it is read; its name must last as long.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = Self {
            path: path.to_owned(),
            handle: Handle::new(),
            held: OnceLock::new(),
        };
        // A file that cannot be opened is an error now and not at the first read.
        file.with(|_| Ok(()))
            .map_err(|source| StoreError::io("open", path, source))?;
        Ok(file)
    }

    /// Keeps the file open from now on, so that it can be read after its name is removed.
    pub(super) fn hold(&self) -> Result<(), StoreError> {
        if self.held.get().is_none() {
            let file = File::open(&self.path)
                .map_err(|source| StoreError::io("open", &self.path, source))?;
            // Whoever was first has the same file.
            self.held.get_or_init(|| file);
        }
        Ok(())
    }

    /// Returns the file's path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls a function with the open file.
    fn with<T>(&self, read: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match self.held.get() {
            Some(file) => read(file),
            None => read(&*self.handle.file(&self.path)?),
        }
    }

    /// Returns the size of the file.
    pub(super) fn bytes(&self) -> Result<u64, StoreError> {
        let metadata = self
            .with(File::metadata)
            .map_err(|source| StoreError::io("examine", &self.path, source))?;
        Ok(metadata.len())
    }

    /// Fills `buffer` from `offset` on.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), StoreError> {
        let read = self.with(|file| read_exact_at(file, buffer, offset));
        read.map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => self.corrupt("it is shorter than its footer says"),
            _ => StoreError::io("read", &self.path, source),
        })
    }

    /// Reads a whole part and checks it.
    pub(super) fn read_part(&self, part: &Part, what: &str) -> Result<Vec<u8>, StoreError> {
        let length = usize::try_from(part.bytes)
            .map_err(|_| self.corrupt(format!("its {what} is too large")))?;
        // The numbers come from the file. They are compared with its size before memory is taken
        // for what they announce.
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

    /// Creates the error for damage of this file.
    pub(super) fn corrupt(&self, reason: impl Into<String>) -> StoreError {
        StoreError::corrupt(&self.path, reason)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;

    // `seek_read` may read less than it was asked for.
    while !buffer.is_empty() {
        match file.seek_read(buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

//! Where the bytes of a Parquet file come from.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::bad_record::{BadReason, Cause, Fault};
#[cfg(feature = "remote")]
use crate::remote::RemoteParquet;

/// A local or remote file; cheap to clone.
#[derive(Clone)]
pub(super) enum ParquetInput {
    Local(LocalParquet),
    #[cfg(feature = "remote")]
    Remote(RemoteParquet),
}

/// A file on the disk, open only while it is read: a corpus may have more files than a process may
/// have open.
#[derive(Clone)]
pub(super) struct LocalParquet {
    path: Arc<Path>,
    file: Option<Arc<File>>,
    len: u64,
    modified: Option<SystemTime>,
}

impl LocalParquet {
    /// Opens the file and notes its size and time.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok(Self {
            path: path.into(),
            file: Some(Arc::new(file)),
            len: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }

    /// Returns the size when it was opened, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the same file, closed.
    fn closed(&self) -> Self {
        Self {
            file: None,
            ..self.clone()
        }
    }

    /// Opens the file again, and refuses it unless size and time of change are the same as before.
    fn reopened(&self) -> Result<Self, Fault> {
        let now = Self::open(&self.path).map_err(Fault::unreadable)?;
        // The footer that was read before says where the pages are, which another content would not
        // match.
        if (now.len, now.modified) == (self.len, self.modified) {
            return Ok(now);
        }
        Err(Fault::for_file(BadReason::Changed {
            expected_bytes: self.len,
            found_bytes: now.len,
        }))
    }

    /// Returns a reader from an offset on; an error when the file is closed.
    fn read_from(&self, offset: u64) -> io::Result<PositionedReader> {
        let file = self.file.clone().ok_or(io::ErrorKind::NotConnected)?;
        Ok(PositionedReader { file, offset })
    }
}

impl ParquetInput {
    /// Returns whether the file is on the disk.
    pub(super) fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Returns the same file for reading these ranges, which are fetched at once where it is
    /// remote.
    pub(super) fn with_ranges(&self, ranges: Vec<Range<u64>>) -> Result<Self, Fault> {
        match self {
            Self::Local(local) => {
                drop(ranges);
                local.reopened().map(Self::Local)
            }
            #[cfg(feature = "remote")]
            Self::Remote(remote) => remote
                .with_ranges(ranges)
                .map(Self::Remote)
                .map_err(Fault::unreadable),
        }
    }

    /// Returns the same file without what it holds open.
    pub(super) fn closed(&self) -> Self {
        match self {
            Self::Local(local) => Self::Local(local.closed()),
            #[cfg(feature = "remote")]
            Self::Remote(remote) => Self::Remote(remote.clone()),
        }
    }

    /// Returns what a failure of the decoder means: damage, unless bytes could not be fetched.
    #[cfg_attr(
        not(feature = "remote"),
        expect(clippy::unused_self, reason = "all files are local then")
    )]
    pub(super) fn fault(&self, cause: Cause) -> Fault {
        #[cfg(feature = "remote")]
        if let Self::Remote(remote) = self
            && let Some(error) = remote.take_error()
        {
            return Fault::unreadable(error);
        }
        Fault::corrupt(cause)
    }
}

impl Length for ParquetInput {
    fn len(&self) -> u64 {
        match self {
            Self::Local(local) => local.len(),
            #[cfg(feature = "remote")]
            Self::Remote(remote) => remote.len(),
        }
    }
}

impl ChunkReader for ParquetInput {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        match self {
            Self::Local(local) => Ok(Box::new(BufReader::with_capacity(
                HEADER_BYTES,
                local.read_from(start)?,
            ))),
            #[cfg(feature = "remote")]
            Self::Remote(remote) => Ok(Box::new(remote.read_from(start))),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Self::Local(local) => {
                let mut bytes = Vec::with_capacity(length);
                let read = local
                    .read_from(start)?
                    .take(length as u64)
                    .read_to_end(&mut bytes)?;
                if read != length {
                    let message = format!("{length} bytes expected, {read} found");
                    return Err(ParquetError::EOF(message));
                }
                Ok(bytes.into())
            }
            #[cfg(feature = "remote")]
            Self::Remote(remote) => remote
                .bytes(start, length)
                .map_err(|error| ParquetError::External(Box::new(error))),
        }
    }
}

/// Read at once for the header of a page, in bytes.
const HEADER_BYTES: usize = 1 << 10;

/// A reader from an offset that does not move the file's own position, from which other threads
/// read as well.
struct PositionedReader {
    file: Arc<File>,
    offset: u64,
}

impl Read for PositionedReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = read_at(&self.file, buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Reads from an offset, without seeking.
#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

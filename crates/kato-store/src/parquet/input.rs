//! Any file that can be read at any place, as the decoder reads it.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError as LibraryError;
use parquet::file::reader::{ChunkReader, Length};

/// Read at once for the header of a page, in bytes.
const HEADER_BYTES: usize = 1 << 10;

/// A file with one position, which several readers share: each goes to its own place first.
pub(super) struct Input<F> {
    file: Arc<Mutex<F>>,
    len: u64,
}

impl<F: Read + Seek> Input<F> {
    /// Takes a file, whose length it looks up.
    pub(super) fn new(mut file: F) -> io::Result<Self> {
        Ok(Self {
            len: file.seek(SeekFrom::End(0))?,
            file: Arc::new(Mutex::new(file)),
        })
    }

    /// Returns a reader from an offset on.
    fn place(&self, offset: u64) -> Place<F> {
        Place {
            file: Arc::clone(&self.file),
            offset,
        }
    }
}

impl<F> Clone for Input<F> {
    fn clone(&self) -> Self {
        Self {
            file: Arc::clone(&self.file),
            len: self.len,
        }
    }
}

impl<F> Length for Input<F> {
    fn len(&self) -> u64 {
        self.len
    }
}

impl<F: Read + Seek + Send> ChunkReader for Input<F> {
    type T = BufReader<Place<F>>;

    fn get_read(&self, start: u64) -> Result<Self::T, LibraryError> {
        Ok(BufReader::with_capacity(HEADER_BYTES, self.place(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, LibraryError> {
        let end = start.checked_add(length as u64);
        // Before memory is taken: a forged footer may state any length.
        if end.is_none_or(|end| end > self.len) {
            let message = format!(
                "{length} bytes from byte {start} on, in a file of {}",
                self.len
            );
            return Err(LibraryError::EOF(message));
        }
        let mut bytes = vec![0; length];
        self.place(start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// A reader at a place of its own.
pub(super) struct Place<F> {
    file: Arc<Mutex<F>>,
    offset: u64,
}

impl<F: Read + Seek> Read for Place<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // What a reader that panicked has left is a position, and that is set anew.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.offset))?;
        let read = file.read(buffer)?;
        self.offset += read as u64;
        Ok(read)
    }
}

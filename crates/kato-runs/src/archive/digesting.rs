//! Counting and digesting of what is read or written.

use std::io::{self, Read, Write};

use crate::manifest::ExportedFile;

/// A reader or writer that counts and digests what passes through it.
pub(super) struct Digesting<T> {
    inner: T,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<T> Digesting<T> {
    /// Wraps a reader or writer.
    pub(super) fn new(inner: T) -> Self {
        Self {
            inner,
            hasher: blake3::Hasher::new(),
            bytes: 0,
        }
    }

    /// Counts and digests bytes.
    fn passed(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Returns the wrapped reader or writer, and what passed as a file of an export.
    pub(super) fn into_file(self, name: String, patterns: u64) -> (T, ExportedFile) {
        let file = ExportedFile {
            name,
            bytes: self.bytes,
            digest: self.hasher.finalize().to_hex().to_string(),
            patterns,
        };
        (self.inner, file)
    }
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.passed(&buffer[..read]);
        Ok(read)
    }
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.passed(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

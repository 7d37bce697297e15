//! The decompressed bytes of one file, in large chunks, with an offset.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bad_record::{BadReason, Fault};
use crate::options::Compression;

/// Large enough that system calls vanish, small enough to stay in the second-level cache.
const CHUNK_BYTES: usize = 256 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Where the raw bytes of a file come from.
pub(crate) enum RawBytes {
    /// A regular file, which can be sought in.
    File(File),
    /// A file from some offset on.
    #[cfg(feature = "remote")]
    Tail(Box<dyn Read + Send>, u64),
    /// Anything that can only be read once, from its beginning.
    Stream(Box<dyn Read + Send>),
}

/// What [`ByteStream::line`] found.
pub(crate) enum Line {
    /// The next so many bytes are a line, its break included.
    Found(usize),
    /// A line longer than the limit; it has been passed over.
    TooLong,
    /// Nothing is left.
    End,
}

/// Buffered reading with a byte offset into the decompressed file.
pub(crate) struct ByteStream {
    source: Box<dyn Read + Send>,
    compression: Compression,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buffer[start]`.
    offset: u64,
    /// A second handle of `source`, which shares its position, where offsets are those of the file.
    seekable: Option<File>,
    raw: Arc<Passed>,
}

impl ByteStream {
    /// Opens at an offset into the decompressed bytes. Seeks where that is possible, reads up to there otherwise.
    pub(crate) fn open(
        from: RawBytes,
        compression: Compression,
        offset: u64,
    ) -> Result<Self, Fault> {
        let mut seekable = None;
        #[cfg_attr(
            not(feature = "remote"),
            expect(unused_mut, reason = "other files are sought in")
        )]
        let mut start = 0;
        let raw = Arc::new(Passed::default());
        let input: Box<dyn Read + Send> = match from {
            RawBytes::File(file) => {
                if compression == Compression::None {
                    seekable = Some(file.try_clone().map_err(Fault::unreadable)?);
                }
                Box::new(file)
            }
            #[cfg(feature = "remote")]
            RawBytes::Tail(tail, at) => {
                start = at;
                tail
            }
            RawBytes::Stream(stream) => stream,
        };
        let counted = Counted {
            inner: input,
            passed: Arc::clone(&raw),
        };
        let source: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(counted),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(
                BufReader::with_capacity(CHUNK_BYTES, counted),
            )),
            Compression::Zstd => Box::new(
                zstd::Decoder::with_buffer(BufReader::with_capacity(CHUNK_BYTES, counted))
                    .map_err(Fault::corrupt)?,
            ),
        };
        let mut stream = Self {
            source,
            compression,
            buffer: vec![0; CHUNK_BYTES],
            start: 0,
            end: 0,
            offset: start,
            seekable,
            raw,
        };
        stream.begin(offset)?;
        Ok(stream)
    }

    fn begin(&mut self, offset: u64) -> Result<(), Fault> {
        if offset > 0 {
            return self.discard_to(offset);
        }
        while self.available().len() < BYTE_ORDER_MARK.len() && self.fill()? {}
        if self.available().is_empty()
            && self.compression != Compression::None
            && self.raw.bytes.load(Ordering::Relaxed) == 0
        {
            // A decoder may take no bytes at all for an empty archive; in a corpus it is a file that was cut off.
            return Err(Fault::corrupt(io::Error::from(
                io::ErrorKind::UnexpectedEof,
            )));
        }
        if self.available().starts_with(BYTE_ORDER_MARK) {
            self.consume(BYTE_ORDER_MARK.len());
        }
        Ok(())
    }

    /// Passes over everything in front of `offset`.
    pub(crate) fn discard_to(&mut self, offset: u64) -> Result<(), Fault> {
        if let Some(file) = &mut self.seekable
            && self.offset < offset
        {
            file.seek(SeekFrom::Start(offset))
                .map_err(Fault::unreadable)?;
            (self.start, self.end, self.offset) = (0, 0, offset);
        }
        while self.offset < offset {
            if self.available().is_empty() && !self.fill()? {
                return Err(Fault::of_file(BadReason::EndsBeforeCursor));
            }
            let left = usize::try_from(offset - self.offset).unwrap_or(usize::MAX);
            self.consume(left.min(self.available().len()));
        }
        Ok(())
    }

    /// Bytes read and not yet consumed.
    pub(crate) fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Offset of the first available byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes taken from the file before decompression.
    pub(crate) fn raw_bytes(&self) -> u64 {
        match self.compression {
            Compression::None => self.offset,
            Compression::Gzip | Compression::Zstd => self.raw.bytes.load(Ordering::Relaxed),
        }
    }

    /// Marks the first `len` available bytes as done.
    pub(crate) fn consume(&mut self, len: usize) {
        debug_assert!(
            len <= self.end - self.start,
            "only what is available can be consumed"
        );
        self.start += len;
        self.offset += len as u64;
    }

    /// Reads more behind the available bytes; false at the end.
    pub(crate) fn fill(&mut self) -> Result<bool, Fault> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
    }

    fn failure(&self, error: io::Error) -> Fault {
        let is_damaged =
            self.compression != Compression::None && !self.raw.failed.load(Ordering::Relaxed);
        let mut fault = match is_damaged {
            true => Fault::corrupt(error),
            false => Fault::unreadable(error),
        };
        fault.byte_offset = Some(self.offset);
        fault
    }

    /// Finds the next line without consuming it.
    pub(crate) fn line(&mut self, limit: usize) -> Result<Line, Fault> {
        let mut scanned = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.available()[scanned..]) {
                let length = scanned + at;
                if length > limit {
                    self.consume(length + 1);
                    return Ok(Line::TooLong);
                }
                return Ok(Line::Found(length + 1));
            }
            scanned = self.available().len();
            if scanned > limit {
                self.discard_line()?;
                return Ok(Line::TooLong);
            }
            if !self.fill()? {
                return Ok(match scanned {
                    0 => Line::End,
                    _ => Line::Found(scanned),
                });
            }
        }
    }

    /// Passes over the rest of a line, but not beyond `end`.
    pub(crate) fn discard_line_until(&mut self, end: u64) -> Result<(), Fault> {
        while self.offset < end {
            if self.available().is_empty() && !self.fill()? {
                return Ok(());
            }
            let left = usize::try_from(end - self.offset).unwrap_or(usize::MAX);
            let searched = &self.available()[..left.min(self.available().len())];
            match memchr::memchr(b'\n', searched) {
                Some(at) => {
                    self.consume(at + 1);
                    return Ok(());
                }
                None => self.consume(searched.len()),
            }
        }
        Ok(())
    }

    fn discard_line(&mut self) -> Result<(), Fault> {
        loop {
            let available = self.available();
            if let Some(at) = memchr::memchr(b'\n', available) {
                self.consume(at + 1);
                return Ok(());
            }
            self.consume(available.len());
            if !self.fill()? {
                return Ok(());
            }
        }
    }
}

/// A line without its break: `\n` or `\r\n`.
pub(crate) fn without_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Watches what passes through: a decoder reports failures of its source as its own.
struct Counted {
    inner: Box<dyn Read + Send>,
    passed: Arc<Passed>,
}

#[derive(Default)]
struct Passed {
    bytes: AtomicU64,
    failed: AtomicBool,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        match &read {
            Ok(read) => {
                self.passed.bytes.fetch_add(*read as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.passed.failed.store(true, Ordering::Relaxed),
        }
        read
    }
}

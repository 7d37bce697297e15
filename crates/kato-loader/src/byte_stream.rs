//! Reads the decompressed bytes of one file in large chunks, with an offset.

#[cfg(feature = "compression")]
mod decoders;
#[cfg(not(feature = "compression"))]
#[path = "byte_stream/no_decoders.rs"]
mod decoders;
mod decompress;
#[cfg(feature = "compression")]
mod gzip;
mod utf16;

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use self::decoders::is_window_too_large;
pub(crate) use self::decompress::Decompression;
use self::decompress::decompress;
use self::utf16::Utf16Reader;
use crate::bad_record::{BadReason, Fault};
use crate::looks::{
    HEAD_BYTES, Looks, Markup, MarkupSample, SampledRows, Table, Verdict, look, utf16_of,
};
use crate::options::Compression;

/// Size of the buffer above which it is given back once all of it is consumed.
const KEPT_BYTES: usize = 8 << 20;

/// Size of the buffer at first: large enough that system calls vanish, small enough to stay in the
/// second-level cache.
const CHUNK_BYTES: usize = 256 << 10;

/// The byte order mark of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

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

/// Result of [`ByteStream::line`].
pub(crate) enum Line {
    /// This many of the available bytes are a line, its break included.
    Found(usize),
    /// A line longer than the limit, which has been skipped.
    TooLong,
    /// Nothing is left.
    End,
}

/// A buffered reader that knows its byte offset in the decompressed file.
pub(crate) struct ByteStream {
    source: Box<dyn Read + Send>,
    compression: Compression,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buffer[start]`.
    offset: u64,
    /// A second handle of `source` where offsets are those of the file. It shares the position of
    /// `source`, so seeking it moves both.
    seekable: Option<File>,
    /// Whether the bytes are those of the file, neither decompressed nor turned.
    is_plain: bool,
    /// Whether the first bytes of the file are the ones that are available.
    is_at_top: bool,
    max_window_bytes: u64,
    /// What has passed through below the decoder.
    raw: Arc<SourceStatus>,
}

impl ByteStream {
    /// Opens the bytes of a file from its top, or from where `from` begins: the caller goes on to
    /// `offset`, by [`discard_to`](Self::discard_to), which seeks where that is possible.
    pub(crate) fn open(from: RawBytes, how: Decompression, offset: u64) -> Result<Self, Fault> {
        let mut seekable = None;
        #[cfg_attr(
            not(feature = "remote"),
            expect(unused_mut, reason = "other files are sought in")
        )]
        let mut start = 0;
        let raw = Arc::new(SourceStatus::default());
        let input: Box<dyn Read + Send> = match from {
            RawBytes::File(file) => {
                if how.kind == Some(Compression::None) {
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
        let counted = Box::new(CountingReader {
            inner: input,
            status: Arc::clone(&raw),
        });
        let (source, compression) = decompress(counted, how)?;
        let mut stream = Self {
            source,
            compression,
            buffer: vec![0; CHUNK_BYTES],
            start: 0,
            end: 0,
            offset: start,
            is_plain: compression == Compression::None,
            is_at_top: false,
            seekable,
            max_window_bytes: how.max_window_bytes,
            raw,
        };
        // What begins behind the top was looked at there, when it was first read.
        if stream.offset == 0 && (offset == 0 || stream.seekable.is_none()) {
            stream.begin()?;
        }
        Ok(stream)
    }

    /// Skips a byte order mark at the top of the file, and turns UTF-16 into UTF-8.
    fn begin(&mut self) -> Result<(), Fault> {
        // A source may give fewer bytes than asked for, so the mark can come in pieces.
        while self.available().len() < BYTE_ORDER_MARK.len() && self.fill()? {}
        if let Some(order) = utf16_of(self.available()) {
            let head = Cursor::new(self.available().to_vec());
            let source = std::mem::replace(&mut self.source, Box::new(io::empty()));
            self.source = Box::new(Utf16Reader::new(head.chain(source), order));
            (self.start, self.end) = (0, 0);
            (self.seekable, self.is_plain) = (None, false);
            while self.available().len() < BYTE_ORDER_MARK.len() && self.fill()? {}
        }
        if self.available().starts_with(BYTE_ORDER_MARK) {
            self.consume(BYTE_ORDER_MARK.len());
        }
        self.is_at_top = true;
        Ok(())
    }

    /// Returns what the first bytes look like, or nothing where the stream begins behind them; reads
    /// no more than a line needs, and where it `may_be_else` than text, for markup and for a table no more
    /// than shows that it is none.
    pub(crate) fn looks(
        &mut self,
        text_field: &str,
        may_be_else: bool,
    ) -> Result<Option<Looks>, Fault> {
        if !self.is_at_top {
            return Ok(None);
        }
        let mut has_ended = false;
        while self.available().len() < HEAD_BYTES
            && !self.available().contains(&b'\n')
            && !has_ended
        {
            has_ended = !self.fill()?;
        }
        let available = self.available();
        let head = &available[..available.len().min(HEAD_BYTES)];
        let is_whole = has_ended && head.len() == available.len();
        let looks = look(head, is_whole, text_field);
        if !may_be_else || !matches!(looks, Looks::Text | Looks::Rows) {
            return Ok(Some(looks));
        }
        if let Some(markup) = self.markup()? {
            return Ok(Some(Looks::Markup(markup)));
        }
        Ok(Some(self.table()?.map_or(looks, Looks::Table)))
    }

    /// Returns the markup that the first bytes are, if they are such.
    fn markup(&mut self) -> Result<Option<Markup>, Fault> {
        let mut sample = MarkupSample::default();
        let mut has_ended = false;
        loop {
            match sample.follow(self.available(), has_ended) {
                Verdict::Open => has_ended = !self.fill()?,
                Verdict::Plain => return Ok(None),
                Verdict::Is(markup) => return Ok(Some(markup)),
            }
        }
    }

    /// Returns the table that the first rows are, if they are one.
    fn table(&mut self) -> Result<Option<Table>, Fault> {
        let mut rows = SampledRows::new();
        let mut n_seen = 0;
        while rows.follow(&self.available()[n_seen..]) {
            n_seen = self.available().len();
            if !self.fill()? {
                rows.end();
                break;
            }
        }
        Ok(rows.table())
    }

    /// Returns how the file is compressed, as it was told or found out.
    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// Returns whether offsets are those of the file.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Skips everything in front of `offset`.
    pub(crate) fn discard_to(&mut self, offset: u64) -> Result<(), Fault> {
        if let Some(file) = &mut self.seekable
            && self.offset < offset
        {
            // Seeking behind the end is no error; positions that do not exist were refused when the
            // loader was built.
            file.seek(SeekFrom::Start(offset))
                .map_err(Fault::unreadable)?;
            (self.start, self.end, self.offset) = (0, 0, offset);
        }
        while self.offset < offset {
            if self.available().is_empty() && !self.fill()? {
                return Err(Fault::for_file(BadReason::EndsBeforeCursor));
            }
            let left = usize::try_from(offset - self.offset).unwrap_or(usize::MAX);
            self.consume(left.min(self.available().len()));
        }
        Ok(())
    }

    /// Returns the bytes that were read and not yet consumed.
    pub(crate) fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Returns the offset of the first available byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns how many bytes were taken from the file, before decompression.
    pub(crate) fn raw_bytes(&self) -> u64 {
        // Uncompressed, the offset is exact; what has passed is a buffer ahead of it.
        match self.is_plain {
            true => self.offset,
            false => self.raw.bytes.load(Ordering::Relaxed),
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
        self.is_at_top = false;
        // What one large record has needed is not kept beside its text until the next is read.
        if self.start == self.end && self.buffer.len() > KEPT_BYTES {
            self.buffer = vec![0; CHUNK_BYTES];
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads more behind the available bytes; returns false at the end.
    pub(crate) fn fill(&mut self) -> Result<bool, Fault> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            // Moved to the front before the buffer grows: it only doubles for records that do not
            // fit into it, up to the record limit of the caller.
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

    /// Distinguishes damage found by a decoder from a failure of the source below it.
    fn failure(&self, error: io::Error) -> Fault {
        // A decoder reports errors of its source in its own words, so the source's wrapper is asked
        // whether it has failed.
        let is_damaged = !self.is_plain && !self.raw.failed.load(Ordering::Relaxed);
        let mut fault = match is_damaged {
            true if is_window_too_large(&error) => Fault::for_file(BadReason::WindowTooLarge {
                needed_bytes: None,
                limit_bytes: self.max_window_bytes,
            })
            .caused_by(error),
            true => Fault::corrupt(error),
            false => Fault::unreadable(error),
        };
        fault.byte_offset = Some(self.offset);
        fault
    }

    /// Finds the next line without consuming it; skips one that is longer than `limit` without its
    /// break.
    pub(crate) fn line(&mut self, limit: usize) -> Result<Line, Fault> {
        // What was searched before more was read is not searched again: a long line takes linear
        // time.
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
                    // The last line of a file need not have a break.
                    _ => Line::Found(scanned),
                });
            }
        }
    }

    /// Skips the rest of a line, but not beyond `end`.
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

    /// Skips the rest of a line, without keeping it in memory.
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

/// Returns a line without its break, `\n` or `\r\n`.
pub(crate) fn without_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Counts what passes through, and remembers failures: a decoder reports those of its source as its
/// own.
struct CountingReader {
    inner: Box<dyn Read + Send>,
    status: Arc<SourceStatus>,
}

/// What a source and the stream above its decoder share. Both are used by one thread; atomic
/// because the source must be `Send`.
#[derive(Default)]
struct SourceStatus {
    bytes: AtomicU64,
    failed: AtomicBool,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        match &read {
            Ok(read) => {
                self.status.bytes.fetch_add(*read as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.status.failed.store(true, Ordering::Relaxed),
        }
        read
    }
}

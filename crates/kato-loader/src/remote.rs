//! Remote files as inputs: how they are reached, and how their bytes are read.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::{Buf, Bytes};
use kato_fetch::{Cancel, FetchError, Fetcher, Location, RangeReader, RemoteFile};

use crate::error::LoadError;
use crate::identity::FileIdentity;

/// What is read at first behind a known range, in bytes: the rest of a record.
const FIRST_STEP_BYTES: u64 = 64 << 10;
/// What is read at once, in bytes.
const STEP_BYTES: u64 = 8 << 20;
/// What is read of a Parquet file where nobody said what will be needed, in bytes.
const SEGMENT_BYTES: u64 = 1 << 20;
/// Segments that are kept for the next read: two columns and their neighbours.
const MAX_SEGMENTS: usize = 4;

/// Whether an input is to be fetched.
pub(crate) fn is_location(path: &Path) -> bool {
    path.to_str().is_some_and(Location::is_location)
}

/// How remote files are reached; by a public fetcher when nothing else was said.
#[derive(Clone, Default)]
pub(crate) struct Access {
    fetcher: OnceLock<Fetcher>,
    cancel: Cancel,
}

impl Access {
    pub(crate) fn by(fetcher: Fetcher) -> Self {
        Self {
            fetcher: OnceLock::from(fetcher),
            cancel: Cancel::new(),
        }
    }

    /// Takes over another access where nothing was said, and its cancellation in any case.
    pub(crate) fn or(&mut self, other: &Self) {
        if self.fetcher.get().is_none() {
            self.fetcher = other.fetcher.clone();
        }
        self.cancel = other.cancel.clone();
    }

    /// Ends everything that is under way.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// The files of a location, in order.
    pub(crate) fn list(
        &self,
        input: &Path,
        ignored: &mut Vec<PathBuf>,
    ) -> Result<Vec<RemoteSource>, LoadError> {
        let text = input.to_string_lossy();
        let location: Location = text.parse().map_err(|source| failed(&text, source))?;
        let shown = location.redacted();
        let failed = |source| failed(&shown, source);
        let fetcher = self.fetcher().map_err(failed)?;
        let listing = fetcher
            .list_unless(&location, &self.cancel)
            .map_err(failed)?;
        ignored.extend(listing.ignored.into_iter().map(PathBuf::from));
        let is_one_of_many = listing.files.len() > 1;
        let source = |file| RemoteSource {
            file,
            is_one_of_many,
            access: self.clone(),
            reader: Arc::default(),
        };
        Ok(listing.files.into_iter().map(source).collect())
    }

    /// A file that was listed before, with what was known of it then: reading another content in its place is an error.
    pub(crate) fn known(&self, identity: &FileIdentity) -> RemoteSource {
        let mut file = RemoteFile::new(&identity.name);
        if let Some(size) = identity.size {
            file = file.with_size(size);
        }
        if let Some(validator) = &identity.fingerprint {
            file = file.with_validator(validator);
        }
        RemoteSource {
            file,
            is_one_of_many: false,
            access: self.clone(),
            reader: Arc::default(),
        }
    }

    fn fetcher(&self) -> Result<&Fetcher, FetchError> {
        if let Some(fetcher) = self.fetcher.get() {
            return Ok(fetcher);
        }
        let fetcher = Fetcher::builder().build()?;
        Ok(self.fetcher.get_or_init(|| fetcher))
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

fn failed(input: &str, source: FetchError) -> LoadError {
    LoadError::Remote {
        input: input.to_owned(),
        source: Box::new(source),
    }
}

/// A remote file of a corpus.
pub(crate) struct RemoteSource {
    file: RemoteFile,
    /// Whether a listing found it among others.
    is_one_of_many: bool,
    access: Access,
    /// Opened when it is first read.
    reader: Arc<OnceLock<RangeReader>>,
}

impl RemoteSource {
    pub(crate) fn name(&self) -> &str {
        &self.file.name
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.file.size
    }

    pub(crate) fn validator(&self) -> Option<&str> {
        self.file.validator.as_deref()
    }

    pub(crate) fn is_one_of_many(&self) -> bool {
        self.is_one_of_many
    }

    /// Whether it can be read from any byte; taken for granted where nobody said otherwise.
    pub(crate) fn has_ranges(&self) -> bool {
        self.file.has_ranges != Some(false) && self.file.size.is_some()
    }

    /// Bytes from `offset` on, of which those up to `end` are known to be needed.
    pub(crate) fn open(&self, offset: u64, end: u64) -> io::Result<Box<dyn Read + Send>> {
        let reader = self.reader().map_err(io::Error::other)?;
        Ok(match reader.size() {
            Some(size) if end <= size && reader.has_ranges() => {
                Box::new(Ranged::new(reader.clone(), offset..end, size))
            }
            _ => Box::new(reader.stream(offset)),
        })
    }

    pub(crate) fn parquet(&self) -> io::Result<RemoteParquet> {
        let reader = self.reader().map_err(io::Error::other)?.clone();
        match reader.size().filter(|_| reader.has_ranges()) {
            Some(size) => Ok(RemoteParquet::new(reader, size)),
            None => Err(io::Error::other(
                "its server cannot send parts of it, which Parquet needs; download the file first",
            )),
        }
    }

    fn reader(&self) -> Result<&RangeReader, FetchError> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader);
        }
        let fetcher = self.access.fetcher()?;
        let reader = fetcher.open_unless(&self.file, &self.access.cancel)?;
        Ok(self.reader.get_or_init(|| reader))
    }
}

impl fmt::Debug for RemoteSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

/// Reads a known range by one request, and what is then found to be needed in growing steps.
struct Ranged {
    reader: RangeReader,
    /// What the next request asks for.
    next: Range<u64>,
    /// Bytes of the step behind it.
    step: u64,
    size: u64,
    buffer: Bytes,
}

impl Ranged {
    fn new(reader: RangeReader, known: Range<u64>, size: u64) -> Self {
        Self {
            reader,
            next: known.start..known.end.min(known.start + STEP_BYTES),
            step: FIRST_STEP_BYTES,
            size,
            buffer: Bytes::new(),
        }
    }
}

impl Read for Ranged {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.buffer.has_remaining() && !self.next.is_empty() {
            self.buffer = self
                .reader
                .read(self.next.clone())
                .map_err(io::Error::other)?;
            let start = self.next.end;
            self.next = start..(start + self.step).min(self.size);
            self.step = (self.step * 2).min(STEP_BYTES);
        }
        let read = buffer.len().min(self.buffer.remaining());
        self.buffer.copy_to_slice(&mut buffer[..read]);
        Ok(read)
    }
}

/// The bytes of a remote Parquet file: those announced are fetched at once, others in segments.
#[derive(Clone)]
pub(crate) struct RemoteParquet {
    reader: RangeReader,
    size: u64,
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    /// Fetched because they were announced.
    ranges: Vec<(u64, Bytes)>,
    /// Fetched one at a time; the oldest goes first.
    segments: Vec<(u64, Bytes)>,
    /// Why bytes could not be had: the decoder would call it damage.
    error: Option<io::Error>,
}

impl RemoteParquet {
    fn new(reader: RangeReader, size: u64) -> Self {
        Self {
            reader,
            size,
            held: Arc::default(),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.size
    }

    /// The same file, with ranges fetched.
    pub(crate) fn with_ranges(&self, ranges: Vec<Range<u64>>) -> io::Result<Self> {
        let fetched = self.reader.read_many(&ranges).map_err(io::Error::other)?;
        let starts = ranges.into_iter().map(|range| range.start);
        let held = Held {
            ranges: starts.zip(fetched).collect(),
            ..Held::default()
        };
        Ok(Self {
            held: Arc::new(Mutex::new(held)),
            ..self.clone()
        })
    }

    pub(crate) fn take_error(&self) -> Option<io::Error> {
        self.held().error.take()
    }

    /// Exactly these bytes.
    pub(crate) fn bytes(&self, start: u64, length: usize) -> io::Result<Bytes> {
        let end = start
            .checked_add(length as u64)
            .filter(|end| *end <= self.size)
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        if let Some(bytes) = self.find(start..end) {
            return Ok(bytes);
        }
        // A long range is needed once; short ones have neighbours.
        let around = match length as u64 >= SEGMENT_BYTES {
            true => start..end,
            false => start..(start + SEGMENT_BYTES).min(self.size),
        };
        let fetched = self.reader.read(around).map_err(|error| {
            let message = error.to_string();
            self.held().error = Some(io::Error::other(error));
            io::Error::other(message)
        })?;
        let bytes = fetched.slice(..length);
        let mut held = self.held();
        if held.segments.len() >= MAX_SEGMENTS {
            held.segments.remove(0);
        }
        held.segments.push((start, fetched));
        Ok(bytes)
    }

    /// Bytes from a place on, for a reader that does not say how many it needs.
    pub(crate) fn read_from(&self, start: u64) -> impl Read + Send + use<> {
        From {
            file: self.clone(),
            at: start,
        }
    }

    fn find(&self, wanted: Range<u64>) -> Option<Bytes> {
        let held = self.held();
        let mut all = held.ranges.iter().chain(&held.segments);
        all.find_map(|(start, bytes)| {
            let from = usize::try_from(wanted.start.checked_sub(*start)?).ok()?;
            let to = usize::try_from(wanted.end - start).ok()?;
            (to <= bytes.len()).then(|| bytes.slice(from..to))
        })
    }

    /// As many held bytes as there are from a place on.
    fn find_from(&self, at: u64) -> Option<Bytes> {
        let held = self.held();
        let mut all = held.ranges.iter().chain(&held.segments);
        all.find_map(|(start, bytes)| {
            let from = usize::try_from(at.checked_sub(*start)?).ok()?;
            (from < bytes.len()).then(|| bytes.slice(from..))
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the header of a page takes, and usually more than it.
const HEADER_BYTES: u64 = 1 << 10;

struct From {
    file: RemoteParquet,
    at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.file.size.saturating_sub(self.at);
        if left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let bytes = match self.file.find_from(self.at) {
            Some(bytes) => bytes,
            None => {
                let length = left.min(HEADER_BYTES);
                self.file
                    .bytes(self.at, usize::try_from(length).unwrap_or(0))?
            }
        };
        let read = buffer.len().min(bytes.len());
        buffer[..read].copy_from_slice(&bytes[..read]);
        self.at += read as u64;
        Ok(read)
    }
}

//! Remote files as inputs: how they are reached, and how their bytes are read.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::{Buf, Bytes};
use kato_fetch::{
    CancellationToken, FetchError, Fetcher, Location, PassedOver, RangeReader, RemoteFile,
};

use crate::error::LoadError;
use crate::file_identity::FileIdentity;
use crate::ignored::{IgnoredFile, IgnoredReason};

/// Size of the first read behind a known range, in bytes: the rest of a record is usually short.
const FIRST_STEP_BYTES: u64 = 64 << 10;
/// Size of the largest read, in bytes.
const STEP_BYTES: u64 = 8 << 20;
/// Size of a read of a Parquet file outside the announced ranges, in bytes.
const SEGMENT_BYTES: u64 = 1 << 20;
/// Segments that are kept for later reads: two columns and their neighbours.
const MAX_SEGMENTS: usize = 4;

/// Returns whether an input is to be fetched.
pub(crate) fn is_location(path: &Path) -> bool {
    path.to_str().is_some_and(Location::is_location)
}

/// Returns a location without what grants access.
pub(crate) fn shown(input: &Path) -> String {
    let location = input.to_string_lossy().parse::<Location>();
    location.map_or_else(|_| "a location".to_owned(), |location| location.redacted())
}

/// How remote files are reached: by a public fetcher unless another was given.
#[derive(Clone, Default)]
pub(crate) struct Access {
    fetcher: OnceLock<Fetcher>,
    cancel: CancellationToken,
}

impl Access {
    /// Creates an access by a given fetcher.
    pub(crate) fn with_fetcher(fetcher: Fetcher) -> Self {
        Self {
            fetcher: OnceLock::from(fetcher),
            cancel: CancellationToken::new(),
        }
    }

    /// Takes over the fetcher of another access where none was given, and its cancellation in any
    /// case.
    pub(crate) fn inherit(&mut self, other: &Self) {
        if self.fetcher.get().is_none() {
            self.fetcher = other.fetcher.clone();
        }
        self.cancel = other.cancel.clone();
    }

    /// Ends all requests under way, for good.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Returns the files of a location, in order; adds those that are passed over to `ignored`.
    pub(crate) fn list(
        &self,
        input: &Path,
        ignored: &mut Vec<IgnoredFile>,
    ) -> Result<Vec<RemoteSource>, LoadError> {
        let text = input.to_string_lossy();
        let location: Location = text.parse().map_err(|source| match &source {
            // In the form without secrets, as below.
            FetchError::InvalidLocation { location, .. } => failed(&location.clone(), source),
            _ => failed("a location", source),
        })?;
        // Locations may hold tokens in their queries, which must not get into error messages.
        let shown = location.redacted();
        let failed = |source| failed(&shown, source);
        let fetcher = self.fetcher().map_err(failed)?;
        let listing = fetcher
            .list_unless(&location, &self.cancel)
            .map_err(failed)?;
        let passed_over = listing.ignored.into_iter();
        ignored.extend(passed_over.map(|(path, why)| IgnoredFile::new(path, reason(why))));
        // A pattern and a name give what they match, as in the file system.
        let is_of_folder = match &location {
            Location::Store(url) => url.path().is_empty() || url.path().ends_with('/'),
            _ => listing.files.len() > 1,
        };
        let source = |file| RemoteSource {
            file,
            is_of_folder,
            access: self.clone(),
            reader: Arc::default(),
        };
        Ok(listing.files.into_iter().map(source).collect())
    }

    /// Returns a file that was listed before, with what was known of it then: reading another
    /// content in its place is an error.
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
            // Named one by one: none of them is left out for its extension.
            is_of_folder: false,
            access: self.clone(),
            reader: Arc::default(),
        }
    }

    /// Returns the fetcher, which is made when it is first needed.
    fn fetcher(&self) -> Result<&Fetcher, FetchError> {
        if let Some(fetcher) = self.fetcher.get() {
            return Ok(fetcher);
        }
        let fetcher = Fetcher::builder().build()?;
        // Making one may fail, so it is not made inside `get_or_init`. Two threads may each make
        // one; the first is kept.
        Ok(self.fetcher.get_or_init(|| fetcher))
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

/// Returns the reason why a file of a listing is not read.
fn reason(why: PassedOver) -> IgnoredReason {
    match why {
        PassedOver::Empty => IgnoredReason::Empty,
        PassedOver::NotMatched => IgnoredReason::NotMatched,
        PassedOver::OddName => IgnoredReason::OddName,
        PassedOver::NotInSplit => IgnoredReason::NotInSplit,
    }
}

/// Creates the error of an input that cannot be listed.
pub(crate) fn failed(input: &str, source: FetchError) -> LoadError {
    LoadError::Remote {
        input: input.to_owned(),
        source: Box::new(source),
    }
}

/// A remote file of a corpus.
pub(crate) struct RemoteSource {
    file: RemoteFile,
    /// Whether it was found in a folder, or a dataset of several files, where files of no known format are left out.
    is_of_folder: bool,
    access: Access,
    /// Opened when it is first read.
    reader: Arc<OnceLock<RangeReader>>,
}

impl RemoteSource {
    /// Returns what is known of the file, by which its format can be told: its name, and what its
    /// server calls it.
    pub(crate) fn file(&self) -> &RemoteFile {
        &self.file
    }

    /// Returns the location of the file.
    pub(crate) fn name(&self) -> &str {
        &self.file().name
    }

    /// Returns the name that tells the format, and the one that the server gives the file.
    pub(crate) fn names(&self) -> (String, Option<String>) {
        (self.file.path_name(), self.file.served_name.clone())
    }

    /// Returns the media type that the server says the file has.
    pub(crate) fn content_type(&self) -> Option<&str> {
        self.file.content_type.as_deref()
    }

    /// Returns the size in bytes, where it is known.
    pub(crate) fn size(&self) -> Option<u64> {
        self.file.size
    }

    /// Returns what the server vouches for the content with, where it does.
    pub(crate) fn validator(&self) -> Option<&str> {
        self.file.validator.as_deref()
    }

    /// Returns whether the file was found in a folder, or a dataset of several files.
    pub(crate) fn is_of_folder(&self) -> bool {
        self.is_of_folder
    }

    /// Returns whether the file can be read from any byte: its size must be known, and its server
    /// is assumed to send ranges unless it said otherwise.
    pub(crate) fn has_ranges(&self) -> bool {
        self.file.has_ranges != Some(false) && self.file.size.is_some()
    }

    /// Opens the bytes from `offset` on, of which those up to `end` are known to be needed.
    pub(crate) fn open(&self, offset: u64, end: u64) -> io::Result<Box<dyn Read + Send>> {
        let reader = self.reader().map_err(io::Error::other)?;
        Ok(match reader.size() {
            // A part with a known end is asked for as a range. What is read to the end of the file,
            // wherever that is, comes as one stream.
            Some(size) if end <= size && reader.has_ranges() => {
                Box::new(Ranged::new(reader.clone(), offset..end, size))
            }
            _ => Box::new(reader.stream(offset)),
        })
    }

    /// Opens the file for reading from any byte, as Parquet needs it.
    pub(crate) fn parquet(&self) -> io::Result<RemoteParquet> {
        let reader = self.reader().map_err(io::Error::other)?.clone();
        match reader.size().filter(|_| reader.has_ranges()) {
            Some(size) => Ok(RemoteParquet::new(reader, size)),
            None => Err(io::Error::other(
                "its server cannot send parts of it, which Parquet needs; download the file first",
            )),
        }
    }

    /// Returns the reader, which is opened when it is first needed.
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

/// Reads a known range by as few requests as its size allows, and what is then found to be needed
/// in growing steps.
struct Ranged {
    reader: RangeReader,
    /// What the next request asks for.
    next: Range<u64>,
    /// Size of the step behind it, in bytes.
    step: u64,
    size: u64,
    buffer: Bytes,
}

impl Ranged {
    /// Creates a reader whose first request asks for the known range, up to the largest step.
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
        // An empty `next` is the end of the file: it never passes the size.
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

/// The bytes of a remote Parquet file: ranges that were announced are fetched at once, others in
/// segments.
#[derive(Clone)]
pub(crate) struct RemoteParquet {
    reader: RangeReader,
    size: u64,
    cache: Arc<Mutex<RangeCache>>,
}

#[derive(Default)]
struct RangeCache {
    /// Fetched because they were announced.
    ranges: Vec<(u64, Bytes)>,
    /// Fetched one at a time; the oldest goes first.
    segments: Vec<(u64, Bytes)>,
    /// Why bytes could not be fetched: the decoder would report it as damage.
    error: Option<io::Error>,
}

impl RemoteParquet {
    /// Creates a file of which nothing was fetched yet.
    fn new(reader: RangeReader, size: u64) -> Self {
        Self {
            reader,
            size,
            cache: Arc::default(),
        }
    }

    /// Returns the size in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.size
    }

    /// Returns the same file, with these ranges fetched.
    pub(crate) fn with_ranges(&self, ranges: Vec<Range<u64>>) -> io::Result<Self> {
        let fetched = self.reader.read_many(&ranges).map_err(io::Error::other)?;
        let starts = ranges.into_iter().map(|range| range.start);
        let cache = RangeCache {
            ranges: starts.zip(fetched).collect(),
            ..RangeCache::default()
        };
        Ok(Self {
            cache: Arc::new(Mutex::new(cache)),
            ..self.clone()
        })
    }

    /// Takes out why bytes could not be fetched, if that was so.
    pub(crate) fn take_error(&self) -> Option<io::Error> {
        self.cache().error.take()
    }

    /// Returns exactly these bytes.
    pub(crate) fn bytes(&self, start: u64, length: usize) -> io::Result<Bytes> {
        let end = start
            .checked_add(length as u64)
            .filter(|end| *end <= self.size)
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        if let Some(bytes) = self.find(start..end) {
            return Ok(bytes);
        }
        // A long range is needed once; a short one has neighbours that will be asked for next.
        let around = match length as u64 >= SEGMENT_BYTES {
            true => start..end,
            false => start..(start + SEGMENT_BYTES).min(self.size),
        };
        let fetched = self.reader.read(around).map_err(|error| {
            // Kept here, since the decoder only passes on a text, by which a fault of the network
            // could not be told from damage.
            let message = error.to_string();
            self.cache().error = Some(io::Error::other(error));
            io::Error::other(message)
        })?;
        let bytes = fetched.slice(..length);
        let mut cache = self.cache();
        if cache.segments.len() >= MAX_SEGMENTS {
            cache.segments.remove(0);
        }
        cache.segments.push((start, fetched));
        Ok(bytes)
    }

    /// Returns a reader from an offset on, for callers that do not say how much they need.
    pub(crate) fn read_from(&self, start: u64) -> impl Read + Send + use<> {
        OffsetReader {
            file: self.clone(),
            at: start,
        }
    }

    /// Returns bytes that are held, if all of the wanted ones are.
    fn find(&self, wanted: Range<u64>) -> Option<Bytes> {
        let cache = self.cache();
        let mut all = cache.ranges.iter().chain(&cache.segments);
        all.find_map(|(start, bytes)| {
            let from = usize::try_from(wanted.start.checked_sub(*start)?).ok()?;
            let to = usize::try_from(wanted.end - start).ok()?;
            (to <= bytes.len()).then(|| bytes.slice(from..to))
        })
    }

    /// Returns as many held bytes as there are from an offset on.
    fn find_from(&self, at: u64) -> Option<Bytes> {
        let cache = self.cache();
        let mut all = cache.ranges.iter().chain(&cache.segments);
        all.find_map(|(start, bytes)| {
            let from = usize::try_from(at.checked_sub(*start)?).ok()?;
            (from < bytes.len()).then(|| bytes.slice(from..))
        })
    }

    /// Locks the cache.
    fn cache(&self) -> MutexGuard<'_, RangeCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Size of a read whose length is not known, in bytes: more than the header of a page usually
/// takes.
const HEADER_BYTES: u64 = 1 << 10;

/// A reader from an offset of a remote Parquet file.
struct OffsetReader {
    file: RemoteParquet,
    at: u64,
}

impl Read for OffsetReader {
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

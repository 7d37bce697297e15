//! Reader of ranges of one remote file, usable from any thread.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::read::Opened;
use crate::runtime::Runtime;
use crate::{CancellationToken, FetchError, FileStream};

/// Open remote file. Clones are cheap, and any number of threads may read at once.
///
/// Calls block the calling thread until the bytes have arrived; they may be made on threads of an
/// async runtime, which they block as well. Everything received is checked: that it is the very
/// range, in full, and, as far as the server tells, that the file is still the one that was opened.
#[derive(Clone)]
pub struct RangeReader {
    opened: Arc<Opened>,
    runtime: Runtime,
    cancel: CancellationToken,
}

impl RangeReader {
    /// Creates a reader that nothing cancels.
    pub(crate) fn new(opened: Opened, runtime: Runtime) -> Self {
        Self {
            opened: Arc::new(opened),
            runtime,
            cancel: CancellationToken::new(),
        }
    }

    /// Sets the switch that ends reads with [`FetchError::Cancelled`] once it is used.
    #[must_use]
    pub fn with_cancel(mut self, cancel: &CancellationToken) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Returns the canonical name, as in [`RemoteFile::name`](crate::RemoteFile::name).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.opened.name
    }

    /// Returns the size in bytes, if the server says it.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.opened.facts.size
    }

    /// Returns the validator, which changes when the content does, as in
    /// [`RemoteFile::validator`](crate::RemoteFile::validator).
    #[must_use]
    pub fn validator(&self) -> Option<&str> {
        self.opened.facts.validator.as_deref()
    }

    /// Returns the media type, as in [`RemoteFile::content_type`](crate::RemoteFile::content_type).
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.opened.facts.content_type.as_deref()
    }

    /// Returns the name that a web server gives the file, as in
    /// [`RemoteFile::served_name`](crate::RemoteFile::served_name).
    #[must_use]
    pub fn served_name(&self) -> Option<&str> {
        self.opened.facts.served_name.as_deref()
    }

    /// Returns whether any range can be read; if not, only [`stream`](Self::stream) works.
    #[must_use]
    pub fn has_ranges(&self) -> bool {
        self.opened.facts.has_ranges == Some(true) && self.opened.facts.size.is_some()
    }

    /// Reads the bytes of a range.
    ///
    /// # Errors
    ///
    /// [`FetchError::InvalidRange`] and [`FetchError::NoRanges`] without asking; else what the
    /// network, the server or [`CancellationToken`] made impossible, after the attempts of the policy.
    pub fn read(&self, range: Range<u64>) -> Result<Bytes, FetchError> {
        let read = self.read_many(std::slice::from_ref(&range))?;
        // One range in, one out.
        Ok(read.into_iter().next().unwrap_or_default())
    }

    /// Reads several ranges, in the order given: near ones by one request, distant and long ones by
    /// several at a time.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read); one range that fails fails all.
    pub fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, FetchError> {
        // All are checked before anything is asked for: a wrong range costs no request.
        for range in ranges {
            self.check(range)?;
        }
        let opened = Arc::clone(&self.opened);
        let ranges = ranges.to_vec();
        self.runtime.wait(&self.cancel, opened.read(ranges))
    }

    /// Reads all bytes from a position on, ahead of the caller.
    ///
    /// A position behind the end gives an empty stream. A file that cannot be read by ranges is
    /// read from its start each time, and what lies before `from` is skipped.
    #[must_use]
    pub fn stream(&self, from: u64) -> FileStream {
        FileStream::start(&self.opened, &self.runtime, &self.cancel, from)
    }

    /// Fails if a range cannot be read or does not lie in the file.
    fn check(&self, range: &Range<u64>) -> Result<(), FetchError> {
        let url = || self.opened.source.shown().to_owned();
        let size = match self.opened.facts.size {
            Some(size) if self.has_ranges() => size,
            _ => return Err(FetchError::NoRanges { url: url() }),
        };
        if range.start > range.end || range.end > size {
            return Err(FetchError::InvalidRange {
                url: url(),
                start: range.start,
                end: range.end,
                size,
            });
        }
        Ok(())
    }
}

impl fmt::Debug for RangeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeReader")
            .field("name", &self.opened.name)
            .field("facts", &self.opened.facts)
            .finish_non_exhaustive()
    }
}

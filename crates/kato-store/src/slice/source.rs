//! Where a slice is read: a file, or ranges of one.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// Where a slice lies: a file, or ranges of a file that are a slice when they follow each other, such
/// as the head and one [part](super::SlicePart) of a larger slice.
///
/// ```
/// use kato_store::slice::SliceSource;
///
/// let whole = SliceSource::from_file("task.slice");
/// // A head of 100 bytes, and the part of one range.
/// let part = SliceSource::from_ranges("task.slice", [0..100, 5000..9000]);
/// assert_ne!(whole, part);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceSource {
    path: PathBuf,
    /// `None` for all of the file.
    ranges: Option<Vec<Range<u64>>>,
}

impl SliceSource {
    /// Creates the source of a file that is a slice.
    pub fn from_file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            ranges: None,
        }
    }

    /// Creates the source of ranges of bytes of a file, in this order.
    pub fn from_ranges(
        path: impl Into<PathBuf>,
        ranges: impl IntoIterator<Item = Range<u64>>,
    ) -> Self {
        Self {
            path: path.into(),
            ranges: Some(ranges.into_iter().collect()),
        }
    }

    /// Returns the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it; returns the number of its bytes, too, at most.
    pub(super) fn open(&self) -> Result<(RangesReader, u64), StoreError> {
        let failed = |action| move |source| StoreError::io(action, &self.path, source);
        let mut file = File::open(&self.path).map_err(failed("open"))?;
        let size = file.metadata().map_err(failed("read"))?.len();
        let whole = 0..size;
        let ranges = self.ranges.as_deref();
        let mut ranges = ranges.unwrap_or(std::slice::from_ref(&whole)).to_vec();
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
        let bytes = ranges.iter().map(length).fold(0, u64::saturating_add);
        ranges.reverse();
        let current = ranges.pop().unwrap_or(0..0);
        file.seek(SeekFrom::Start(current.start))
            .map_err(failed("read"))?;
        let reader = RangesReader {
            current: file.take(length(&current)),
            rest: ranges,
        };
        Ok((reader, bytes.min(size)))
    }
}

impl From<PathBuf> for SliceSource {
    fn from(path: PathBuf) -> Self {
        Self::from_file(path)
    }
}

/// Reads ranges of a file one after the other.
#[derive(Debug)]
pub(super) struct RangesReader {
    current: io::Take<File>,
    /// The ranges after it, the next one last.
    rest: Vec<Range<u64>>,
}

impl Read for RangesReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.current.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            // What follows would be taken for the rest of a range that the file has no more.
            if self.current.limit() > 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some(next) = self.rest.pop() else {
                return Ok(0);
            };
            let file = self.current.get_mut();
            file.seek(SeekFrom::Start(next.start))?;
            self.current.set_limit(next.end.saturating_sub(next.start));
        }
    }
}

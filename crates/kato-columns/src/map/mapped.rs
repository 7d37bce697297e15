//! A file mapped into memory.

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use memmap2::Advice;

use super::fault::GuardedMap;

/// A file mapped into memory, read only.
///
/// Its bytes change when somebody writes to the file, and read as zeros once a part of it cannot be read. So
/// whoever reads them checks every index at every read, and compares checksums of what matters, again when
/// [`look`](Self::look) says so.
#[derive(Debug)]
pub struct Map {
    path: PathBuf,
    /// `None` for an empty file, which some systems refuse to map.
    map: Option<GuardedMap>,
    /// The file as it was when it was last looked at.
    seen: Mutex<Stamp>,
}

/// The state of a mapped file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapState {
    /// Nothing says that it changed since the last look. Also for a file that was removed or replaced
    /// under its name, which stays as it was mapped.
    Unchanged,
    /// It may have been written to since the last look: its times are others.
    Changed,
    /// It is shorter or longer than it was, or a part of it cannot be read, for this reason.
    Lost(String),
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    /// Device and number of the file, where there are such.
    file: Option<(u64, u64)>,
    len: u64,
    modified: Option<SystemTime>,
    /// When anything about it was changed last, in seconds and nanoseconds.
    changed: Option<(i64, i64)>,
}

impl Map {
    /// Maps a whole file, which is open under this path.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn from_file(path: impl AsRef<Path>, file: &File) -> io::Result<Self> {
        let path = path.as_ref();
        // Ahead of the map: what is written in between is a change.
        let seen = Stamp::of(&file.metadata()?);
        let map = (seen.len > 0).then(|| GuardedMap::of(file)).transpose()?;
        Ok(Self {
            path: path.to_owned(),
            map,
            seen: Mutex::new(seen),
        })
    }

    /// Returns the path under which it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file may have changed since the call before, or since it was mapped. Asks the
    /// system, which takes a microsecond.
    #[must_use]
    pub fn look(&self) -> MapState {
        if self.map.as_ref().is_some_and(GuardedMap::has_faulted) {
            return MapState::Lost("a part of it cannot be read".to_owned());
        }
        // What has no name any more can be changed by nobody, and what cannot be asked for is read all the
        // same.
        let Ok(metadata) = fs::metadata(&self.path) else {
            return MapState::Unchanged;
        };
        let found = Stamp::of(&metadata);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if found == *seen || found.file != seen.file {
            return MapState::Unchanged;
        }
        let (expected, len) = (self.len() as u64, found.len);
        *seen = found;
        match len == expected {
            true => MapState::Changed,
            false => MapState::Lost(format!("it has {len} bytes instead of {expected}")),
        }
    }

    /// Advises the system that the map will be read here and there.
    pub fn advise_random(&self) {
        self.advise(Advice::Random);
    }

    /// Advises the system that the map will be read from front to back.
    pub fn advise_sequential(&self) {
        self.advise(Advice::Sequential);
    }

    /// Begins to fetch all of it from the disk, and does not wait for it.
    pub fn fetch_all(&self) {
        self.fetch(0..self.len());
    }

    /// Begins to fetch a range from the disk, and does not wait for it.
    pub fn fetch(&self, range: Range<usize>) {
        if let Some(map) = &self.map {
            map.fetch(range.start, range.len());
        }
    }

    fn advise(&self, advice: Advice) {
        if let Some(map) = &self.map {
            map.advise(advice);
        }
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let (file, changed) = {
            use std::os::unix::fs::MetadataExt;
            (
                Some((metadata.dev(), metadata.ino())),
                Some((metadata.ctime(), metadata.ctime_nsec())),
            )
        };
        #[cfg(not(unix))]
        let (file, changed) = (None, None);
        Self {
            file,
            len: metadata.len(),
            modified: metadata.modified().ok(),
            changed,
        }
    }
}

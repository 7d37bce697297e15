//! Files mapped into memory: the one module of the crate with `unsafe`.
#![expect(unsafe_code, reason = "mapping a file is")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use kato_prediction::frozen::ColumnBytes;
use memmap2::{Advice, Mmap, MmapOptions};

/// Bytes of a file as it was when it was mapped.
#[derive(Debug)]
pub(crate) struct Map {
    path: PathBuf,
    map: Option<Mmap>,
}

impl Map {
    /// Maps a whole file, read only.
    pub(crate) fn of(path: &Path, file: &File) -> io::Result<Self> {
        let path = path.to_owned();
        // Some systems refuse to map nothing.
        if file.metadata()?.len() == 0 {
            return Ok(Self { path, map: None });
        }
        // SAFETY: the bytes must not change while the map lives. The files of an index are written
        // once, under a name that nobody opens, and are renamed when they are complete; from then on
        // this crate only ever removes them, which leaves the mapped file as it is. Should somebody
        // else change one all the same, nothing relies on a byte being what it was when looked at
        // before: indices are checked at every read, and text is checked again by what makes a `str`
        // of it and copies it.
        let map = unsafe { MmapOptions::new().map(file)? };
        let map = Some(map);
        Ok(Self { path, map })
    }

    /// Advises the system that the map will be read here and there.
    pub(crate) fn advise_random(&self) {
        self.advise(Advice::Random);
    }

    /// Advises the system that the map will be read from front to back.
    pub(crate) fn advise_sequential(&self) {
        self.advise(Advice::Sequential);
    }

    /// Begins to fetch all of it from the disk, and does not wait for it.
    pub(crate) fn fetch_all(&self) {
        self.fetch(0..self.as_ref().len());
    }

    /// Begins to fetch a range from the disk, and does not wait for it.
    fn fetch(&self, range: Range<usize>) {
        #[cfg(unix)]
        if let Some(map) = &self.map {
            // As above.
            let _ = map.advise_range(Advice::WillNeed, range.start, range.len());
        }
        #[cfg(not(unix))]
        let _ = range;
    }

    fn advise(&self, advice: Advice) {
        #[cfg(unix)]
        if let Some(map) = &self.map {
            // Advice changes speed only, so that a refusal has no consequence.
            let _ = map.advise(advice);
        }
        #[cfg(not(unix))]
        let _ = advice;
    }
}

impl ColumnBytes for Map {
    fn will_read(&self, range: Range<usize>) {
        self.fetch(range);
    }

    fn origin(&self) -> String {
        self.path.display().to_string()
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

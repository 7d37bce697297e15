//! Files mapped into memory: the one module of the crate with `unsafe`.
#![expect(unsafe_code, reason = "mapping a file is")]

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::{Mmap, MmapOptions};

/// Bytes of a file as it was when it was mapped.
#[derive(Debug)]
pub(crate) struct Map(Option<Mmap>);

impl Map {
    /// Maps a whole file, read only.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // Some systems refuse to map nothing.
        if file.metadata()?.len() == 0 {
            return Ok(Self(None));
        }
        // SAFETY: the bytes must not change while the map lives. A cache is never written in place:
        // this crate replaces it by renaming, which leaves the mapped file as it is. A text is the
        // caller's, whom `Embeddings::builder` asks to leave it alone until `open` returns; the map
        // does not outlive that call. Should it change all the same, nothing here relies on a byte
        // being what it was when looked at before: indices are checked, and text is checked again
        // by what makes a `str` of it and copies it.
        let map = unsafe { MmapOptions::new().map(file)? };
        Ok(Self(Some(map)))
    }

    /// Advises the system that the map will be read from front to back.
    pub(crate) fn advise_sequential(&self) {
        #[cfg(unix)]
        if let Some(map) = &self.0 {
            // Advice changes speed only, so that a refusal has no consequence.
            let _ = map.advise(memmap2::Advice::Sequential);
        }
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

//! Working files: written once, mapped, and gone when nobody reads them any more.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use kato_columns::map::Map;

use super::CountsError;

/// A working file that is written from front to back.
pub(super) struct ScratchWriter {
    out: BufWriter<File>,
    path: PathBuf,
}

impl ScratchWriter {
    pub(super) fn create(path: PathBuf) -> Result<Self, CountsError> {
        let file = File::create(&path).map_err(CountsError::io("create", &path))?;
        let out = BufWriter::with_capacity(1 << 18, file);
        Ok(Self { out, path })
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), CountsError> {
        let written = self.out.write_all(bytes);
        written.map_err(CountsError::io("write", &self.path))
    }

    /// Maps what was written.
    pub(super) fn finish(mut self) -> Result<Map, CountsError> {
        let flushed = self.out.flush();
        flushed.map_err(CountsError::io("write", &self.path))?;
        drop(self.out);
        let map = map(&self.path)?;
        // It lives as long as it is mapped, and goes when the process ends however that ends.
        drop(fs::remove_file(&self.path));
        Ok(map)
    }
}

/// Maps a file.
pub(super) fn map(path: &Path) -> Result<Map, CountsError> {
    let open = || Map::from_file(path, &File::open(path)?);
    open().map_err(CountsError::io("map", path))
}

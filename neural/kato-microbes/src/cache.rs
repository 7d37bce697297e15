//! Results that were computed before, in files of a folder that stays below a limit.

mod entry;
mod key;
mod room;

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use kato_unifrac::DistanceMatrix;
use serde::Serialize;

use crate::error::MicrobesError;
use crate::tokens::{Sequences, TokenReport};
use entry::Entry;

pub use key::Key;

/// A folder of results.
///
/// An entry's name is a digest of all that it depends on ([`Key`]), so there is nothing to keep in
/// step: another table, tree, depth or seed has another name. Files get their names when they are written,
/// and carry a checksum; one that is damaged is computed again. Where the files together exceed the
/// limit, those that were longest not used are removed. What a killed program left unfinished goes with the next one
/// that is kept.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    limit_bytes: u64,
}

/// What the cache did about one result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Saved {
    /// Whether the result was there.
    pub is_hit: bool,
    /// Seconds that it took, now or when it was first computed.
    pub computed_s: f64,
    /// Seconds that reading it took; 0 where it was computed.
    pub read_s: f64,
    /// Bytes of its file; 0 where it was not kept: too large, or not to be written.
    pub n_bytes: u64,
    /// Entries that were removed to make room.
    pub n_evicted: usize,
}

impl Cache {
    /// Opens a cache, whose folder is made when something is kept.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, limit_bytes: u64) -> Self {
        Self {
            folder: folder.into(),
            limit_bytes,
        }
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns distances from the cache, or computes and keeps them.
    ///
    /// # Errors
    ///
    /// Those of `compute`. A cache that cannot be written keeps nothing, which is no error.
    pub fn distances(
        &self,
        key: &Key,
        compute: impl FnOnce() -> Result<DistanceMatrix, MicrobesError>,
    ) -> Result<(DistanceMatrix, Saved), MicrobesError> {
        self.get(key, compute, entry::of_distances, entry::to_distances)
    }

    /// Returns tokens from the cache, or computes and keeps them.
    ///
    /// # Errors
    ///
    /// As for [`distances`](Self::distances).
    pub fn tokens(
        &self,
        key: &Key,
        compute: impl FnOnce() -> Result<(Sequences, TokenReport), MicrobesError>,
    ) -> Result<((Sequences, TokenReport), Saved), MicrobesError> {
        self.get(key, compute, entry::of_tokens, entry::to_tokens)
    }

    fn get<T>(
        &self,
        key: &Key,
        compute: impl FnOnce() -> Result<T, MicrobesError>,
        pack: fn(&T) -> Entry,
        unpack: fn(Entry) -> Option<T>,
    ) -> Result<(T, Saved), MicrobesError> {
        let path = self
            .folder
            .join(format!("{}.{}", key.name(), room::EXTENSION));
        let begun = Instant::now();
        if let Some((entry, n_bytes)) = entry::read(&path) {
            let computed_s = entry.computed_s;
            if let Some(value) = unpack(entry) {
                touch(&path);
                let saved = Saved {
                    is_hit: true,
                    computed_s,
                    read_s: begun.elapsed().as_secs_f64(),
                    n_bytes,
                    n_evicted: 0,
                };
                return Ok((value, saved));
            }
        }
        let begun = Instant::now();
        let value = compute()?;
        let computed_s = begun.elapsed().as_secs_f64();
        let mut entry = pack(&value);
        entry.computed_s = computed_s;
        let (n_bytes, n_evicted) = self.keep(&path, &entry).unwrap_or((0, 0));
        let saved = Saved {
            is_hit: false,
            computed_s,
            read_s: 0.0,
            n_bytes,
            n_evicted,
        };
        Ok((value, saved))
    }

    /// Writes an entry after making room for it: its bytes, and how many others went.
    fn keep(&self, path: &Path, entry: &Entry) -> std::io::Result<(u64, usize)> {
        let bytes = entry.to_bytes();
        let n_bytes = bytes.len() as u64;
        // What does not fit at all would only empty the cache.
        if n_bytes > self.limit_bytes {
            return Ok((0, 0));
        }
        std::fs::create_dir_all(&self.folder)?;
        let n_evicted = room::make(&self.folder, self.limit_bytes - n_bytes)?;
        let mut file = room::unfinished(&self.folder)?;
        std::io::Write::write_all(&mut file, &bytes)?;
        file.persist(path)?;
        Ok((n_bytes, n_evicted))
    }
}

/// Says that an entry was used now; where the folder is read-only, it is not said.
fn touch(path: &Path) {
    let file = std::fs::File::options().append(true).open(path);
    drop(file.and_then(|file| file.set_modified(SystemTime::now())));
}

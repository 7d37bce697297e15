//! Files on their way to a store and from it, read and written piece by piece.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::ClusterError;
use crate::blocking::{self, Scratch};

/// Bytes of one part of an upload; larger files are sent in several.
pub(crate) const PART_BYTES: usize = 8 << 20;

/// Bytes that are received before they are written.
const WRITE_BYTES: usize = 1 << 20;

/// A file that is sent, with the BLAKE3 of what was read of it.
#[derive(Debug)]
pub(crate) struct Outgoing {
    file: File,
    path: PathBuf,
    hasher: blake3::Hasher,
}

impl Outgoing {
    pub(crate) async fn open(path: &Path) -> Result<Self, ClusterError> {
        let path = path.to_owned();
        blocking::run(move || {
            Ok(Self {
                file: File::open(&path).map_err(ClusterError::io("open", &path))?,
                path,
                hasher: blake3::Hasher::new(),
            })
        })
        .await
    }

    /// Reads the next part; it is short only at the end of the file.
    pub(crate) async fn next(mut self) -> Result<(Self, Bytes), ClusterError> {
        blocking::run(move || {
            // At once, as growing to it would copy all of it several times.
            let size = self.file.metadata().map_or(0, |file| file.len());
            let left = usize::try_from(size.saturating_sub(self.hasher.count()));
            let mut bytes =
                Vec::with_capacity(left.map_or(PART_BYTES, |left| left.min(PART_BYTES)));
            let part = Read::by_ref(&mut self.file)
                .take(PART_BYTES as u64)
                .read_to_end(&mut bytes);
            part.map_err(ClusterError::io("read", &self.path))?;
            self.hasher.update(&bytes);
            Ok((self, bytes.into()))
        })
        .await
    }

    /// Returns the BLAKE3 of what was read and the number of its bytes.
    pub(crate) fn finish(self) -> (String, u64) {
        let hash = self.hasher.finalize().to_hex().to_string();
        (hash, self.hasher.count())
    }
}

/// Makes a file an object of a directory without writing it again, as another name of the same file,
/// and returns its BLAKE3 and its size; `None` where that cannot be, as between two file systems.
///
/// It is as durable as what is uploaded: the file and the directories above it up to `root` are
/// written through.
pub(crate) async fn link(
    from: &Path,
    root: &Path,
    to: &Path,
) -> Result<Option<(String, u64)>, ClusterError> {
    let (from, root, to) = (from.to_owned(), root.to_owned(), to.to_owned());
    blocking::run(move || {
        let Ok(file) = add_name(&from, &root, &to) else {
            // What hinders it hinders an upload as well, which says so, or it does not matter.
            return Ok(None);
        };
        let mut hasher = blake3::Hasher::new();
        let hashed = hasher.update_reader(file);
        hashed.map_err(ClusterError::io("read", &from))?;
        Ok(Some((
            hasher.finalize().to_hex().to_string(),
            hasher.count(),
        )))
    })
    .await
}

/// Gives a file another name.
fn add_name(from: &Path, root: &Path, to: &Path) -> std::io::Result<File> {
    let file = File::open(from)?;
    file.sync_all()?;
    let parent = to.parent().unwrap_or(root);
    std::fs::create_dir_all(parent)?;
    std::fs::hard_link(from, to)?;
    for dir in parent.ancestors().take_while(|dir| dir.starts_with(root)) {
        // Directories can be opened on Unix alone, and need it nowhere else.
        #[cfg(unix)]
        File::open(dir)?.sync_all()?;
    }
    Ok(file)
}

/// A file that is received.
#[derive(Debug)]
pub(crate) struct Incoming {
    file: File,
    path: PathBuf,
    /// Bytes of the file that stay whatever follows.
    kept: u64,
    pending: Vec<Bytes>,
    pending_bytes: usize,
    /// Holds the directory until the last write has ended.
    _scratch: Scratch,
}

impl Incoming {
    pub(crate) async fn create(path: &Path, scratch: &Scratch) -> Result<Self, ClusterError> {
        let (path, scratch) = (path.to_owned(), scratch.clone());
        blocking::run(move || {
            Ok(Self {
                file: File::create(&path).map_err(ClusterError::io("create", &path))?,
                path,
                kept: 0,
                pending: Vec::new(),
                pending_bytes: 0,
                _scratch: scratch,
            })
        })
        .await
    }

    /// Appends bytes, which may be written later.
    pub(crate) async fn push(mut self, bytes: Bytes) -> Result<Self, ClusterError> {
        self.pending_bytes += bytes.len();
        self.pending.push(bytes);
        match self.pending_bytes < WRITE_BYTES {
            true => Ok(self),
            false => self.write().await,
        }
    }

    /// Appends a range of a local file; returns how many bytes there were.
    pub(crate) async fn copy(
        mut self,
        mut from: File,
        range: Range<u64>,
    ) -> Result<(Self, u64), ClusterError> {
        self = self.write().await?;
        blocking::run(move || {
            from.seek(SeekFrom::Start(range.start))
                // Between files the system copies by itself, where it can.
                .and_then(|_| {
                    let mut from = from.take(range.end - range.start);
                    std::io::copy(&mut from, &mut self.file)
                })
                .map_err(ClusterError::io("copy to", &self.path))
                .map(|copied| (self, copied))
        })
        .await
    }

    /// Writes what was pushed.
    async fn write(mut self) -> Result<Self, ClusterError> {
        blocking::run(move || {
            for bytes in std::mem::take(&mut self.pending) {
                self.file
                    .write_all(&bytes)
                    .map_err(ClusterError::io("write", &self.path))?;
            }
            self.pending_bytes = 0;
            Ok(self)
        })
        .await
    }

    /// Keeps what was pushed since the last call; all of it is so many bytes.
    pub(crate) async fn keep(self, bytes: u64) -> Result<Self, ClusterError> {
        let mut written = self.write().await?;
        written.kept += bytes;
        Ok(written)
    }

    /// Takes back what was pushed and not kept.
    pub(crate) async fn rewind(mut self) -> Result<Self, ClusterError> {
        blocking::run(move || {
            self.pending.clear();
            self.pending_bytes = 0;
            self.file
                .set_len(self.kept)
                .and_then(|()| self.file.seek(SeekFrom::Start(self.kept)))
                .map_err(ClusterError::io("write", &self.path))?;
            Ok(self)
        })
        .await
    }
}

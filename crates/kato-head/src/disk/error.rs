//! The errors of writing and opening counts on the disk.

use std::io;
use std::path::{Path, PathBuf};

use kato_advice::{ErrorClass, ErrorKind};
use kato_columns::files::FileError;
use kato_store::StoreError;

use crate::HeadError;

/// The error of a head's counts on the disk. The knowledge base itself is as before, and can be counted in
/// memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountsError {
    /// A file could not be read or written, is damaged, or is being written by somebody else.
    #[error("the head's counts on the disk cannot be used; `kato index` writes them again")]
    File(#[from] FileError),
    /// The counts are of another version of this software.
    #[error(
        "the head's counts {} have format version {found}, and this program reads {supported}; `kato index` writes them again",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The version that is known.
        supported: u64,
    },
    /// The store could not be read.
    #[error("read the knowledge base to count its n-grams")]
    Store(#[from] StoreError),
    /// The n-grams cannot be counted.
    #[error("count the n-grams of the knowledge base")]
    Head(#[from] HeadError),
    /// Writing was [cancelled](crate::disk::CountsOptions::with_cancel); nothing of it is left.
    #[error("write the head's counts: it was cancelled; what was there before is there still")]
    Cancelled,
}

impl CountsError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::File(FileError::Io { source, .. }) => ErrorKind::of_io(source.kind()),
            Self::File(FileError::Locked { .. }) => ErrorKind::Locked,
            Self::File(FileError::Damaged { .. }) => ErrorKind::Corrupt,
            Self::Version { .. } => ErrorKind::OtherVersion,
            Self::Cancelled => ErrorKind::Interrupted,
            Self::Store(error) => error.kind(),
            Self::Head(error) => error.kind(),
            Self::File(_) => ErrorKind::Other,
        }
    }

    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let error = FileError::io(action, path);
        move |source| Self::File(error(source))
    }

    pub(super) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::File(FileError::damaged(path, reason))
    }
}

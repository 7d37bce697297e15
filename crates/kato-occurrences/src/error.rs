//! The errors of writing and asking occurrences.

use std::path::PathBuf;

use kato_advice::{ErrorClass, ErrorKind};
use kato_columns::files::FileError;

/// The error of occurrences. The knowledge base itself is as before, and they can be written again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OccurrencesError {
    /// A file could not be read or written, is damaged, or is being written by somebody else.
    #[error(
        "the occurrences on the disk cannot be used; `kato index --occurrences` writes them again"
    )]
    File(#[from] FileError),
    /// Damage was found while they were asked, and the answer dropped.
    #[error("the occurrences are damaged ({what}); `kato index --occurrences` writes them again")]
    Damaged {
        /// What is damaged.
        what: String,
    },
    /// They are of another version of this software.
    #[error(
        "the occurrences {} have format version {found}, and this program reads {supported}; `kato index --occurrences` writes \
         them again",
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
}

impl OccurrencesError {
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
            Self::Version { .. } => ErrorKind::OtherVersion,
            Self::File(_) | Self::Damaged { .. } => ErrorKind::Corrupt,
        }
    }
}

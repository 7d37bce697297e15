//! The errors of writing and opening an index.

use std::io;
use std::path::{Path, PathBuf};

use crate::Cancelled;
use crate::frozen::LayoutError;
use kato_advice::{ErrorClass, ErrorKind};
use kato_columns::files::FileError;
use kato_store::StoreError;

/// The error of an index on disk. The knowledge base itself is as before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFileError {
    /// A file could not be read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// What was to be done.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it could not.
        source: io::Error,
    },
    /// The index is not what was written; build it again.
    #[error("the index {} is damaged: {reason}; `kato index` writes it again", path.display())]
    Damaged {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The index is of another version of this software.
    #[error(
        "the index {} has format version {found}, and this program reads {supported}; `kato index` writes it again",
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
    /// Somebody else builds the index of this knowledge base, in another process or in this one.
    #[error("the index {} is being written already, by another process or by this one; wait for that to end", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// A node holds more than an index can.
    #[error("node {node} is too large for an index: {reason}; it is asked in memory as before")]
    TooLarge {
        /// The node.
        node: String,
        /// What there is too much of.
        reason: &'static str,
    },
    /// Building or checking was [cancelled](crate::disk::BuildOptions::cancel); nothing of it is left.
    #[error("write an index: it was cancelled; what was there before is there still")]
    Cancelled(#[from] Cancelled),
    /// The store could not be read.
    #[error("read the knowledge base to index it")]
    Store(#[from] StoreError),
}

impl IndexFileError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { source, .. } => ErrorKind::of_io(source.kind()),
            Self::Damaged { .. } => ErrorKind::Corrupt,
            Self::Version { .. } => ErrorKind::OtherVersion,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::Cancelled(_) => ErrorKind::Interrupted,
            Self::Store(error) => error.kind(),
            Self::TooLarge { .. } => ErrorKind::Unsupported,
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    pub(crate) fn of_files(error: FileError) -> Self {
        match error {
            FileError::Io {
                action,
                path,
                source,
            } => Self::Io {
                action,
                path,
                source,
            },
            FileError::Locked { path } => Self::Locked { path },
            FileError::Damaged { path, reason } => Self::Damaged { path, reason },
            error => Self::Io {
                action: "use",
                path: PathBuf::new(),
                source: io::Error::other(error),
            },
        }
    }

    pub(crate) fn layout(path: &Path) -> impl FnOnce(LayoutError) -> Self {
        let path = path.to_owned();
        move |error| Self::Damaged {
            path,
            reason: error.to_string(),
        }
    }
}

//! The error of making a corpus from a sample.

use std::io;
use std::path::PathBuf;

use kato_advice::{ErrorClass, ErrorKind};

/// Failure to make a corpus.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// The sample cannot be read.
    #[error("cannot read the sample {}: name a readable text file", path.display())]
    Read {
        /// The sample's path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The sample has no words to learn from.
    #[error("the sample holds no words: give a text with at least one")]
    Empty,
    /// The corpus cannot be written, for example because the disk is full; what was written before
    /// is kept.
    #[error("cannot write the corpus after {n_documents} documents ({n_bytes} bytes)")]
    Write {
        /// Documents handed to the writer before the failure.
        n_documents: u64,
        /// Bytes handed to the writer before the failure.
        n_bytes: u64,
        /// The cause.
        source: io::Error,
    },
}

impl CorpusError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { source, .. } | Self::Write { source, .. } => {
                ErrorKind::of_io(source.kind())
            }
            Self::Empty => ErrorKind::Empty,
        }
    }
}

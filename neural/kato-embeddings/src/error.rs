//! Error types of the crate.

use std::io;
use std::path::{Path, PathBuf};

use crate::report::BadLine;

/// Reason why vectors could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddingsError {
    /// The file cannot be opened or read.
    #[error("`{}` cannot be read; check the path and its permissions", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A compressed file is damaged or cut off.
    #[error("`{}` cannot be decompressed behind byte {byte_offset} of its text; fetch it again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Bytes of text in front of the damage.
        byte_offset: u64,
        /// The decoder's error.
        source: io::Error,
    },
    /// The file is not a text of vectors.
    #[error("`{}` is not a text of vectors: {reason}", path.display())]
    NotVectors {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: &'static str,
    },
    /// The vectors have another dimension than the one asked for.
    #[error("`{}` announces {found} dimensions, not {expected}; drop `with_dims` or name another file", path.display())]
    Dims {
        /// The file.
        path: PathBuf,
        /// Dimensions by the file's header.
        found: usize,
        /// Dimensions asked for.
        expected: usize,
    },
    /// A line gives no vector, and the policy is to stop.
    #[error("`{}`, {line}; correct it, or pass over such lines with `OnBadLine::Skip`", path.display())]
    BadLine {
        /// The file.
        path: PathBuf,
        /// The line, and what is wrong with it.
        line: BadLine,
    },
    /// Hardly any line gives a vector.
    #[error("`{}` has more than {limit} bad lines, the last being {last}; check that it holds vectors", path.display())]
    TooManyBadLines {
        /// The file.
        path: PathBuf,
        /// How many may be skipped.
        limit: usize,
        /// The line that was one too many.
        last: BadLine,
    },
    /// There are more words, or more numbers, than can be numbered.
    #[error("`{}` has too many words; limit them with `with_max_words` or `with_vocabulary`", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file was written while it was read.
    #[error("`{}` changed while it was read; try again when it is complete", path.display())]
    SourceChanged {
        /// The file.
        path: PathBuf,
    },
    /// An option has a value that cannot work.
    #[error("option `{option}` is out of range: {reason}")]
    InvalidOption {
        /// Name of the builder's method.
        option: &'static str,
        /// What is allowed.
        reason: &'static str,
    },
    /// The cache cannot be written.
    #[error("cache `{}` cannot be written; choose another place, or drop `with_cache`", path.display())]
    Cache {
        /// The cache.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl EmbeddingsError {
    /// Returns a function that turns the operating system's error into that of this crate.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    /// Creates the error for a file that is not a text of vectors.
    pub(crate) fn not_vectors(path: &Path, reason: &'static str) -> Self {
        Self::NotVectors {
            path: path.to_owned(),
            reason,
        }
    }
}

/// Reason why nearest words could not be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The word has no vector.
    #[error("`{word}` has no vector; ask `get` first")]
    UnknownWord {
        /// The word.
        word: String,
    },
    /// The vector has another dimension.
    #[error("the vector has {found} elements, the embeddings have {expected} dimensions")]
    Dims {
        /// Elements of the vector asked for.
        found: usize,
        /// Dimensions of the embeddings.
        expected: usize,
    },
    /// The vector has an element that no angle can be measured from.
    #[error("element {element_idx} of the vector is not finite; nearness is not defined")]
    NotFinite {
        /// Which, from 0.
        element_idx: usize,
    },
    /// The cache that holds the vectors was written to, or cannot be read any more.
    #[error("the cache of the embeddings has changed since it was opened; open them again")]
    CacheChanged,
}

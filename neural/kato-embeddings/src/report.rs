//! Report of opening a file of vectors.

use std::fmt;

pub use crate::bad_line::{BadLine, BadLineReason};

/// Report of opening a file of vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Lines read, a header and blank lines included; with
    /// [`with_max_words`](crate::EmbeddingsBuilder::with_max_words) up to the last word that was
    /// kept.
    pub lines: u64,
    /// Words that were kept, each with its vector.
    pub kept: u64,
    /// Lines whose word had come before; the first vector is kept.
    pub duplicates: u64,
    /// Lines that gave no vector, in the order of the file, except that a header that announces
    /// something else comes last. Empty unless they are skipped.
    pub bad_lines: Vec<BadLine>,
    /// Size of the file in bytes, as it is stored.
    pub bytes: u64,
    /// Origin of the vectors this time. All other fields are the same in either case.
    pub origin: Origin,
}

/// Origin of the vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// From the text; no cache was asked for.
    Text,
    /// From the cache.
    Cache,
    /// From the text, and the cache was written: there was none, or it was refused.
    TextThenCached {
        /// Why the cache at hand could not be used; `None` when there was none.
        refused: Option<CacheRefusal>,
    },
}

/// Reason why a cache was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheRefusal {
    /// Not a cache of this version and this machine's byte order.
    OtherFormat,
    /// Made from another file, or from this one before it was changed.
    OtherSource,
    /// Made with other options.
    OtherOptions,
    /// Cut off or damaged.
    Damaged {
        /// The damaged part.
        part: &'static str,
    },
    /// The operating system could not read it.
    Unreadable {
        /// The system's message.
        message: String,
    },
}

impl fmt::Display for CacheRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherFormat => f.write_str("the cache has another format"),
            Self::OtherSource => f.write_str("the cache was made from another file"),
            Self::OtherOptions => f.write_str("the cache was made with other options"),
            Self::Damaged { part } => write!(f, "the cache is damaged: {part}"),
            Self::Unreadable { message } => write!(f, "the cache cannot be read: {message}"),
        }
    }
}

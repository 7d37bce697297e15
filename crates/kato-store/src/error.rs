//! Errors of stores, by what the caller can do about them.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use kato_model::PatternName;

/// An error of a store.
///
/// `path` is a file or directory; of a store on a server it is the address, without credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A knowledge base is already there, and creating one must not overwrite it.
    #[error("a knowledge base already exists at {}: resume it, or choose another directory", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// There is no knowledge base to open.
    #[error("there is no knowledge base at {}: check the directory, or train one into it", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds files that are not a knowledge base's.
    #[error("{} is not empty and holds no knowledge base: choose an empty or a new directory", path.display())]
    NotAKnowledgeBase {
        /// The directory.
        path: PathBuf,
    },
    /// Another process writes to the knowledge base.
    #[error("the knowledge base at {} is in use by another writer: wait for it to end, or stop it", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The knowledge base was opened for reading.
    #[error("the knowledge base at {} is open for reading only: open it for writing to train", path.display())]
    ReadOnly {
        /// The directory.
        path: PathBuf,
    },
    /// The files were written by a version of the format that this version does not read.
    #[error("{} has format version {found}, and this version reads {supported}: use the matching release", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The file's version.
        found: u64,
        /// The version that can be read.
        supported: u64,
    },
    /// A file does not hold what was written to it. Nothing read from the damaged part was used.
    #[error("{} is damaged: {reason}; restore it from a copy, or train again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The inconsistency that was found.
        reason: String,
    },
    /// The disk or the quota is full. What was committed before is safe.
    #[error("no space left while writing {}: everything committed is safe; free some space and resume", path.display())]
    Full {
        /// The file being written.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The operating system refused an operation on a file.
    #[error("failed to {action} {}", path.display())]
    Io {
        /// The operation that was tried, such as "open".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The store has no such node.
    #[error("there is no node {node:?} here; the nodes are {}", known.join(", "))]
    UnknownNode {
        /// The name asked for.
        node: String,
        /// The names of the store's nodes.
        known: Vec<String>,
    },
    /// A batch, or lists of names, were made for another number of nodes.
    #[error("what is made for {found} nodes does not fit a store of {expected} nodes")]
    NodeCount {
        /// Number of nodes of what was passed.
        found: usize,
        /// Number of nodes of the store.
        expected: usize,
    },
    /// An emotive or affinity is infinite or not a number, which no file keeps.
    #[error("an emotive of pattern {name} is not a finite number: attach finite values")]
    NotFinite {
        /// The pattern.
        name: PatternName,
    },
    /// A record's name is not the SHA-1 of its content, or two stores disagree about a name.
    #[error("pattern {name} does not hold the content that its name says")]
    NameMismatch {
        /// The name.
        name: PatternName,
    },
    /// A staged batch was passed to a store that did not stage it.
    #[error("the staged batch belongs to another store")]
    ForeignBatch,
    /// The server that keeps the patterns did not answer within the time that the store waits.
    #[error(
        "{place} did not answer when asked to {action}: what is committed is safe; see that it runs, then resume"
    )]
    Unanswered {
        /// The server's address, without credentials.
        place: String,
        /// The operation that was tried, such as "commit".
        action: &'static str,
        /// The last failure.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server that keeps the patterns refused; trying again does not help.
    #[error("{place} refused to {action}")]
    Refused {
        /// The server's address, without credentials.
        place: String,
        /// The operation that was tried, such as "commit".
        action: &'static str,
        /// The answer of the server.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Another writer has taken over the knowledge base.
    #[error("another writer took over {place}: let only one of them train, then open it again")]
    LeaseLost {
        /// The knowledge base's address.
        place: String,
    },
    /// Another program wrote into the knowledge base while a commit was in progress.
    #[error(
        "{place} was changed from outside: {reason}; stop other writers, then restore it from a copy or train again"
    )]
    Meddled {
        /// The knowledge base's address.
        place: String,
        /// The inconsistency that was found.
        reason: String,
    },
    /// A pattern is larger than the store can hold.
    #[error(
        "pattern {name} takes {bytes} bytes, and a pattern may take {limit}: learn shorter patterns"
    )]
    TooLarge {
        /// The pattern.
        name: PatternName,
        /// Bytes that it takes, at most.
        bytes: u64,
        /// Bytes that a pattern may take.
        limit: u64,
    },
}

impl StoreError {
    /// Creates an I/O error with what was tried; a full disk becomes an error of its own.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let path = path.to_owned();
        // All three may end while the program runs, so that the operation can be repeated.
        // `FileTooLarge` is what a limit on the size of files (`ulimit -f`) causes.
        match source.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Self::Full { path, source },
            _ => Self::Io {
                action,
                path,
                source,
            },
        }
    }

    /// Creates the error for a damaged file.
    pub(crate) fn corrupt(path: &Path, reason: impl Into<String>) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// Returns whether waiting and repeating the operation can help: a server did not answer.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unanswered { .. })
    }

    /// Returns whether freeing disk space and repeating the operation can help.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

//! The error of building a learner and of learning.

use kato_advice::{ErrorClass, ErrorKind};
use kato_tokenizer::TokenizeError;

/// An error of building a learner or of learning a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// No node was given, or more than [`MAX_NODES`](crate::config::MAX_NODES).
    #[error("a hierarchy has 1 to {max} nodes, not {found}: give one chunk size for each level", max = crate::config::MAX_NODES)]
    NodeCount {
        /// Nodes asked for.
        found: usize,
    },
    /// Two nodes have one name.
    #[error(
        "two nodes are named {name:?}: every node has a knowledge base of its own, so give each its own name"
    )]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A chunk of this size cannot be learned.
    #[error("chunk size {chunk_size} of {name} is too small: a pattern needs at least 2 symbols")]
    ChunkSize {
        /// The node.
        name: String,
        /// Its chunk size.
        chunk_size: usize,
    },
    /// The tokenizer failed on the text.
    #[error("failed to tokenize the paragraph at byte {offset}")]
    Tokenize {
        /// Where the paragraph, or the section, starts in the document.
        offset: usize,
        /// The tokenizer's error.
        source: TokenizeError,
    },
    /// The document has more tokens than can be numbered.
    #[error(
        "the document has {n_tokens} tokens and at most {most} can be learned as one: cut it into several"
    )]
    TooLong {
        /// Tokens of the document, as far as they were counted.
        n_tokens: usize,
        /// The limit.
        most: u32,
    },
    /// The tokenizer returned an id that its vocabulary does not name: one beyond its end, or one
    /// that it leaves unused.
    #[error(
        "the tokenizer returned id {id}, which its vocabulary of {vocabulary} ids does not name: use a tokenizer.json that is complete"
    )]
    UnknownToken {
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        vocabulary: usize,
    },
}

impl LearnError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NodeCount { .. } | Self::DuplicateName { .. } | Self::ChunkSize { .. } => {
                ErrorKind::InvalidArgument
            }
            Self::Tokenize { .. } | Self::TooLong { .. } => ErrorKind::Malformed,
            Self::UnknownToken { .. } => ErrorKind::OtherSettings,
        }
    }
}

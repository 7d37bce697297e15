//! The error of analysing or cleaning up a hierarchy.

use kato_advice::{ErrorClass, ErrorKind};
use kato_store::StoreError;

/// An error of taking a snapshot, making a plan, or cleaning up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// A node cannot be read. There is no result rather than one without that node.
    #[error("cannot read {node}, so nothing is said of the others either")]
    Read {
        /// The node.
        node: String,
        /// The store's error.
        source: StoreError,
    },
    /// A node was named that the store does not have.
    #[error("cannot find a node to clean up")]
    Node {
        /// The store's error, which lists the nodes.
        source: StoreError,
    },
    /// The store was written to while it was read.
    #[error("{node} changed while it was read: analyse when nothing is being learned")]
    ChangedMeanwhile {
        /// The node.
        node: String,
    },
    /// The store is not what the plan was made for. Nothing was removed.
    #[error("{node} changed since the plan was made: make a new one")]
    ChangedSince {
        /// The first node that is different.
        node: String,
    },
    /// The store could not remove the patterns. Nothing was removed, unless the store finds the commit
    /// later, which then removes all of them: see
    /// [`PatternStore::forget`](kato_store::PatternStore::forget).
    #[error("cannot forget the patterns of the plan")]
    Forget {
        /// The store's error.
        source: StoreError,
    },
    /// The text is not a snapshot.
    #[error("this is not a snapshot: take one with this release")]
    Form {
        /// The part that does not fit.
        source: serde_json::Error,
    },
    /// The snapshot has another format.
    #[error("the snapshot has version {found}, and this release reads {supported}: take it again")]
    Version {
        /// The snapshot's version.
        found: u64,
        /// The version that can be read.
        supported: u64,
    },
}

impl AnalysisError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { source, .. } | Self::Node { source } | Self::Forget { source } => {
                source.kind()
            }
            Self::ChangedMeanwhile { .. } | Self::ChangedSince { .. } => ErrorKind::Conflict,
            Self::Form { .. } => ErrorKind::Malformed,
            Self::Version { .. } => ErrorKind::OtherVersion,
        }
    }
}

impl AnalysisError {
    /// Returns the function that wraps a store's error with the node that could not be read.
    pub(crate) fn read(node: &str) -> impl FnOnce(StoreError) -> Self {
        let node = node.to_owned();
        |source| Self::Read { node, source }
    }
}

//! The errors of the engine, by what the caller can do about them.

use std::sync::Arc;

use kato_advice::{ErrorClass, ErrorKind};
use kato_model::PatternName;
use kato_model::vector::VectorError;
use kato_prediction::{Cancelled, DamagedIndex, IndexError};
use kato_store::StoreError;

/// The error of an operation of the engine. Session and node are as before the call, where a
/// variant says nothing else; of several lessons in one call the node may keep those before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The engine has no such node.
    #[error("find node {node:?}: there is none; the nodes are {}", known.join(", "))]
    UnknownNode {
        /// The name asked for.
        node: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The node's index on the disk is damaged, and the node cannot be loaded from its store instead.
    ///
    /// The store is tried again after [`RELOAD_AFTER`](crate::node::RELOAD_AFTER) at the earliest;
    /// until then whatever needs that index returns this error.
    #[error(
        "read node {node:?}: {damage}; and it cannot be loaded from its knowledge base instead"
    )]
    Unreadable {
        /// The node.
        node: String,
        /// What is wrong with the index.
        damage: DamagedIndex,
        /// Why the node cannot be loaded; shared by all reads until it is tried again.
        source: Arc<Self>,
    },
    /// A pattern that was learned and not committed consists of symbols that the index on the disk
    /// held, and that index is damaged. Open the node again and teach it what followed the last
    /// commit.
    #[error(
        "read pattern {name}: it was learned after the last commit, and its symbols are in an index on the disk that is damaged; open the node again and repeat what was learned since"
    )]
    LostPattern {
        /// The pattern.
        name: PatternName,
    },
    /// A prediction was ended before it was done, by [`Cancel`](kato_prediction::Cancel).
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The short-term memory is empty.
    #[error("learn from an empty short-term memory: observe something first")]
    EmptyStm,
    /// There is more of something than [`Limits`](crate::options::Limits) allow.
    #[error("take in {found} {what}: the limit is {limit}; send less")]
    TooLarge {
        /// The thing of which there is too much.
        what: &'static str,
        /// The amount found.
        found: usize,
        /// The amount allowed.
        limit: usize,
    },
    /// The vectors of an observation have no sum.
    #[error("observe vectors")]
    Vectors(#[from] VectorError),
    /// A vector has another length than those that the node knows, or that the session has
    /// observed, and [`one_vector_length`](crate::EngineOptions::one_vector_length) is on.
    #[error(
        "take in a vector of {found} elements: those of node {node:?} have {expected}; send vectors of that length"
    )]
    VectorLength {
        /// The node.
        node: String,
        /// Elements of the vectors before.
        expected: usize,
        /// Elements of this one.
        found: usize,
    },
    /// An element of a vector is infinite or not a number.
    #[error(
        "observe vector number {vector_idx} (from 0): an element is not a finite number; send finite ones"
    )]
    VectorNotFinite {
        /// Position of the vector in the observation.
        vector_idx: usize,
    },
    /// An emotive is infinite, not a number, or so large that sums over learns could leave the
    /// range of numbers.
    #[error(
        "observe emotive {emotive:?} of {value}: send a finite number of magnitude up to 1e100"
    )]
    EmotiveRange {
        /// The emotive.
        emotive: String,
        /// Its value.
        value: f64,
    },
    /// The pattern is retired.
    #[error(
        "learn pattern {name} of node {node:?}: it is retired; un-retire it before it is learned again"
    )]
    Retired {
        /// The node.
        node: String,
        /// The pattern.
        name: PatternName,
    },
    /// The node's index is full.
    #[error("learn pattern {name}")]
    Index {
        /// The pattern.
        name: PatternName,
        /// The reason why the index refused it.
        source: IndexError,
    },
    /// The store failed. What was learned and not committed stays, and the next commit tries again.
    #[error("{action}")]
    Store {
        /// The action that failed.
        action: &'static str,
        /// The store's error.
        source: StoreError,
    },
    /// A node that shares its store with others cannot be emptied alone.
    #[error(
        "empty node {node:?}: it shares its store with other nodes, which keep what they learned; empty the whole engine, \
         or give the node a store of its own"
    )]
    NotClearable {
        /// The node.
        node: String,
    },
    /// The store holds more than fits into the memory that opening it may take.
    #[error(
        "load node {node:?}: what was learned takes more than {limit} bytes of memory; allow more, or ask it over an index, which a knowledge base in a directory has of all nodes without emotives and affinities"
    )]
    LoadMemoryFull {
        /// The node that was being loaded.
        node: String,
        /// The most, for all nodes.
        limit: usize,
    },
    /// The store holds a pattern that the index cannot hold.
    #[error("load pattern {name} of node {node:?}")]
    Load {
        /// The node.
        node: String,
        /// The pattern.
        name: PatternName,
        /// Why the index refused it.
        source: IndexError,
    },
}

impl EngineError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store { source, .. } => source.kind(),
            Self::Unreadable { source, .. } => source.kind(),
            Self::LoadMemoryFull { .. } => ErrorKind::OutOfMemory,
            Self::Cancelled(_) => ErrorKind::Interrupted,
            Self::UnknownNode { .. } => ErrorKind::InvalidArgument,
            Self::LostPattern { .. } => ErrorKind::Corrupt,
            Self::Retired { .. } => ErrorKind::Conflict,
            Self::EmptyStm => ErrorKind::Empty,
            Self::NotClearable { .. } => ErrorKind::Unsupported,
            Self::TooLarge { .. }
            | Self::Vectors(_)
            | Self::VectorLength { .. }
            | Self::VectorNotFinite { .. }
            | Self::EmotiveRange { .. } => ErrorKind::InvalidArgument,
            Self::Index { .. } | Self::Load { .. } => ErrorKind::Other,
        }
    }

    /// Returns a function that wraps an error of the store, for `map_err`.
    pub(crate) fn store(action: &'static str) -> impl FnOnce(StoreError) -> Self {
        move |source| Self::Store { action, source }
    }
}

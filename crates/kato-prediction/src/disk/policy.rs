//! When the index of a knowledge base is written by itself: the one place that decides.

use kato_store::{EmbeddedStore, PatternStore};

use crate::disk::{BuildOptions, BuildReport, IndexFileError, StoreIndex, build, find};

/// Patterns that are loaded rather than indexed: that takes a tenth of a second for those of tokens, and less
/// than one for those of names.
pub const LOADED_PATTERNS: u64 = 100_000;

/// Whether the index of a knowledge base is written by itself. Answers do not depend on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexPolicy {
    /// It is, where [`LOADED_PATTERNS`] or more would have to be loaded, or passed over, without it, and nobody
    /// else writes to the knowledge base.
    #[default]
    Auto,
    /// It is not. One that is there is used.
    Never,
    /// It is, however few patterns there are.
    Require,
}

impl IndexPolicy {
    /// Returns whether the index of what a store holds now is to be written.
    ///
    /// An index that is found damaged later, in a question, is not asked for here.
    #[must_use]
    pub fn is_due(self, store: &EmbeddedStore) -> bool {
        match self {
            Self::Never => false,
            Self::Require => true,
            // Who writes leaves one in the end, and merges what one would be of now.
            Self::Auto if store.is_written_elsewhere() => false,
            Self::Auto => {
                let index = find(store).index;
                let covered = index.as_ref().map(StoreIndex::covered).unwrap_or_default();
                let nodes = 0..store.nodes().len();
                let beyond = nodes.map(|node_idx| {
                    let new = store.n_stored_beyond(node_idx, covered);
                    new.saturating_add(store.n_deleted_beyond(node_idx, covered))
                });
                beyond.fold(0, u64::saturating_add) >= LOADED_PATTERNS
            }
        }
    }
}

/// Bytes of an index for each pattern of any level, as measured for text (docs/benchmarks.md).
const BYTES_A_PATTERN: u64 = 66;

/// Returns the bytes that an index of so many patterns of all levels takes, about, where they are of text.
#[must_use]
pub const fn expected_bytes(n_patterns: u64) -> u64 {
    n_patterns.saturating_mul(BYTES_A_PATTERN)
}

/// Writes the index of what a store holds now where that is [due](IndexPolicy::is_due); `None` where it
/// is not.
///
/// ```
/// use kato_prediction::disk::{BuildOptions, IndexPolicy, keep};
/// use kato_store::EmbeddedStore;
///
/// let dir = tempfile::tempdir()?;
/// let store = EmbeddedStore::create(&dir.path().join("kb"), &["node0"], serde_json::Value::Null)?;
/// assert!(keep(&store, IndexPolicy::Auto, &BuildOptions::default())?.is_none());
/// assert!(keep(&store, IndexPolicy::Require, &BuildOptions::default())?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`build`]; the store is asked in memory then.
pub fn keep(
    store: &EmbeddedStore,
    policy: IndexPolicy,
    options: &BuildOptions,
) -> Result<Option<BuildReport>, IndexFileError> {
    match policy.is_due(store) {
        true => build(store, options).map(Some),
        false => Ok(None),
    }
}

/// Segments of an index that are spared at most: a look-up by name goes through all that there are.
const MOST_SPARED: usize = 512;

/// Spares the segments of a store's index from being merged by later commits, so that the index stays and
/// what is new is all that the next one has to be of.
///
/// To be called when a store is opened that will learn more. It lasts until the store is closed. Once there
/// are very many of them they are not spared, and what they are merged into is indexed anew.
pub fn spare(store: &EmbeddedStore) {
    if let Some(index) = find(store).index
        && index.covered().len() <= MOST_SPARED
    {
        store.keep_segments(index.covered());
    }
}

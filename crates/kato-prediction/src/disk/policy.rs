//! When the index of a knowledge base is written by itself: the one place that decides.

use kato_store::visit::ContentDigest;
use kato_store::{EmbeddedStore, PatternStore};

use crate::disk::open::find_written;
use crate::disk::{BuildOptions, BuildReport, IndexFileError, StoreIndex, build, keep_deleted};

/// Patterns that are loaded rather than indexed: that takes a tenth of a second for those of tokens, and less
/// than one for those of names.
pub const LOADED_PATTERNS: u64 = 100_000;

/// Patterns that are loaded or passed over at most where all of the index would be written again: seconds of
/// every opening.
const MOST_LOADED: u64 = 10 * LOADED_PATTERNS;

/// Whether the index of a knowledge base is written by itself. Answers do not depend on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexPolicy {
    /// It is, where [`LOADED_PATTERNS`] or more would have to be loaded, or passed over, without it, and nobody
    /// else writes to the knowledge base. Where all of it would be written again, for what was forgotten, it is
    /// only from the 16th part of its patterns on, that many at least and a million at most.
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
                let Some(index) = find_written(store).index else {
                    return n_stored_beyond(store, &[]) >= LOADED_PATTERNS;
                };
                let covered = index.written_of();
                let n_new = n_stored_beyond(store, covered);
                let n_beyond = n_new.saturating_add(n_deleted_beyond(store, covered));
                // What cannot be read is told by who writes.
                n_beyond >= most_beyond(&index)
                    || n_new >= LOADED_PATTERNS && !is_worn(store, &index).unwrap_or(false)
            }
        }
    }
}

/// Returns the number of patterns of all nodes that a store holds beyond some sources.
pub(super) fn n_stored_beyond(store: &EmbeddedStore, known: &[ContentDigest]) -> u64 {
    let nodes = 0..store.nodes().len();
    let stored = nodes.map(|node_idx| store.n_stored_beyond(node_idx, known));
    stored.fold(0, u64::saturating_add)
}

/// Returns the number of patterns of all nodes that were deleted of some sources.
pub(super) fn n_deleted_beyond(store: &EmbeddedStore, known: &[ContentDigest]) -> u64 {
    let nodes = 0..store.nodes().len();
    let deleted = nodes.map(|node_idx| store.n_deleted_beyond(node_idx, known));
    deleted.fold(0, u64::saturating_add)
}

/// Returns the number of patterns to load beside an index, or to pass over, from which on all of it is written
/// again rather. Each takes some microseconds of every opening, and about as many of writing.
fn most_beyond(index: &StoreIndex) -> u64 {
    (index.n_patterns() / 16).clamp(LOADED_PATTERNS, MOST_LOADED)
}

/// Returns whether patterns were deleted of what an index is of so that no other may add to it: one of them
/// was learned again since, and would count with what is gone; or too many to pass over.
pub(super) fn is_worn(store: &EmbeddedStore, index: &StoreIndex) -> Result<bool, IndexFileError> {
    if n_deleted_beyond(store, index.written_of()) >= most_beyond(index) {
        return Ok(true);
    }
    for node_idx in 0..store.nodes().len() {
        let names = store.deleted_beyond(node_idx, index.written_of())?;
        if store.holds_any(node_idx, &names.unwrap_or_default())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Bytes of an index for each pattern of any level, as measured for text (docs/benchmarks.md).
const BYTES_A_PATTERN: u64 = 66;

/// Returns the bytes that an index of so many patterns of all levels takes, about, where they are of text.
#[must_use]
pub const fn expected_bytes(n_patterns: u64) -> u64 {
    n_patterns.saturating_mul(BYTES_A_PATTERN)
}

/// Writes the index of what a store holds now where that is [due](IndexPolicy::is_due); `None` where it
/// is not: then what was deleted of the one that is there is [kept](keep_deleted).
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
/// As [`build`]; the store is asked as before then.
pub fn keep(
    store: &EmbeddedStore,
    policy: IndexPolicy,
    options: &BuildOptions,
) -> Result<Option<BuildReport>, IndexFileError> {
    if policy.is_due(store) {
        return build(store, options).map(Some);
    }
    keep_deleted(store);
    Ok(None)
}

/// Segments of an index that are spared at most: a look-up by name goes through all that there are.
const MOST_SPARED: usize = 512;

/// Spares the segments of a store's index from being merged by later commits, so that the index stays and
/// what is new is all that the next one has to be of.
///
/// To be called when a store is opened that will learn more. It lasts until the store is closed. Once there
/// are very many of them they are not spared, and what they are merged into is indexed anew.
pub fn spare(store: &EmbeddedStore) {
    if let Some(index) = find_written(store).index
        && index.written_of().len() <= MOST_SPARED
    {
        store.keep_segments(index.written_of());
    }
}

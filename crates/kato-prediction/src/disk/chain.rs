//! Finding the indexes that together hold what a store holds: each adds to another, down to the first.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

use kato_store::EmbeddedStore;
use kato_store::visit::ContentDigest;

use crate::disk::IndexFileError;
use crate::disk::files::{Header, content_dir, index_dir};

/// Indexes each of which adds to the one before it.
#[derive(Debug)]
pub(super) struct Chain {
    /// The first one, of everything that there was then, comes first.
    pub(super) units: Vec<Unit>,
    /// The digests of all their sources, ascending.
    pub(super) covered: Vec<ContentDigest>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) content: ContentDigest,
    pub(super) header: Header,
}

/// What is there beside a store.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// Those of a part of the store's sources, or of all of them: those of all first, then those of the
    /// most patterns.
    pub(super) usable: Vec<Chain>,
    /// Headers that cannot be read, with the digest that names them.
    pub(super) faults: Vec<(ContentDigest, IndexFileError)>,
}

impl Chain {
    /// Returns whether it is of everything that a store holds, and maybe of patterns that were deleted since.
    pub(super) fn is_of_all(&self, store: &EmbeddedStore) -> bool {
        store.n_sources_beyond(&self.covered) == Some(0)
    }

    /// Returns the number of patterns of all nodes.
    pub(super) fn n_patterns(&self) -> u64 {
        let patterns = self.units.iter().map(|unit| unit.header.n_patterns());
        patterns.fold(0, u64::saturating_add)
    }
}

/// Returns the chains beside a store whose sources it holds.
pub(super) fn find_chains(store: &EmbeddedStore) -> Chains {
    let mut found = Chains::default();
    for content in indexes_beside(store) {
        let chain = match read_chain(store, content) {
            Ok(Some(chain)) => chain,
            // Without a header it was never finished, or is being removed.
            Ok(None) => continue,
            Err(error) => {
                found.faults.push((content, error));
                continue;
            }
        };
        let n_beyond = store.n_sources_beyond(&chain.covered);
        // One of nothing saves nothing.
        if n_beyond.is_some_and(|n_beyond| chain.n_patterns() > 0 || n_beyond == 0) {
            found.usable.push(chain);
        }
    }
    found.usable.sort_by_cached_key(|chain| {
        let top = chain.units.last().map(|unit| unit.content);
        Reverse((chain.is_of_all(store), chain.n_patterns(), top))
    });
    found
}

/// Returns the digests that name indexes.
fn indexes_beside(store: &EmbeddedStore) -> Vec<ContentDigest> {
    let Ok(entries) = fs::read_dir(index_dir(store.dir())) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let digests = names.filter_map(|name| ContentDigest::from_hex(name.to_str()?));
    digests.collect()
}

/// Reads the headers from an index down to the first; `None` if one is missing.
pub(super) fn read_chain(
    store: &EmbeddedStore,
    top: ContentDigest,
) -> Result<Option<Chain>, IndexFileError> {
    let mut units: Vec<Unit> = Vec::new();
    let mut covered = Vec::new();
    let mut next = Some(top);
    while let Some(content) = next {
        let dir = content_dir(store.dir(), content);
        let Some(header) = Header::read(&dir)? else {
            return Ok(None);
        };
        // Only a file that was written so would go round in circles.
        if units.iter().any(|unit| unit.content == content) {
            return Err(IndexFileError::damaged(&dir, "it adds to itself"));
        }
        let sources = header.own_sources();
        covered.extend(sources.ok_or_else(|| bad_digest(&dir))?);
        let lower = header.lower.as_deref().map(ContentDigest::from_hex);
        next = lower
            .map(|lower| lower.ok_or_else(|| bad_digest(&dir)))
            .transpose()?;
        units.push(Unit { content, header });
    }
    units.reverse();
    covered.sort_unstable();
    Ok(Some(Chain { units, covered }))
}

fn bad_digest(dir: &Path) -> IndexFileError {
    IndexFileError::damaged(dir, "a source has no digest")
}

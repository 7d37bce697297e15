//! Counts each of which add to others, down to the first.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use kato_store::visit::ContentDigest;
use kato_store::{EmbeddedStore, PatternStore};

use super::CountsError;
use super::files::{Header, content_dir, counts_dir};

/// Counts that are asked together at most.
const MOST_UNITS: usize = 8;

/// How many times as long as in counting all of a store a pattern takes where it is counted on top.
const ADDING_COSTS: u64 = 16;

/// Counts of everything that there was once, and others each of which add to those before.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The directory and the header of each, the first ones first.
    units: Vec<(PathBuf, Header)>,
    /// The digests of all sources that were counted, ascending.
    pub(super) covered: Vec<ContentDigest>,
}

impl Chain {
    /// Reads the headers from some counts down to the first; `None` if one is missing.
    pub(super) fn read(kb: &Path, top: ContentDigest) -> Result<Option<Self>, CountsError> {
        let mut units: Vec<(PathBuf, Header)> = Vec::new();
        let mut covered = Vec::new();
        let mut next = Some(top);
        while let Some(content) = next {
            let dir = content_dir(kb, content);
            let Some(header) = Header::read(&dir)? else {
                return Ok(None);
            };
            // Only a file that was written so would go round in circles.
            if units.len() > MOST_UNITS {
                return Err(CountsError::damaged(&dir, "it adds to itself"));
            }
            let no_digest = || CountsError::damaged(&dir, "a source has no digest");
            covered.extend(header.own_sources().ok_or_else(no_digest)?);
            let lower = header.lower.as_deref();
            next = lower
                .map(|lower| ContentDigest::from_hex(lower).ok_or_else(no_digest))
                .transpose()?;
            units.push((dir, header));
        }
        units.reverse();
        covered.sort_unstable();
        Ok(Some(Self { units, covered }))
    }

    /// Returns the directory and the header of each, the first ones first.
    pub(super) fn units(&self) -> &[(PathBuf, Header)] {
        &self.units
    }

    /// Returns the header of the counts that add to all others: it tells of all.
    pub(super) fn top(&self) -> &Header {
        let (_, header) = self.units.last().expect("one is read or written at least");
        header
    }

    /// Adds counts that were written.
    pub(super) fn push(&mut self, dir: PathBuf, header: Header) {
        self.covered
            .extend(header.own_sources().unwrap_or_default());
        self.covered.sort_unstable();
        self.units.push((dir, header));
    }

    /// Returns the bytes of all columns.
    pub(super) fn bytes(&self) -> u64 {
        let columns = self.units.iter().flat_map(|(_, header)| &header.columns);
        columns.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Returns whether counts of so many patterns are to be added: those added to are many more, and not
    /// many already. So every pattern is counted a few times only, and few counts are asked together.
    pub(super) fn takes(&self, n_patterns: u64) -> bool {
        let own = self.top().counted.patterns;
        let is_more = match self.units.len() {
            1 => own / ADDING_COSTS >= n_patterns,
            n => {
                let before = self.units[n - 2].1.counted.patterns;
                own.saturating_sub(before) >= n_patterns.saturating_mul(2)
            }
        };
        is_more && self.units.len() < MOST_UNITS
    }
}

/// Returns the digests of everything that a knowledge base has counts of.
fn all_counted(kb: &Path) -> impl Iterator<Item = ContentDigest> + use<> {
    let entries = fs::read_dir(counts_dir(kb));
    let names = entries.into_iter().flatten().flatten();
    names.filter_map(|entry| ContentDigest::from_hex(entry.file_name().to_str()?))
}

/// Returns whether there are counts, of whatever the knowledge base has held.
pub(super) fn holds_any(kb: &Path) -> bool {
    all_counted(kb).next().is_some()
}

/// Returns the counts of a part of these sources, but not of all, that can be added to, each with the number of patterns
/// that they lack; those of the most n-grams first.
pub(super) fn find_parts(store: &EmbeddedStore, sources: &[ContentDigest]) -> Vec<(Chain, u64)> {
    let kb = store.dir();
    let chains = all_counted(kb).filter_map(|top| Chain::read(kb, top).ok().flatten());
    let parts = chains.filter_map(|chain| {
        let mut left = sources.iter();
        // Both ascend.
        let is_part = (chain.covered.iter()).all(|source| left.any(|held| held == source));
        // Those of nothing save nothing.
        let is_usable = is_part
            && chain.covered != sources
            && chain.top().can_grow
            && chain.top().n_ngrams() > 0;
        let lacks = |node_idx| store.n_stored_beyond(node_idx, &chain.covered);
        let n_lacked = (0..store.nodes().len()).map(lacks).sum();
        is_usable.then_some((chain, n_lacked))
    });
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_cached_key(|(chain, _)| {
        Reverse((chain.top().n_ngrams(), chain.top().content.clone()))
    });
    parts
}

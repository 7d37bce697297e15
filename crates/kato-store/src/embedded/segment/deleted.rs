//! Deleted patterns of a segment: they stay in its file until it is written again, and no reader shows
//! them.

use std::sync::Arc;

use sha1::{Digest, Sha1};

use super::NodeTotals;
use crate::visit::ContentDigest;

/// The patterns of a segment that are deleted, by row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deleted {
    /// What each deletion took, the first one first. Shared, as there may be very many small ones.
    runs: Vec<Arc<DeletedRun>>,
    /// The digest of the segment after each of them.
    digests: Vec<ContentDigest>,
    /// All of it by node, ascending.
    rows: Vec<Vec<u32>>,
    /// What they counted, by node.
    totals: Vec<NodeTotals>,
}

/// What one deletion took of a segment: for every node the rows, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeletedRun(pub(crate) Vec<Vec<u32>>);

impl Deleted {
    /// Returns the sum of these deletions and more, of a segment whose file has this digest, and which took
    /// `totals` together; `None` if they contradict each other or what the segment has of each node.
    ///
    /// Cost: sorting the new rows, and a copy of a few bytes for each that was deleted before.
    pub(crate) fn and(
        &self,
        of_file: ContentDigest,
        more: Vec<Arc<DeletedRun>>,
        totals: Vec<NodeTotals>,
        held: &[NodeTotals],
    ) -> Option<Self> {
        let mut digests = self.digests.clone();
        let mut rows = self.rows.clone();
        rows.resize(held.len(), Vec::new());
        for run in &more {
            if run.0.len() != held.len() {
                return None;
            }
            for (rows, of_run) in rows.iter_mut().zip(&run.0) {
                rows.extend_from_slice(of_run);
            }
            digests.push(run.digest(digests.last().unwrap_or(&of_file)));
        }
        for rows in &mut rows {
            // Those of before are in order, and so are those of each run: they are merged.
            rows.sort();
        }
        let is_whole = |rows: &Vec<u32>, totals: &NodeTotals, held: &NodeTotals| {
            let is_held = rows
                .last()
                .is_none_or(|&last| u64::from(last) < held.patterns);
            is_held && rows.is_sorted_by(|a, b| a < b) && rows.len() as u64 == totals.patterns
        };
        let mut nodes = rows.iter().zip(&totals).zip(held);
        let is_whole = totals.len() == held.len()
            && nodes.all(|((rows, totals), held)| is_whole(rows, totals, held));
        let runs = self.runs.iter().cloned();
        let runs = runs.chain(more).collect();
        is_whole.then_some(Self {
            runs,
            digests,
            rows,
            totals,
        })
    }

    /// Returns whether nothing is deleted.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the rows of a node, ascending.
    #[inline]
    pub(crate) fn rows(&self, node_idx: usize) -> &[u32] {
        self.rows.get(node_idx).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a pattern is deleted.
    #[inline]
    pub(crate) fn holds(&self, node_idx: usize, row: u32) -> bool {
        self.rows(node_idx).binary_search(&row).is_ok()
    }

    /// Returns what each deletion took, the first one first.
    pub(crate) fn runs(&self) -> &[Arc<DeletedRun>] {
        &self.runs
    }

    /// Returns what the deleted patterns counted, by node.
    pub(crate) fn totals(&self) -> &[NodeTotals] {
        &self.totals
    }

    /// Returns the digest of the segment without what is deleted; `None` if nothing is.
    pub(super) fn digest(&self) -> Option<ContentDigest> {
        self.digests.last().copied()
    }

    /// Returns the rows of a node that were deleted after the segment had this digest; `None` if it never
    /// had it since the first of them.
    pub(super) fn since(
        &self,
        node_idx: usize,
        digest: &ContentDigest,
    ) -> Option<impl Iterator<Item = u32>> {
        let known = self.digests.iter().position(|known| known == digest)?;
        let later = self.runs[known + 1..].iter();
        Some(later.flat_map(move |run| run.0[node_idx].iter().copied()))
    }
}

impl DeletedRun {
    /// Returns the digest of what is left after it, given that of what was there before.
    fn digest(&self, before: &ContentDigest) -> ContentDigest {
        let mut digest = Sha1::new();
        digest.update(b"kato deleted 1");
        digest.update(before.as_bytes());
        for rows in &self.0 {
            digest.update((rows.len() as u64).to_le_bytes());
            for row in rows {
                digest.update(row.to_le_bytes());
            }
        }
        ContentDigest::from_bytes(digest.finalize().into())
    }
}

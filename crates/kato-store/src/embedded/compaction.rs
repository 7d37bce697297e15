//! Compaction: merging many segments into few, so that look-ups have few to search.

use std::sync::Arc;

use super::merge::merge_segments;
use super::segment::Segment;
use super::staged::StagedSegment;
use super::visit::are_known;
use super::{EmbeddedStore, Generation, open_durably};
use crate::StoreError;
use crate::visit::ContentDigest;

/// Largest number of patterns of one node that a merge puts into one segment, whatever the options
/// say: ranks are 32-bit numbers, and text symbols need some as well.
const MAX_RANKS: u64 = 1 << 30;

impl EmbeddedStore {
    /// Merges segments as long as two fit into one of full size, so that look-ups have few to
    /// search.
    ///
    /// The files of what was merged are removed at once: the previous generation is given up for
    /// it.
    ///
    /// # Errors
    ///
    /// [`StoreError::ReadOnly`], and when the merged segment cannot be written; the content stays
    /// as it was.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.writer()?;
        // Locked throughout, so that no commit comes between reading a generation and replacing it.
        let writing = self.writing();
        let mut merged_any = false;
        loop {
            let mut next = self.newest();
            let is_free = vec![true; next.segments.len()];
            let Some(mut merged) = self.merge_smallest(&mut next, usize::MAX, &is_free)? else {
                break;
            };
            // As in a commit: an error from here on does not say whether the manifest names the
            // file. Every merge is durable by itself, so an error keeps those before it.
            merged.keep();
            self.replace(&writing, next)?;
            merged_any = true;
        }
        if merged_any {
            self.drop_previous_generation(&writing);
        }
        Ok(())
    }

    /// Merges the smallest segments into one, so that no more than so many are left, those included
    /// that [commits leave alone](Self::keep_segments); returns whether anything was merged. More are
    /// left where what would be merged does not fit into one segment.
    ///
    /// A commit waits meanwhile; reading goes on.
    ///
    /// # Errors
    ///
    /// As [`compact`](Self::compact).
    pub fn compact_to(&self, most: usize) -> Result<bool, StoreError> {
        self.writer()?;
        let writing = self.writing();
        let mut next = self.newest();
        let n_segments = next.segments.len();
        if n_segments <= most.max(1) {
            return Ok(false);
        }
        let is_free = vec![true; n_segments];
        // One is left of those that are merged.
        let count = n_segments - most.max(1) + 1;
        let Some(mut merged) = self.merge_smallest(&mut next, count, &is_free)? else {
            return Ok(false);
        };
        merged.keep();
        self.replace(&writing, next)?;
        Ok(true)
    }

    /// Lets the merges of later commits leave the segments of these digests alone, as something is
    /// derived from them that would be void otherwise, such as an index. They do not count among the
    /// [`max_segments`](super::EmbeddedOptions::max_segments); those of an earlier call are free again.
    ///
    /// Lasts until the store is closed, and binds neither [`compact`](Self::compact) and
    /// [`compact_to`](Self::compact_to) nor [`forget`](crate::PatternStore::forget).
    pub fn keep_segments(&self, digests: &[ContentDigest]) {
        *self.kept() = digests.to_vec();
    }

    /// Returns the number of patterns of a node in the segments that are not of these digests; a name
    /// that several of them hold counts several times. Reads nothing.
    #[must_use]
    pub fn n_stored_beyond(&self, node_idx: usize, known: &[ContentDigest]) -> u64 {
        let segments = self.segments();
        let with_known = segments.iter().zip(are_known(&segments, known));
        let beyond = with_known.filter(|(_, is_known)| !is_known);
        beyond
            .map(|(segment, _)| segment.totals(node_idx).patterns)
            .fold(0, u64::saturating_add)
    }

    /// Merges the smaller segments if `added` more would be too many.
    pub(super) fn merge_if_needed(
        &self,
        next: &mut Generation,
        added: usize,
    ) -> Result<Option<StagedSegment>, StoreError> {
        let most = self.options.max_segments.max(2);
        let mut is_free = are_known(&next.segments, &self.kept());
        is_free.iter_mut().for_each(|is_kept| *is_kept = !*is_kept);
        let expected = is_free.iter().filter(|is_free| **is_free).count() + added;
        if expected <= most {
            return Ok(None);
        }
        // Merging down to about half of the limit leaves room for as many commits until the next
        // merge.
        self.merge_smallest(next, expected - most / 2, &is_free)
    }

    /// Merges the smallest of the segments that are free, at most `count` of them and none that is
    /// at its full size; `None` if there are not two.
    fn merge_smallest(
        &self,
        next: &mut Generation,
        count: usize,
        is_free: &[bool],
    ) -> Result<Option<StagedSegment>, StoreError> {
        let chosen = self.smallest(next, count, is_free);
        if chosen.len() < 2 {
            return Ok(None);
        }
        let writer = self.writer()?;
        let inputs: Vec<Arc<Segment>> = chosen
            .iter()
            .map(|&idx| Arc::clone(&next.segments[idx]))
            .collect();
        let path = self.next_segment_path();
        let limits = next.manifest.attribute_limits;
        let merged = StagedSegment::write(&path, writer, || {
            merge_segments(&inputs, self.nodes.len(), &limits, &path)
        })?;
        let (entry, segment) = open_durably(merged.staged_by(writer)?)?;
        // Segments and their entries in the manifest are parallel lists and lose the same
        // positions.
        let mut keep = (0..next.segments.len()).map(|idx| !chosen.contains(&idx));
        next.segments.retain(|_| keep.next().unwrap_or(true));
        let mut keep = (0..next.manifest.segments.len()).map(|idx| !chosen.contains(&idx));
        next.manifest
            .segments
            .retain(|_| keep.next().unwrap_or(true));
        next.push(entry, segment);
        Ok(Some(merged))
    }

    /// Returns the positions of the smallest free segments that fit into one together.
    fn smallest(&self, next: &Generation, count: usize, is_free: &[bool]) -> Vec<usize> {
        // The largest node counts: its patterns take the ranks, and the memory of a merge.
        let size = |idx: usize| {
            let nodes = next.manifest.segments[idx].nodes.iter();
            nodes.map(|node| node.patterns).max().unwrap_or(0)
        };
        let all = 0..next.segments.len();
        let mut smallest: Vec<usize> = all.filter(|&idx| is_free[idx]).collect();
        smallest.sort_by_key(|&idx| size(idx));
        let most = self.options.max_segment_patterns.min(MAX_RANKS);
        let mut patterns = 0;
        let fitting = smallest.into_iter().take(count).take_while(|&idx| {
            // An upper bound, as a name that several segments hold is one pattern in the result.
            patterns = u64::saturating_add(patterns, size(idx));
            patterns <= most
        });
        fitting.collect()
    }
}

#[cfg(test)]
mod tests {
    use kato_model::batch::BatchSymbol;
    use kato_model::{LearnBatch, PatternName};
    use serde_json::json;

    use super::*;
    use crate::PatternStore;

    /// Commits a segment of so many patterns of its own, and returns its digest.
    fn add(store: &EmbeddedStore, first: u32, n_patterns: u32) -> ContentDigest {
        let before = store.content().sources;
        let mut batch = LearnBatch::new(1);
        for number in first..first + n_patterns {
            let texts = ["a".to_owned(), number.to_string()];
            let name = PatternName::of_events(&[[&texts[0]], [&texts[1]]]);
            let symbols = texts.map(|text| BatchSymbol::Literal(batch.literal(&text)));
            batch.learn(0, name, symbols);
        }
        let staged = store.stage(batch.seal()).unwrap();
        store.commit(vec![staged], json!(1)).unwrap();
        let after = store.content().sources;
        let new = after.into_iter().find(|source| !before.contains(source));
        new.unwrap()
    }

    #[test]
    fn commits_leave_kept_segments_alone_and_merge_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let options = crate::embedded::EmbeddedOptions {
            max_segments: 4,
            ..Default::default()
        };
        let kb = dir.path().join("kb");
        let store = EmbeddedStore::create_with(&kb, &["node0"], json!(null), options).unwrap();
        let kept = [add(&store, 0, 3), add(&store, 10, 1)];
        store.keep_segments(&kept);
        for n in 2..20 {
            add(&store, n * 10, 2);
            assert!(store.n_segments() <= kept.len() + 4);
        }
        let has = |digest| store.content().sources.contains(&digest);
        assert!(kept.iter().all(|&digest| has(digest)));
        assert_eq!(store.n_stored_beyond(0, &kept), 36);
        assert_eq!(store.n_stored_beyond(0, &[]), 40);
        // The smallest first, kept or not.
        assert!(store.compact_to(2).unwrap());
        assert_eq!(store.n_segments(), 2);
        assert!(!store.compact_to(2).unwrap());
        assert!(!has(kept[1]));
        assert_eq!(store.count_patterns(0).unwrap(), 40);
        drop(store);
        let store = EmbeddedStore::open(&kb).unwrap();
        assert_eq!(
            (store.n_segments(), store.count_patterns(0).unwrap()),
            (2, 40)
        );
    }

    #[test]
    fn readers_do_not_wait_for_a_merge() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::create(&dir.path().join("kb"), &["node0"], json!(null)).unwrap();
        let mut batch = LearnBatch::new(1);
        let symbol = BatchSymbol::Literal(batch.literal("a"));
        let name = PatternName::of_events(&[["a"], ["a"]]);
        batch.learn(0, name, [symbol, symbol]);
        let staged = store.stage(batch.seal()).unwrap();
        store.commit(vec![staged], json!(1)).unwrap();
        // What a commit or a merge holds for as long as it takes.
        let _writing = store.writing();
        assert_eq!(store.checkpoint(), json!(1));
        assert_eq!(store.count_patterns(0).unwrap(), 1);
        assert!(store.pattern(0, &name).unwrap().is_some());
        assert_eq!(store.totals(0).unwrap().learns, 1);
        assert_eq!(store.n_segments(), 1);
    }
}

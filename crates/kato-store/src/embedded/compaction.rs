//! Compaction: merging many segments into few, so that look-ups have few to search.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use super::background::BackgroundMerge;
use super::lock::WriteLock;
use super::manifest::SegmentEntry;
use super::merge::merge_segments;
use super::options::Merging;
use super::segment::Segment;
use super::staged::StagedSegment;
use super::visit::are_known;
use super::{EmbeddedStore, Generation, Writing, open_durably};
use crate::StoreError;
use crate::visit::ContentDigest;

impl EmbeddedStore {
    /// Merges segments as long as two fit into one of full size, so that look-ups have few to
    /// search, and writes those again of which patterns are deleted.
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
        let mut writing = self.writing();
        // What goes on beside commits would be in the way.
        writing.clear();
        let mut merged_any = false;
        loop {
            let mut next = self.newest();
            let is_free = vec![true; next.segments.len()];
            let chosen = self.smallest(&next, &is_free, |_, _, _| true);
            let Some(mut merged) = self.merge(&mut next, &chosen, &never)? else {
                break;
            };
            // As in a commit: an error from here on does not say whether the manifest names the
            // file. Every merge is durable by itself, so an error keeps those before it.
            merged.keep();
            self.replace(&writing, next)?;
            merged_any = true;
        }
        merged_any |= self.rewrite_deleted(&writing)?;
        if merged_any {
            self.drop_previous_generation(&writing);
        }
        Ok(())
    }

    /// Writes the segments again of which patterns are deleted, so that no segment holds these, but for the
    /// names by which others refer to them; returns whether there were any. Without it they go with the next
    /// merge. What is derived from segments, such as an index, has them until it is written anew.
    ///
    /// # Errors
    ///
    /// As [`compact`](Self::compact).
    pub fn drop_deleted(&self) -> Result<bool, StoreError> {
        self.writer()?;
        let mut writing = self.writing();
        writing.clear();
        let is_rewritten = self.rewrite_deleted(&writing)?;
        if is_rewritten {
            self.drop_previous_generation(&writing);
        }
        Ok(is_rewritten)
    }

    /// Replaces the segments of which patterns are deleted; returns whether there were any.
    fn rewrite_deleted(&self, writing: &Writing<'_>) -> Result<bool, StoreError> {
        let mut next = self.newest();
        let mut rewritten = Vec::new();
        for idx in 0..next.segments.len() {
            if !next.segments[idx].deleted().is_empty() {
                let segment = Arc::clone(&next.segments[idx]);
                rewritten.push(self.rewrite(&mut next, idx, segment)?);
            }
        }
        if rewritten.is_empty() {
            return Ok(false);
        }
        rewritten.iter_mut().for_each(StagedSegment::keep);
        self.replace(writing, next)?;
        Ok(true)
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
        self.compact_to_unless(most, &never)
    }

    /// Merges as [`compact_to`](Self::compact_to) does, until it is cancelled: then nothing is
    /// merged. It asks all the time whether it is.
    ///
    /// # Errors
    ///
    /// As [`compact`](Self::compact).
    pub fn compact_to_unless(
        &self,
        most: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<bool, StoreError> {
        let all = |next: &Generation| vec![true; next.segments.len()];
        self.compact_free(most, all, is_cancelled)
    }

    /// Merges the segments into one that are not to be [left alone](Self::keep_segments), until it is
    /// cancelled: then nothing is merged. Returns whether anything was.
    ///
    /// # Errors
    ///
    /// As [`compact`](Self::compact).
    pub fn compact_unkept_unless(
        &self,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<bool, StoreError> {
        let unkept = |next: &Generation| {
            let is_kept = are_known(&next.segments, &self.kept());
            is_kept.into_iter().map(|is_kept| !is_kept).collect()
        };
        self.compact_free(1, unkept, is_cancelled)
    }

    /// Merges the smallest of the free segments, so that no more than so many of these are left.
    fn compact_free(
        &self,
        most: usize,
        are_free: impl Fn(&Generation) -> Vec<bool>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<bool, StoreError> {
        self.writer()?;
        let mut writing = self.writing();
        writing.clear();
        let mut next = self.newest();
        let is_free = are_free(&next);
        let n_free = count(&is_free);
        if n_free <= most.max(1) {
            return Ok(false);
        }
        // One is left of those that are merged.
        let n_merged = n_free - most.max(1) + 1;
        let chosen = self.smallest(&next, &is_free, |n_chosen, _, _| n_chosen < n_merged);
        let Some(mut merged) = self.merge(&mut next, &chosen, is_cancelled)? else {
            return Ok(false);
        };
        merged.keep();
        self.replace(&writing, next)?;
        Ok(true)
    }

    /// Excludes the segments of these digests from merging by later commits, so that a file derived
    /// from them, such as an index, stays valid. They do not count among the
    /// [`max_segments`](super::EmbeddedOptions::max_segments); those of an earlier call are free again.
    ///
    /// Forgetting writes them again where more of all of them together is deleted than
    /// [`max_deleted_percent`](super::EmbeddedOptions::max_deleted_percent).
    ///
    /// Lasts until the store is closed, and binds neither [`compact`](Self::compact) and
    /// [`compact_to`](Self::compact_to) nor [`drop_deleted`](Self::drop_deleted).
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
            .map(|(segment, _)| segment.n_held(node_idx))
            .fold(0, u64::saturating_add)
    }

    /// Puts what was merged beside commits into the next generation; merges the smaller segments
    /// if `added` more would be too many, or waits for that.
    pub(super) fn merge_if_needed(
        &self,
        writing: &mut Writing<'_>,
        next: &mut Generation,
        added: usize,
    ) -> Result<Vec<StagedSegment>, StoreError> {
        let excess = |next: &Generation, most: usize| {
            let n_mergeable = count(&self.mergeable(next));
            (n_mergeable + added).checked_sub(most + 1)
        };
        let most = self.options.most();
        // Beside commits, twice as many are the most, or as this one brings: they come faster than
        // they are merged.
        let must_wait = |next: &Generation| match self.options.merging {
            Merging::InCommit => true,
            Merging::Beside => excess(next, 2 * most.max(added)).is_some(),
        };
        let mut merged = Vec::new();
        let is_due = must_wait(next);
        for merge in writing.extract_if(.., |merge| is_due || merge.is_finished()) {
            let is_kept = are_known(merge.inputs(), &self.kept());
            // What was kept meanwhile must stay: then the merge was for nothing.
            if !is_kept.contains(&true) {
                merged.extend(merge.finish(next)?);
            }
        }
        if let Some(excess) = excess(next, most).filter(|_| must_wait(next)) {
            let chosen = self.to_merge(next, &self.mergeable(next), excess);
            merged.extend(self.merge(next, &chosen, &never)?);
        }
        Ok(merged)
    }

    /// Begins to merge the smaller segments beside commits, as many times at once as may be, as long
    /// as too many are left that are not being merged.
    pub(super) fn merge_beside_if_needed(
        &self,
        writing: &mut Writing<'_>,
        writer: &Arc<WriteLock>,
    ) {
        if self.options.merging != Merging::Beside {
            return;
        }
        let newest = self.newest();
        let are_mergeable = self.mergeable(&newest);
        let max_merges = self.max_merges();
        while writing.len() < max_merges {
            let is_input = |segment: &Arc<Segment>| {
                let mut inputs = writing.iter().flat_map(BackgroundMerge::inputs);
                inputs.any(|input| Arc::ptr_eq(input, segment))
            };
            let with_mergeable = newest.segments.iter().zip(&are_mergeable);
            let is_free: Vec<bool> = with_mergeable
                .map(|(segment, &is_mergeable)| is_mergeable && !is_input(segment))
                .collect();
            // Of every merge that goes on one will be left.
            let n_left = count(&is_free) + writing.len();
            let Some(excess) = n_left.checked_sub(self.options.most() + 1) else {
                return;
            };
            let chosen = self.to_merge(&newest, &is_free, excess);
            let inputs = chosen.iter().map(|&idx| Arc::clone(&newest.segments[idx]));
            let inputs: Vec<_> = inputs.collect();
            let Some(merge) = (inputs.len() >= 2)
                .then(|| self.merge_beside(writer, inputs))
                .flatten()
            else {
                return;
            };
            writing.push(merge);
        }
    }

    /// Returns the number of merges that may go on at once.
    fn max_merges(&self) -> usize {
        let of_machine = || thread::available_parallelism().map_or(1, |threads| threads.get() / 4);
        let max_merges = self.options.max_merges.map(NonZeroUsize::get);
        max_merges.unwrap_or_else(of_machine).max(1)
    }

    /// Returns the positions of the free segments that are to be merged, where these and those to come
    /// are so many too many, beside one.
    fn to_merge(&self, next: &Generation, is_free: &[bool], excess: usize) -> Vec<usize> {
        let free: Vec<usize> = (0..is_free.len()).filter(|&idx| is_free[idx]).collect();
        let segments = free.iter().map(|&idx| &next.manifest.segments[idx]);
        let sizes: Vec<u64> = segments.map(largest_node).collect();
        let chosen = self.options.to_merge(&sizes, excess);
        chosen.into_iter().map(|at| free[at]).collect()
    }

    /// Returns of each segment whether commits merge it: not if it is kept, nor if it is too large.
    fn mergeable(&self, next: &Generation) -> Vec<bool> {
        let is_kept = are_known(&next.segments, &self.kept());
        let with_kept = next.manifest.segments.iter().zip(is_kept);
        with_kept
            .map(|(entry, is_kept)| !is_kept && self.options.is_mergeable(largest_node(entry)))
            .collect()
    }

    /// Merges the chosen segments; `None` if there are not two, or if it was cancelled.
    fn merge(
        &self,
        next: &mut Generation,
        chosen: &[usize],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<StagedSegment>, StoreError> {
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
        let write = || merge_segments(&inputs, self.nodes.len(), &limits, &path, is_cancelled);
        let Some(merged) = StagedSegment::write_unless(&path, writer, write)? else {
            return Ok(None);
        };
        let (entry, segment) = open_durably(merged.staged_by(writer)?)?;
        let is_left: Vec<bool> = (0..next.segments.len())
            .map(|idx| !chosen.contains(&idx))
            .collect();
        next.retain(&is_left);
        next.push(entry, segment);
        Ok(Some(merged))
    }

    /// Returns the positions of the smallest free segments that fit into one together, as long as
    /// `is_wanted` says so of their number, their patterns and those of the next one.
    fn smallest(
        &self,
        next: &Generation,
        is_free: &[bool],
        is_wanted: impl Fn(usize, u64, u64) -> bool,
    ) -> Vec<usize> {
        let size = |idx: usize| largest_node(&next.manifest.segments[idx]);
        let free = (0..next.segments.len()).filter(|&idx| is_free[idx]);
        let sizes = free.map(|idx| (idx, size(idx))).collect();
        self.options.smallest(sizes, is_wanted)
    }
}

/// Returns how many are marked.
fn count(are_marked: &[bool]) -> usize {
    are_marked.iter().filter(|is_marked| **is_marked).count()
}

/// Says of a merge that nobody can cancel that it is not cancelled.
fn never() -> bool {
    false
}

/// Returns the patterns of a segment's largest node, which take the ranks, and the memory of a merge.
fn largest_node(entry: &SegmentEntry) -> u64 {
    // Those of deleted patterns, too: a merge reads them.
    let nodes = entry.nodes.iter();
    nodes.map(|node| node.patterns).max().unwrap_or(0)
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
        assert!(store.compact_unkept_unless(&never).unwrap());
        assert!(!store.compact_unkept_unless(&never).unwrap());
        assert_eq!(store.n_segments(), kept.len() + 1);
        assert!(kept.iter().all(|&digest| has(digest)));
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
    fn a_merge_that_is_cancelled_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let kb = dir.path().join("kb");
        let store = EmbeddedStore::create(&kb, &["node0"], json!(null)).unwrap();
        for n in 0..3 {
            add(&store, n * 2000, 1500);
        }
        let files = || std::fs::read_dir(kb.join("segments")).unwrap().count();
        let before = (store.content_digest(), files());
        // At once, and in the middle.
        for n_asked in [0, 2] {
            let left = std::cell::Cell::new(n_asked);
            let is_cancelled = || left.replace(left.get() - i32::from(left.get() > 0)) == 0;
            assert!(!store.compact_to_unless(1, &is_cancelled).unwrap());
            assert_eq!((store.content_digest(), files()), before);
        }
        assert!(store.compact_to_unless(1, &|| false).unwrap());
        assert_eq!(
            (store.n_segments(), store.count_patterns(0).unwrap()),
            (1, 4500)
        );
    }

    #[test]
    fn commits_merge_what_is_alike_and_leave_what_is_large() {
        let dir = tempfile::tempdir().unwrap();
        let options = crate::embedded::EmbeddedOptions {
            max_segments: 4,
            max_segment_patterns: 100,
            ..Default::default()
        };
        let kb = dir.path().join("kb");
        let store = EmbeddedStore::create_with(&kb, &["node0"], json!(null), options).unwrap();
        let large = add(&store, 0, 51);
        let sizes = || {
            let newest = store.newest();
            let mut sizes: Vec<u64> = newest.manifest.segments.iter().map(largest_node).collect();
            sizes.sort_unstable();
            sizes
        };
        for n in 1..=4 {
            add(&store, 100 * n, 4);
        }
        assert_eq!(sizes(), [4, 4, 4, 4, 51]);
        add(&store, 500, 4);
        assert_eq!(sizes(), [4, 16, 51]);
        for n in 6..=8 {
            add(&store, 100 * n, 4);
        }
        // The 16 would be written again for three of 4.
        assert_eq!(sizes(), [4, 12, 16, 51]);
        for n in 9..=10 {
            add(&store, 100 * n, 4);
        }
        // Now all the others together are larger.
        assert_eq!(sizes(), [4, 36, 51]);
        assert!(store.content().sources.contains(&large));
    }

    #[test]
    fn readers_do_not_wait_for_a_merge() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::create(dir.path().join("kb"), &["node0"], json!(null)).unwrap();
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

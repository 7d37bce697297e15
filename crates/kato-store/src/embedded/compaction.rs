//! Compaction: merging many segments into few, so that look-ups have few to search.

use std::sync::Arc;

use super::merge::merge_segments;
use super::segment::Segment;
use super::staged::StagedSegment;
use super::{EmbeddedStore, Generation, open_durably};
use crate::StoreError;

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
            let Some(mut merged) = self.merge_smallest(&mut next, usize::MAX)? else {
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

    /// Merges the smaller segments if `added` more would be too many.
    pub(super) fn merge_if_needed(
        &self,
        next: &mut Generation,
        added: usize,
    ) -> Result<Option<StagedSegment>, StoreError> {
        let most = self.options.max_segments.max(2);
        let expected = next.segments.len() + added;
        if expected <= most {
            return Ok(None);
        }
        // Merging down to about half of the limit leaves room for as many commits until the next
        // merge.
        self.merge_smallest(next, expected - most / 2)
    }

    /// Merges the smallest segments, at most `count` of them and none that is at its full size;
    /// `None` if there are not two.
    fn merge_smallest(
        &self,
        next: &mut Generation,
        count: usize,
    ) -> Result<Option<StagedSegment>, StoreError> {
        let chosen = self.smallest(next, count);
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

    /// Returns the positions of the smallest segments that fit into one together.
    fn smallest(&self, next: &Generation, count: usize) -> Vec<usize> {
        // The largest node counts: its patterns take the ranks, and the memory of a merge.
        let size = |idx: usize| {
            let nodes = next.manifest.segments[idx].nodes.iter();
            nodes.map(|node| node.patterns).max().unwrap_or(0)
        };
        let mut smallest: Vec<usize> = (0..next.segments.len()).collect();
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

//! Compaction: few segments out of many, so that look-ups ask few.

use std::sync::Arc;

use super::merge::merge_segments;
use super::segment::Segment;
use super::staged::StagedSegment;
use super::{EmbeddedStore, Generation, open_durably};
use crate::StoreError;

/// Most patterns of one node that a merge puts into one segment, whatever the options say: ranks are 32-bit numbers, and
/// text symbols need some as well.
const MAX_RANKS: u64 = 1 << 30;

impl EmbeddedStore {
    /// Merges segments as long as two fit into one of full size, so that look-ups ask few. What was merged goes at once: the
    /// previous generation is given up for it.
    ///
    /// # Errors
    ///
    /// [`StoreError::ReadOnly`], and when the merged segment cannot be written; the content stays as it was.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.writer()?;
        let mut state = self.state();
        let mut merged_any = false;
        loop {
            let mut next = state.newest.clone();
            let Some(mut merged) = self.merge_smallest(&mut next, usize::MAX)? else {
                break;
            };
            merged.keep();
            self.replace(&mut state, next)?;
            merged_any = true;
        }
        if merged_any {
            self.give_up_previous(&mut state);
        }
        Ok(())
    }

    /// Merges the smaller segments if `added` more would be too many.
    pub(super) fn make_room(
        &self,
        next: &mut Generation,
        added: usize,
    ) -> Result<Option<StagedSegment>, StoreError> {
        let most = self.options.max_segments.max(2);
        let expected = next.segments.len() + added;
        if expected <= most {
            return Ok(None);
        }
        self.merge_smallest(next, expected - most / 2)
    }

    /// Merges the smallest segments, at most `count` of them and none that is at its full size; `None` if there are not two.
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
        let mut keep = (0..next.segments.len()).map(|idx| !chosen.contains(&idx));
        next.segments.retain(|_| keep.next().unwrap_or(true));
        let mut keep = (0..next.manifest.segments.len()).map(|idx| !chosen.contains(&idx));
        next.manifest
            .segments
            .retain(|_| keep.next().unwrap_or(true));
        next.push(entry, segment);
        Ok(Some(merged))
    }

    /// The smallest segments that fit into one together, by position.
    fn smallest(&self, next: &Generation, count: usize) -> Vec<usize> {
        let size = |idx: usize| {
            let nodes = next.manifest.segments[idx].nodes.iter();
            nodes.map(|node| node.patterns).max().unwrap_or(0)
        };
        let mut smallest: Vec<usize> = (0..next.segments.len()).collect();
        smallest.sort_by_key(|&idx| size(idx));
        let most = self.options.max_segment_patterns.min(MAX_RANKS);
        let mut patterns = 0;
        let fitting = smallest.into_iter().take(count).take_while(|&idx| {
            patterns = u64::saturating_add(patterns, size(idx));
            patterns <= most
        });
        fitting.collect()
    }
}

//! Forgetting patterns and keeping tombstones, as one commit.

use std::sync::Arc;

use kato_model::PatternName;
use serde_json::Value;

use super::forget::Found;
use super::merge::merge_segments;
use super::on_each::on_each;
use super::segment::Segment;
use super::staged::StagedSegment;
use super::visit::are_known;
use super::{EmbeddedStore, Generation, open_durably};
use crate::contract::check_node_count;
use crate::{StoreError, Tombstones};

impl EmbeddedStore {
    /// Forgets patterns, replaces the tombstones if there are others, and keeps the checkpoint.
    pub(super) fn forget_with(
        &self,
        names_to_forget: &[Vec<PatternName>],
        tombstones: Option<Vec<Tombstones>>,
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        self.writer()?;
        check_node_count(&self.nodes, names_to_forget.len())?;
        let mut names_to_forget = names_to_forget.to_vec();
        for names in &mut names_to_forget {
            // Names are walked beside those of the segments, in one order.
            names.sort_unstable();
            names.dedup();
        }
        // Tombstones alone change nothing of what is stored.
        let forgets = tombstones.is_none() || names_to_forget.iter().any(|names| !names.is_empty());
        let mut writing = self.writing();
        if forgets {
            // It would bring back what is forgotten.
            writing.clear();
        }
        let mut next = self.newest();
        next.manifest.checkpoint = checkpoint;
        next.manifest.n_commits += 1;
        if let Some(mut tombstones) = tombstones {
            if tombstones.iter().all(Tombstones::is_empty) {
                tombstones.clear();
            }
            next.manifest.tombstones = tombstones;
        }
        let found = on_each(next.segments.iter(), |segment| {
            Found::of_names(segment, &names_to_forget)
        })?;
        let (mut rewritten, deletes) = self.delete(&mut next, found)?;
        // As in a commit: an error from here on does not say whether the manifest names the files.
        for segment in &mut rewritten {
            segment.keep();
        }
        match deletes {
            true => self.replace_deleting(&writing, next)?,
            false => self.replace(&writing, next)?,
        }
        if forgets {
            self.drop_previous_generation(&writing);
        }
        Ok(())
    }

    /// Deletes patterns of each segment of a generation. Returns the segments that were written again for it,
    /// and whether more is deleted of others.
    pub(super) fn delete(
        &self,
        next: &mut Generation,
        found: Vec<Found>,
    ) -> Result<(Vec<StagedSegment>, bool), StoreError> {
        let mut rewritten = Vec::new();
        let mut deletes = false;
        let spared = self.spared(next, &found);
        let found = found.into_iter().enumerate();
        for (idx, found) in found.filter(|(_, found)| !found.is_empty()) {
            let left = Arc::new(next.segments[idx].without(found.rows, &found.totals)?);
            if !spared[idx] && self.is_to_be_rewritten(&left) {
                rewritten.push(self.rewrite(next, idx, left)?);
                continue;
            }
            next.manifest.segments[idx].deleted = left.deleted().totals().to_vec();
            next.segments[idx] = left;
            deletes = true;
        }
        Ok((rewritten, deletes))
    }

    /// Returns whether so much of a segment is deleted that it is to be written again: that costs no more,
    /// in the end, than what was deleted of it.
    fn is_to_be_rewritten(&self, segment: &Segment) -> bool {
        let mut nodes = segment.all_totals().zip(segment.deleted().totals());
        nodes.any(|(held, deleted)| {
            // From a count that has stopped at the largest number nothing can be taken.
            let has_stopped = held.has_stopped() || deleted.has_stopped();
            has_stopped || deleted.patterns > self.most_deleted(held.patterns)
        })
    }

    /// Returns which segments stay however much of them goes: those that are to be
    /// [left alone](Self::keep_segments), while it is not too much of all of them together. What is derived
    /// from them would have to be made again, of all, for the sake of a small one.
    fn spared(&self, next: &Generation, found: &[Found]) -> Vec<bool> {
        let is_kept = are_known(&next.segments, &self.kept());
        let (mut held, mut deleted) = (0, 0);
        let segments = next.segments.iter().zip(found).zip(&is_kept);
        for ((segment, found), _) in segments.filter(|(_, is_kept)| **is_kept) {
            let totals = [segment.deleted().totals(), &found.totals].concat();
            deleted += totals.iter().map(|totals| totals.patterns).sum::<u64>();
            held += segment.all_totals().map(|held| held.patterns).sum::<u64>();
            if segment.all_totals().any(|held| held.has_stopped()) {
                // Nothing can be taken from such a count.
                return vec![false; is_kept.len()];
            }
        }
        match deleted > self.most_deleted(held) {
            true => vec![false; is_kept.len()],
            false => is_kept,
        }
    }

    /// Returns how many of so many patterns may be deleted without being left out of the file.
    fn most_deleted(&self, patterns: u64) -> u64 {
        let percent = u64::from(self.options.max_deleted_percent);
        patterns / 100 * percent + patterns % 100 * percent / 100
    }

    /// Writes a segment of a generation again, without what is deleted of it.
    ///
    /// What still refers to a deleted pattern refers to its name from then on.
    pub(super) fn rewrite(
        &self,
        next: &mut Generation,
        idx: usize,
        segment: Arc<Segment>,
    ) -> Result<StagedSegment, StoreError> {
        let writer = self.writer()?;
        let path = self.next_segment_path();
        let limits = next.manifest.attribute_limits;
        let write = || {
            let written = merge_segments(&[segment], self.nodes.len(), &limits, &path, &|| false)?;
            Ok(written.expect("a merge that nobody cancels is done"))
        };
        let rewritten = StagedSegment::write(&path, writer, write)?;
        (next.manifest.segments[idx], next.segments[idx]) =
            open_durably(rewritten.staged_by(writer)?)?;
        Ok(rewritten)
    }
}

//! Forgetting patterns and keeping tombstones, as one commit.

use std::sync::Arc;

use kato_model::PatternName;
use serde_json::Value;

use super::forget::Found;
use super::merge::merge_segments;
use super::segment::Segment;
use super::staged::StagedSegment;
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
        let segments = next.segments.iter();
        let found = segments.map(|segment| Found::of_names(segment, &names_to_forget));
        let found = found.collect::<Result<_, _>>()?;
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
        let found = found.into_iter().enumerate();
        for (idx, found) in found.filter(|(_, found)| !found.is_empty()) {
            let left = Arc::new(next.segments[idx].without(found.rows, &found.totals)?);
            if self.is_to_be_rewritten(&left) {
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
            let most = held.patterns / 100 * u64::from(self.options.max_deleted_percent)
                + held.patterns % 100 * u64::from(self.options.max_deleted_percent) / 100;
            // From a count that has stopped at the largest number nothing can be taken.
            deleted.patterns > most || held.has_stopped() || deleted.has_stopped()
        })
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

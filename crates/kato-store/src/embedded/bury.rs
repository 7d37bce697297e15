//! Forgetting patterns and keeping tombstones, as one commit.

use kato_model::PatternName;
use serde_json::Value;

use super::staged::StagedSegment;
use super::{EmbeddedStore, forget, open_durably};
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
        let writer = self.writer()?;
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
        let mut rewritten = Vec::new();
        for idx in 0..next.segments.len() {
            let segment = &next.segments[idx];
            // Segments without any of the names stay as they are, so that forgetting a few patterns
            // does not rewrite everything.
            if forget::contains_any(segment, &names_to_forget)? {
                let path = self.next_segment_path();
                let write = || forget::write_without(segment, &names_to_forget, &path);
                let remaining = StagedSegment::write(&path, writer, write)?;
                (next.manifest.segments[idx], next.segments[idx]) =
                    open_durably(remaining.staged_by(writer)?)?;
                rewritten.push(remaining);
            }
        }
        // As in a commit: an error from here on does not say whether the manifest names the files.
        for segment in &mut rewritten {
            segment.keep();
        }
        self.replace(&writing, next)?;
        if forgets {
            self.drop_previous_generation(&writing);
        }
        Ok(())
    }
}

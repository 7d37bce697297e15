//! Going over to an index on the disk that was written meanwhile.

use std::sync::Arc;

use kato_prediction::frozen::FrozenIndex;
use kato_store::visit::ContentDigest;

use super::Engine;
use super::commit::CommitTurn;
use crate::EngineError;
use crate::load::{LoadLimit, load_over};

impl Engine {
    /// Switches to indexes of what the store holds that were written since it was opened, as if it
    /// were [opened over them](Self::open_indexed) now, and gives back the memory that their patterns
    /// took. Returns how many nodes did.
    ///
    /// Answers stay the same, and what is not committed stays. Learning and predictions go on meanwhile,
    /// but for the moment in which what is pending is learned again above the index: commit first, so
    /// that there is little of it. Commits wait.
    ///
    /// A node stays as it is where there is no index for it, that is damaged, the store lacks a source of
    /// it, it learned emotives, or its [training was finalized](crate::Node::finalize_training), which no store keeps.
    ///
    /// # Errors
    ///
    /// [`EngineError::Store`], [`EngineError::Load`], [`EngineError::Index`] and
    /// [`EngineError::LostPattern`]; then the node is as before.
    pub fn adopt_indexes(
        &self,
        indexes: impl IntoIterator<Item = Option<Arc<FrozenIndex>>>,
        covered: &[ContentDigest],
    ) -> Result<usize, EngineError> {
        let shared = &self.shared;
        let Some(store) = shared.store() else {
            return Ok(0);
        };
        // No commit is under way from here on, so what the store has and what is pending are all
        // that a node learned, each of it once.
        let _turn = CommitTurn::acquire(shared);
        let mut n_adopted = 0;
        for (node_idx, (cell, frozen)) in shared.nodes.iter().zip(indexes).enumerate() {
            let Some(frozen) = frozen.filter(|_| cell.read().can_be_rebased()) else {
                continue;
            };
            let n_threads = shared.options.prediction_threads;
            let mut no_limit = LoadLimit::default();
            let over = load_over(store, node_idx, frozen, covered, n_threads, &mut no_limit)?;
            let Some(loaded) = over else {
                continue;
            };
            let mut memory = cell.write();
            // Looked at again with the lock in hand: somebody may have taught it emotives meanwhile.
            if !memory.can_be_rebased() {
                continue;
            }
            let before = memory.rebase(loaded.memory, &shared.limits)?;
            drop(memory);
            // Without the lock: giving back gigabytes takes its time.
            drop(before);
            n_adopted += 1;
        }
        Ok(n_adopted)
    }
}

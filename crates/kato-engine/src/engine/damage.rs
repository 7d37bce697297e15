//! Leaving an index that is damaged: its node is loaded from the store instead.

use std::sync::Arc;

use kato_prediction::DamagedIndex;

use super::Shared;
use super::commit::CommitTurn;
use crate::EngineError;
use crate::load::{LoadLimit, load};

impl Shared {
    /// Loads a node into memory whose index was found damaged. What it learned since it was opened stays.
    /// A failure is remembered, and returned without another attempt until its time is over.
    pub(crate) fn leave_damaged_index(
        self: &Arc<Self>,
        node_idx: usize,
        damage: &DamagedIndex,
    ) -> Result<(), EngineError> {
        // Ahead of the turn: who asks a node that cannot be read does not wait for a commit.
        self.remembered_failure(node_idx)?;
        let turn = CommitTurn::acquire(self);
        self.leave_damaged_index_in(&turn, node_idx, damage)
    }

    /// Leaves an index as [`leave_damaged_index`](Self::leave_damaged_index) does, in a turn that is held.
    pub(super) fn leave_damaged_index_in(
        &self,
        _turn: &CommitTurn,
        node_idx: usize,
        damage: &DamagedIndex,
    ) -> Result<(), EngineError> {
        let cell = self.cell(node_idx);
        // Another thread may have been here before. Nodes without a store have no index.
        let is_damaged = cell.read().index().is_damaged();
        let Some(store) = self.store().filter(|_| is_damaged) else {
            return Ok(());
        };
        self.remembered_failure(node_idx)?;
        let mut limit = LoadLimit::new(self.options.max_load_bytes);
        // The turn keeps the store and what is pending as they are: together they are all that the
        // node learned, each of it once.
        let rebased = load(store, node_idx, &mut limit)
            .and_then(|loaded| cell.write().rebase(loaded.memory, &self.limits).map(drop));
        rebased.map_err(|source| cell.remember_failure(damage, source))
    }

    /// Fails if the node could not be loaded a short time ago.
    fn remembered_failure(&self, node_idx: usize) -> Result<(), EngineError> {
        let cell = self.cell(node_idx);
        // What was adopted or cleared meanwhile can be read again.
        match cell.failure().filter(|_| cell.read().index().is_damaged()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

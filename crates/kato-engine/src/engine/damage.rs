//! Leaving an index that is damaged: its node is loaded from the store instead.

use std::sync::Arc;

use super::Shared;
use super::commit::CommitTurn;
use crate::EngineError;
use crate::load::{LoadLimit, load};

impl Shared {
    /// Loads a node into memory if its index was found damaged. What it learned since it was opened
    /// stays.
    pub(crate) fn leave_damaged_index(
        self: &Arc<Self>,
        node_idx: usize,
    ) -> Result<(), EngineError> {
        // No commit is under way from here on, so what the store has and what is pending are all
        // that the node learned, each of it once.
        let _turn = CommitTurn::acquire(self);
        let cell = self.cell(node_idx);
        let is_damaged = || cell.read().index().is_damaged();
        // Nodes without a store have no index. Another thread may have been here before.
        let Some(store) = self.store().filter(|_| is_damaged()) else {
            return Ok(());
        };
        let mut limit = LoadLimit::new(self.options.max_load_bytes);
        let loaded = load(store, node_idx, &mut limit)?.memory;
        let mut memory = cell.write();
        memory
            .rebase(loaded, &self.limits)
            .map(drop)
            .map_err(|(name, source)| EngineError::Index { name, source })
    }
}

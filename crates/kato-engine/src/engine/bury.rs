//! Tombstones: kept by the store first, and then in memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kato_model::{EmotiveMap, PatternName};
use kato_store::Tombstones;

use super::Shared;
use super::commit::CommitTurn;
use crate::EngineError;

impl Shared {
    /// Waits for the right to change what is committed.
    pub(crate) fn turn(self: &Arc<Self>) -> CommitTurn {
        CommitTurn::acquire(self)
    }

    /// Changes the tombstones of a node, durably where there is a store.
    pub(crate) fn change_tombstones<T>(
        self: &Arc<Self>,
        node_idx: usize,
        change: impl FnOnce(&mut Tombstones) -> T,
    ) -> Result<T, EngineError> {
        // Nobody else changes them meanwhile, so the node need not be locked while the store writes.
        let _turn = self.turn();
        let mut tombstones = self.cell(node_idx).read().tombstones().clone();
        let before = tombstones.clone();
        let outcome = change(&mut tombstones);
        if tombstones != before {
            self.bury(node_idx, &tombstones, &[])?;
            let mut memory = self.cell(node_idx).write_index();
            memory.set_tombstones(tombstones);
        }
        Ok(outcome)
    }

    /// Makes the store keep the tombstones of a node and forget patterns of it; nothing in memory.
    fn bury(
        &self,
        node_idx: usize,
        tombstones: &Tombstones,
        names: &[PatternName],
    ) -> Result<(), EngineError> {
        let Some(store) = self.store() else {
            return Ok(());
        };
        let bury = || {
            let mut all = Tombstones::of_store(store)?;
            all[node_idx] = tombstones.clone();
            let mut to_forget = vec![Vec::new(); all.len()];
            to_forget[node_idx] = names.to_vec();
            store.bury(all, &to_forget, store.checkpoint())
        };
        bury().map_err(EngineError::store("keep which patterns are retired"))
    }
}

impl CommitTurn {
    /// Removes patterns of a node, given with what each added to affinities, from the store and then
    /// from memory.
    pub(crate) fn purge(
        &self,
        node_idx: usize,
        tombstones: &Tombstones,
        ledgers: Vec<(PatternName, EmotiveMap)>,
    ) -> Result<(), EngineError> {
        let shared = self.shared();
        let names: Vec<PatternName> = ledgers.iter().map(|(name, _)| *name).collect();
        // They are retired, so nobody learns them until they are gone from memory, too.
        shared.bury(node_idx, tombstones, &names)?;
        let mut memory = shared.cell(node_idx).write_index();
        let mut n_pending = 0;
        for (name, ledger) in ledgers {
            n_pending += memory.purge(&name, &ledger);
        }
        memory.set_tombstones(tombstones.clone());
        shared.uncommitted.fetch_sub(n_pending, Ordering::Relaxed);
        Ok(())
    }
}

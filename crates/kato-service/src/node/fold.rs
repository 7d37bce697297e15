//! Folding: moving what a node was taught from the journal into its store, and forgetting all of
//! it.

use std::sync::PoisonError;

use kato_engine::{EngineError, PendingCommit};

use super::loaded::{Gate, LoadedNode, checkpoint, record_folded};
use super::registry::Unfolded;
use crate::ServiceError;
use crate::clock::Micros;
use crate::error::StorageFailure;
use crate::journal::{Entry, Journal, Table, key_of_lessons};
use crate::options::ServiceOptions;
use crate::steps::{self, Step};

/// Records that one entry removes at most.
const REMOVED_AT_ONCE: usize = 10_000;

impl LoadedNode {
    /// Returns whether what is in the journal alone is too much or too old.
    pub(crate) fn is_due(&self, options: &ServiceOptions, now: Micros) -> bool {
        let since = self.gate().since;
        since.is_some_and(|since| now.since(since) >= options.fold_interval)
            || self.node().totals().uncommitted >= options.fold_after_learns.max(1)
    }

    /// Returns what the journal alone has; `None` if that is nothing.
    pub(super) fn unfolded(&self) -> Option<Unfolded> {
        let since = self.gate().since?;
        let n_learns = self.node().totals().uncommitted;
        Some(Unfolded { since, n_learns })
    }

    /// Returns the number of the last lessons, if the store lacks them.
    pub(crate) fn latest_unfolded(&self) -> Option<u64> {
        let gate = self.gate();
        (gate.latest > gate.folded).then_some(gate.latest)
    }

    /// Makes the store have everything that was taught so far, and the journal forget it; returns
    /// `false` if there was nothing.
    pub(crate) fn fold(&self, processor_id: &str, journal: &Journal) -> Result<bool, ServiceError> {
        let _folding = self.folding.lock().unwrap_or_else(PoisonError::into_inner);
        self.fold_beside(processor_id, journal)
    }

    /// Folds as [`fold`](Self::fold) does, with the right to it in hand, while others teach the node.
    pub(super) fn fold_beside(
        &self,
        processor_id: &str,
        journal: &Journal,
    ) -> Result<bool, ServiceError> {
        let (pending, folded, latest, since) = {
            let mut gate = self.gate();
            // Memory may have what the journal lacks.
            if let Some(failure) = self.failure() {
                return Err(failure.clone().into_interrupted(self.node().name()));
            }
            if gate.folded == gate.latest {
                return Ok(false);
            }
            // The gate is held: the commit has exactly the lessons up to the latest, and later ones
            // go into the next.
            let pending = self.engine().begin_commit();
            (pending, gate.folded, gate.latest, gate.since.take())
        };
        let _changing = journal.changing_store();
        if let Err(error) = self.commit(pending, latest, journal) {
            let mut gate = self.gate();
            // The lessons are as old as before, so that the next round of maintenance tries again.
            gate.since = since.or(gate.since);
            return Err(error);
        }
        self.gate().folded = latest;
        self.remove_folded(processor_id, (folded, latest), journal)?;
        Ok(true)
    }

    /// Folds what there is, with the right to it and the gate in hand: nobody teaches the node
    /// meanwhile.
    pub(super) fn fold_under(
        &self,
        gate: &mut Gate,
        processor_id: &str,
        journal: &Journal,
    ) -> Result<(), ServiceError> {
        let (folded, latest) = (gate.folded, gate.latest);
        if folded == latest {
            return Ok(());
        }
        self.commit(self.engine().begin_commit(), latest, journal)?;
        gate.folded = latest;
        gate.since = None;
        self.remove_folded(processor_id, (folded, latest), journal)
    }

    /// Commits lessons up to a number to the store.
    fn commit(
        &self,
        pending: PendingCommit,
        latest: u64,
        journal: &Journal,
    ) -> Result<(), ServiceError> {
        // A panic in the store leaves open what it holds, which loading shows; an error does not, and
        // the next fold tries again.
        let guard = self.begin_operation();
        // Flushed first: what the store has the journal must have, too, as it says what became of
        // the sessions and keys of these lessons.
        let written = journal
            .sync()
            .inspect(|()| steps::reach(Step::CommitFold))
            .and_then(|()| Ok(pending.finish(checkpoint(latest))?));
        guard.done();
        match &written {
            Ok(()) => journal.folds.add(1),
            Err(error @ ServiceError::Engine(EngineError::LostPattern { .. })) => {
                // The journal has it.
                self.fail(StorageFailure::new(error.to_string()));
            }
            Err(_) => {}
        }
        written
    }

    /// Makes the journal forget lessons that were folded: those behind a number up to another.
    fn remove_folded(
        &self,
        processor_id: &str,
        (folded, latest): (u64, u64),
        journal: &Journal,
    ) -> Result<(), ServiceError> {
        steps::reach(Step::RemoveFolded);
        // What is in the store takes less memory than what is not.
        self.measure();
        let sequences: Vec<u64> = (folded + 1..=latest).collect();
        for part in sequences.chunks(REMOVED_AT_ONCE) {
            let mut entry = Entry::default();
            // With the removals: from here on nobody but this number knows that the knowledge base
            // must have these lessons.
            record_folded(processor_id, latest, &mut entry);
            for &sequence in part {
                entry.remove(Table::Lessons, key_of_lessons(processor_id, Some(sequence)));
            }
            // Nobody waits for it: records that stay are at or below the checkpoint of the store,
            // and skipped.
            drop(journal.append(entry)?);
        }
        Ok(())
    }

    /// Makes the node forget everything, durably and at once; the entry becomes part of it.
    ///
    /// A crash in between leaves the record that everything is forgotten, and loading the node
    /// carries it out.
    pub(crate) fn clear(
        &self,
        processor_id: &str,
        journal: &Journal,
        mut entry: Entry,
    ) -> Result<(), ServiceError> {
        // Ahead of the lock, which who writes an index takes at the end.
        self.forget_index();
        let _folding = self.folding.lock().unwrap_or_else(PoisonError::into_inner);
        let _changing = journal.changing_store();
        let mut gate = self.gate();
        if gate.latest == 0 && self.sequence_of_store().is_none() {
            // It was never taught: there is nothing to forget, and no store to be made for it.
            return journal.append_and_wait(entry);
        }
        // Once more: the writing of one may have ended in between.
        self.forget_index();
        let guard = self.begin_operation();
        // The journal before the store: a store that is emptied first would lack lessons that the
        // journal still counts on, were the next step never taken.
        gate.record_cleared(processor_id, &mut entry);
        journal.append_and_wait(entry)?;
        steps::reach(Step::ClearStore);
        if let Err(error) = self.engine().clear(checkpoint(gate.latest)) {
            // The journal says that all is forgotten, and memory does not: only loading the node
            // again makes them one.
            let failure = self.fail(StorageFailure::new(error));
            return Err(failure.into_interrupted(self.node().name()));
        }
        let mut done = Entry::default();
        done.remove(
            Table::Lessons,
            key_of_lessons(processor_id, Some(gate.latest)),
        );
        // Nobody waits for it, as after a fold.
        drop(journal.append(done)?);
        gate.folded = gate.latest;
        gate.since = None;
        guard.done();
        drop(gate);
        self.remove_stale_indexes();
        Ok(())
    }
}

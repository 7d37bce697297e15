//! Patterns that are taken back: retired, un-retired, purged.

use std::sync::PoisonError;

use kato_engine::EngineError;

use super::loaded::LoadedNode;
use crate::ServiceError;
use crate::clock::Micros;
use crate::error::StorageFailure;
use crate::journal::{Entry, Journal, TakenBack};
use crate::steps::{self, Step};

impl LoadedNode {
    /// Takes patterns back as a plan says, durably and at once; its entry becomes part of it. Nobody
    /// teaches the node meanwhile.
    ///
    /// What was taught before is folded first: the store has a pattern before it has its tombstone, so
    /// that what is replayed after a crash meets the tombstones that it met the first time. A crash in
    /// between leaves the record, and loading the node carries it out once more, which changes nothing
    /// where it was done.
    pub(crate) fn take_back<T>(
        &self,
        processor_id: &str,
        (journal, now): (&Journal, Micros),
        plan: impl FnOnce() -> Result<(TakenBack, Entry, T), ServiceError>,
    ) -> Result<T, ServiceError> {
        let _folding = self.folding.lock().unwrap_or_else(PoisonError::into_inner);
        // Most of it while others go on; under the gate there is little left.
        self.fold_beside(processor_id, journal)?;
        let _changing = journal.changing_store();
        let mut gate = self.gate();
        if let Some(failure) = self.failure() {
            return Err(failure.clone().into_interrupted(self.node().name()));
        }
        let (taken_back, mut entry, planned) = plan()?;
        // Also with `Durability::Os`: the store must not run ahead of the journal.
        entry.sync = true;
        if taken_back.is_empty() {
            journal.append_and_wait(entry)?;
            return Ok(planned);
        }
        self.fold_under(&mut gate, processor_id, journal)?;
        let guard = self.begin_operation();
        gate.record_taken_back(processor_id, taken_back.clone(), &mut entry, now);
        journal.append_and_wait(entry)?;
        steps::reach(Step::TakeBack);
        if let Err(error) = self.carry_out(&taken_back) {
            // The journal says that it is done: only loading the node again makes them one.
            let failure = self.fail(StorageFailure::new(error));
            return Err(failure.into_interrupted(self.node().name()));
        }
        guard.done();
        Ok(planned)
    }

    /// Carries out what is recorded, in memory and in the store. What was done before changes nothing.
    pub(crate) fn carry_out(&self, taken_back: &TakenBack) -> Result<(), EngineError> {
        match taken_back {
            TakenBack::Retired(names) => self.node().retire(names).map(drop),
            TakenBack::Unretired(names) => self.node().unretire(names).map(drop),
            TakenBack::Purged(names) => {
                let purged = self.node().purge(Some(names), names.len());
                // An index passes over what is gone. Where that was much, its segments were written again.
                self.remove_stale_indexes();
                purged.map(drop)
            }
        }
    }
}

//! Writing what was learned since the last commit to the store.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use kato_model::{Attributes, BatchSymbol, Event, LearnBatch, PatternName};
use kato_store::{PatternStore, StagedBatch};
use serde_json::Value;

use super::Shared;
use crate::EngineError;
use crate::pending::{Learned, Pending};

/// Memory of a batch above which it is staged.
const BATCH_BYTES: usize = 64 << 20;

impl Shared {
    /// Commits if more learns are pending than the options allow.
    pub(crate) fn commit_if_due(&self) -> Result<(), EngineError> {
        match self.options.commit_after {
            Some(most) if self.uncommitted.load(Ordering::Relaxed) >= most.get() => {
                self.commit(None)
            }
            _ => Ok(()),
        }
    }

    /// Commits what every node learned, all or nothing.
    pub(super) fn commit(&self, checkpoint: Option<Value>) -> Result<(), EngineError> {
        let Some(store) = self.store() else {
            return Ok(());
        };
        let _committing = self
            .committing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let parts: Vec<Arc<Pending>> = self
            .nodes
            .iter()
            .map(|cell| cell.write().begin_commit())
            .collect();
        let calls: u64 = parts.iter().map(|part| part.calls()).sum();
        let is_idle = checkpoint.is_none() && parts.iter().all(|part| part.is_empty());
        let result = match is_idle {
            true => Ok(()),
            false => self.write(store, &parts, checkpoint),
        };
        for (cell, part) in self.nodes.iter().zip(parts) {
            cell.write().end_commit(part, result.is_ok(), &self.limits);
        }
        if result.is_ok() {
            self.uncommitted.fetch_sub(calls, Ordering::Relaxed);
        }
        result
    }

    fn write(
        &self,
        store: &dyn PatternStore,
        parts: &[Arc<Pending>],
        checkpoint: Option<Value>,
    ) -> Result<(), EngineError> {
        let mut writer = Writer::new(self, store);
        for (node_idx, part) in parts.iter().enumerate() {
            writer.node(node_idx, part)?;
        }
        writer.stage()?;
        let checkpoint = checkpoint.unwrap_or_else(|| store.checkpoint());
        store
            .commit(writer.staged, checkpoint)
            .map_err(EngineError::store("commit what was learned"))
    }
}

/// Turns pending learns into staged batches.
struct Writer<'a> {
    shared: &'a Shared,
    store: &'a dyn PatternStore,
    batch: LearnBatch,
    staged: Vec<StagedBatch>,
}

impl<'a> Writer<'a> {
    fn new(shared: &'a Shared, store: &'a dyn PatternStore) -> Self {
        Self {
            shared,
            store,
            batch: empty_batch(shared),
            staged: Vec::new(),
        }
    }

    fn node(&mut self, node_idx: usize, part: &Pending) -> Result<(), EngineError> {
        for (name, learned) in part.learned() {
            // One lock a pattern, so that sessions learn on meanwhile.
            let events = self.shared.cell(node_idx).read().index().events(name);
            let events =
                events.expect("nodes of a store never forget, and pending patterns were learned");
            self.pattern(node_idx, *name, learned, &events)?;
        }
        for (name, elements) in part.vectors() {
            self.batch.record_vector(node_idx, *name, elements);
        }
        Ok(())
    }

    fn pattern(
        &mut self,
        node_idx: usize,
        name: PatternName,
        learned: &Learned,
        events: &[Event],
    ) -> Result<(), EngineError> {
        if self.batch.heap_bytes() > BATCH_BYTES {
            self.stage()?;
        }
        let symbols = events.iter().flat_map(Event::symbols);
        let ids: Vec<u32> = symbols.map(|symbol| self.batch.literal(symbol)).collect();
        let ids = ids.into_iter().map(BatchSymbol::Literal);
        let occurrence = self.batch.learn(node_idx, name, ids);
        let attributes = Attributes {
            // Learning it above counts one.
            extra_frequency: learned.count - 1,
            event_lengths: event_lengths(events),
            ..learned.attributes.as_deref().cloned().unwrap_or_default()
        };
        if attributes != Attributes::default() {
            self.batch.attach(node_idx, occurrence, attributes);
        }
        Ok(())
    }

    fn stage(&mut self) -> Result<(), EngineError> {
        let batch = std::mem::replace(&mut self.batch, empty_batch(self.shared));
        if !batch.is_empty() {
            let staged = self.store.stage(batch.seal());
            let staged = staged.map_err(EngineError::store("stage what was learned"))?;
            self.staged.push(staged);
        }
        Ok(())
    }
}

fn empty_batch(shared: &Shared) -> LearnBatch {
    LearnBatch::new(shared.nodes.len()).with_limits(shared.limits)
}

/// The lengths, unless every event holds one symbol.
fn event_lengths(events: &[Event]) -> Option<Box<[u32]>> {
    if events.iter().all(|event| event.len() == 1) {
        return None;
    }
    // The index holds at most 2³¹ symbols a pattern.
    Some(events.iter().map(|event| event.len() as u32).collect())
}

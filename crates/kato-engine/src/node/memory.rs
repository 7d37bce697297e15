//! The memory of a node, which is kept behind its lock.

use std::collections::HashMap;
use std::sync::Arc;

use kato_model::emotives::{EmotiveWindow, add_emotives};
use kato_model::{
    AttributeLimits, Attributes, EmotiveMap, Event, Metadata, PatternName, VectorName,
};
use kato_prediction::{IndexError, PatternIndex};
use kato_store::Tombstones;

use super::NodeTotals;
use super::lesson::Prepared;
use crate::EngineError;
use crate::engine::Shared;
use crate::pending::Pending;
use crate::vectors::VectorIndex;

/// Everything that a node has learned.
#[derive(Debug, Default)]
pub(crate) struct NodeMemory {
    /// Shared with predictions, which hold it without the node's lock. While they do, a change
    /// copies it first.
    index: Arc<PatternIndex>,
    vectors: VectorIndex,
    /// Windows of the patterns that have emotives.
    windows: Windows,
    /// What was learned since the last commit. Without a store, where nothing is ever committed:
    /// metadata alone.
    pending: Pending,
    /// What is being committed, kept here so that its metadata stay readable.
    in_flight: Option<Arc<Pending>>,
    learns: u64,
    learned_symbols: u64,
    tombstones: Tombstones,
    /// What the learns of a pattern added to the affinity of each of its symbols. Without a store, which
    /// keeps it otherwise.
    ledgers: HashMap<PatternName, EmotiveMap, foldhash::fast::RandomState>,
}

/// Emotive windows by pattern.
pub(crate) type Windows = HashMap<PatternName, EmotiveWindow, foldhash::fast::RandomState>;

impl NodeMemory {
    /// Creates the memory of what a store holds.
    pub(crate) fn loaded(
        mut index: PatternIndex,
        vectors: VectorIndex,
        windows: Windows,
        learns: u64,
        learned_symbols: u64,
    ) -> Self {
        // Once all windows are complete: several sources of a store may hold parts of one.
        for (name, window) in &windows {
            index.set_emotives(name, window.mean());
        }
        Self {
            index: Arc::new(index),
            vectors,
            windows,
            learns,
            learned_symbols,
            ..Self::default()
        }
    }

    pub(crate) const fn tombstones(&self) -> &Tombstones {
        &self.tombstones
    }

    /// Replaces the tombstones, and hides the patterns that have one.
    pub(crate) fn set_tombstones(&mut self, tombstones: Tombstones) {
        let names = tombstones.iter().map(|(name, _)| name);
        self.index_mut().set_retired(names);
        self.tombstones = tombstones;
    }

    /// Returns what the learns of a pattern that the store does not have added to affinities.
    pub(crate) fn ledger(&self, name: &PatternName) -> EmotiveMap {
        let mut ledger = self.ledgers.get(name).cloned().unwrap_or_default();
        if let Some(affinity) = self.pending.affinity(name) {
            add_emotives(&mut ledger, affinity);
        }
        ledger
    }

    /// Removes a pattern with all that it taught; returns its learns that were pending.
    pub(crate) fn purge(&mut self, name: &PatternName, ledger: &EmotiveMap) -> u64 {
        let n_symbols = self.index.n_symbols_of(name);
        if let Some(frequency) = self.index_mut().purge(name, ledger) {
            self.learns = self.learns.saturating_sub(frequency);
            let learned = frequency.saturating_mul(n_symbols as u64);
            self.learned_symbols = self.learned_symbols.saturating_sub(learned);
        }
        self.windows.remove(name);
        self.ledgers.remove(name);
        self.pending.remove(name)
    }

    pub(crate) fn index(&self) -> &PatternIndex {
        &self.index
    }

    /// Returns a handle of the index, whose clones stay as they are whatever is learned later.
    pub(crate) const fn shared_index(&self) -> &Arc<PatternIndex> {
        &self.index
    }

    /// Returns the index to be changed; copies it first if a prediction holds it.
    pub(crate) fn index_mut(&mut self) -> &mut PatternIndex {
        Arc::make_mut(&mut self.index)
    }

    pub(crate) fn nearest(&self, elements: &[f64], most: usize) -> Vec<(f64, VectorName)> {
        self.vectors.nearest(elements, most)
    }

    /// Returns the number of elements of every vector; `None` before the first.
    pub(crate) const fn dimension(&self) -> Option<usize> {
        self.vectors.dimension()
    }

    /// Returns the latest emotives of a pattern, oldest first.
    pub(crate) fn emotives(&self, name: &PatternName) -> Vec<EmotiveMap> {
        let window = self.windows.get(name).cloned();
        window.map(EmotiveWindow::into_maps).unwrap_or_default()
    }

    /// Returns the metadata of a pattern that is not committed.
    pub(crate) fn metadata(&self, name: &PatternName) -> Metadata {
        let in_flight = self.in_flight.as_deref();
        let mut metadata = Metadata::default();
        for pending in [in_flight, Some(&self.pending)].into_iter().flatten() {
            metadata.merge(pending.metadata(name).cloned().unwrap_or_default(), None);
        }
        metadata
    }

    /// Returns the bytes of memory that patterns, symbols and what is not committed take.
    pub(crate) fn heap_bytes(&self) -> usize {
        let in_flight = self.in_flight.as_deref();
        let pending = [Some(&self.pending), in_flight].into_iter().flatten();
        self.index.heap_bytes() + pending.map(Pending::heap_bytes).sum::<usize>()
    }

    /// Returns the totals of what was learned.
    pub(crate) fn totals(&self) -> NodeTotals {
        // Not durable before the commit has ended, and again pending should it fail.
        let in_flight = self.in_flight.as_ref().map_or(0, |pending| pending.calls());
        NodeTotals {
            patterns: self.index.n_patterns() as u64,
            distinct_symbols: self.index.n_symbols() as u64,
            learns: self.learns,
            learned_symbols: self.learned_symbols,
            uncommitted: self.pending.calls() + in_flight,
        }
    }

    /// Learns a lesson and returns whether the pattern is new. Changes nothing when
    /// the index is full.
    pub(super) fn learn(
        &mut self,
        lesson: Prepared<'_>,
        shared: &Shared,
    ) -> Result<bool, IndexError> {
        // First, because it is the only step that can fail.
        let is_new = self.index_mut().learn_named(lesson.name, lesson.events)?;
        self.learned(lesson, is_new, shared);
        Ok(is_new)
    }

    /// Learns lessons, and whatever becomes of an index on the disk below knows the content of their patterns.
    /// When the index is full, some of them are learned.
    pub(super) fn learn_all(
        &mut self,
        lessons: Vec<Prepared<'_>>,
        shared: &Shared,
    ) -> Result<(), EngineError> {
        if shared.store().is_some() {
            self.pending.reserve(lessons.len());
        }
        self.index_mut().reserve(lessons.len());
        let contents: Vec<_> = lessons.iter().map(|it| (it.name, it.events)).collect();
        for lesson in lessons {
            let name = lesson.name;
            let is_new = self.index_mut().learn_unsealed(name, lesson.events);
            let is_new = is_new.map_err(|source| EngineError::Index { name, source })?;
            self.learned(lesson, is_new, shared);
        }
        self.index_mut().seal();
        if self.index.read_checked(|_| ()).is_err() {
            // What was found in the index below may not be there, and then nobody else knows its content.
            for (name, events) in contents {
                self.pending.keep_content(name, events);
            }
        }
        Ok(())
    }

    /// Counts a lesson of which the index has learned the pattern, and keeps what is attached to it.
    fn learned(&mut self, lesson: Prepared<'_>, is_new: bool, shared: &Shared) {
        let name = lesson.name;
        self.learns += 1;
        self.learned_symbols += lesson.n_symbols as u64;
        let stores = shared.store().is_some();
        if stores {
            self.pending.count(name);
            if is_new && self.index.base().is_some() {
                self.pending.keep_content(name, lesson.events);
            }
            shared.count_learn();
        }
        for (vector, elements) in lesson.vectors {
            if self.vectors.insert(*vector, elements) && stores {
                self.pending.record_vector(*vector, elements);
            }
        }
        if !lesson.emotives.is_empty() || !lesson.metadata.is_empty() {
            self.attach(lesson, shared);
        }
    }

    /// Returns whether the store and what is pending tell all of the node, so that it may be
    /// [rebased](Self::rebase), to the last bit: sums of emotives depend on their order.
    pub(crate) fn can_be_rebased(&self) -> bool {
        !self.has_emotives() && !self.index.is_finalized()
    }

    /// Returns whether any pattern has emotives, or any symbol an affinity.
    pub(crate) fn has_emotives(&self) -> bool {
        !self.windows.is_empty() || self.index.has_emotives()
    }

    /// Replaces what the node had when it was opened by what was loaded from its store, and keeps
    /// what no commit has written; returns the index before. Changes nothing when it fails.
    pub(crate) fn rebase(
        &mut self,
        loaded: Self,
        limits: &AttributeLimits,
    ) -> Result<Arc<PatternIndex>, EngineError> {
        let mut index = Arc::unwrap_or_clone(loaded.index);
        let mut windows = loaded.windows;
        // The store has neither of them: a part in flight is written only when its commit ends.
        let pending = || [self.in_flight.as_deref(), Some(&self.pending)].into_iter();
        let contents: HashMap<PatternName, Vec<Event>> =
            pending().flatten().flat_map(Pending::contents).collect();
        let mut kept = Vec::new();
        for (&name, learned) in pending().flatten().flat_map(Pending::learned) {
            // What is not in the store was learned above the index, which may be damaged. The name is a
            // digest of the content, and proves it.
            let content = contents.get(&name);
            let events = index
                .events(&name)
                .or_else(|| content.cloned())
                .or_else(|| self.index.events(&name))
                .filter(|events| PatternName::of_events(events) == name)
                .ok_or(EngineError::LostPattern { name })?;
            if index.base().is_some() && content.is_none() && index.frequency(&name) == 0 {
                kept.push((name, events.clone()));
            }
            for _ in 0..learned.count {
                index
                    .learn_named(name, &events)
                    .map_err(|source| EngineError::Index { name, source })?;
            }
            if let Some(attributes) = learned.attributes.as_deref() {
                if !attributes.emotives.is_empty() {
                    let window = windows.entry(name).or_default();
                    window.merge(attributes.emotives.clone(), limits.persistence);
                    index.set_emotives(&name, window.mean());
                }
                index.add_affinity(&name, &attributes.affinity);
            }
        }
        index.seal();
        if self.index.is_finalized() {
            // With the statistics of now: those of then were numbers of the index that is left.
            index.finalize();
        }
        for (name, events) in kept {
            self.pending.keep_content(name, &events);
        }
        index.set_retired(self.tombstones.iter().map(|(name, _)| name));
        self.windows = windows;
        Ok(std::mem::replace(&mut self.index, Arc::new(index)))
    }

    /// Attaches the emotives and metadata of a lesson to its pattern.
    fn attach(&mut self, lesson: Prepared<'_>, shared: &Shared) {
        let limits = shared.attribute_limits();
        let name = lesson.name;
        let mut learned = EmotiveWindow::default();
        // The window keeps the latest, so older ones need no position and no copy.
        let surplus = lesson
            .emotives
            .len()
            .saturating_sub(limits.persistence.get());
        for map in &lesson.emotives[surplus..] {
            learned.learn(shared.next_position(), map.clone(), limits.persistence);
        }
        if !learned.is_empty() {
            let window = self.windows.entry(name).or_default();
            window.merge(learned.clone(), limits.persistence);
            // Field by field instead of `index_mut`, since `window` borrows another field. Nothing
            // is copied here: the learn before has made the index this node's own.
            let index = Arc::make_mut(&mut self.index);
            index.set_emotives(&name, window.mean());
            index.add_affinity(&name, &lesson.mean);
        }
        let mut attributes = Attributes {
            metadata: lesson.metadata,
            ..Attributes::default()
        };
        // In memory the window and the index hold these, and no commit ever needs them.
        if shared.store().is_some() {
            attributes.emotives = learned;
            attributes.affinity = lesson.mean;
        } else if !lesson.mean.is_empty() {
            add_emotives(self.ledgers.entry(name).or_default(), &lesson.mean);
        }
        self.pending.attach(name, attributes, limits);
    }

    /// Returns what is to be committed; it stays readable until [`end_commit`](Self::end_commit).
    pub(crate) fn begin_commit(&mut self) -> Arc<Pending> {
        let pending = Arc::new(std::mem::take(&mut self.pending));
        self.in_flight = Some(Arc::clone(&pending));
        pending
    }

    /// Drops what was committed, or takes it back if the commit failed.
    pub(crate) fn end_commit(
        &mut self,
        part: Arc<Pending>,
        succeeded: bool,
        limits: &AttributeLimits,
    ) {
        // The only other handle, so that `into_inner` below succeeds.
        self.in_flight = None;
        if !succeeded && let Some(mut part) = Arc::into_inner(part) {
            // What was learned meanwhile, usually the smaller part, is merged into what comes back.
            std::mem::swap(&mut part, &mut self.pending);
            self.pending.merge(part, limits);
        }
    }
}

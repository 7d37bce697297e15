//! A node in memory: its engine, the journal's sequence numbers, and replaying what no fold has taken.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kato_engine::{Engine, EngineOptions, Lesson, Node};
use serde_json::{Value, json};

use super::Source;
use super::lazy_store::{LazyStore, directory_of};
use crate::ServiceError;
use crate::clock::Micros;
use crate::journal::{Entry, Journal, LessonsRecord, Table, key_of_lessons, sequence_of};

/// Key of the checkpoint under which a store keeps the sequence number of the last lessons folded into it.
const CHECKPOINT_KEY: &str = "journal";

/// A node in memory.
#[derive(Debug)]
pub(crate) struct LoadedNode {
    engine: Engine,
    node: Node,
    gate: Mutex<Gate>,
    /// Held while folding or clearing.
    pub(super) folding: Mutex<()>,
}

/// Whoever teaches a node holds its gate until the lessons are in the journal's queue, so that both have the same order.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Sequence number of the latest lessons.
    pub(super) latest: u64,
    /// Sequence number of the latest lessons that the store has.
    pub(super) folded: u64,
    /// When the oldest lessons were taught that the store lacks.
    pub(super) since: Option<Micros>,
}

impl Gate {
    /// Adds lessons to an entry.
    pub(crate) fn record(
        &mut self,
        processor_id: &str,
        lessons: Vec<Lesson>,
        entry: &mut Entry,
        now: Micros,
    ) {
        self.latest += 1;
        self.since.get_or_insert(now);
        let key = key_of_lessons(processor_id, Some(self.latest));
        entry.put(
            Table::Lessons,
            key,
            LessonsRecord::Taught(lessons).to_bytes(),
        );
    }

    /// Adds to an entry that everything before is forgotten.
    pub(super) fn record_cleared(&mut self, processor_id: &str, entry: &mut Entry) {
        for sequence in self.folded + 1..=self.latest {
            entry.remove(Table::Lessons, key_of_lessons(processor_id, Some(sequence)));
        }
        self.latest += 1;
        let key = key_of_lessons(processor_id, Some(self.latest));
        entry.put(Table::Lessons, key, LessonsRecord::Cleared.to_bytes());
    }
}

impl LoadedNode {
    /// Opens the node's store, if there is one, and replays what the journal has beyond it.
    pub(super) fn load(
        processor_id: &str,
        node_id: &str,
        source: Source<'_>,
    ) -> Result<Self, ServiceError> {
        let mut options = *source.engine;
        // The service decides when to fold.
        options.commit_after = None;
        let Some((journal, nodes_dir)) = source.disk else {
            return Self::of(Engine::in_memory_with(&[node_id], options), Gate::default());
        };
        let engine = open(processor_id, node_id, nodes_dir, options)?;
        let loaded = Self::of(engine, Gate::default())?;
        loaded.replay(processor_id, journal)?;
        Ok(loaded)
    }

    fn of(engine: Engine, gate: Gate) -> Result<Self, ServiceError> {
        let node = engine
            .nodes()
            .next()
            .expect("an engine of one node is opened");
        Ok(Self {
            engine,
            node,
            gate: Mutex::new(gate),
            folding: Mutex::default(),
        })
    }

    fn replay(&self, processor_id: &str, journal: &Journal) -> Result<(), ServiceError> {
        let folded = self.folded_by_store();
        let mut gate = self.gate();
        (gate.latest, gate.folded) = (folded, folded);
        let mut stale = Entry::default();
        let prefix = key_of_lessons(processor_id, None);
        for row in journal.tables().prefix(Table::Lessons, &prefix) {
            let (key, value) = row?;
            let sequence = sequence_of(&key)
                .ok_or_else(|| ServiceError::corrupt("read what a node was taught", "its key"))?;
            if sequence <= folded {
                stale.remove(Table::Lessons, &*key);
                continue;
            }
            match LessonsRecord::read(&value)? {
                LessonsRecord::Taught(lessons) => {
                    for lesson in &lessons {
                        self.node.teach(lesson)?;
                    }
                    gate.since.get_or_insert_default();
                }
                LessonsRecord::Cleared => self.engine.clear(checkpoint(sequence))?,
            }
            gate.latest = sequence;
        }
        if !stale.changes.is_empty() {
            // Nobody waits: should they stay, they are skipped again.
            drop(journal.append(stale));
        }
        Ok(())
    }

    fn folded_by_store(&self) -> u64 {
        let store = self.engine.store();
        let checkpoint = store.map(|store| store.checkpoint()).unwrap_or_default();
        checkpoint[CHECKPOINT_KEY].as_u64().unwrap_or(0)
    }

    pub(crate) const fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) const fn node(&self) -> &Node {
        &self.node
    }

    pub(crate) fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The checkpoint of a store that has the lessons up to a sequence number.
pub(super) fn checkpoint(sequence: u64) -> Value {
    json!({ CHECKPOINT_KEY: sequence })
}

fn open(
    processor_id: &str,
    node_id: &str,
    nodes_dir: &Path,
    options: EngineOptions,
) -> Result<Engine, ServiceError> {
    let dir = directory_of(nodes_dir, processor_id);
    let store = LazyStore::open(&dir, node_id, options.attribute_limits).map_err(|source| {
        kato_engine::EngineError::Store {
            action: "open a node's knowledge base",
            source,
        }
    })?;
    let found = kato_store::PatternStore::nodes(&store).len();
    if found != 1 {
        return Err(ServiceError::SeveralNodes { path: dir, found });
    }
    Ok(Engine::open_with(Arc::new(store), options)?)
}

//! A node in memory: its engine, the journal's sequence numbers, and replaying what no fold has
//! taken.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kato_engine::node::Lesson;
use kato_engine::{Engine, EngineError, Node};
use kato_model::{AttributeLimits, PatternName};
use serde_json::{Value, json};

use super::indexing::{Indexing, open_engine};
use super::lazy_store::{LazyStore, directory_of};
use super::lineage::{self, Lineage};
use super::{Disk, Source};
use crate::ServiceError;
use crate::answer::NodeStorage;
use crate::charge::Charge;
use crate::clock::Micros;
use crate::error::StorageFailure;
use crate::heads::Listeners;
use crate::journal::{Entry, LessonsRecord, Table, TakenBack, key_of_lessons, sequence_of};
use crate::loss::{DataLoss, Losses};

/// Key of the checkpoint under which a store keeps the sequence number of the last lessons folded
/// into it.
const CHECKPOINT_KEY: &str = "journal";

/// Lessons that are replayed together, of some hundred bytes of memory each.
const TAUGHT_AT_ONCE: usize = 1 << 16;

/// A node in memory.
#[derive(Debug)]
pub(crate) struct LoadedNode {
    engine: Engine,
    node: Node,
    gate: Mutex<Gate>,
    /// The memory that its knowledge takes of that for all nodes.
    charge: Charge,
    /// The heads that count what it is taught.
    listeners: Listeners,
    /// What was damaged when it was read, names no files.
    damage: OnceLock<Box<str>>,
    /// Why it must be loaded again; see [`fail`](Self::fail).
    pub(super) failure: OnceLock<StorageFailure>,
    /// Its store on the disk; `None` in memory.
    pub(super) store: Option<Arc<LazyStore>>,
    pub(super) indexing: Mutex<Indexing>,
    /// Held while folding or clearing, and while it goes over to another index.
    pub(super) folding: Mutex<()>,
}

/// The sequence numbers of a node. Whoever teaches the node holds its gate until the lessons are in
/// the journal's queue, so that both have the same order.
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
    /// Adds lessons to an entry, under the next sequence number.
    pub(crate) fn record(
        &mut self,
        processor_id: &str,
        lessons: Vec<Lesson>,
        entry: &mut Entry,
        now: Micros,
    ) {
        let record = LessonsRecord::Taught(lessons);
        self.record_change(processor_id, &record, entry, now);
    }

    /// Adds to an entry that patterns are taken back.
    pub(super) fn record_taken_back(
        &mut self,
        processor_id: &str,
        taken_back: TakenBack,
        entry: &mut Entry,
        now: Micros,
    ) {
        let record = LessonsRecord::TookBack(taken_back);
        self.record_change(processor_id, &record, entry, now);
    }

    /// Adds a change to an entry, under the next sequence number.
    fn record_change(
        &mut self,
        processor_id: &str,
        record: &LessonsRecord,
        entry: &mut Entry,
        now: Micros,
    ) {
        self.latest += 1;
        self.since.get_or_insert(now);
        let key = key_of_lessons(processor_id, Some(self.latest));
        entry.put(Table::Lessons, key, record.to_bytes());
    }

    /// Says when the oldest lessons were taught that the store lacks, if it lacks any.
    pub(super) const fn set_since(&mut self, since: Micros) {
        if self.since.is_some() {
            self.since = Some(since);
        }
    }

    /// Adds to an entry that everything before is forgotten.
    pub(super) fn record_cleared(&mut self, processor_id: &str, entry: &mut Entry) {
        // In the write that says that they are forgotten: what is read back has all lessons or
        // none.
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
        charge: Charge,
    ) -> Result<Self, ServiceError> {
        let mut options = *source.engine;
        // The service decides when to fold: a commit of the engine's own would have no sequence
        // number.
        options.commit_after = None;
        let Some(disk) = source.disk else {
            let engine = Engine::in_memory_with(&[node_id], options);
            return Ok(Self::new(engine, (None, Indexing::default()), charge));
        };
        let dir = directory_of(disk.nodes_dir, processor_id);
        let store = Arc::new(open_store(node_id, &dir, options.attribute_limits)?);
        let (engine, indexing) = open_engine(&store, node_id, options, disk)?;
        let loaded = Self::new(engine, (Some(store), indexing), charge);
        let lineage = Lineage::new(node_id, &dir);
        match loaded.replay(processor_id, lineage, disk) {
            Err(ServiceError::Lost { loss }) => {
                // Reported until the node can be loaded, whoever asks for it.
                disk.losses.report(loss.clone());
                return Err(ServiceError::Lost { loss });
            }
            replayed => replayed?,
        }
        disk.losses.mended(&dir);
        loaded.measure();
        Ok(loaded)
    }

    /// Returns the commit of its knowledge base that is served.
    pub(super) fn storage(&self) -> NodeStorage {
        if let Some(reason) = self.damage() {
            let reason = reason.to_owned();
            return NodeStorage::Damaged { reason };
        }
        let embedded = self.store.as_ref().and_then(|store| store.embedded());
        embedded.map_or(NodeStorage::Unwritten, |store| NodeStorage::Whole {
            commit: store.n_commits(),
            healed: store.recovered().map(ToString::to_string),
        })
    }

    /// Returns what was damaged when it was read, if anything was; names no files.
    pub(super) fn damage(&self) -> Option<&str> {
        self.damage.get().map(AsRef::as_ref)
    }

    /// Creates a node in memory from its engine.
    fn new(
        engine: Engine,
        (store, indexing): (Option<Arc<LazyStore>>, Indexing),
        charge: Charge,
    ) -> Self {
        let node = engine
            .nodes()
            .next()
            .expect("an engine of one node is opened");
        Self {
            engine,
            node,
            gate: Mutex::default(),
            charge,
            listeners: Listeners::default(),
            damage: OnceLock::new(),
            failure: OnceLock::new(),
            store,
            indexing: Mutex::new(indexing),
            folding: Mutex::default(),
        }
    }

    /// Notes an error of reading it, and reports it until the node is loaded anew.
    pub(crate) fn note(&self, error: &ServiceError, losses: &Losses) {
        let Some(store) = self.store.as_ref().filter(|_| error.is_of_reading()) else {
            return;
        };
        if let Some(damage) = error.damage() {
            self.damage.get_or_init(|| damage.into());
        }
        losses.report(DataLoss::Unreadable {
            node_id: self.node.name().to_owned(),
            path: store.dir().to_owned(),
            reason: error.with_causes(),
        });
    }

    /// Charges the node with the memory that its knowledge takes now.
    pub(crate) fn measure(&self) {
        self.charge.set(self.node.memory_bytes());
    }

    /// Returns the bytes of memory that the knowledge took when it was last measured.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Learns what the journal has and the store has not. Everything must be there, unless losses
    /// are accepted.
    fn replay(
        &self,
        processor_id: &str,
        mut lineage: Lineage<'_>,
        disk: Disk<'_>,
    ) -> Result<(), ServiceError> {
        let mut accepted = Vec::new();
        let mut check = |loss: Option<DataLoss>| match loss {
            Some(loss) if !disk.accepts_losses => Err(ServiceError::Lost { loss }),
            loss => {
                accepted.extend(loss);
                Ok(())
            }
        };
        let found = self.sequence_of_store();
        check(lineage.begin(lineage::folded(processor_id, disk.journal)?, found))?;
        let folded = lineage.last();
        let mut gate = self.gate();
        gate.folded = folded;
        // Records that the store has already can go now; those that are taught here only with a
        // commit.
        let (mut stale, mut taught) = (Entry::default(), Entry::default());
        let mut to_teach = Vec::new();
        let prefix = key_of_lessons(processor_id, None);
        for row in disk.journal.tables().prefix(Table::Lessons, &prefix) {
            let (key, value) = row?;
            let sequence = sequence_of(&key)
                .ok_or_else(|| ServiceError::corrupt("read what a node was taught", "its key"))?;
            if sequence <= folded {
                stale.remove(Table::Lessons, &*key);
                continue;
            }
            let record = LessonsRecord::read(&value)?;
            check(lineage.follow(sequence, record == LessonsRecord::Cleared))?;
            if to_teach.len() >= TAUGHT_AT_ONCE || !matches!(record, LessonsRecord::Taught(_)) {
                self.node.teach_all(&std::mem::take(&mut to_teach))?;
            }
            match record {
                LessonsRecord::Taught(lessons) => {
                    to_teach.extend(lessons);
                    // When they were taught is not recorded: 1970 makes them due at the next round
                    // of maintenance, unless somebody remembers it.
                    gate.since.get_or_insert_default();
                }
                LessonsRecord::Cleared => {
                    // A crash came between the record and the clearing, which is made up for here.
                    let _changing = disk.journal.changing_store();
                    self.forget_index();
                    self.engine.clear(checkpoint(sequence))?;
                    self.remove_stale_indexes();
                }
                LessonsRecord::TookBack(taken_back) => {
                    // A crash came between the record and what it says, or behind it.
                    let _changing = disk.journal.changing_store();
                    self.carry_out(&taken_back)?;
                    gate.since.get_or_insert_default();
                }
            }
            taught.remove(Table::Lessons, &*key);
        }
        self.node.teach_all(&to_teach)?;
        gate.latest = lineage.last();
        if !accepted.is_empty() {
            // Committed at once: what there is becomes all that there ever was, so that the loss is
            // reported once.
            let _changing = disk.journal.changing_store();
            // Before the commit: told twice where that fails, and never not at all.
            for loss in accepted {
                disk.losses.write_down(loss, disk.clock.now())?;
            }
            self.engine.begin_commit().finish(checkpoint(gate.latest))?;
            gate.folded = gate.latest;
            gate.since = None;
            stale.changes.append(&mut taught.changes);
            record_folded(processor_id, gate.latest, &mut stale);
        }
        if !stale.changes.is_empty() {
            // Nobody waits for it: records that stay are skipped the next time, too.
            drop(disk.journal.append(stale));
        }
        Ok(())
    }

    /// Returns the number of the last lessons that the store has; `None` if there is no store yet.
    pub(super) fn sequence_of_store(&self) -> Option<u64> {
        let checkpoint = self.engine.store()?.checkpoint();
        // A store is created by its first commit, which is a fold or a clearing: one without a
        // checkpoint is not there yet.
        (!checkpoint.is_null()).then(|| sequence_in(&checkpoint))
    }

    pub(crate) const fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) const fn node(&self) -> &Node {
        &self.node
    }

    /// Returns where in a corpus a pattern was first seen, if its store knows that.
    pub(crate) fn source_of(
        &self,
        name: &PatternName,
    ) -> Result<Option<kato_store::Source>, EngineError> {
        let Some(store) = self.engine.store() else {
            return Ok(None);
        };
        // Each node has a store of its own, with one level.
        kato_store::Source::of_pattern(&**store, 0, name).map_err(|source| EngineError::Store {
            action: "read when a pattern was learned first and last",
            source,
        })
    }

    /// Names the node in an error of reading it, for what reads several nodes.
    pub(crate) fn naming(&self, error: EngineError) -> ServiceError {
        ServiceError::from(error).of_node(self.node.name())
    }

    /// Returns who is to hear what the node is taught, under its gate.
    pub(crate) const fn listeners(&self) -> &Listeners {
        &self.listeners
    }

    pub(crate) fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the checkpoint of a store that has the lessons up to a sequence number.
pub(super) fn checkpoint(sequence: u64) -> Value {
    json!({ CHECKPOINT_KEY: sequence })
}

/// Returns the sequence number in a checkpoint; 0 in one that no fold made.
pub(super) fn sequence_in(checkpoint: &Value) -> u64 {
    checkpoint[CHECKPOINT_KEY].as_u64().unwrap_or(0)
}

/// Adds to an entry that the store has the lessons up to a sequence number.
pub(super) fn record_folded(processor_id: &str, sequence: u64, entry: &mut Entry) {
    let sequence = sequence.to_be_bytes().to_vec();
    entry.put(Table::Folds, processor_id.as_bytes(), sequence);
}

/// Opens the store of a node, if there is one.
fn open_store(
    node_id: &str,
    dir: &Path,
    limits: AttributeLimits,
) -> Result<LazyStore, ServiceError> {
    let store = LazyStore::open(dir, node_id, limits).map_err(|source| EngineError::Store {
        action: "open a node's knowledge base",
        source,
    })?;
    let found = kato_store::PatternStore::nodes(&store).len();
    if found != 1 {
        return Err(ServiceError::SeveralNodes {
            node_id: node_id.to_owned(),
            path: dir.to_owned(),
            found,
        });
    }
    Ok(store)
}

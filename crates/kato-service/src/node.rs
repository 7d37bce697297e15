//! One node: its knowledge base, what of it is in the journal alone, and how it comes into memory
//! and leaves it.

mod failure;
mod fold;
mod indexing;
mod lazy_store;
mod lineage;
mod loaded;
mod registry;
mod retirement;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use kato_engine::EngineOptions;
use serde_json::{Map, Value};

pub(crate) use self::lazy_store::directory_of;
pub(crate) use self::lineage::sequence_of_store;
pub(crate) use self::loaded::LoadedNode;
pub(crate) use self::registry::Registry;
use crate::ServiceError;
use crate::answer::NodeStorage;
use crate::charge::Charge;
use crate::clock::{Clock, Micros};
use crate::compact_json::CompactJson;
use crate::error::StorageFailure;
use crate::index_writers::IndexWriters;
use crate::journal::{Entry, Journal, NodeRecord, Table};
use crate::loss::{DataLoss, Losses};
use crate::options::ServiceOptions;

/// Bytes of a node that is not in memory, without its names and genes.
const OVERHEAD: usize = 512;

/// A node that the service knows, in memory or not.
#[derive(Debug)]
pub(crate) struct NodeEntry {
    processor_id: String,
    /// The node id that came first; others may share the processor id.
    node_id: String,
    created: Micros,
    accessed: AtomicU64,
    /// Whether it is in the journal's table of nodes.
    is_recorded: AtomicBool,
    genes: Mutex<CompactJson>,
    loaded: Mutex<Option<Arc<LoadedNode>>>,
    /// What was found damaged when it was last to be loaded, or before it last left memory.
    damage: Mutex<Option<Box<str>>>,
    charge: Charge,
    /// Weak, because the registry holds the node while that is in memory.
    registry: Weak<Registry>,
}

/// Whether a node is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Absent,
    /// It is, or is just coming or going.
    InMemory,
    /// It is, and must be loaded again.
    Failed,
}

/// The place that the knowledge of a node comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    /// `None` in memory.
    pub(crate) disk: Option<Disk<'a>>,
    pub(crate) engine: &'a EngineOptions,
}

/// The parts of a service that are on the disk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disk<'a> {
    pub(crate) journal: &'a Journal,
    /// Directory of the knowledge bases.
    pub(crate) nodes_dir: &'a Path,
    pub(crate) losses: &'a Losses,
    pub(crate) index_writers: &'a IndexWriters,
    pub(crate) options: &'a ServiceOptions,
    /// Whether nodes go on without what is lost.
    pub(crate) accepts_losses: bool,
    pub(crate) clock: &'a dyn Clock,
}

impl NodeEntry {
    /// Creates a node that nothing is known of yet.
    pub(crate) fn new(
        processor_id: String,
        node_id: String,
        now: Micros,
        registry: &Arc<Registry>,
    ) -> Self {
        let genes = CompactJson::default();
        Self::from_parts((processor_id, node_id), (now, now), genes, false, registry)
    }

    /// Creates a node from its record in the journal.
    pub(crate) fn recorded(
        processor_id: String,
        record: NodeRecord,
        now: Micros,
        registry: &Arc<Registry>,
    ) -> Self {
        let times = (record.created, now);
        let genes = CompactJson::new(&record.genes);
        Self::from_parts((processor_id, record.node_id), times, genes, true, registry)
    }

    fn from_parts(
        (processor_id, node_id): (String, String),
        (created, accessed): (Micros, Micros),
        genes: CompactJson,
        is_recorded: bool,
        registry: &Arc<Registry>,
    ) -> Self {
        let bytes = bytes_of(&processor_id, &node_id, &genes);
        Self {
            charge: registry.charges.charge(bytes),
            registry: Arc::downgrade(registry),
            processor_id,
            node_id,
            created,
            accessed: AtomicU64::new(accessed.0),
            is_recorded: AtomicBool::new(is_recorded),
            genes: Mutex::new(genes),
            loaded: Mutex::default(),
            damage: Mutex::default(),
        }
    }

    pub(crate) fn processor_id(&self) -> &str {
        &self.processor_id
    }

    pub(crate) fn node_id(&self) -> &str {
        &self.node_id
    }

    pub(crate) const fn created(&self) -> Micros {
        self.created
    }

    pub(crate) fn accessed(&self) -> Micros {
        Micros(self.accessed.load(Ordering::Relaxed))
    }

    /// Notes that the node is used.
    pub(crate) fn touch(&self, now: Micros) {
        // Operations overlap: the latest of them counts, in whatever order they come here.
        self.accessed.fetch_max(now.0, Ordering::Relaxed);
    }

    /// Sorts nodes by their last use, longest ago first, also while they are used.
    pub(crate) fn sort_by_last_use(nodes: &mut [Arc<Self>]) {
        // Each time is read once: an order that changes while it is sorted by is none, and sorting
        // may panic.
        nodes.sort_by_cached_key(|node| node.accessed());
    }

    pub(crate) fn is_recorded(&self) -> bool {
        self.is_recorded.load(Ordering::Acquire)
    }

    pub(crate) fn genes(&self) -> MutexGuard<'_, CompactJson> {
        self.genes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the genes, and charges the node with them.
    pub(crate) fn set_genes(&self, kept: &mut CompactJson, genes: CompactJson) {
        let bytes = bytes_of(&self.processor_id, &self.node_id, &genes);
        self.charge.set(bytes);
        *kept = genes;
    }

    /// Adds the node's record to an entry, unless the journal has it.
    pub(crate) fn record_once(&self, entry: &mut Entry) {
        // Set before the entry is written: the entry of an operation that finds it set comes behind
        // this one in the queue.
        if !self.is_recorded.swap(true, Ordering::AcqRel) {
            self.record(entry, self.genes().to_map());
        }
    }

    /// Adds the node's record with these genes to an entry.
    pub(crate) fn record(&self, entry: &mut Entry, genes: Map<String, Value>) {
        self.is_recorded.store(true, Ordering::Release);
        let record = NodeRecord {
            node_id: self.node_id.clone(),
            created: self.created,
            genes,
        };
        entry.put(
            Table::Nodes,
            self.processor_id.as_bytes(),
            record.to_bytes(),
        );
    }

    /// Returns the node in memory, loaded if it is not there.
    pub(crate) fn load(
        self: &Arc<Self>,
        source: Source<'_>,
    ) -> Result<Arc<LoadedNode>, ServiceError> {
        // Held while loading: others that need the node wait instead of loading it a second time.
        let mut loaded = self.lock();
        if let Some(node) = &*loaded {
            let Some((failure, journal)) = failure_of(node, source) else {
                return Ok(Arc::clone(node));
            };
            // The lock on its store is free when nobody uses it any more.
            if Arc::strong_count(node) > 1 {
                return Err(failure.into_interrupted(&self.node_id));
            }
            // What was acknowledged is in the queue perhaps, and loading reads the tables.
            journal.append_and_wait(Entry::default())?;
            self.keep_damage_of(node);
            *loaded = None;
        }
        let registry = self.registry.upgrade();
        // Before it is loaded: one that is just coming counts among those in memory.
        if let Some(registry) = &registry {
            registry.enter(self);
        }
        // Without a registry nobody asks for the sum any more.
        let knowledge = registry
            .as_ref()
            .map(|registry| registry.knowledge.clone())
            .unwrap_or_default();
        match LoadedNode::load(
            &self.processor_id,
            &self.node_id,
            source,
            knowledge.charge(0),
        ) {
            Ok(node) => {
                if let Some(registry) = &registry {
                    // It left memory without a fold, which is not due before its time.
                    if let Some(unfolded) = registry.take_unfolded(self) {
                        node.gate().set_since(unfolded.since);
                    }
                }
                let node = Arc::new(node);
                *loaded = Some(Arc::clone(&node));
                *self.damage() = None;
                Ok(node)
            }
            Err(error) => {
                // Another error, such as that it is in use, mends nothing of what was found before.
                if let Some(damage) = error.damage() {
                    *self.damage() = Some(damage.into());
                }
                if let Some(disk) = source.disk.filter(|_| error.is_of_reading()) {
                    disk.losses.report(DataLoss::Unreadable {
                        node_id: self.node_id.clone(),
                        path: directory_of(disk.nodes_dir, &self.processor_id),
                        reason: error.with_causes(),
                    });
                }
                if let Some(registry) = &registry {
                    registry.leave(self);
                }
                Err(error.of_node(&self.node_id))
            }
        }
    }

    /// Returns the node, if it is in memory and not just coming or going: loading may take long,
    /// and looking must not.
    pub(crate) fn in_memory(&self) -> Option<Arc<LoadedNode>> {
        match self.loaded.try_lock() {
            Ok(loaded) => loaded.clone(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().clone(),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns whether it is in memory and nobody uses it.
    pub(crate) fn is_idle(&self) -> bool {
        // Two: the reference of the entry itself, and the one at hand.
        self.in_memory()
            .is_some_and(|node| Arc::strong_count(&node) == 2)
    }

    /// Takes the node out of memory, unless somebody uses it; returns whether it did. What its store
    /// lacks stays in the journal, and is folded when it is due; at once where there are too many
    /// such nodes.
    pub(crate) fn evict(self: &Arc<Self>, journal: &Journal) -> Result<bool, ServiceError> {
        let mut loaded = self.lock();
        match &*loaded {
            // References are cloned only under the lock that is held here: no user can come
            // meanwhile.
            Some(node) if Arc::strong_count(node) == 1 => {
                let registry = self.registry.upgrade();
                // Of one that must be loaded again nothing is folded before.
                if let Some(unfolded) = node.unfolded() {
                    // Who loads it next reads the tables, and what is in the queue is not there yet.
                    // Waited for first: what is kept below is of a node that does leave.
                    journal.append_and_wait(Entry::default())?;
                    let is_kept = registry
                        .as_ref()
                        .is_some_and(|registry| registry.keep_unfolded(self, unfolded));
                    if !is_kept {
                        node.fold(&self.processor_id, journal)?;
                    }
                }
                self.keep_damage_of(node);
                *loaded = None;
                // With the lock still in hand, so that it cannot come again in between.
                if let Some(registry) = registry {
                    registry.leave(self);
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Returns whether it is in memory, or just coming or going.
    pub(crate) fn is_in_memory(&self) -> bool {
        !matches!(self.presence(), Presence::Absent)
    }

    /// Returns whether it is in memory, and whether it must be loaded again.
    pub(crate) fn presence(&self) -> Presence {
        let loaded = match self.loaded.try_lock() {
            Ok(loaded) => loaded,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Presence::InMemory,
        };
        match &*loaded {
            Some(node) if node.failure().is_some() => Presence::Failed,
            Some(_) => Presence::InMemory,
            None => Presence::Absent,
        }
    }

    /// Returns the state of its knowledge base, without looking at the disk.
    pub(crate) fn storage(&self) -> NodeStorage {
        if let Some(reason) = &*self.damage() {
            let reason = reason.to_string();
            return NodeStorage::Damaged { reason };
        }
        match self.in_memory() {
            Some(node) => node.storage(),
            None => NodeStorage::Unread,
        }
    }

    /// Keeps what was found damaged of a node that leaves memory.
    fn keep_damage_of(&self, node: &LoadedNode) {
        if let Some(damage) = node.damage() {
            *self.damage() = Some(damage.into());
        }
    }

    fn damage(&self) -> MutexGuard<'_, Option<Box<str>>> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<LoadedNode>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns why a node must be loaded again, and the journal that it is loaded from. While nothing can
/// be written reads go on with what there is.
fn failure_of<'a>(node: &LoadedNode, source: Source<'a>) -> Option<(StorageFailure, &'a Journal)> {
    let journal = source.disk?.journal;
    let failure = node.failure()?;
    journal.check().is_ok().then(|| (failure.clone(), journal))
}

/// Returns the bytes that a node takes that is not in memory.
fn bytes_of(processor_id: &str, node_id: &str, genes: &CompactJson) -> usize {
    // Twice the processor id, which is the key of the node as well.
    OVERHEAD + 2 * processor_id.len() + node_id.len() + genes.len()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn nodes_are_sorted_while_they_are_used() {
        let registry = Arc::default();
        let new = |idx: u64| {
            NodeEntry::new(
                format!("node{idx}"),
                String::new(),
                Micros(idx % 7),
                &registry,
            )
        };
        let nodes: Vec<_> = (0..500).map(|idx| Arc::new(new(idx))).collect();
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut now = 0;
                while !is_done.load(Ordering::Relaxed) {
                    for node in nodes.iter().step_by(3) {
                        now += 1;
                        node.touch(Micros(now));
                    }
                }
            });
            let sorting = scope.spawn(|| {
                for _ in 0..500 {
                    NodeEntry::sort_by_last_use(&mut nodes.clone());
                }
            });
            let outcome = sorting.join();
            is_done.store(true, Ordering::Relaxed);
            assert!(outcome.is_ok());
        });
        let mut sorted = nodes;
        NodeEntry::sort_by_last_use(&mut sorted);
        assert!(sorted.is_sorted_by_key(|node| node.accessed()));
    }
}

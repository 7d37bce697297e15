//! The engine: nodes over a store, and the commits that make what they learned durable.

mod adopt;
mod bury;
mod commit;
mod damage;
mod together;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kato_model::AttributeLimits;
use kato_prediction::frozen::FrozenIndex;
use kato_store::PatternStore;
use kato_store::visit::ContentDigest;
use serde_json::Value;

pub use self::commit::PendingCommit;
use crate::load::{LoadLimit, Loaded, load, load_over};
use crate::node::{NodeCell, NodeMemory};
use crate::{EngineError, EngineOptions, Node};

/// A set of nodes that learn and predict, over a store or in memory.
///
/// # Memory and time
///
/// Everything that predictions need is in memory, but for what lies in
/// [indexes on the disk](Self::open_indexed): see [`PatternIndex`](kato_prediction::PatternIndex) for
/// the patterns. Until the next commit a learned pattern takes some 50 to 100 bytes more, and over an
/// index its text as well. Without indexes opening reads the whole store once.
///
/// # One engine a store
///
/// An engine sees what it opened and what it learned itself. What others write to the store it sees
/// when it is opened again.
///
/// ```
/// use std::sync::Arc;
///
/// use kato_engine::{Engine, Observation, Sequence, SessionConfig};
/// use kato_store::EmbeddedStore;
/// use serde_json::json;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("kb");
/// let engine = Engine::open(Arc::new(EmbeddedStore::create(&path, &["node0"], json!({}))?))?;
/// let mut session = engine.node("node0")?.session(SessionConfig::default());
/// session.observe_sequence(Sequence::new(["a", "b", "c"].map(|word| Observation::strings([word]))).learn_at_end())?;
/// engine.commit()?;
/// drop((session, engine));
///
/// let engine = Engine::open(Arc::new(EmbeddedStore::open(&path)?))?;
/// assert_eq!(engine.node("node0")?.totals().patterns, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// The state that all handles of an engine share.
pub(crate) struct Shared {
    options: EngineOptions,
    limits: AttributeLimits,
    store: Option<Arc<dyn PatternStore>>,
    nodes: Vec<NodeCell>,
    /// First part of the positions of emotives: later than all that the store holds.
    epoch: u64,
    /// Second part: counts the maps learned by this engine.
    clock: AtomicU64,
    /// Learns that no commit has made durable.
    uncommitted: AtomicU64,
    /// Held for reading by whoever teaches several nodes in one step, and for writing by a commit or a
    /// clear while it takes what they learned.
    steps: RwLock<()>,
    /// Whether a commit or a clear is under way.
    committing: Mutex<bool>,
    /// Notified when it ends.
    committed: Condvar,
}

impl Engine {
    /// Opens all nodes of a store, with the default [options](EngineOptions): as the newest KATO behaves.
    ///
    /// # Errors
    ///
    /// [`EngineError::Store`] when the store cannot be read, [`EngineError::Load`] when it holds
    /// more than fits, [`EngineError::LoadMemoryFull`] when that takes more memory than
    /// [the options](EngineOptions::max_load_bytes) allow.
    pub fn open(store: Arc<dyn PatternStore>) -> Result<Self, EngineError> {
        Self::open_with(store, EngineOptions::default())
    }

    /// Opens all nodes of a store.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(
        store: Arc<dyn PatternStore>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        Self::open_indexed(store, [], &[], options)
    }

    /// Opens all nodes of a store over the indexes of some of them, from the bottom up: `None`, or
    /// none at all, for nodes that are loaded.
    ///
    /// `kato_prediction::disk::open` returns the indexes of a store, and the digests of the sources
    /// ([`PatternStore::visit_beyond`]) that they cover. Little of those is read before it is asked for,
    /// so opening takes milliseconds; what the store holds beside them is loaded, and lies above the
    /// index in memory, as does what the engine learns. Answers are those of a node that was loaded.
    /// Where damage is found in an index, or the store lacks a source, the node is loaded after all. The
    /// caller vouches that they are the indexes of these sources.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_indexed(
        store: Arc<dyn PatternStore>,
        indexes: impl IntoIterator<Item = Option<Arc<FrozenIndex>>>,
        covered: &[ContentDigest],
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let limits = store.attribute_limits();
        let mut nodes = Vec::new();
        let mut epoch = 0;
        let mut indexes = indexes.into_iter();
        // One limit for all nodes together.
        let mut limit = LoadLimit::new(options.max_load_bytes);
        for (node_idx, name) in store.nodes().iter().enumerate() {
            let n_threads = options.prediction_threads;
            let over = match indexes.next().flatten() {
                Some(frozen) => {
                    load_over(&*store, node_idx, frozen, covered, n_threads, &mut limit)?
                }
                None => None,
            };
            let Loaded {
                memory,
                latest_epoch,
            } = match over {
                Some(loaded) => loaded,
                None => load(&*store, node_idx, &mut limit)?,
            };
            nodes.push(NodeCell::new(name.clone(), memory));
            // One epoch for all nodes: emotives learned from here on are later
            // than all stored ones.
            epoch = epoch.max(latest_epoch.map_or(0, |latest| latest.saturating_add(1)));
        }
        Ok(Self::from_nodes(Some(store), nodes, epoch, limits, options))
    }

    /// Creates empty nodes in memory, from the bottom of the hierarchy up, with the default
    /// [options](EngineOptions): as the newest KATO behaves.
    ///
    /// Nothing is durable.
    #[must_use]
    pub fn in_memory(nodes: &[impl AsRef<str>]) -> Self {
        Self::in_memory_with(nodes, EngineOptions::default())
    }

    /// Creates empty nodes in memory, from the bottom of the hierarchy up. Nothing is durable.
    #[must_use]
    pub fn in_memory_with(nodes: &[impl AsRef<str>], options: EngineOptions) -> Self {
        let cell = |name: &str| NodeCell::new(name.to_owned(), NodeMemory::default());
        let cells = nodes.iter().map(|name| cell(name.as_ref())).collect();
        Self::from_nodes(None, cells, 0, options.attribute_limits, options)
    }

    /// Creates an engine of these nodes.
    fn from_nodes(
        store: Option<Arc<dyn PatternStore>>,
        nodes: Vec<NodeCell>,
        epoch: u64,
        limits: AttributeLimits,
        options: EngineOptions,
    ) -> Self {
        let shared = Shared {
            options,
            limits,
            store,
            nodes,
            epoch,
            clock: AtomicU64::new(0),
            uncommitted: AtomicU64::new(0),
            steps: RwLock::new(()),
            committing: Mutex::new(false),
            committed: Condvar::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Returns a node by its name.
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownNode`], which lists the nodes that exist.
    pub fn node(&self, name: &str) -> Result<Node, EngineError> {
        let found = self.nodes().find(|node| node.name() == name);
        found.ok_or_else(|| EngineError::UnknownNode {
            node: name.to_owned(),
            known: self.nodes().map(|node| node.name().to_owned()).collect(),
        })
    }

    /// Returns all nodes, from the bottom of the hierarchy up.
    #[must_use]
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node> {
        (0..self.shared.nodes.len()).map(|node_idx| Node::new(Arc::clone(&self.shared), node_idx))
    }

    /// Returns the options that the engine was created with.
    #[must_use]
    pub fn options(&self) -> &EngineOptions {
        &self.shared.options
    }

    /// Returns the store; `None` in memory.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<dyn PatternStore>> {
        self.shared.store.as_ref()
    }

    /// Commits everything that was learned before the call, and keeps the store's checkpoint.
    ///
    /// Learning goes on meanwhile. Does nothing in memory, or when there is nothing to commit.
    ///
    /// # Errors
    ///
    /// [`EngineError::Store`], and over an index that is damaged [`EngineError::Unreadable`] and
    /// [`EngineError::LostPattern`]; what was learned stays in memory, and the next commit tries again.
    pub fn commit(&self) -> Result<(), EngineError> {
        self.shared.commit(None)
    }

    /// Commits as [`commit`](Self::commit), with a checkpoint of the caller's, which becomes
    /// durable together with what was learned, also if that is nothing.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    pub fn commit_with(&self, checkpoint: Value) -> Result<(), EngineError> {
        self.shared.commit(Some(checkpoint))
    }

    /// Begins a commit of what was learned so far, to be written by [`PendingCommit::finish`].
    ///
    /// Waits for a commit that is under way, and is quick itself: a caller that keeps a journal
    /// holds its learns off meanwhile, and so knows exactly which of them the commit contains.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use kato_engine::Engine;
    /// use kato_engine::node::Lesson;
    /// use kato_model::Event;
    /// use kato_store::{MemoryStore, PatternStore};
    /// use serde_json::{Value, json};
    ///
    /// let store = Arc::new(MemoryStore::new(&["node0"], Value::Null));
    /// let engine = Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>)?;
    /// let node = engine.node("node0")?;
    /// node.teach(&Lesson::new([Event::new(["a", "b"])]))?;
    /// let pending = engine.begin_commit();
    /// node.teach(&Lesson::new([Event::new(["c", "d"])]))?;
    /// pending.finish(json!({"learns": 1}))?;
    /// assert_eq!(store.count_patterns(0)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_commit(&self) -> PendingCommit {
        PendingCommit::begin(&self.shared)
    }

    /// Forgets everything that all nodes learned, as one commit with this checkpoint
    /// where there is a store.
    ///
    /// Learns that run meanwhile come before it or after it.
    ///
    /// # Errors
    ///
    /// [`EngineError::Store`]; then nothing is forgotten, unless the store finds the commit when it is opened
    /// again: see [`PatternStore::commit`](kato_store::PatternStore::commit).
    pub fn clear(&self, checkpoint: Value) -> Result<(), EngineError> {
        self.shared.clear(Some(checkpoint))
    }
}

impl Shared {
    pub(crate) const fn options(&self) -> &EngineOptions {
        &self.options
    }

    pub(crate) const fn attribute_limits(&self) -> &AttributeLimits {
        &self.limits
    }

    pub(crate) fn store(&self) -> Option<&dyn PatternStore> {
        self.store.as_deref()
    }

    pub(crate) fn cell(&self, node_idx: usize) -> &NodeCell {
        &self.nodes[node_idx]
    }

    /// Begins a step over several nodes, which no commit divides.
    ///
    /// Whoever holds it must not wait for a [`CommitTurn`](self::commit::CommitTurn), whose holder waits for
    /// the end of all steps.
    fn begin_step(&self) -> RwLockReadGuard<'_, ()> {
        self.steps.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no step is half done, and lets none begin.
    fn between_steps(&self) -> RwLockWriteGuard<'_, ()> {
        self.steps.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses to learn what the store could not keep.
    pub(crate) fn check_writable(&self) -> Result<(), EngineError> {
        let Some(store) = self.store() else {
            return Ok(());
        };
        let refused = EngineError::store("learn into a knowledge base");
        store.check_writable().map_err(refused)
    }

    /// Returns a position later than all returned before.
    ///
    /// To be called under the lock of the node that learns, so that a pattern's maps have the
    /// order of its learns.
    pub(crate) fn next_position(&self) -> (u64, u64) {
        // Relaxed suffices: positions of one pattern are ordered by the lock of its node.
        (self.epoch, self.clock.fetch_add(1, Ordering::Relaxed))
    }

    /// Adds a learn to those that a commit has to make durable.
    ///
    /// To be called under the lock of the node, so that no commit subtracts a learn
    /// before it was added.
    pub(crate) fn count_learn(&self) {
        self.uncommitted.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.nodes.iter().map(|cell| cell.name.as_str()).collect();
        f.debug_struct("Engine")
            .field("nodes", &names)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

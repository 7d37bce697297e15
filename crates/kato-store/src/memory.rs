//! The store in memory: small, plain, and the reference that the others are compared with.

mod snapshot;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use kato_model::batch::SealedSymbol;
use kato_model::emotives::add_emotives;
use kato_model::vector::smaller_vector;
use kato_model::{AttributeLimits, PatternName, SealedBatch, Symbol, VectorName};
use serde_json::Value;

use self::snapshot::Snapshot;
use crate::contract::{
    Scan, StagedBatch, SymbolCounts, Totals, check_emotives, check_node, check_node_count,
};
use crate::{PatternStore, PatternVisitor, StoreError, StoredPattern, Tombstones};

/// A run's knowledge bases in memory. Nothing is durable; memory grows with the patterns.
///
/// ```
/// use kato_model::batch::BatchSymbol;
/// use kato_model::{LearnBatch, PatternName};
/// use kato_store::{MemoryStore, PatternStore};
/// use serde_json::json;
///
/// let store = MemoryStore::new(&["node0"], json!(null));
/// let mut batch = LearnBatch::new(1);
/// let name = PatternName::of_events(&[["a"], ["b"]]);
/// let symbols = ["a", "b"].map(|text| BatchSymbol::Literal(batch.literal(text)));
/// batch.learn(0, name, symbols);
/// let staged = store.stage(batch.seal())?;
/// store.commit(vec![staged], json!({"samples": 1}))?;
/// assert_eq!(store.pattern(0, &name)?.map(|pattern| pattern.frequency), Some(1));
/// # Ok::<(), kato_store::StoreError>(())
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    nodes: Vec<String>,
    configuration: Value,
    limits: AttributeLimits,
    state: RwLock<State>,
    /// A token that distinguishes the store's own batches from those of others.
    identity: Arc<()>,
}

struct StagedInMemory {
    batch: SealedBatch,
    owner: Arc<()>,
}

#[derive(Debug)]
struct State {
    checkpoint: Value,
    nodes: Vec<NodeState>,
    documents: BTreeMap<u64, String>,
}

#[derive(Debug, Default)]
struct NodeState {
    patterns: BTreeMap<PatternName, StoredPattern>,
    vectors: BTreeMap<VectorName, Vec<f64>>,
    tombstones: Tombstones,
}

impl State {
    /// Creates the state of a store that has learned nothing.
    fn empty(n_nodes: usize, checkpoint: Value) -> Self {
        Self {
            checkpoint,
            nodes: std::iter::repeat_with(NodeState::default)
                .take(n_nodes)
                .collect(),
            documents: BTreeMap::new(),
        }
    }

    /// Forgets patterns, given by a list of names for each node, and keeps the checkpoint.
    fn forget(&mut self, names_to_forget: &[Vec<PatternName>], checkpoint: Value) {
        for (node, names) in self.nodes.iter_mut().zip(names_to_forget) {
            for name in names {
                node.patterns.remove(name);
            }
        }
        self.checkpoint = checkpoint;
    }
}

impl MemoryStore {
    /// Creates a store with an empty knowledge base for each node.
    #[must_use]
    pub fn new(nodes: &[impl AsRef<str>], configuration: Value) -> Self {
        Self::with_limits(nodes, configuration, AttributeLimits::default())
    }

    /// Creates a store as [`new`](Self::new) does, with other limits for attributes.
    #[must_use]
    pub fn with_limits(
        nodes: &[impl AsRef<str>],
        configuration: Value,
        limits: AttributeLimits,
    ) -> Self {
        let state = State::empty(nodes.len(), Value::Null);
        let nodes = nodes.iter().map(|node| node.as_ref().to_owned()).collect();
        Self {
            nodes,
            configuration,
            limits,
            state: RwLock::new(state),
            identity: Arc::default(),
        }
    }

    /// Locks the state for reading.
    fn state(&self) -> RwLockReadGuard<'_, State> {
        // A commit can only panic on a broken invariant of its own; what is there stays readable.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies out what a scan returns item by item, so that no lock is held between items.
    fn collect<T: Send + 'static>(
        &self,
        node_idx: usize,
        item: impl FnMut(&StoredPattern) -> T,
    ) -> Result<Scan<'_, T>, StoreError> {
        check_node(&self.nodes, node_idx)?;
        let items: Vec<T> = self.state().nodes[node_idx]
            .patterns
            .values()
            .map(item)
            .collect();
        Ok(Box::new(items.into_iter().map(Ok)))
    }
}

impl PatternStore for MemoryStore {
    fn nodes(&self) -> &[String] {
        &self.nodes
    }

    fn configuration(&self) -> &Value {
        &self.configuration
    }

    fn attribute_limits(&self) -> AttributeLimits {
        self.limits
    }

    fn checkpoint(&self) -> Value {
        self.state().checkpoint.clone()
    }

    fn stage(&self, batch: SealedBatch) -> Result<StagedBatch, StoreError> {
        check_node_count(&self.nodes, batch.n_nodes())?;
        // Checked already here, because a refusal in the middle of a commit would leave it half
        // done.
        for node in (0..batch.n_nodes()).map(|node_idx| batch.node(node_idx)) {
            for pattern in (0..node.len()).map(|rank| node.pattern(rank)) {
                check_emotives(pattern.name, pattern.attributes)?;
            }
        }
        Ok(StagedBatch::new(StagedInMemory {
            batch,
            owner: Arc::clone(&self.identity),
        }))
    }

    fn commit(&self, staged: Vec<StagedBatch>, checkpoint: Value) -> Result<(), StoreError> {
        let batches = staged
            .into_iter()
            .map(StagedBatch::into_prepared::<StagedInMemory>)
            .collect::<Result<Vec<_>, _>>()?;
        if batches
            .iter()
            .any(|staged| !Arc::ptr_eq(&staged.owner, &self.identity))
        {
            return Err(StoreError::ForeignBatch);
        }
        // All batches are known to be the store's own by now, and merging cannot fail: the commit
        // is all or nothing. Readers wait for all of it behind the lock.
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        for StagedInMemory { batch, .. } in &batches {
            for node_idx in 0..batch.n_nodes() {
                merge_node(&mut state.nodes[node_idx], batch, node_idx, &self.limits);
            }
            for (document_idx, id) in batch.documents() {
                // Of several ids of a sample the smallest stays, whatever the order of commits.
                let held = state
                    .documents
                    .entry(*document_idx)
                    .or_insert_with(|| id.clone());
                if id < held {
                    held.clone_from(id);
                }
            }
        }
        state.checkpoint = checkpoint;
        Ok(())
    }

    fn clear(&self, checkpoint: Value) -> Result<(), StoreError> {
        let empty = State::empty(self.nodes.len(), checkpoint);
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = empty;
        Ok(())
    }

    fn forget(
        &self,
        names_to_forget: &[Vec<PatternName>],
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        check_node_count(&self.nodes, names_to_forget.len())?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.forget(names_to_forget, checkpoint);
        Ok(())
    }

    fn tombstones(&self, node_idx: usize) -> Result<Tombstones, StoreError> {
        check_node(&self.nodes, node_idx)?;
        Ok(self.state().nodes[node_idx].tombstones.clone())
    }

    fn keeps_tombstones(&self) -> bool {
        true
    }

    fn bury(
        &self,
        tombstones: Vec<Tombstones>,
        names_to_forget: &[Vec<PatternName>],
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        check_node_count(&self.nodes, tombstones.len())?;
        check_node_count(&self.nodes, names_to_forget.len())?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.forget(names_to_forget, checkpoint);
        for (node, tombstones) in state.nodes.iter_mut().zip(tombstones) {
            node.tombstones = tombstones;
        }
        Ok(())
    }

    fn totals(&self, node_idx: usize) -> Result<Totals, StoreError> {
        check_node(&self.nodes, node_idx)?;
        let mut totals = Totals::default();
        for pattern in self.state().nodes[node_idx].patterns.values() {
            totals.merge(Totals {
                learns: pattern.frequency,
                learned_symbols: pattern
                    .frequency
                    .saturating_mul(pattern.symbols.len() as u64),
                member_symbols: pattern
                    .frequency
                    .saturating_mul(symbol_occurrences(pattern).len() as u64),
            });
        }
        Ok(totals)
    }

    fn count_patterns(&self, node_idx: usize) -> Result<u64, StoreError> {
        check_node(&self.nodes, node_idx)?;
        Ok(self.state().nodes[node_idx].patterns.len() as u64)
    }

    fn pattern(
        &self,
        node_idx: usize,
        name: &PatternName,
    ) -> Result<Option<StoredPattern>, StoreError> {
        check_node(&self.nodes, node_idx)?;
        Ok(self.state().nodes[node_idx].patterns.get(name).cloned())
    }

    fn scan(&self, node_idx: usize) -> Result<Scan<'_, StoredPattern>, StoreError> {
        self.collect(node_idx, StoredPattern::clone)
    }

    fn scan_frequencies(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (PatternName, u64)>, StoreError> {
        self.collect(node_idx, |pattern| (pattern.name, pattern.frequency))
    }

    fn visit(&self, node_idx: usize, visitor: &mut dyn PatternVisitor) -> Result<(), StoreError> {
        check_node(&self.nodes, node_idx)?;
        // Copied first: a visitor may use the store.
        let snapshot = Snapshot::from_patterns(self.state().nodes[node_idx].patterns.values())?;
        snapshot.visit(visitor);
        Ok(())
    }

    fn vectors(&self, node_idx: usize) -> Result<Scan<'_, (VectorName, Vec<f64>)>, StoreError> {
        check_node(&self.nodes, node_idx)?;
        let vectors = self.state().nodes[node_idx].vectors.clone();
        Ok(Box::new(vectors.into_iter().map(Ok)))
    }

    fn symbol_counts(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (Symbol, SymbolCounts)>, StoreError> {
        check_node(&self.nodes, node_idx)?;
        let mut counted: BTreeMap<Symbol, SymbolCounts> = BTreeMap::new();
        for pattern in self.state().nodes[node_idx].patterns.values() {
            for (symbol, occurrences) in symbol_occurrences(pattern) {
                let counts = SymbolCounts::for_pattern(pattern.frequency, occurrences);
                counted.entry(symbol.clone()).or_default().merge(counts);
            }
        }
        Ok(Box::new(counted.into_iter().map(Ok)))
    }

    fn document(&self, document_idx: u64) -> Result<Option<String>, StoreError> {
        Ok(self.state().documents.get(&document_idx).cloned())
    }

    fn disk_bytes(&self) -> Option<u64> {
        None
    }
}

/// Returns a pattern's distinct symbols with their occurrences.
fn symbol_occurrences(pattern: &StoredPattern) -> BTreeMap<&Symbol, u64> {
    let mut counts = BTreeMap::new();
    for symbol in &pattern.symbols {
        *counts.entry(symbol).or_default() += 1;
    }
    counts
}

/// Merges what a batch taught one node.
fn merge_node(
    state: &mut NodeState,
    batch: &SealedBatch,
    node_idx: usize,
    limits: &AttributeLimits,
) {
    let node = batch.node(node_idx);
    let literals: Vec<&str> = node.dictionary().collect();
    for rank in 0..node.len() {
        let learned = node.pattern(rank);
        let pattern = state.patterns.entry(learned.name).or_insert_with(|| {
            let symbols = node.pattern(rank).symbols().map(|symbol| match symbol {
                // A text may be the name of a pattern that the batch did not learn below;
                // `Symbol::from` makes it the same symbol as a child.
                SealedSymbol::Literal(rank) => Symbol::from(literals[rank as usize]),
                // A batch accepts children above node 0 only, so there is a node below.
                SealedSymbol::Child(rank) => {
                    Symbol::Name(batch.node(node_idx - 1).pattern(rank as usize).name)
                }
            });
            StoredPattern::new(learned.name, symbols.collect(), 0)
        });
        // Includes the extra frequency of the attributes, which are merged without it below.
        pattern.frequency = pattern.frequency.saturating_add(learned.frequency);
        pattern.first_seen = match (pattern.first_seen, learned.first_seen) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if let Some(attributes) = learned.attributes {
            if pattern.event_lengths.is_none() {
                pattern.event_lengths.clone_from(&attributes.event_lengths);
            }
            pattern
                .metadata
                .merge(attributes.metadata.clone(), limits.metadata_values);
            pattern
                .emotives
                .merge(attributes.emotives.clone(), limits.persistence);
            add_emotives(&mut pattern.affinity, &attributes.affinity);
        }
    }
    for (name, vector) in node.vectors() {
        let held = state.vectors.entry(name).or_insert_with(|| vector.to_vec());
        if smaller_vector(vector, held) {
            *held = vector.to_vec();
        }
    }
}

//! The store of a node, which is created when something is first written to it: most nodes of a
//! server never learn.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use kato_model::{AttributeLimits, PatternName, SealedBatch, Symbol, VectorName};
use kato_store::contract::{Scan, StagedBatch, SymbolCounts, Totals};
use kato_store::embedded::{DamagePolicy, EmbeddedOptions};
use kato_store::visit::ContentDigest;
use kato_store::{
    EmbeddedStore, MemoryStore, PatternStore, PatternVisitor, StoreError, StoredPattern, Tombstones,
};
use serde_json::{Value, json};

/// Returns the directory of a node's knowledge base. Control characters, which no processor id of a
/// sane node id has, are escaped.
pub(crate) fn directory_of(nodes_dir: &Path, processor_id: &str) -> PathBuf {
    let mut name = String::with_capacity(processor_id.len());
    for char in processor_id.chars() {
        match char {
            // Escaped as well, so that no two ids share a directory.
            '%' => name.push_str("%25"),
            char if char.is_ascii_control() => name.push_str(&format!("%{:02x}", char as u32)),
            char => name.push(char),
        }
    }
    nodes_dir.join(name)
}

/// Segments of a node above which a fold merges the smaller ones.
const MAX_SEGMENTS: usize = 8;

/// An embedded store of one node, or an empty one until something is staged or committed.
#[derive(Debug)]
pub(super) struct LazyStore {
    dir: PathBuf,
    options: EmbeddedOptions,
    /// The store that is read until the embedded one is created.
    empty: MemoryStore,
    embedded: OnceLock<EmbeddedStore>,
    creating: Mutex<()>,
}

impl LazyStore {
    /// Opens the store if it exists.
    pub(super) fn open(
        dir: &Path,
        node_id: &str,
        attribute_limits: AttributeLimits,
    ) -> Result<Self, StoreError> {
        let mut options = EmbeddedOptions::default();
        options.attribute_limits = attribute_limits;
        // Every fold adds one. Few, so that what is held of them in memory stays little.
        options.max_segments = MAX_SEGMENTS;
        // The journal forgets what the newest commit holds: going back to an older one would lose
        // lessons, and nobody would know.
        options.damage_policy = DamagePolicy::Refuse;
        let embedded = OnceLock::new();
        if EmbeddedStore::exists(dir) {
            let store = EmbeddedStore::open_with(dir, options).map_err(|error| told(dir, error))?;
            embedded.get_or_init(|| store);
        }
        let configuration = json!({"node_id": node_id});
        Ok(Self {
            dir: dir.to_owned(),
            options,
            empty: MemoryStore::with_limits(&[node_id], configuration, attribute_limits),
            embedded,
            creating: Mutex::default(),
        })
    }

    /// Returns the embedded store; `None` until it is created.
    pub(super) fn embedded(&self) -> Option<&EmbeddedStore> {
        self.embedded.get()
    }

    /// Returns the directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the store to read from.
    fn current(&self) -> &dyn PatternStore {
        match self.embedded.get() {
            Some(store) => store,
            None => &self.empty,
        }
    }

    /// Returns the embedded store, which is created if there is none.
    fn create(&self) -> Result<&EmbeddedStore, StoreError> {
        // Creating can fail, which the cell does not allow for: the lock keeps two threads from
        // creating it.
        let _creating = self.creating.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = self.embedded.get() {
            return Ok(store);
        }
        let configuration = self.empty.configuration().clone();
        let nodes = self.empty.nodes();
        let store = EmbeddedStore::create_with(&self.dir, nodes, configuration, self.options)?;
        Ok(self.embedded.get_or_init(|| store))
    }
}

/// Returns the error of a damaged knowledge base as the operator of a server needs it: a node does not
/// go back.
fn told(dir: &Path, error: StoreError) -> StoreError {
    match (error, EmbeddedStore::damage(dir)) {
        (StoreError::Corrupt { place, rescue, .. }, Ok(Some(damage))) => StoreError::Corrupt {
            place,
            reason: damage.to_string(),
            rescue,
        },
        (error, _) => error,
    }
}

impl PatternStore for LazyStore {
    fn nodes(&self) -> &[String] {
        self.current().nodes()
    }

    fn configuration(&self) -> &Value {
        self.current().configuration()
    }

    fn attribute_limits(&self) -> AttributeLimits {
        self.current().attribute_limits()
    }

    fn checkpoint(&self) -> Value {
        self.current().checkpoint()
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        self.current().check_writable()
    }

    fn stage(&self, batch: SealedBatch) -> Result<StagedBatch, StoreError> {
        self.create()?.stage(batch)
    }

    fn commit(&self, staged: Vec<StagedBatch>, checkpoint: Value) -> Result<(), StoreError> {
        self.create()?.commit(staged, checkpoint)
    }

    fn clear(&self, checkpoint: Value) -> Result<(), StoreError> {
        // Also where nothing was created yet: its checkpoint says which lessons need not be there.
        self.create()?.clear(checkpoint)
    }

    fn forget(&self, doomed: &[Vec<PatternName>], checkpoint: Value) -> Result<(), StoreError> {
        self.create()?.forget(doomed, checkpoint)
    }

    fn tombstones(&self, node_idx: usize) -> Result<Tombstones, StoreError> {
        self.current().tombstones(node_idx)
    }

    fn keeps_tombstones(&self) -> bool {
        self.current().keeps_tombstones()
    }

    fn bury(
        &self,
        tombstones: Vec<Tombstones>,
        doomed: &[Vec<PatternName>],
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        self.create()?.bury(tombstones, doomed, checkpoint)
    }

    fn totals(&self, node_idx: usize) -> Result<Totals, StoreError> {
        self.current().totals(node_idx)
    }

    fn count_patterns(&self, node_idx: usize) -> Result<u64, StoreError> {
        self.current().count_patterns(node_idx)
    }

    fn pattern(
        &self,
        node_idx: usize,
        name: &PatternName,
    ) -> Result<Option<StoredPattern>, StoreError> {
        self.current().pattern(node_idx, name)
    }

    fn scan(&self, node_idx: usize) -> Result<Scan<'_, StoredPattern>, StoreError> {
        self.current().scan(node_idx)
    }

    fn scan_frequencies(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (PatternName, u64)>, StoreError> {
        self.current().scan_frequencies(node_idx)
    }

    fn visit(&self, node_idx: usize, visitor: &mut dyn PatternVisitor) -> Result<(), StoreError> {
        self.current().visit(node_idx, visitor)
    }

    fn visit_beyond(
        &self,
        node_idx: usize,
        known: &[ContentDigest],
        visitor: &mut dyn PatternVisitor,
    ) -> Result<bool, StoreError> {
        self.current().visit_beyond(node_idx, known, visitor)
    }

    fn vectors(&self, node_idx: usize) -> Result<Scan<'_, (VectorName, Vec<f64>)>, StoreError> {
        self.current().vectors(node_idx)
    }

    fn symbol_counts(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (Symbol, SymbolCounts)>, StoreError> {
        self.current().symbol_counts(node_idx)
    }

    fn document(&self, document_idx: u64) -> Result<Option<String>, StoreError> {
        self.current().document(document_idx)
    }

    fn disk_bytes(&self) -> Option<u64> {
        let embedded = self.embedded.get();
        Some(embedded.and_then(PatternStore::disk_bytes).unwrap_or(0))
    }
}

//! Looking at nodes by node id. A node that nobody taught anything answers as an empty knowledge
//! base, and nothing is created for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kato_engine::{EngineError, Node};
use kato_model::{EmotiveMap, PatternName, PatternRecord};
use kato_prediction::IndexedSymbolCounts;
use serde_json::{Map, Value};

use super::Service;
use crate::answer::NodeView;
use crate::compact_json::{CompactJson, check_size};
use crate::journal::Entry;
use crate::node::{LoadedNode, NodeEntry};
use crate::{Receipt, ServiceError, genes};

impl Service {
    /// Returns the name of a node's knowledge base.
    #[must_use]
    pub fn processor_id(&self, node_id: &str) -> String {
        self.shared.nodes.processor_id(node_id)
    }

    /// Returns a pattern by its name, with or without `PTRN|`; `None` if there is none, or the name
    /// is not a name.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Node`] or [`ServiceError::Engine`] when what the node has learned cannot be
    /// read, [`ServiceError::Lost`] when some of it is gone. So for all looks at a node.
    pub fn pattern(
        &self,
        node_id: &str,
        name: &str,
    ) -> Result<Option<PatternRecord>, ServiceError> {
        let Ok(name) = name.parse::<PatternName>() else {
            return Ok(None);
        };
        let found = self.look(node_id, |node| node.pattern(&name))?;
        Ok(found.flatten())
    }

    /// Returns the bytes of memory that the events of a [`pattern`](Self::pattern) take, about; 0 if
    /// there is none.
    ///
    /// # Errors
    ///
    /// As [`pattern`](Self::pattern).
    pub fn bytes_of_pattern(&self, node_id: &str, name: &str) -> Result<usize, ServiceError> {
        let Ok(name) = name.parse::<PatternName>() else {
            return Ok(0);
        };
        let found = self.look(node_id, |node| node.bytes_of_events(&name))?;
        Ok(found.unwrap_or(0))
    }

    /// Returns the number of distinct symbols of a node.
    ///
    /// # Errors
    ///
    /// As [`pattern`](Self::pattern).
    pub fn n_symbols(&self, node_id: &str) -> Result<u64, ServiceError> {
        let node = self.node(node_id)?;
        Ok(node.map_or(0, |node| node.node().totals().distinct_symbols))
    }

    /// Returns the counts of all symbols.
    ///
    /// # Errors
    ///
    /// As [`pattern`](Self::pattern).
    pub fn symbols(
        &self,
        node_id: &str,
    ) -> Result<BTreeMap<String, IndexedSymbolCounts>, ServiceError> {
        let found = self.look(node_id, Node::symbols)?;
        Ok(found.unwrap_or_default())
    }

    /// Returns the affinities of all symbols that have any.
    ///
    /// # Errors
    ///
    /// As [`pattern`](Self::pattern).
    pub fn affinities(&self, node_id: &str) -> Result<BTreeMap<String, EmotiveMap>, ServiceError> {
        let found = self.look(node_id, Node::affinities)?;
        Ok(found.unwrap_or_default())
    }

    /// Returns the affinity of one symbol; empty if it has none.
    ///
    /// # Errors
    ///
    /// As [`pattern`](Self::pattern).
    pub fn affinity(&self, node_id: &str, symbol: &str) -> Result<EmotiveMap, ServiceError> {
        let found = self.look(node_id, |node| node.affinity(symbol))?;
        Ok(found.unwrap_or_default())
    }

    /// Returns all genes of a node: what was set, over the defaults.
    #[must_use]
    pub fn genes(&self, node_id: &str) -> Map<String, Value> {
        let shared = &self.shared;
        let entry = shared.nodes.find(node_id, shared.now());
        let set = entry
            .map(|entry| entry.genes().to_map())
            .unwrap_or_default();
        let processor_id = self.processor_id(node_id);
        genes::readable(&processor_id, node_id, &shared.options.defaults, &set)
    }

    /// Sets genes of a node. Anything can be set and read again; `max_pattern_length`, `stm_mode`
    /// and `recall_threshold` become settings of the node's sessions, of those that have no own and
    /// of later ones.
    ///
    /// # Errors
    ///
    /// [`ServiceError::TooLarge`], [`ServiceError::TooManyNodes`],
    /// [`ServiceError::NodeMemoryFull`], [`ServiceError::Closed`], [`ServiceError::StorageFailed`].
    pub fn set_genes(
        &self,
        node_id: &str,
        changes: &Map<String, Value>,
    ) -> Result<Receipt<()>, ServiceError> {
        let shared = &*self.shared;
        let _turn = shared.begin_write()?;
        let options = &shared.options;
        let node = shared.nodes.enter_within(options, node_id, shared.now())?;
        {
            let mut genes = node.genes();
            let mut all = genes.to_map();
            all.extend(changes.clone());
            let kept = CompactJson::new(&all);
            // Checked together with those that were set before: many small changes may not add up
            // to more.
            check_size("bytes of genes", kept.len(), options.max_kept_bytes)?;
            // Fewer genes are always taken.
            if let Some(more @ 1..) = kept.len().checked_sub(genes.len()) {
                shared.nodes.check_memory(more, options.max_node_memory)?;
            }
            node.set_genes(&mut genes, kept);
        }
        for entry in shared.sessions.of_node(node.processor_id()) {
            let mut body = entry.lock();
            // Taken out for the moment, as the settings are borrowed from the same body.
            let own = std::mem::take(&mut body.own);
            let changed = body.config_mut().is_some_and(|config| {
                genes::apply(changes, config, shared.options.generation(), |name| {
                    own.contains(name)
                })
            });
            body.own = own;
            if changed {
                let mut header = Entry::default();
                entry.record_header(&body, &mut header);
                // Not waited for: the entry of the node comes behind it, and the caller waits for
                // that one.
                drop(shared.append(header)?);
            }
        }
        let pending = {
            // As they are by now, and held until they are in the queue: of two changes side by side
            // the journal must have the later one last, with both in it.
            let genes = node.genes();
            let mut written = Entry {
                sync: true,
                ..Entry::default()
            };
            node.record(&mut written, genes.to_map());
            shared.append(written)?
        };
        Ok(Receipt::new((), pending))
    }

    /// Returns the number of nodes that the service knows.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.shared.nodes.len()
    }

    /// Returns the nodes that the service knows, by processor id.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeView> {
        self.shared.nodes.all().iter().map(view).collect()
    }

    /// Returns nodes by processor id, `limit` at most: all of them, or some of those in memory
    /// where there are more. What is left out and not in memory costs nothing.
    #[must_use]
    pub fn some_nodes(&self, limit: usize) -> Vec<NodeView> {
        let nodes = &self.shared.nodes;
        let mut some = match nodes.len() > limit {
            true => nodes.registry().in_memory(),
            false => nodes.all(),
        };
        some.truncate(limit);
        some.iter().map(view).collect()
    }

    /// Looks at what a node has learned; `None` if there is nothing of it.
    fn look<T>(
        &self,
        node_id: &str,
        look: impl FnOnce(&Node) -> Result<T, EngineError>,
    ) -> Result<Option<T>, ServiceError> {
        let Some(node) = self.node(node_id)? else {
            return Ok(None);
        };
        let found = look(node.node());
        found
            .map(Some)
            .map_err(|error| self.shared.note(&node, node_id, error.into()))
    }

    /// Returns the node in memory; `None` if there is nothing of it.
    pub(super) fn node(&self, node_id: &str) -> Result<Option<Arc<LoadedNode>>, ServiceError> {
        let shared = &self.shared;
        let entry = shared.nodes.find(node_id, shared.now());
        let load = |entry: Arc<NodeEntry>| entry.load(shared.source_for(&entry));
        entry.map(load).transpose()
    }
}

/// Returns a node as it is shown.
fn view(entry: &Arc<NodeEntry>) -> NodeView {
    NodeView {
        processor_id: entry.processor_id().to_owned(),
        node_id: entry.node_id().to_owned(),
        created_at: entry.created().into(),
        last_accessed: entry.accessed().into(),
        totals: entry.in_memory().map(|node| node.node().totals()),
        storage: entry.storage(),
    }
}

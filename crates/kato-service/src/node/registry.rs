//! What the nodes of a service share: which of them are in memory, so that looking for one that can
//! leave it takes as long as there are such, and not as there are nodes; and the memory that their
//! names and genes take.

use std::collections::HashMap;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::NodeEntry;
use crate::charge::Charges;

/// The register that all nodes of a service are in.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// The nodes that are in memory, or just coming or going, by processor id.
    in_memory: Mutex<HashMap<String, Arc<NodeEntry>>>,
    pub(crate) charges: Charges,
    /// Nodes that were looked at to find out what is to be done with them.
    #[cfg(test)]
    n_visited: AtomicUsize,
}

impl Registry {
    /// Adds a node that is coming into memory.
    pub(super) fn enter(&self, node: &Arc<NodeEntry>) {
        let id = node.processor_id().to_owned();
        self.lock().insert(id, Arc::clone(node));
    }

    /// Removes a node that has left memory.
    pub(super) fn leave(&self, node: &NodeEntry) {
        self.lock().remove(node.processor_id());
    }

    /// Returns the number of nodes in memory.
    pub(crate) fn n_in_memory(&self) -> usize {
        self.lock().len()
    }

    /// Returns the nodes in memory, by processor id.
    pub(crate) fn in_memory(&self) -> Vec<Arc<NodeEntry>> {
        let mut nodes: Vec<_> = self.lock().values().cloned().collect();
        nodes.sort_by(|a, b| a.processor_id().cmp(b.processor_id()));
        #[cfg(test)]
        self.visit(nodes.len());
        nodes
    }

    /// Counts nodes that are looked at.
    #[cfg(test)]
    pub(crate) fn visit(&self, n_nodes: usize) {
        self.n_visited.fetch_add(n_nodes, Ordering::Relaxed);
    }

    /// Returns how often a node was looked at.
    #[cfg(test)]
    pub(crate) fn n_visited(&self) -> usize {
        self.n_visited.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<NodeEntry>>> {
        self.in_memory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

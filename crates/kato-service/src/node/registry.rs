//! What the nodes of a service share: which of them are in memory, and which have left it with lessons
//! that are in the journal alone, so that looking for one with which something is to be done takes
//! as long as there are such, and not as there are nodes; and the memory that their names and genes
//! take.

use std::collections::HashMap;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::NodeEntry;
use crate::charge::Charges;
use crate::clock::Micros;

/// Nodes at most that leave memory with lessons that their stores lack. Closing folds all of them,
/// one after another, some milliseconds each.
const MAX_UNFOLDED: usize = 1024;

/// What the journal alone has of a node that is not in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unfolded {
    /// When the oldest of it was taught.
    pub(super) since: Micros,
    pub(super) n_learns: u64,
}

/// The register that all nodes of a service are in.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// The nodes that are in memory, or just coming or going, by processor id.
    in_memory: Mutex<HashMap<String, Arc<NodeEntry>>>,
    /// The nodes that have left memory without a fold, by processor id.
    unfolded: Mutex<HashMap<String, (Arc<NodeEntry>, Unfolded)>>,
    pub(crate) charges: Charges,
    /// The bytes of memory that the knowledge of the nodes in memory takes.
    pub(crate) knowledge: Charges,
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

    /// Keeps what a node that is leaving memory was taught and its store lacks; returns `false`
    /// where there are as many such nodes as there may be.
    pub(super) fn keep_unfolded(&self, node: &Arc<NodeEntry>, unfolded: Unfolded) -> bool {
        let mut kept = self.lock_unfolded();
        if kept.len() >= MAX_UNFOLDED && !kept.contains_key(node.processor_id()) {
            return false;
        }
        let id = node.processor_id().to_owned();
        kept.insert(id, (Arc::clone(node), unfolded));
        true
    }

    /// Takes back what was kept of a node that is in memory again, and tells of it itself.
    pub(super) fn take_unfolded(&self, node: &NodeEntry) -> Option<Unfolded> {
        let kept = self.lock_unfolded().remove(node.processor_id());
        kept.map(|(_, unfolded)| unfolded)
    }

    /// Returns the nodes that have left memory with lessons from before a time, the oldest first.
    pub(crate) fn unfolded_before(&self, time: Micros) -> Vec<Arc<NodeEntry>> {
        let mut due: Vec<_> = {
            let kept = self.lock_unfolded();
            let is_due = |(_, unfolded): &&(_, Unfolded)| unfolded.since <= time;
            kept.values().filter(is_due).cloned().collect()
        };
        due.sort_by(|(a, of_a), (b, of_b)| {
            (of_a.since, a.processor_id()).cmp(&(of_b.since, b.processor_id()))
        });
        due.into_iter().map(|(node, _)| node).collect()
    }

    /// Returns the learns that stores of nodes lack that are not in memory.
    pub(crate) fn n_unfolded_learns(&self) -> u64 {
        let kept = self.lock_unfolded();
        kept.values().map(|(_, unfolded)| unfolded.n_learns).sum()
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

    fn lock_unfolded(&self) -> MutexGuard<'_, HashMap<String, (Arc<NodeEntry>, Unfolded)>> {
        self.unfolded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<NodeEntry>>> {
        self.in_memory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

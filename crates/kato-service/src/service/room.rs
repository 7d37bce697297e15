//! Room for nodes in memory: each takes a file descriptor and the memory of what it has learned, so
//! there may be as many as the process's limit allows and as fit into the memory for them, and those
//! that were not used for longest make room for others, also while they have sessions.

use std::sync::Arc;

use super::Shared;
use crate::ServiceError;
use crate::descriptors::Descriptors;
use crate::journal::{Entry, Journal};
use crate::node::{LoadedNode, NodeEntry, Presence, Source};
use crate::session::SessionEntry;

/// Share of the nodes in memory, as a divisor, that is kept free, so that who comes next finds room.
/// Small, because those that are in use must fit into the rest.
const SPARE: usize = 16;

/// Share of the memory for knowledge, as a divisor, that one node leaves to the others.
const OTHERS: usize = 4;

impl Shared {
    /// Returns where the knowledge of a node comes from that is about to be used, and makes room
    /// for it if it has to be loaded.
    pub(super) fn source_for(&self, node: &NodeEntry) -> Source<'_> {
        match (&self.journal, node.presence()) {
            // Rarely any work: room is kept free beside the requests. Whoever has to wait for it
            // waits for one node and not for a share of all.
            (Some(journal), Presence::Absent) => drop(self.make_room(journal, 1, 1)),
            (Some(journal), Presence::Failed) if journal.check().is_ok() => {
                // Its sessions keep it in memory. One that is in use lets go of it itself.
                let sessions = self.sessions.of_node(node.processor_id());
                let bodies = sessions.iter().filter_map(|session| session.try_lock());
                bodies.for_each(|mut body| SessionEntry::release_failed(&mut body));
            }
            _ => {}
        }
        self.source()
    }

    /// Refuses what a node is to learn that takes as much memory as it may, or that cannot leave
    /// memory while all nodes take as much as they may.
    pub(super) fn check_knowledge(&self, node: &LoadedNode) -> Result<(), ServiceError> {
        let all = self.options.max_knowledge_memory;
        let (found, limit) = match self.journal {
            Some(_) => (node.memory_bytes(), all - all / OTHERS),
            None => (self.nodes.registry().knowledge.bytes(), all),
        };
        if found <= limit {
            return Ok(());
        }
        let way_out = match self.journal {
            // Another node would find no more room than this one.
            None => "clear nodes",
            Some(_) if self.options.indexes && node.node().is_indexable() => {
                "try again once the server has written an index of this node, use another node, clear this one"
            }
            Some(_) => "use another node, clear this one",
        };
        Err(ServiceError::KnowledgeMemoryFull {
            found,
            limit,
            way_out,
        })
    }

    /// Takes nodes out of memory until some room is kept free; returns how many.
    pub(super) fn keep_room(&self, journal: &Journal) -> usize {
        let free = Descriptors::of_process().nodes().div_ceil(SPARE);
        self.make_room(journal, free, usize::MAX)
    }

    /// Takes nodes out of memory until there is room for so many more, and until what is left has
    /// learned no more than fits, but for that no more than so many nodes; returns how many. Those
    /// that are being used stay, so there may be more than there should be, by one an operation that
    /// runs.
    fn make_room(&self, journal: &Journal, free: usize, most_for_bytes: usize) -> usize {
        let most = Descriptors::of_process().nodes().saturating_sub(free);
        let registry = self.nodes.registry();
        let fits = || registry.knowledge.bytes() <= self.options.max_knowledge_memory;
        if registry.n_in_memory() <= most && fits() {
            return 0;
        }
        let mut loaded = registry.in_memory();
        NodeEntry::sort_by_last_use(&mut loaded);
        // Some may have left between the look at their number and now.
        let wanted = loaded.len().saturating_sub(most);
        let mut n_gone = 0;
        for node in &loaded {
            if n_gone >= wanted && (n_gone >= most_for_bytes || fits()) {
                break;
            }
            let sessions = self.sessions.of_node(node.processor_id());
            // One that cannot be folded stays, and maintenance reports why.
            let has_gone = unload_node(node, &sessions, journal).unwrap_or(false);
            n_gone += usize::from(has_gone);
        }
        n_gone
    }
}

/// Puts all sessions of a node to rest and takes it out of memory, unless it is in use; returns
/// whether it did.
fn unload_node(
    node: &Arc<NodeEntry>,
    sessions: &[Arc<SessionEntry>],
    journal: &Journal,
) -> Result<bool, ServiceError> {
    // None of them is waited for: whoever makes room may have a session of its own in hand.
    let bodies: Option<Vec<_>> = sessions.iter().map(|session| session.try_lock()).collect();
    let Some(mut bodies) = bodies else {
        return Ok(false);
    };
    let mut written = Entry::default();
    let with_bodies = sessions.iter().zip(&bodies);
    for (session, body) in with_bodies.filter(|(_, body)| body.is_loaded()) {
        session.record_state(body, journal, &mut written)?;
    }
    // Waited for: a session that rests is read from the tables, and what is in the queue is not
    // there yet.
    journal.append_and_wait(written)?;
    for body in &mut bodies {
        SessionEntry::deactivate(body);
    }
    node.evict(journal)
}

#[cfg(test)]
mod tests {
    use kato_engine::Observation;
    use serde_json::Map;

    use crate::answer::NewSession;
    use crate::clock::Micros;
    use crate::journal::NodeRecord;
    use crate::{Service, ServiceOptions};

    #[test]
    fn upkeep_looks_at_nodes_in_memory_and_not_at_all_that_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let options = ServiceOptions::default().with_max_loaded_nodes(2);
        let service = Service::open(dir.path(), options).unwrap();
        let nodes = &service.shared.nodes;
        for idx in 0..100_000 {
            let record = NodeRecord {
                node_id: format!("known{idx}"),
                created: Micros(0),
                genes: Map::new(),
            };
            nodes.insert_recorded(&format!("known{idx}_kato"), record, Micros(0));
        }
        for idx in 0..5 {
            let made = service.create_session(NewSession::new(format!("used{idx}")));
            let id = made.unwrap().wait().unwrap().session_id;
            let observed = service.observe(&id, Observation::strings(["a"]), None);
            observed.unwrap().wait().unwrap();
            service.delete_session(&id).unwrap().wait().unwrap();
        }
        let before = nodes.registry().n_visited();
        let done = service.maintain().unwrap();
        let journal = service.shared.journal.as_ref().unwrap();
        service.shared.keep_room(journal);
        let visited = nodes.registry().n_visited() - before;
        assert!(visited <= 20, "{visited}");
        assert_eq!(done.nodes_evicted, 3);
        // Those that left memory and were taught nothing are forgotten.
        assert_eq!(service.n_nodes(), 100_002);
        assert_eq!(service.some_nodes(1000).len(), 2);
    }
}

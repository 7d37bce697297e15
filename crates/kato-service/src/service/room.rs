//! Room for nodes in memory: each takes a file descriptor, so there may be as many as the process's
//! limit allows, and those that were not used for longest make room for others, also while they
//! have sessions.

use std::collections::HashMap;
use std::sync::Arc;

use super::Shared;
use crate::ServiceError;
use crate::descriptors::Descriptors;
use crate::journal::{Entry, Journal};
use crate::node::{NodeEntry, Source};
use crate::session::SessionEntry;

/// Number of nodes of which one goes beyond what must, so that the next to come find room.
const SPARE: usize = 8;

impl Shared {
    /// Returns where the knowledge of a node comes from that is about to be used, and makes room
    /// for it if it has to be loaded.
    pub(super) fn source_for(&self, node: &NodeEntry) -> Source<'_> {
        if let Some(journal) = self.journal.as_ref().filter(|_| !node.is_in_memory()) {
            self.make_room(journal);
        }
        self.source()
    }

    /// Takes nodes out of memory until there is room for some more; returns how many. Those that
    /// are being used stay, so there may be more than there should be, by one an operation that
    /// runs.
    pub(super) fn make_room(&self, journal: &Journal) -> usize {
        let most = Descriptors::of_process().nodes();
        let mut loaded = self.nodes.all();
        loaded.retain(|node| node.is_in_memory());
        if loaded.len() < most {
            return 0;
        }
        NodeEntry::sort_by_last_use(&mut loaded);
        let wanted = loaded.len() - most + most.div_ceil(SPARE);
        // Grouped by node in one pass, not searched for every node. Addresses are unique as keys,
        // because `loaded` and the sessions keep their nodes alive.
        let mut sessions: HashMap<*const NodeEntry, Vec<Arc<SessionEntry>>> = HashMap::new();
        for session in self.sessions.all() {
            let of_node = sessions.entry(Arc::as_ptr(&session.node));
            of_node.or_default().push(session);
        }
        let mut n_gone = 0;
        for node in &loaded {
            if n_gone == wanted {
                break;
            }
            let sessions = sessions.get(&Arc::as_ptr(node)).map(Vec::as_slice);
            // One that cannot be folded stays, and maintenance reports why.
            let has_gone =
                unload_node(node, sessions.unwrap_or_default(), journal).unwrap_or(false);
            n_gone += usize::from(has_gone);
        }
        n_gone
    }
}

/// Puts all sessions of a node to rest and takes it out of memory, unless it is in use; returns
/// whether it did.
fn unload_node(
    node: &NodeEntry,
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

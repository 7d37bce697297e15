//! The sessions of a service, by id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::ServiceError;
use crate::charge::Charges;
use crate::clock::Micros;
use crate::journal::{Entry, Journal, SessionHeader, StateRecord, Table};
use crate::nodes::Nodes;
use crate::session::SessionEntry;

type ById = HashMap<String, Arc<SessionEntry>>;

/// The sessions, by id, and once more by the node that they belong to.
#[derive(Debug, Default)]
struct Entries {
    by_id: ById,
    /// By processor id and id; nodes without a session are not in it.
    by_node: HashMap<String, ById>,
}

/// Unused sessions that one look at all of them finds at most: looking takes milliseconds, so it is
/// not done for every new one.
const FOUND_AT_ONCE: usize = 1000;

/// Time between two looks at all of them.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// All sessions of a service.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    entries: RwLock<Entries>,
    unused: Mutex<Unused>,
    /// The memory that they take.
    pub(crate) charges: Charges,
}

/// The least recently used sessions.
#[derive(Debug, Default)]
struct Unused {
    /// When each was used last, and its id; the least recently used one is the last.
    found: Vec<(Micros, String)>,
    looked: Option<Micros>,
}

impl Sessions {
    /// Adds the sessions that the journal knows whole; returns the ids of those whose end and memory are
    /// gone.
    pub(crate) fn restore(
        &self,
        journal: &Journal,
        nodes: &Nodes,
        (now, max_ttl_seconds): (Micros, u64),
    ) -> Result<Vec<Vec<u8>>, ServiceError> {
        let tables = journal.tables();
        let mut not_whole = Vec::new();
        for row in tables.prefix(Table::Sessions, &[]) {
            let (key, value) = row?;
            let id = str::from_utf8(&key)
                .map_err(|error| ServiceError::corrupt("read a session", error))?;
            let mut header = SessionHeader::read(&value)?;
            // The greatest lifetime may have been lowered since, and holds for all sessions.
            header.ttl_seconds = header.ttl_seconds.min(max_ttl_seconds);
            let state = tables.get(Table::States, &key)?;
            let remembered = state.as_deref().map_or(0, <[u8]>::len);
            let Some(expires) = state.and_then(|record| StateRecord::expiry(&record)) else {
                not_whole.push(key.to_vec());
                continue;
            };
            let expires = expires.min(now.plus_seconds(max_ttl_seconds));
            // As the last write has left it: reads leave no trace in the journal.
            let used = expires.minus_seconds(header.ttl_seconds);
            let used = used.max(header.created).min(now);
            let node = nodes.enter(&header.node_id, now);
            let charges = (&self.charges, remembered);
            let entry = SessionEntry::new(id.to_owned(), header, (expires, used), node, charges);
            self.write().insert(Arc::new(entry));
        }
        Ok(not_whole)
    }

    /// Removes from the journal the sessions of which it has a part alone.
    pub(crate) fn remove_parts(
        &self,
        journal: &Journal,
        not_whole: Vec<Vec<u8>>,
    ) -> Result<(), ServiceError> {
        let mut entry = Entry::default();
        for id in not_whole {
            entry.remove(Table::Sessions, id);
        }
        for row in journal.tables().prefix(Table::States, &[]) {
            let (id, _) = row?;
            let is_known = str::from_utf8(&id).is_ok_and(|id| self.read().by_id.contains_key(id));
            if !is_known {
                entry.remove(Table::States, &*id);
            }
        }
        if entry.changes.is_empty() {
            return Ok(());
        }
        journal.append_and_wait(entry)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<SessionEntry>> {
        self.read().by_id.get(id).cloned()
    }

    /// Adds a session, unless there are as many as allowed.
    pub(crate) fn insert(
        &self,
        entry: Arc<SessionEntry>,
        limit: usize,
    ) -> Result<(), ServiceError> {
        let mut entries = self.write();
        // Under the lock that also inserts: sessions that are made side by side cannot be one too
        // many.
        if entries.by_id.len() >= limit {
            return Err(ServiceError::TooManySessions { limit });
        }
        entries.insert(entry);
        Ok(())
    }

    pub(crate) fn remove(&self, id: &str) {
        self.write().remove(id);
    }

    pub(crate) fn len(&self) -> usize {
        self.read().by_id.len()
    }

    /// Returns the sessions whose time is over.
    pub(crate) fn expired(&self, now: Micros) -> Vec<Arc<SessionEntry>> {
        let entries = self.read();
        let all = entries.by_id.values();
        let expired = all.filter(|entry| entry.has_expired(now));
        expired.cloned().collect()
    }

    /// Returns whether it is time to look for sessions that can go; the caller does, then.
    pub(crate) fn is_time_to_look(&self, now: Micros) -> bool {
        let mut unused = self.unused();
        let is_time = unused
            .looked
            .is_none_or(|looked| now.since(looked) >= LOOK_AGAIN);
        if is_time {
            unused.looked = Some(now);
        }
        is_time
    }

    /// Finds the least recently used sessions, those used after a time left out.
    pub(crate) fn look_for_unused(&self, after: Micros) {
        let entries = self.read();
        let all = entries.by_id.values();
        let unused = all.filter(|entry| entry.used() <= after);
        // Each time is read once: sessions are used meanwhile, and the order must not change while
        // it is made.
        let mut found: Vec<_> = unused.map(|entry| (entry.used(), entry)).collect();
        if found.len() > FOUND_AT_ONCE {
            // Selected before they are sorted: of very many sessions only a few are wanted.
            found.select_nth_unstable_by_key(FOUND_AT_ONCE, |(used, _)| *used);
            found.truncate(FOUND_AT_ONCE);
        }
        found.sort_unstable_by_key(|(used, _)| std::cmp::Reverse(*used));
        let found = found.iter().map(|(used, entry)| (*used, entry.id.clone()));
        self.unused().found = found.collect();
    }

    /// Returns the least recently used session of those found that was not used since, and when it
    /// was used; it is not given again.
    pub(crate) fn next_unused(&self) -> Option<(Arc<SessionEntry>, Micros)> {
        loop {
            let (used, id) = self.unused().found.pop()?;
            if let Some(entry) = self.get(&id).filter(|entry| entry.used() == used) {
                return Some((entry, used));
            }
        }
    }

    /// Returns up to so many sessions with ids after this one, by id, of those that pass a test.
    pub(crate) fn page(
        &self,
        after: &str,
        limit: usize,
        is_wanted: impl Fn(&SessionEntry) -> bool,
    ) -> Vec<Arc<SessionEntry>> {
        let entries = self.read();
        let wanted = entries
            .by_id
            .values()
            .filter(|entry| entry.id.as_str() > after && is_wanted(entry));
        let mut wanted: Vec<&Arc<SessionEntry>> = wanted.collect();
        if wanted.len() > limit {
            wanted.select_nth_unstable_by(limit, |a, b| a.id.cmp(&b.id));
            wanted.truncate(limit);
        }
        wanted.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        wanted.into_iter().cloned().collect()
    }

    /// Returns the sessions of a node.
    pub(crate) fn of_node(&self, processor_id: &str) -> Vec<Arc<SessionEntry>> {
        let entries = self.read();
        let of_node = entries.by_node.get(processor_id).into_iter();
        of_node.flat_map(HashMap::values).cloned().collect()
    }

    fn unused(&self) -> MutexGuard<'_, Unused> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, Entries> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Entries> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    /// Adds a session.
    fn insert(&mut self, entry: Arc<SessionEntry>) {
        let of_node = self.by_node.entry(entry.node.processor_id().to_owned());
        of_node
            .or_default()
            .insert(entry.id.clone(), Arc::clone(&entry));
        self.by_id.insert(entry.id.clone(), entry);
    }

    /// Removes a session, if it is there.
    fn remove(&mut self, id: &str) {
        let Some(entry) = self.by_id.remove(id) else {
            return;
        };
        let node = entry.node.processor_id();
        if let Some(of_node) = self.by_node.get_mut(node) {
            of_node.remove(id);
            if of_node.is_empty() {
                self.by_node.remove(node);
            }
        }
    }
}

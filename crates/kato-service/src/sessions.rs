//! The sessions of a service, by id.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::ServiceError;
use crate::charge::Charges;
use crate::clock::Micros;
use crate::journal::{Journal, SessionHeader, StateRecord, Table};
use crate::nodes::Nodes;
use crate::session::SessionEntry;

type ById = HashMap<String, Arc<SessionEntry>>;

/// All sessions of a service.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    entries: RwLock<ById>,
    /// What they take of memory.
    pub(crate) charges: Charges,
}

impl Sessions {
    /// Takes in the sessions that the journal knows.
    pub(crate) fn restore(
        &self,
        journal: &Journal,
        nodes: &Nodes,
        now: Micros,
    ) -> Result<(), ServiceError> {
        let tables = journal.tables();
        for row in tables.prefix(Table::Sessions, &[]) {
            let (key, value) = row?;
            let id = str::from_utf8(&key)
                .map_err(|error| ServiceError::corrupt("read a session", error))?;
            let header = SessionHeader::read(&value)?;
            let state = tables.get(Table::States, &key)?;
            let expires = state
                .and_then(|record| StateRecord::expiry(&record))
                .ok_or_else(|| ServiceError::corrupt("read a session", "it has no end"))?;
            let node = nodes.enter(&header.node_id, now);
            let entry = SessionEntry::new(id.to_owned(), header, expires, node, &self.charges);
            self.write().insert(id.to_owned(), Arc::new(entry));
        }
        Ok(())
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<SessionEntry>> {
        self.read().get(id).cloned()
    }

    /// Adds a session, unless there are as many as allowed.
    pub(crate) fn insert(
        &self,
        entry: Arc<SessionEntry>,
        limit: usize,
    ) -> Result<(), ServiceError> {
        let mut entries = self.write();
        if entries.len() >= limit {
            return Err(ServiceError::TooManySessions { limit });
        }
        entries.insert(entry.id.clone(), entry);
        Ok(())
    }

    pub(crate) fn remove(&self, id: &str) {
        self.write().remove(id);
    }

    pub(crate) fn len(&self) -> usize {
        self.read().len()
    }

    pub(crate) fn expired(&self, now: Micros) -> Vec<Arc<SessionEntry>> {
        let entries = self.read();
        let expired = entries.values().filter(|entry| entry.has_expired(now));
        expired.cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<SessionEntry>> {
        self.read().values().cloned().collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, ById> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ById> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The nodes that a service knows, by processor id.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kato_model::processor_id;
use kato_store::EmbeddedStore;

use crate::ServiceError;
use crate::clock::Micros;
use crate::journal::{Journal, NodeRecord, Table, key_of_lessons};
use crate::loss::Losses;
use crate::node::{NodeEntry, directory_of, sequence_of_store};

/// All nodes of a service.
#[derive(Debug)]
pub(crate) struct Nodes {
    service_name: String,
    /// Directory of the knowledge bases; `None` in memory.
    dir: Option<PathBuf>,
    entries: Mutex<HashMap<String, Arc<NodeEntry>>>,
}

impl Nodes {
    pub(crate) fn new(service_name: String, dir: Option<PathBuf>) -> Self {
        Self {
            service_name,
            dir,
            entries: Mutex::default(),
        }
    }

    /// Adds the nodes that the journal knows.
    pub(crate) fn restore(&self, journal: &Journal, now: Micros) -> Result<(), ServiceError> {
        for row in journal.tables().prefix(Table::Nodes, &[]) {
            let (key, value) = row?;
            let processor_id = str::from_utf8(&key)
                .map_err(|error| ServiceError::corrupt("read a node", error))?;
            let entry =
                NodeEntry::recorded(processor_id.to_owned(), NodeRecord::read(&value)?, now);
            self.lock().insert(processor_id.to_owned(), Arc::new(entry));
        }
        Ok(())
    }

    /// Reports what is missing of the nodes that the journal knows.
    pub(crate) fn report_losses(
        &self,
        journal: &Journal,
        losses: &Losses,
    ) -> Result<(), ServiceError> {
        let Some(dir) = self.dir() else { return Ok(()) };
        for entry in self.all() {
            if let Some(loss) = entry.find_loss(journal, dir)? {
                losses.report(loss);
            }
        }
        Ok(())
    }

    /// Counts the knowledge bases that a journal has fed.
    pub(crate) fn count_fed(&self) -> usize {
        let listed = self.dir().and_then(|dir| std::fs::read_dir(dir).ok());
        let found = listed.into_iter().flatten().flatten();
        // One that cannot be read does not count: it is reported when it is used.
        let is_fed =
            |path: &Path| matches!(sequence_of_store(path), Ok(Some(sequence)) if sequence > 0);
        found.filter(|entry| is_fed(&entry.path())).count()
    }

    pub(crate) fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Returns the processor id of a node id.
    pub(crate) fn processor_id(&self, node_id: &str) -> String {
        processor_id(node_id, &self.service_name)
    }

    /// Returns the node, which is known from now on.
    pub(crate) fn enter(&self, node_id: &str, now: Micros) -> Arc<NodeEntry> {
        let processor_id = self.processor_id(node_id);
        // By processor id: node ids that KATO cannot tell apart share an entry, under the id that
        // came first.
        let mut entries = self.lock();
        let entry = entries
            .entry(processor_id)
            .or_insert_with_key(|processor_id| {
                let (processor_id, node_id) = (processor_id.clone(), node_id.to_owned());
                Arc::new(NodeEntry::new(processor_id, node_id, now))
            });
        entry.touch(now);
        Arc::clone(entry)
    }

    /// Returns the node, if it is known or there is a knowledge base for it.
    pub(crate) fn find(&self, node_id: &str, now: Micros) -> Option<Arc<NodeEntry>> {
        let processor_id = self.processor_id(node_id);
        let known = self.lock().get(&processor_id).cloned();
        if let Some(entry) = known {
            entry.touch(now);
            return Some(entry);
        }
        // A knowledge base that was put there while the service runs is served from then on.
        let dir = directory_of(self.dir()?, &processor_id);
        EmbeddedStore::exists(&dir).then(|| self.enter(node_id, now))
    }

    /// Returns all nodes, by processor id.
    pub(crate) fn all(&self) -> Vec<Arc<NodeEntry>> {
        let mut all: Vec<_> = self.lock().values().cloned().collect();
        all.sort_by(|a, b| a.processor_id().cmp(b.processor_id()));
        all
    }

    /// Forgets the nodes that nobody uses and nothing was learned of.
    pub(crate) fn forget_unused(&self) {
        // Clients make up node ids: without this, the ids of ended sessions would pile up.
        self.lock().retain(|_, entry| {
            Arc::strong_count(entry) > 1 || entry.is_recorded() || entry.in_memory().is_some()
        });
    }

    /// Returns the nodes of which the journal has something that no store has.
    pub(crate) fn unfolded(&self, journal: &Journal) -> Vec<Arc<NodeEntry>> {
        let has_lessons = |entry: &Arc<NodeEntry>| {
            let prefix = key_of_lessons(entry.processor_id(), None);
            let mut rows = journal.tables().prefix(Table::Lessons, &prefix);
            rows.next().is_some()
        };
        self.all().into_iter().filter(has_lessons).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<NodeEntry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

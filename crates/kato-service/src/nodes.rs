//! The nodes that a service knows, by processor id.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kato_model::KatoGeneration;
use kato_model::naming::processor_id_in;
use kato_store::EmbeddedStore;

use crate::ServiceError;
use crate::clock::Micros;
use crate::journal::{Journal, NodeRecord, Table, key_of_lessons};
use crate::loss::{DataLoss, Losses};
use crate::node::{NodeEntry, Registry, directory_of, sequence_of_store};
use crate::options::ServiceOptions;

/// All nodes of a service.
#[derive(Debug)]
pub(crate) struct Nodes {
    service_name: String,
    generation: KatoGeneration,
    /// Directory of the knowledge bases; `None` in memory.
    dir: Option<PathBuf>,
    known: Mutex<Known>,
    registry: Arc<Registry>,
}

/// The nodes that are known.
#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<String, Arc<NodeEntry>>,
    /// Ids of those that may have to be forgotten: all that were not in the journal when they were
    /// last looked at.
    unrecorded: HashSet<String>,
}

impl Nodes {
    pub(crate) fn new(
        service_name: String,
        generation: KatoGeneration,
        dir: Option<PathBuf>,
    ) -> Self {
        Self {
            service_name,
            generation,
            dir,
            known: Mutex::default(),
            registry: Arc::default(),
        }
    }

    /// Adds the nodes that the journal knows.
    pub(crate) fn restore(&self, journal: &Journal, now: Micros) -> Result<(), ServiceError> {
        for row in journal.tables().prefix(Table::Nodes, &[]) {
            let (key, value) = row?;
            let processor_id = str::from_utf8(&key)
                .map_err(|error| ServiceError::corrupt("read a node", error))?;
            self.insert_recorded(processor_id, NodeRecord::read(&value)?, now);
        }
        Ok(())
    }

    /// Adds a node that the journal knows.
    pub(crate) fn insert_recorded(&self, processor_id: &str, record: NodeRecord, now: Micros) {
        let id = processor_id.to_owned();
        let entry = NodeEntry::recorded(id.clone(), record, now, &self.registry);
        self.lock().by_id.insert(id, Arc::new(entry));
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

    /// Returns the loss of a journal that has fed knowledge bases and is not there; `None` where none
    /// has.
    pub(crate) fn without_journal(&self) -> Option<DataLoss> {
        let fed = self.count_fed();
        let dir = self.dir().filter(|_| fed > 0)?;
        Some(DataLoss::Unwitnessed {
            path: dir.to_owned(),
            reason: format!(
                "{fed} knowledge bases here were fed by a journal, and that is not there: sessions, keys and lessons that were in it alone are lost"
            ),
        })
    }

    /// Counts the knowledge bases that a journal has fed.
    fn count_fed(&self) -> usize {
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
        processor_id_in(self.generation, node_id, &self.service_name)
    }

    /// Returns the ids of the nodes whose processor id is that of another generation.
    pub(crate) fn unreached(&self) -> Vec<String> {
        let nodes = self.all().into_iter();
        let unreached = nodes.filter(|it| self.processor_id(it.node_id()) != it.processor_id());
        unreached.map(|node| node.node_id().to_owned()).collect()
    }

    /// Returns the node, which is known from now on, however many there are.
    pub(crate) fn enter(&self, node_id: &str, now: Micros) -> Arc<NodeEntry> {
        let ids = self.ids(node_id);
        self.lock().enter(ids, now, &self.registry)
    }

    /// Returns the node, which is known from now on; refuses one that is new where there are as
    /// many as allowed.
    pub(crate) fn enter_within(
        &self,
        options: &ServiceOptions,
        node_id: &str,
        now: Micros,
    ) -> Result<Arc<NodeEntry>, ServiceError> {
        let ids = self.ids(node_id);
        let mut known = self.lock();
        // Under the lock that also inserts: nodes that are made side by side cannot be one too
        // many.
        if !known.by_id.contains_key(&ids.0) {
            let limit = options.max_nodes;
            if known.by_id.len() >= limit {
                return Err(ServiceError::TooManyNodes { limit });
            }
            self.check_memory(node_id.len(), options.max_node_memory)?;
        }
        Ok(known.enter(ids, now, &self.registry))
    }

    /// Refuses what would make nodes take more memory by so many bytes than there is for their
    /// names and genes.
    pub(crate) fn check_memory(&self, more: usize, limit: usize) -> Result<(), ServiceError> {
        if self.registry.charges.bytes().saturating_add(more) <= limit {
            return Ok(());
        }
        Err(ServiceError::NodeMemoryFull { limit })
    }

    /// Returns the processor id of a node id, and the node id.
    fn ids<'a>(&self, node_id: &'a str) -> (String, &'a str) {
        (self.processor_id(node_id), node_id)
    }

    /// Returns the node, if it is known or there is a knowledge base for it.
    pub(crate) fn find(&self, node_id: &str, now: Micros) -> Option<Arc<NodeEntry>> {
        let processor_id = self.processor_id(node_id);
        let known = self.lock().by_id.get(&processor_id).cloned();
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
        let mut all: Vec<_> = self.lock().by_id.values().cloned().collect();
        all.sort_by(|a, b| a.processor_id().cmp(b.processor_id()));
        #[cfg(test)]
        self.registry.visit(all.len());
        all
    }

    /// Returns the number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.lock().by_id.len()
    }

    /// Returns what the nodes share.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Forgets the nodes that nobody uses and nothing was learned of.
    pub(crate) fn forget_unused(&self) {
        // Clients make up node ids: without this, the ids of ended sessions would pile up.
        let mut known = self.lock();
        let Known { by_id, unrecorded } = &mut *known;
        #[cfg(test)]
        self.registry.visit(unrecorded.len());
        // Only those that were not recorded: there may be a million of the others, which stay.
        unrecorded.retain(|id| {
            let Some(entry) = by_id.get(id) else {
                return false;
            };
            if entry.is_recorded() {
                return false;
            }
            let is_used = Arc::strong_count(entry) > 1 || entry.in_memory().is_some();
            if !is_used {
                by_id.remove(id);
            }
            is_used
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

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Returns the node, which is known from now on.
    fn enter(
        &mut self,
        (processor_id, node_id): (String, &str),
        now: Micros,
        registry: &Arc<Registry>,
    ) -> Arc<NodeEntry> {
        // By processor id: node ids that KATO cannot tell apart share an entry, under the id that
        // came first.
        let unrecorded = &mut self.unrecorded;
        let entry = self
            .by_id
            .entry(processor_id)
            .or_insert_with_key(|processor_id| {
                unrecorded.insert(processor_id.clone());
                let (processor_id, node_id) = (processor_id.clone(), node_id.to_owned());
                Arc::new(NodeEntry::new(processor_id, node_id, now, registry))
            });
        entry.touch(now);
        Arc::clone(entry)
    }
}

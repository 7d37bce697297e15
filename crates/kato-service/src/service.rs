//! The service: what all its parts share, opening and closing.

mod batch;
#[cfg(test)]
mod faults;
mod maintain;
mod nodes;
mod operate;
mod runs;
mod sessions;
mod work;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

pub use self::maintain::Maintained;
use crate::clock::Micros;
use crate::directory_lock::DirectoryLock;
use crate::error::StorageFailure;
use crate::figures::{Counters, Figures, Health};
use crate::journal::Journal;
use crate::keys::Keys;
use crate::node::Source;
use crate::nodes::Nodes;
use crate::runs::Runs;
use crate::sessions::Sessions;
use crate::{ServiceError, ServiceOptions};

/// Name of the journal in the service's directory.
const JOURNAL: &str = "journal";
/// Name of the directory of the knowledge bases in the service's directory.
const NODES: &str = "nodes";

/// A KATO server without HTTP: cheap to clone, usable from any thread.
///
/// * **Sessions** have ids and end when nobody has written to them for their lifetime, or when there are too many. Operations of one session run one after
///   the other, those of different sessions side by side.
/// * **Nodes**: sessions with one node id share a knowledge base, which is loaded when first used. Node ids that differ only in
///   characters that a [processor id](kato_model::processor_id) does not keep share one, too, as in KATO.
/// * **Idempotency keys** make a request that is repeated act once. They are scoped by the knowledge base, so a client whose
///   session has ended can repeat the request from a new one. Only requests that succeeded are remembered.
///
/// Call [`maintain`](Self::maintain) about every second, and [`close`](Self::close) in the end.
///
/// # Memory
///
/// 1 to 2 KiB a session and what it remembers, and what an [`Engine`](kato_engine::Engine) takes for each node in memory.
#[derive(Debug, Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: ServiceOptions,
    journal: Option<Journal>,
    nodes: Nodes,
    sessions: Sessions,
    keys: Keys,
    runs: Runs,
    counters: Counters,
    /// Read by writes while they run, written by closing.
    writing: RwLock<()>,
    is_closed: AtomicBool,
    /// Held while maintaining.
    maintenance: Mutex<()>,
    /// Given back after the journal, whose fields come before it.
    _directory: Option<DirectoryLock>,
    /// What went wrong in the last round of maintenance.
    fold_failure: Mutex<Option<StorageFailure>>,
}

impl Service {
    /// A service that forgets everything when it is dropped. Receipts are acknowledged at once.
    #[must_use]
    pub fn in_memory(options: ServiceOptions) -> Self {
        let nodes = Nodes::new(options.service_name.clone(), None);
        Self::of(options, None, nodes)
    }

    /// Opens a service's directory, or makes one, with everything that was acknowledged before.
    ///
    /// One process at a time may have it open. Knowledge bases are loaded when they are first used.
    ///
    /// # Errors
    ///
    /// [`ServiceError::InUse`], [`ServiceError::Version`], [`ServiceError::Journal`], [`ServiceError::Io`].
    pub fn open(dir: &Path, options: ServiceOptions) -> Result<Self, ServiceError> {
        let nodes_dir = dir.join(NODES);
        fs::create_dir_all(&nodes_dir).map_err(|source| ServiceError::Io {
            action: "create",
            path: nodes_dir.clone(),
            source,
        })?;
        let lock = DirectoryLock::acquire(dir, &dir.join(JOURNAL))?;
        let journal = Journal::open(&dir.join(JOURNAL)).map_err(|error| match error {
            // The caller knows the directory, not what is in it.
            ServiceError::InUse { .. } => ServiceError::InUse {
                path: dir.to_owned(),
            },
            error => error,
        })?;
        let now = Micros::of(options.clock.now());
        let nodes = Nodes::new(options.service_name.clone(), Some(nodes_dir));
        let service = Self::of(options, Some((journal, lock)), nodes);
        let shared = &service.shared;
        if let Some(journal) = &shared.journal {
            shared.nodes.restore(journal, now)?;
            let most = shared.options.max_session_ttl;
            shared
                .sessions
                .restore(journal, &shared.nodes, (now, most))?;
        }
        Ok(service)
    }

    fn of(options: ServiceOptions, opened: Option<(Journal, DirectoryLock)>, nodes: Nodes) -> Self {
        let (journal, directory) = opened.unzip();
        let shared = Shared {
            options,
            journal,
            nodes,
            sessions: Sessions::default(),
            keys: Keys::default(),
            runs: Runs::default(),
            counters: Counters::default(),
            writing: RwLock::default(),
            is_closed: AtomicBool::new(false),
            maintenance: Mutex::default(),
            _directory: directory,
            fold_failure: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The settings.
    #[must_use]
    pub fn options(&self) -> &ServiceOptions {
        &self.shared.options
    }

    /// Stops taking writes, waits for those that run, folds everything that was learned into the stores and flushes it. Reads go
    /// on. The directory can be opened again when all handles of the service are dropped. Closing again does nothing.
    ///
    /// Without closing nothing that was acknowledged is lost either; the next opening takes longer.
    ///
    /// # Errors
    ///
    /// [`ServiceError::StorageFailed`], and when a store cannot be written: then what was learned stays in the journal.
    pub fn close(&self) -> Result<(), ServiceError> {
        let shared = &self.shared;
        let was_closed = {
            let _no_writes = shared
                .writing
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            shared.is_closed.swap(true, Ordering::AcqRel)
        };
        let Some(journal) = shared.journal.as_ref().filter(|_| !was_closed) else {
            return Ok(());
        };
        let _maintaining = shared
            .maintenance
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let folded = self.fold_everything(journal);
        let synced = journal.sync();
        journal.close();
        folded.and(synced)
    }

    /// How the service is. Costs nothing, whatever the disk does.
    #[must_use]
    pub fn health(&self) -> Health {
        let shared = &self.shared;
        let journal = shared.journal.as_ref().map_or(Ok(()), Journal::check);
        match (journal, shared.fold_failure().clone()) {
            (Err(failure), _) => Health::Failed(failure),
            (Ok(()), Some(failure)) => Health::Degraded(failure),
            (Ok(()), None) => Health::Healthy,
        }
    }

    /// What the service did since it was opened, and how it is. Costs some milliseconds with very many nodes.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let shared = &self.shared;
        let counters = &shared.counters;
        let nodes = shared.nodes.all();
        let loaded: Vec<_> = nodes.iter().filter_map(|entry| entry.in_memory()).collect();
        let uncommitted = loaded.iter().map(|node| node.node().totals().uncommitted);
        let stores = loaded.iter().filter_map(|node| node.engine().store());
        let store_bytes: u64 = stores.filter_map(|store| store.disk_bytes()).sum();
        let mut figures = Figures {
            sessions: shared.sessions.len(),
            sessions_created: counters.sessions_created.get(),
            sessions_deleted: counters.sessions_deleted.get(),
            sessions_expired: counters.sessions_expired.get(),
            sessions_evicted: counters.sessions_evicted.get(),
            observations: counters.observations.get(),
            learns: counters.learns.get(),
            predictions: counters.predictions.get(),
            replays: counters.replays.get(),
            nodes: nodes.len(),
            nodes_loaded: loaded.len(),
            uncommitted_learns: uncommitted.sum(),
            folds: counters.folds.get(),
            disk_bytes: store_bytes,
            failure: shared.fold_failure().clone(),
            ..Figures::default()
        };
        if let Some(journal) = &shared.journal {
            journal.describe(&mut figures);
        }
        figures
    }
}

impl Shared {
    fn now(&self) -> Micros {
        Micros::of(self.options.clock.now())
    }

    fn source(&self) -> Source<'_> {
        Source {
            disk: self.journal.as_ref().zip(self.nodes.dir()),
            engine: &self.options.engine,
        }
    }

    /// The right to write, which closing waits for.
    fn begin_write(&self) -> Result<RwLockReadGuard<'_, ()>, ServiceError> {
        let turn = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        if self.is_closed.load(Ordering::Acquire) {
            return Err(ServiceError::Closed);
        }
        if let Some(journal) = &self.journal {
            journal.check()?;
        }
        Ok(turn)
    }

    fn fold_failure(&self) -> std::sync::MutexGuard<'_, Option<StorageFailure>> {
        self.fold_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

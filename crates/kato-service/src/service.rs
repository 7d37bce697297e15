//! The service: the state that all its parts share, opening and closing.

mod asking;
mod backup;
mod batch;
#[cfg(test)]
mod faults;
mod indexes;
mod kept;
#[cfg(test)]
mod losing;
mod maintain;
mod next;
mod nodes;
mod operate;
mod packed;
mod patterns;
mod room;
mod runs;
mod sessions;
#[cfg(test)]
mod simulation;
mod work;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use kato_advice::counted;

pub use self::maintain::MaintenanceReport;
use crate::clock::Micros;
use crate::descriptors::Descriptors;
use crate::directory_lock::DirectoryLock;
use crate::error::StorageFailure;
use crate::figures::{Counters, Figures, ServiceHealth};
use crate::heads::Heads;
use crate::index_writers::IndexWriters;
use crate::journal::{Journal, OpenReport, Table};
use crate::keys::{self, Keys};
use crate::loss::{DataLoss, Losses};
use crate::node::{Disk, LoadedNode, Source};
use crate::nodes::Nodes;
use crate::runs::Runs;
use crate::sessions::Sessions;
use crate::{ServiceError, ServiceOptions};

/// Name of the directory of the knowledge bases in the service's directory.
const NODES: &str = "nodes";

/// A KATO server without HTTP: cheap to clone, usable from any thread.
///
/// * **Sessions** have ids and a lifetime, and end earlier when there are too many. Writes of one session run one after the other, those of different
///   sessions side by side, but for what teaches one node.
/// * **Nodes**: sessions with one node id share a knowledge base, which is loaded when first used.
///   Node ids that differ only in characters that a [processor
///   id](kato_model::naming::processor_id) does not keep share one, too, as in KATO.
/// * **Idempotency keys** make a request that is repeated act once. They are scoped by the
///   knowledge base, so a client whose session has ended can repeat the request from a new one.
///   Requests that were refused are not remembered, but for sequences that are refused on their way: what they
///   taught before stays, their error is kept, and a repetition teaches nothing.
///
/// Call [`maintain`](Self::maintain) about every second, and [`close`](Self::close) in the end.
///
/// # Memory
///
/// 1 to 2 KiB a session and what it remembers, and what an [`Engine`](kato_engine::Engine) takes
/// for each node in memory.
#[derive(Debug, Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

/// The state that all handles of a service share.
#[derive(Debug)]
struct Shared {
    options: ServiceOptions,
    journal: Option<Journal>,
    nodes: Nodes,
    sessions: Sessions,
    keys: Keys,
    runs: Runs,
    heads: Heads,
    counters: Counters,
    losses: Losses,
    index_writers: IndexWriters,
    /// Held while indexes are written.
    indexing: Mutex<()>,
    /// Read by writes while they run, written by closing.
    writing: RwLock<()>,
    is_closed: AtomicBool,
    /// When closing ends to fold, once it was announced.
    close_by: OnceLock<Instant>,
    /// Held while maintaining.
    maintenance: Mutex<()>,
    /// Released after the journal, which is declared, and so dropped, before it.
    _directory: Option<DirectoryLock>,
    /// Held while a copy is made.
    copying: Mutex<()>,
    /// The failure of the last round of maintenance.
    fold_failure: Mutex<Option<StorageFailure>>,
}

impl Service {
    /// Creates a service that forgets everything when it is dropped. Receipts are acknowledged at
    /// once.
    #[must_use]
    pub fn in_memory(options: ServiceOptions) -> Self {
        let nodes = Nodes::new(options.service_name.clone(), options.generation(), None);
        Self::from_parts(options, None, nodes, Losses::default())
    }

    /// Opens the directory of a service, or creates one, with everything that was acknowledged
    /// before.
    ///
    /// One process at a time may have it open. Knowledge bases are loaded when they are first used.
    /// What is found lost is reported by [`losses`](Self::losses).
    ///
    /// # Errors
    ///
    /// [`ServiceError::InUse`], [`ServiceError::Version`], [`ServiceError::Lost`] when the journal
    /// is not whole and losses are not [accepted](ServiceOptions::accept_losses),
    /// [`ServiceError::OpenJournal`], [`ServiceError::Journal`], [`ServiceError::Unfinished`],
    /// [`ServiceError::Io`].
    pub fn open(dir: impl AsRef<Path>, options: ServiceOptions) -> Result<Self, ServiceError> {
        let dir = dir.as_ref();
        let nodes_dir = dir.join(NODES);
        fs::create_dir_all(&nodes_dir).map_err(ServiceError::io("create", &nodes_dir))?;
        // Before anything in it is read or removed: another process may be at work there.
        let lock = DirectoryLock::acquire(dir)?;
        Self::check_copies(dir)?;
        Descriptors::of_process().limit_segments();
        let losses = Losses::open(dir)?;
        let nodes = Nodes::new(
            options.service_name.clone(),
            options.generation(),
            Some(nodes_dir),
        );
        // Before a new journal is made, beside which nothing would be missed at the next opening.
        if !options.accept_losses
            && !Journal::exists(dir)
            && let Some(loss) = nodes.without_journal()
        {
            return Err(ServiceError::Lost { loss });
        }
        let accepting = options
            .accept_losses
            .then(|| (&losses, options.clock.now()));
        let (journal, report) = Journal::open(dir, accepting)?;
        let service = Self::from_parts(options, Some((journal, lock)), nodes, losses);
        service.shared.restore(report)?;
        Ok(service)
    }

    fn from_parts(
        options: ServiceOptions,
        opened: Option<(Journal, DirectoryLock)>,
        nodes: Nodes,
        losses: Losses,
    ) -> Self {
        // A service in memory has neither.
        let (journal, directory) = opened.unzip();
        let shared = Shared {
            options,
            journal,
            nodes,
            sessions: Sessions::default(),
            keys: Keys::default(),
            runs: Runs::default(),
            heads: Heads::default(),
            counters: Counters::default(),
            losses,
            index_writers: IndexWriters::default(),
            indexing: Mutex::default(),
            writing: RwLock::default(),
            is_closed: AtomicBool::new(false),
            close_by: OnceLock::new(),
            maintenance: Mutex::default(),
            _directory: directory,
            copying: Mutex::default(),
            fold_failure: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Returns the settings.
    #[must_use]
    pub fn options(&self) -> &ServiceOptions {
        &self.shared.options
    }

    /// Stops taking writes, waits for those that run, folds what was learned into the stores, all of
    /// it or as far as [`close_by`](Self::close_by) allows, and flushes it. Reads go on. The directory can be opened again when all handles of
    /// the service are dropped. Closing again does nothing.
    ///
    /// Without closing nothing that was acknowledged is lost either; the next opening takes longer.
    ///
    /// # Errors
    ///
    /// [`ServiceError::StorageFailed`], and when a store cannot be written: then what was learned
    /// stays in the journal.
    pub fn close(&self) -> Result<(), ServiceError> {
        let shared = &self.shared;
        // First: a request may be waiting for one that is being written.
        self.stop_writing_indexes();
        let was_closed = {
            // Writes that run hold this lock for reading: it comes when they are done, and those
            // that come later see the flag.
            let _no_writes = shared
                .writing
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            shared.is_closed.swap(true, Ordering::AcqRel)
        };
        let Some(journal) = shared.journal.as_ref().filter(|_| !was_closed) else {
            return Ok(());
        };
        // A round that runs may be folding the same nodes.
        let _maintaining = shared
            .maintenance
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Who opens the directory next finds no index in the making.
        let _no_index = shared
            .indexing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let folded = self.fold_everything(journal);
        // Whatever became of folding: what was acknowledged without a flush is flushed.
        let synced = journal.sync();
        journal.close();
        folded.and(synced)
    }

    /// Announces that the service is closed soon, and that its closing may fold until then: no
    /// index is written any more, a round of maintenance ends with the node that it is at, and what is
    /// not folded in time stays in the journal, from which the next opening reads it. Without this
    /// call closing folds everything. To be called first of all when a program ends.
    pub fn close_by(&self, deadline: Instant) {
        self.stop_writing_indexes();
        // The first deadline stands.
        let _ = self.shared.close_by.set(deadline);
    }

    /// Returns the state of the service. Costs nothing, whatever the disk does.
    #[must_use]
    pub fn health(&self) -> ServiceHealth {
        let shared = &self.shared;
        let journal = shared.journal.as_ref().map_or(Ok(()), Journal::check);
        match (journal, shared.fold_failure().clone()) {
            (Err(failure), _) => ServiceHealth::Failed(failure),
            (Ok(()), Some(failure)) => ServiceHealth::Degraded(failure),
            (Ok(()), None) => ServiceHealth::Healthy,
        }
    }

    /// Returns the ids of nodes whose knowledge bases were named by another generation of KATO, or under
    /// another name of the service. Their knowledge stays where it is, and nothing leads to it: under these
    /// ids nodes begin empty, or are others that they meet.
    #[must_use]
    pub fn unreached_nodes(&self) -> Vec<String> {
        self.shared.nodes.unreached()
    }

    /// Returns what was found lost and is not mended: when the service was opened, or when it was
    /// met. Empty is how it should be.
    ///
    /// A node's loss that was not accepted is mended by putting its knowledge base back; others stay
    /// until their list in the directory, `LOSSES`, is removed and the service opened again.
    #[must_use]
    pub fn losses(&self) -> Vec<DataLoss> {
        self.shared.losses.all()
    }

    /// Returns what the service did since it was opened, and its state. Costs some milliseconds
    /// with very many nodes in memory.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let shared = &self.shared;
        let counters = &shared.counters;
        let loaded = shared.nodes.registry().in_memory();
        let loaded: Vec<_> = loaded
            .iter()
            .filter_map(|entry| entry.in_memory())
            .collect();
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
            nodes: shared.nodes.len(),
            nodes_loaded: loaded.len(),
            knowledge_bytes: shared.nodes.registry().knowledge.bytes(),
            uncommitted_learns: uncommitted.sum::<u64>()
                + shared.nodes.registry().n_unfolded_learns(),
            indexes_written: shared.index_writers.n_written.get(),
            index_faults: counters.index_faults.get(),
            disk_bytes: store_bytes,
            losses: shared.losses.all().len(),
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
    /// Returns whether the service is closed soon.
    fn is_closing(&self) -> bool {
        self.close_by.get().is_some()
    }

    /// Returns whether closing has folded for as long as it may.
    fn is_out_of_time(&self) -> bool {
        let deadline = self.close_by.get();
        deadline.is_some_and(|deadline| Instant::now() >= *deadline)
    }

    /// Returns the present time.
    fn now(&self) -> Micros {
        Micros::from_system_time(self.options.clock.now())
    }

    /// Restores what a journal knows, and reports what is lost.
    fn restore(&self, report: OpenReport) -> Result<(), ServiceError> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        let clock_now = self.options.clock.now();
        let now = Micros::from_system_time(clock_now);
        let was_lost = !report.losses.is_empty();
        for loss in report.losses.into_iter().skip(report.n_listed) {
            self.losses.write_down(loss, clock_now)?;
        }
        if report.n_listed > 0 {
            // The times of keys may be among what is lost, and without them keys would be kept for ever.
            keys::restore_times(journal)?;
        }
        // Only beside a new journal: looking reads the checkpoint of every knowledge base. A journal
        // that was given up as lost explains why this one is new.
        if report.is_new
            && !was_lost
            && let Some(loss) = self.nodes.without_journal()
        {
            self.losses.write_down(loss, clock_now)?;
        }
        // Nodes before sessions: a session enters its node, which must not be taken for a new one.
        self.nodes.restore(journal, now)?;
        self.nodes.report_losses(journal, &self.losses)?;
        let most = self.options.max_session_ttl;
        let not_whole = self.sessions.restore(journal, &self.nodes, (now, most))?;
        self.go_on_without(not_whole, journal)
    }

    /// Refuses to go on without sessions that are not whole, or removes what is left of them.
    fn go_on_without(
        &self,
        not_whole: Vec<Vec<u8>>,
        journal: &Journal,
    ) -> Result<(), ServiceError> {
        if !not_whole.is_empty() {
            let lacking = counted(not_whole.len(), "session");
            let loss = DataLoss::Journal {
                path: journal.tables().path(Table::States).to_owned(),
                reason: format!("what {lacking} remembered is gone, and when they end"),
            };
            if !self.options.accept_losses {
                return Err(ServiceError::Lost { loss });
            }
            self.losses.write_down(loss, self.options.clock.now())?;
        }
        match self.options.accept_losses {
            true => self.sessions.remove_parts(journal, not_whole),
            false => Ok(()),
        }
    }

    /// Returns where the knowledge of nodes comes from.
    fn source(&self) -> Source<'_> {
        let disk = self.journal.as_ref().zip(self.nodes.dir());
        Source {
            disk: disk.map(|(journal, nodes_dir)| Disk {
                journal,
                nodes_dir,
                losses: &self.losses,
                index_writers: &self.index_writers,
                options: &self.options,
                accepts_losses: self.options.accept_losses,
                clock: &*self.options.clock,
            }),
            engine: &self.options.engine,
        }
    }

    /// Notes that a node cannot be read, if an error says so, and makes it one of the node.
    fn note(&self, node: &LoadedNode, node_id: &str, error: ServiceError) -> ServiceError {
        node.note(&error, &self.losses);
        error.of_node(node_id)
    }

    /// Notes that a node that a head counts cannot be read, if an error says so.
    fn note_level(&self, nodes: &[Arc<LoadedNode>], error: ServiceError) -> ServiceError {
        let concerned = match &error {
            ServiceError::Node { node_id, .. } => Some(node_id),
            _ => None,
        };
        let concerned = concerned.and_then(|name| {
            let mut nodes = nodes.iter();
            nodes.find(|node| node.node().name() == name)
        });
        if let Some(node) = concerned {
            node.note(&error, &self.losses);
        }
        error
    }

    /// Returns the right to write, which closing waits for.
    fn begin_write(&self) -> Result<RwLockReadGuard<'_, ()>, ServiceError> {
        let turn = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        // Read with the right in hand: closing sets it while no write runs.
        if self.is_closed.load(Ordering::Acquire) {
            return Err(ServiceError::Closed);
        }
        if let Some(journal) = &self.journal {
            journal.check()?;
        }
        Ok(turn)
    }

    /// Locks the failure of the last round of maintenance.
    fn fold_failure(&self) -> std::sync::MutexGuard<'_, Option<StorageFailure>> {
        self.fold_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

//! Creation and opening of stores.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use kato_model::{AttributeLimits, RunName, processor_id};
use kato_store::StoreError;
use mongodb::bson::doc;
use serde_json::Value;

use crate::Guard;
use crate::creation::{check_empty, create_run, select_guard, wait_until_applied};
use crate::engine::Engine;
use crate::indexes;
use crate::layout::{JOURNAL, RUN, run_database};
use crate::lease::{Lease, acquire, renew_while_open};
use crate::record::{FORMAT, NodeEntry, RunRecord, read};
use crate::server::Server;
use crate::sessions::Sessions;
use crate::state::{CommitState, StoreState, commit_state_of};
use crate::store::MongoStore;

/// A builder of the store of a run: how it is reached, created and opened. Made by
/// [`MongoStore::builder`].
#[derive(Clone)]
pub struct MongoStoreBuilder {
    uri: String,
    run: RunName,
    limits: AttributeLimits,
    max_in_flight: usize,
    chunk: usize,
    patience: Duration,
    guard: Guard,
    sharded: bool,
}

impl std::fmt::Debug for MongoStoreBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password.
        f.debug_struct("MongoStoreBuilder")
            .field("run", &self.run)
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

impl MongoStoreBuilder {
    pub(crate) fn new(uri: String, run: RunName) -> Self {
        Self {
            uri,
            run,
            limits: AttributeLimits::default(),
            max_in_flight: 8,
            chunk: 1000,
            patience: Duration::from_secs(60),
            guard: Guard::Auto,
            sharded: false,
        }
    }

    /// Sets how much of a pattern's attributes a new run keeps; an existing run has limits of its
    /// own.
    #[must_use]
    pub fn limits(self, limits: AttributeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets how many bulks are with the server at once; 8 unless set, at least 1.
    #[must_use]
    pub fn max_in_flight(self, bulks: usize) -> Self {
        Self {
            max_in_flight: bulks.max(1),
            ..self
        }
    }

    /// Sets the number of upserts in a bulk; 1000 unless set, from 1 to 10,000. A bulk also ends at
    /// 4 MiB. In a transaction a bulk must be done within a minute.
    #[must_use]
    pub fn chunk(self, documents: usize) -> Self {
        Self {
            chunk: documents.clamp(1, 10_000),
            ..self
        }
    }

    /// Sets how long an operation is tried again while the server does not answer; one minute
    /// unless set.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sets how commits are kept exact; [`Guard::Auto`] unless set. A commit that a crash left
    /// unfinished goes on under the guard that it began with.
    #[must_use]
    pub fn guard(self, guard: Guard) -> Self {
        Self { guard, ..self }
    }

    /// Sets whether a new run is spread over the shards of a cluster: patterns and symbols by
    /// ranges of their names, which are even, as names are SHA-1. Needs the right to shard, and a
    /// connection to a router.
    #[must_use]
    pub fn sharded(self, sharded: bool) -> Self {
        Self { sharded, ..self }
    }

    /// Creates the store of a new run, its nodes from the bottom of the hierarchy up, and opens it
    /// for writing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] when the run is there, [`StoreError::NotAKnowledgeBase`] when a
    /// node's database holds patterns of another (see [`adopt`](Self::adopt)),
    /// [`StoreError::Unanswered`] and [`StoreError::Refused`].
    pub fn create(
        self,
        nodes: &[impl AsRef<str>],
        configuration: Value,
    ) -> Result<MongoStore, StoreError> {
        let entry = |node: &str| NodeEntry {
            name: node.to_owned(),
            database: processor_id(&self.run.node_id(node), "kato"),
        };
        let nodes = nodes.iter().map(|node| entry(node.as_ref())).collect();
        self.make(nodes, configuration, true)
    }

    /// Makes a run of knowledge bases that exist already, such as a KATO wrote: each node by its
    /// name and the name of its database. Nothing of them is changed until the first commit.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create); [`StoreError::Missing`] when a database holds no patterns.
    pub fn adopt(
        self,
        nodes: &[(&str, &str)],
        configuration: Value,
    ) -> Result<MongoStore, StoreError> {
        self.make(entries(nodes), configuration, false)
    }

    /// Creates a run and opens it for writing. The databases of a new run must hold no patterns,
    /// those of an adopted one some.
    fn make(
        self,
        nodes: Vec<NodeEntry>,
        configuration: Value,
        is_new: bool,
    ) -> Result<MongoStore, StoreError> {
        let (engine, server) = self.connect()?;
        let database = run_database(self.run.as_str());
        let (guard, in_flight) = (self.guard, self.max_in_flight);
        let record = self.record(nodes, &configuration);
        let (lease, record, means) = engine.run({
            let server = Arc::clone(&server);
            async move {
                // Sessions are started before the record is written, because it names them for the
                // next writer.
                let means = select_guard(&server, guard, in_flight).await?;
                let (lease, record) =
                    create_run(&server, &database, record, is_new, &means.1).await?;
                Ok::<_, StoreError>((Some(lease), record, means))
            }
        })?;
        self.assemble(engine, server, record, lease, means, configuration)
    }

    /// Opens the store of a run for writing, and finishes what a crash left unfinished.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no such run, [`StoreError::Locked`] while another
    /// process writes, [`StoreError::Version`] when another version wrote it,
    /// [`StoreError::Meddled`] when somebody else changed what a commit was about to change,
    /// [`StoreError::Unanswered`] and [`StoreError::Refused`].
    pub fn open(self) -> Result<MongoStore, StoreError> {
        let (engine, server) = self.connect()?;
        let database = run_database(self.run.as_str());
        let (guard, in_flight) = (self.guard, self.max_in_flight);
        let (lease, record, means) = engine.run({
            let (server, database) = (Arc::clone(&server), database.clone());
            async move {
                let means = select_guard(&server, guard, in_flight).await?;
                let (lease, record) = acquire(&server, &database, &means.1).await?;
                Ok::<_, StoreError>((Some(lease), record, means))
            }
        })?;
        let configuration = configuration_of(&record, &server, &database)?;
        let store = self.assemble(engine, server, record, lease, means, configuration)?;
        // In this order: the upserts of an unfinished commit rely on the unique index on the name.
        store.prepare_indexes()?;
        store.recover()?;
        Ok(store)
    }

    /// Opens the store of a run for reading, also while another process writes.
    ///
    /// What is read while somebody writes is no snapshot: a commit shows bulk by bulk. A commit
    /// that a crash left unfinished is waited for.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), but never [`StoreError::Locked`]; [`StoreError::Unanswered`] when
    /// nobody finishes what is unfinished: open it for writing once.
    pub fn open_read_only(self) -> Result<MongoStore, StoreError> {
        let (engine, server) = self.connect()?;
        let database = run_database(self.run.as_str());
        let patience = self.patience;
        let guard = self.guard;
        let (record, means) = engine.run({
            let (server, database) = (Arc::clone(&server), database.clone());
            async move {
                // A reader begins no transactions, so it needs no sessions.
                let means = select_guard(&server, guard, 0).await?;
                let record = wait_until_applied(&server, &database, patience).await?;
                Ok::<_, StoreError>((record, means))
            }
        })?;
        let configuration = configuration_of(&record, &server, &database)?;
        self.assemble(engine, server, record, None, means, configuration)
    }

    /// Opens knowledge bases that are no run of ours, such as a KATO wrote, for reading: each node
    /// by its name and the name of its database.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when a database holds no patterns, [`StoreError::Unanswered`] and
    /// [`StoreError::Refused`].
    pub fn open_foreign(self, nodes: &[(&str, &str)]) -> Result<MongoStore, StoreError> {
        let (engine, server) = self.connect()?;
        let nodes = entries(nodes);
        let means = engine.run({
            let (server, nodes, guard) = (Arc::clone(&server), nodes.clone(), self.guard);
            async move {
                for node in &nodes {
                    check_empty(&server, &node.database, false).await?;
                }
                select_guard(&server, guard, 0).await
            }
        })?;
        let record = RunRecord {
            sharded: false,
            ..self.record(nodes, &Value::Null)
        };
        self.assemble(engine, server, record, None, means, Value::Null)
    }

    /// Returns the record of a run that begins.
    fn record(&self, nodes: Vec<NodeEntry>, configuration: &Value) -> RunRecord {
        RunRecord {
            id: RUN.to_owned(),
            format: FORMAT,
            run: self.run.as_str().to_owned(),
            nodes,
            configuration: configuration.to_string(),
            persistence: self.limits.persistence.get() as i64,
            metadata_values: self
                .limits
                .metadata_values
                .map(|values| values.get() as i64),
            checkpoint: Value::Null.to_string(),
            commit: 0,
            pending: None,
            owner: None,
            sessions: Vec::new(),
            sharded: self.sharded,
            manifest: None,
        }
    }

    /// Returns whether the run exists.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unanswered`] and [`StoreError::Refused`].
    pub fn exists(&self) -> Result<bool, StoreError> {
        let (engine, server) = self.connect()?;
        let database = run_database(self.run.as_str());
        engine.run(async move { Ok(read(&server, &database).await?.is_some()) })
    }

    /// Starts the threads of a store and its client.
    pub(crate) fn connect(&self) -> Result<(Engine, Arc<Server>), StoreError> {
        // A few connections more than bulks in flight, for reads, staging and the renewal of the
        // lease.
        connect(&self.uri, self.patience, self.max_in_flight as u32 + 8)
    }

    /// Puts an open store together, and keeps its lease renewed for as long as it is open.
    fn assemble(
        &self,
        engine: Engine,
        server: Arc<Server>,
        record: RunRecord,
        lease: Option<Lease>,
        (guard, sessions): (Guard, Sessions),
        configuration: Value,
    ) -> Result<MongoStore, StoreError> {
        let database = run_database(self.run.as_str());
        let lease = lease.map(Arc::new);
        if let Some(lease) = &lease {
            // The task holds the lease weakly, so that it ends once the store is dropped.
            let (server, database) = (Arc::clone(&server), database.clone());
            engine.spawn(renew_while_open(Arc::downgrade(lease), server, database));
        }
        let commit_state = match &lease {
            Some(_) => commit_state_of(&record, &server)?,
            // A reader finishes no commit: `wait_until_applied` has waited until there was none.
            None => CommitState {
                needs_recovery: false,
                ..commit_state_of(&record, &server)?
            },
        };
        let core = StoreState {
            limits: record.limits(),
            sharded: record.sharded,
            engine,
            server,
            database,
            nodes: record.nodes,
            guard,
            max_in_flight: self.max_in_flight,
            chunk: self.chunk,
            lease,
            sessions: Arc::new(sessions),
            commit_state: RwLock::new(commit_state),
            scans: Mutex::default(),
            held: AtomicUsize::new(0),
        };
        Ok(MongoStore::new(core, self.run.clone(), configuration))
    }
}

impl MongoStore {
    /// Makes indexes that are missing or not as KATO makes them, before anything is written.
    fn prepare_indexes(&self) -> Result<(), StoreError> {
        let core = self.core();
        let lease = Arc::clone(core.writer()?);
        let nodes = core.nodes.clone();
        core.block_on(|server| async move {
            for node in &nodes {
                indexes::prepare(&server, &node.database, Some(&lease)).await?;
            }
            Ok(())
        })
    }

    /// Finishes what a crash left, and clears the journal of what nobody will commit.
    fn recover(&self) -> Result<(), StoreError> {
        let core = self.core();
        // First, because an unfinished commit reads its blobs from the journal. All that is left
        // after it belongs to nobody: the lease is held and nothing is staged yet.
        drop(core.lock_for_write()?);
        let database = core.database.clone();
        core.block_on(|server| async move {
            let journal = server.collection(&database, JOURNAL);
            let clear = || async { Ok(journal.delete_many(doc! {}).await?) };
            server.retry("clear the journal", clear).await
        })
        .map(drop)
    }
}

/// Returns the entries of nodes, given their names and databases.
fn entries(nodes: &[(&str, &str)]) -> Vec<NodeEntry> {
    let entry = |&(name, database): &(&str, &str)| NodeEntry {
        name: name.to_owned(),
        database: database.to_owned(),
    };
    nodes.iter().map(entry).collect()
}

/// Starts the threads of a store, and a client on them.
pub(crate) fn connect(
    uri: &str,
    patience: Duration,
    pool: u32,
) -> Result<(Engine, Arc<Server>), StoreError> {
    let engine = Engine::start().map_err(|source| StoreError::Io {
        action: "start threads for",
        path: "the connection".into(),
        source,
    })?;
    let uri = uri.to_owned();
    let server = engine.run(async move { Server::new(&uri, patience, pool).await })?;
    Ok((engine, Arc::new(server)))
}

/// Reads the configuration of a record.
fn configuration_of(
    record: &RunRecord,
    server: &Server,
    database: &str,
) -> Result<Value, StoreError> {
    serde_json::from_str(&record.configuration).map_err(|error| StoreError::Corrupt {
        path: server.path(database),
        reason: format!("the configuration is no JSON: {error}"),
    })
}

//! Creation and opening of stores.

use std::sync::Arc;
use std::time::Duration;

use kato_model::naming::processor_id;
use kato_model::{AttributeLimits, RunName};
use kato_store::{Rescue, StoreError};
use mongodb::bson::doc;
use serde_json::Value;

use crate::commit::{CommitLog, CommitSettings, CommitState};
use crate::connection::{Connection, Server, Sessions};
use crate::guard::Guard;
use crate::layout::prepare_indexes;
use crate::record::{
    FORMAT, JOURNAL, Lease, NodeEntry, OpenRun, RUN, RunRecord, acquire, read_record,
    renew_while_open, run_database,
};
use crate::runs::{check_taught, create_run, select_guard, wait_until_applied};
use crate::store::MongoStore;

/// Bulks that may be with the server at once: each has a connection of its own, and for
/// transactions a session.
const MAX_IN_FLIGHT: usize = 1024;
/// Connections besides those of bulks in flight, for reads, staging and the renewal of the lease.
const SPARE_CONNECTIONS: u32 = 8;

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

impl MongoStore {
    /// Creates a builder for the store of a run. Nothing is connected yet.
    ///
    /// `uri` is MongoDB's connection string; credentials in it show nowhere else.
    #[must_use]
    pub fn builder(uri: impl Into<String>, run: RunName) -> MongoStoreBuilder {
        MongoStoreBuilder::new(uri.into(), run)
    }
}

impl MongoStoreBuilder {
    /// Returns the name of the run.
    #[must_use]
    pub const fn run(&self) -> &RunName {
        &self.run
    }

    /// Creates a builder with the settings of a run of one writer.
    fn new(uri: String, run: RunName) -> Self {
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
    pub fn with_limits(self, limits: AttributeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets how many bulks are with the server at once; 8 unless set, from 1 to 1024.
    #[must_use]
    pub fn with_max_in_flight(self, bulks: usize) -> Self {
        Self {
            max_in_flight: bulks.clamp(1, MAX_IN_FLIGHT),
            ..self
        }
    }

    /// Sets the number of upserts in a bulk; 1000 unless set, from 1 to 10,000. A bulk also ends at
    /// 4 MiB. In a transaction a bulk must be done within a minute.
    #[must_use]
    pub fn with_chunk(self, documents: usize) -> Self {
        Self {
            chunk: documents.clamp(1, 10_000),
            ..self
        }
    }

    /// Sets how long an operation is tried again while the server does not answer; one minute
    /// unless set.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sets how commits are kept exact; [`Guard::Auto`] unless set. A commit that a crash left
    /// unfinished goes on under the guard that it began with.
    #[must_use]
    pub fn with_guard(self, guard: Guard) -> Self {
        Self { guard, ..self }
    }

    /// Sets whether a new run is spread over the shards of a cluster: patterns and symbols by
    /// ranges of their names, which are even, as names are SHA-1. Needs the right to shard, and a
    /// connection to a router.
    #[must_use]
    pub fn with_sharding(self, sharded: bool) -> Self {
        Self { sharded, ..self }
    }

    /// Creates the store of a new run, its nodes from the bottom of the hierarchy up, and opens it
    /// for writing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] when the run is there, [`StoreError::NotAKnowledgeBase`] when a
    /// node's database holds patterns of another (see [`adopt`](Self::adopt)), and
    /// [`StoreError::Backend`] with an [`Error`](crate::Error) of this crate.
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
    /// name and the name of its database. Indexes and collections that they lack are made; nothing
    /// that they hold is changed until the first commit.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create); [`StoreError::Missing`] when a database is not there, or none holds
    /// patterns.
    pub fn adopt(
        self,
        nodes: &[(&str, &str)],
        configuration: Value,
    ) -> Result<MongoStore, StoreError> {
        self.make(entries(nodes), configuration, false)
    }

    /// Creates a run and opens it for writing. The databases of a new run must hold no patterns, one at
    /// least of an adopted one some.
    fn make(
        self,
        nodes: Vec<NodeEntry>,
        configuration: Value,
        is_new: bool,
    ) -> Result<MongoStore, StoreError> {
        let connection = self.connect()?;
        let database = run_database(self.run.as_str());
        let (guard, in_flight) = (self.guard, self.max_in_flight);
        let record = self.record(nodes, &configuration);
        let (lease, record, means) = connection.block_on(|server| async move {
            // Sessions are started before the record is written, because it names them for the next
            // writer.
            let means = select_guard(&server, guard, in_flight).await?;
            let (lease, record) = create_run(&server, &database, record, is_new, &means.1).await?;
            Ok::<_, StoreError>((Some(lease), record, means))
        })?;
        self.assemble(connection, record, lease, means, configuration)
    }

    /// Opens the store of a run for writing, and finishes what a crash left unfinished.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no such run, [`StoreError::Locked`] while another
    /// writer has it open, [`StoreError::Version`] when another version wrote it, and
    /// [`StoreError::Backend`] with an [`Error`](crate::Error) of this crate, such as
    /// [`Meddled`](crate::Error::Meddled) when somebody else changed what a commit was about to
    /// change.
    pub fn open(self) -> Result<MongoStore, StoreError> {
        let connection = self.connect()?;
        let database = run_database(self.run.as_str());
        let (guard, in_flight) = (self.guard, self.max_in_flight);
        let (lease, record, means) = connection.block_on(|server| async move {
            let means = select_guard(&server, guard, in_flight).await?;
            let (lease, record) = acquire(&server, &database, &means.1).await?;
            Ok::<_, StoreError>((Some(lease), record, means))
        })?;
        let configuration = self.configuration_of(&record, connection.server())?;
        let store = self.assemble(connection, record, lease, means, configuration)?;
        // In this order: the upserts of an unfinished commit rely on the unique index on the name.
        prepare_all_indexes(store.open_run())?;
        // Before the journal is cleared, because an unfinished commit reads its blobs from it. All
        // that is left after it belongs to nobody: the lease is held and nothing is staged yet.
        store.finish_last_commit()?;
        clear_journal(store.open_run())?;
        store.clear_old_checkpoints()?;
        Ok(store)
    }

    /// Opens the store of a run for reading, also while another process writes.
    ///
    /// What is read while somebody writes is no snapshot: a commit shows bulk by bulk. A commit that
    /// is not finished when it is opened is waited for, as long as the [patience](Self::with_patience).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), but [`StoreError::Locked`] only when its writer has not finished the commit
    /// by then; [`Unfinished`](crate::Error::Unfinished) when nobody finishes it: open it for writing once.
    pub fn open_read_only(self) -> Result<MongoStore, StoreError> {
        let connection = self.connect()?;
        let database = run_database(self.run.as_str());
        let patience = self.patience;
        let guard = self.guard;
        let (record, means) = connection.block_on(|server| async move {
            // A reader begins no transactions, so it needs no sessions.
            let means = select_guard(&server, guard, 0).await?;
            let record = wait_until_applied(&server, &database, patience).await?;
            Ok::<_, StoreError>((record, means))
        })?;
        let configuration = self.configuration_of(&record, connection.server())?;
        self.assemble(connection, record, None, means, configuration)
    }

    /// Opens knowledge bases that are no run of ours, such as a KATO wrote, for reading: each node
    /// by its name and the name of its database.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when a database is not there or none holds patterns, and
    /// [`StoreError::Backend`].
    pub fn open_foreign(self, nodes: &[(&str, &str)]) -> Result<MongoStore, StoreError> {
        let connection = self.connect()?;
        let nodes = entries(nodes);
        let (found, guard) = (nodes.clone(), self.guard);
        let means = connection.block_on(|server| async move {
            check_taught(&server, &found).await?;
            select_guard(&server, guard, 0).await
        })?;
        let record = RunRecord {
            sharded: false,
            ..self.record(nodes, &Value::Null)
        };
        self.assemble(connection, record, None, means, Value::Null)
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
            checkpoint_parts: None,
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
    /// [`StoreError::Backend`], and [`StoreError::Version`] when another version wrote it.
    pub fn exists(&self) -> Result<bool, StoreError> {
        let database = run_database(self.run.as_str());
        self.connect()?
            .block_on(|server| async move { Ok(read_record(&server, &database).await?.is_some()) })
    }

    /// Starts the threads of a store and its client.
    fn connect(&self) -> Result<Connection, StoreError> {
        let bulks = u32::try_from(self.max_in_flight).expect("the setter bounds it");
        Connection::open(&self.uri, self.patience, bulks + SPARE_CONNECTIONS)
    }

    /// Reads the configuration of a record.
    fn configuration_of(&self, record: &RunRecord, server: &Server) -> Result<Value, StoreError> {
        serde_json::from_str(&record.configuration).map_err(|error| StoreError::Corrupt {
            place: server.place_of(&[&run_database(self.run.as_str())]),
            reason: format!("the configuration is no JSON: {error}"),
            rescue: Rescue::Nothing,
        })
    }

    /// Puts an open store together, and keeps its lease renewed for as long as it is open.
    fn assemble(
        &self,
        connection: Connection,
        record: RunRecord,
        lease: Option<Lease>,
        (guard, sessions): (Guard, Sessions),
        configuration: Value,
    ) -> Result<MongoStore, StoreError> {
        let database = run_database(self.run.as_str());
        let lease = lease.map(Arc::new);
        if let Some(lease) = &lease {
            // The task holds the lease weakly, so that it ends once the store is dropped.
            let (server, database) = (Arc::clone(connection.server()), database.clone());
            connection.spawn(renew_while_open(Arc::downgrade(lease), server, database));
        }
        let state = CommitState::from_record(&record, connection.server())?;
        let state = match &lease {
            Some(_) => state,
            // A reader finishes no commit: `wait_until_applied` has waited until there was none.
            None => state.without_recovery(),
        };
        let settings = CommitSettings {
            guard,
            max_in_flight: self.max_in_flight,
            chunk: self.chunk,
            sessions: Arc::new(sessions),
        };
        let run = Arc::new(OpenRun::new(connection, database, record, lease));
        let log = CommitLog::new(run, settings, state);
        Ok(MongoStore::new(self.run.clone(), log, configuration))
    }
}

/// Makes indexes that are missing or not as KATO makes them, before anything is written.
fn prepare_all_indexes(run: &OpenRun) -> Result<(), StoreError> {
    let lease = Arc::clone(run.writer()?);
    let databases = run.node_databases();
    run.block_on(|server| async move {
        for database in &databases {
            prepare_indexes(&server, database, Some(&lease)).await?;
        }
        Ok(())
    })
}

/// Clears the journal of what nobody will commit.
fn clear_journal(run: &OpenRun) -> Result<(), StoreError> {
    let database = run.database.clone();
    run.block_on(|server| async move {
        let journal = server.collection(&database, JOURNAL);
        let clear = || async { Ok(journal.delete_many(doc! {}).await?) };
        server.retry("clear the journal", clear).await
    })
    .map(drop)
}

/// Returns the entries of nodes, given their names and databases.
fn entries(nodes: &[(&str, &str)]) -> Vec<NodeEntry> {
    let entry = |&(name, database): &(&str, &str)| NodeEntry {
        name: name.to_owned(),
        database: database.to_owned(),
    };
    nodes.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulks_in_flight_are_bounded_and_connections_counted() {
        let builder = |bulks| {
            let run = "bounded".parse().unwrap();
            MongoStore::builder("mongodb://127.0.0.1:9", run)
                .with_max_in_flight(bulks)
                .with_patience(Duration::from_millis(100))
        };
        assert_eq!(builder(0).max_in_flight, 1);
        assert_eq!(builder(16).max_in_flight, 16);
        let many = builder(usize::MAX);
        assert_eq!(many.max_in_flight, MAX_IN_FLIGHT);
        assert!(many.open().unwrap_err().is_transient());
    }
}

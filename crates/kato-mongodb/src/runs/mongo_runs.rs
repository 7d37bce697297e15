//! The runs of a server: listed, discovered, copied and deleted.

use std::sync::Arc;
use std::time::Duration;

use kato_model::RunName;
use kato_store::StoreError;

use super::copying::{Copying, copy};
use super::held_lease::{HeldLease, drop_databases};
use crate::connection::{Connection, Server};
use crate::layout::NODE_SUFFIX;
use crate::record::{
    RUN_SUFFIX, RunRecord, is_alive, read_manifest, read_record, run_database, write_manifest,
};

/// A run on a server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MongoRun {
    /// The name.
    pub run: RunName,
    /// The names of the nodes, from the bottom of the hierarchy up.
    pub nodes: Vec<String>,
    /// The databases of the nodes.
    pub databases: Vec<String>,
    /// The configuration that its creator gave.
    pub configuration: serde_json::Value,
    /// The checkpoint of its last commit.
    pub checkpoint: serde_json::Value,
    /// The value that was kept about it with [`MongoRuns::set_manifest`].
    pub manifest: Option<serde_json::Value>,
    /// Whether a process has it open for writing.
    pub in_use: bool,
}

/// Databases of nodes that belong to no run of ours, such as a KATO made, grouped by what comes
/// before the last `_` of the node's id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveredRun {
    /// The common beginning of the node ids; empty when they have no `_`.
    pub run: String,
    /// The name and the database of each node, in the order of the databases' names.
    pub nodes: Vec<(String, String)>,
}

/// The runs of a server.
///
/// ```no_run
/// use kato_mongodb::MongoRuns;
///
/// let runs = MongoRuns::connect("mongodb://localhost:27017")?;
/// for run in runs.list()? {
///     println!("{}: {} nodes", run.run, run.nodes.len());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MongoRuns {
    connection: Connection,
}

impl MongoRuns {
    /// Prepares a connection to a server, which is asked nothing yet. Credentials in the address
    /// show nowhere else.
    ///
    /// # Errors
    ///
    /// [`StoreError::Backend`] when the address cannot be read.
    pub fn connect(uri: &str) -> Result<Self, StoreError> {
        let connection = Connection::open(uri, Duration::from_secs(60), 16)?;
        Ok(Self { connection })
    }

    /// Returns all runs, ordered by name.
    ///
    /// # Errors
    ///
    /// [`StoreError::Backend`], and [`StoreError::Version`] when another version wrote one.
    pub fn list(&self) -> Result<Vec<MongoRun>, StoreError> {
        self.connection.block_on(|server| async move {
            let now = server.hello().await?.now;
            let mut runs = Vec::new();
            for record in all(&server).await? {
                // A record with a name that no run can have is none of ours.
                let Ok(run) = record.run.parse() else {
                    continue;
                };
                runs.push(MongoRun {
                    run,
                    nodes: record.nodes.iter().map(|node| node.name.clone()).collect(),
                    databases: record
                        .nodes
                        .iter()
                        .map(|node| node.database.clone())
                        .collect(),
                    configuration: serde_json::from_str(&record.configuration).unwrap_or_default(),
                    // A list shows damaged runs as well; opening one says what is wrong with it.
                    checkpoint: record.checkpoint(&server).unwrap_or_default(),
                    manifest: record.manifest(),
                    in_use: record
                        .owner
                        .as_ref()
                        .is_some_and(|owner| is_alive(owner, now)),
                });
            }
            runs.sort_by(|a, b| a.run.as_str().cmp(b.run.as_str()));
            Ok(runs)
        })
    }

    /// Returns the knowledge bases that belong to no run of ours: databases whose names end in
    /// `_kato`, but for those that a copy fills or left half filled.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn discover(&self) -> Result<Vec<DiscoveredRun>, StoreError> {
        self.connection.block_on(|server| async move {
            let known = all(&server).await?;
            let is_ours = |database: &String| {
                let mut nodes = known.iter().flat_map(|record| &record.nodes);
                nodes.any(|node| node.database == *database)
            };
            let mut databases = server.database_names().await?;
            let mut half_copied = Vec::new();
            for database in databases.iter().filter(|name| name.ends_with(RUN_SUFFIX)) {
                half_copied.extend(Copying::noted_databases(&server, database).await?);
            }
            databases.retain(|name| {
                name.ends_with(NODE_SUFFIX) && !is_ours(name) && !half_copied.contains(name)
            });
            databases.sort_unstable();
            let mut found: Vec<DiscoveredRun> = Vec::new();
            for database in databases {
                let id = database.strip_suffix(NODE_SUFFIX).unwrap_or(&database);
                // Node ids of a run are `{run}_{node}`, and names of runs may hold `_` as well: the
                // last one decides.
                let (run, node) = id.rsplit_once('_').unwrap_or(("", id));
                let node = (node.to_owned(), database.clone());
                match found.iter_mut().find(|found| found.run == run) {
                    Some(found) => found.nodes.push(node),
                    None => found.push(DiscoveredRun {
                        run: run.to_owned(),
                        nodes: vec![node],
                    }),
                }
            }
            Ok(found)
        })
    }

    /// Returns the value that was kept about a run with [`set_manifest`](Self::set_manifest);
    /// `None` when there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no such run, and as [`list`](Self::list).
    pub fn manifest(&self, run: &RunName) -> Result<Option<serde_json::Value>, StoreError> {
        let database = run_database(run.as_str());
        self.connection
            .block_on(|server| async move { read_manifest(&server, &database).await })
    }

    /// Keeps a value of the caller's about a run, such as how it was made. It can be set while a
    /// process writes the run.
    ///
    /// # Errors
    ///
    /// As [`manifest`](Self::manifest).
    pub fn set_manifest(
        &self,
        run: &RunName,
        manifest: &serde_json::Value,
    ) -> Result<(), StoreError> {
        let (database, manifest) = (run_database(run.as_str()), manifest.to_string());
        self.connection
            .block_on(|server| async move { write_manifest(&server, &database, manifest).await })
    }

    /// Deletes a run: the databases of its nodes, then its own; or what an interrupted copy left.
    /// Whatever interrupts it, deleting again finishes it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no such run, [`StoreError::Locked`] while a process
    /// writes it, and as [`list`](Self::list).
    pub fn delete(&self, run: &RunName) -> Result<(), StoreError> {
        let database = run_database(run.as_str());
        self.connection.block_on(|server| async move {
            if let Some(left) = Copying::leftover_databases(&server, &database).await? {
                drop_databases(&server, &left).await?;
                return drop_databases(&server, &[database]).await;
            }
            let lease = HeldLease::acquire(&server, &database).await?;
            let mut dropped = drop_databases(&server, &lease.databases()).await;
            if dropped.is_ok() {
                // Last, and the lease with it: until then the record says what is still to be
                // deleted.
                dropped = drop_databases(&server, std::slice::from_ref(&database)).await;
            }
            lease.end().await;
            dropped
        })
    }

    /// Copies a run under another name, with its checkpoint and manifest. The copy appears when it
    /// is complete; what an interrupted copy left is written over. Nobody can write the run
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no such run, [`StoreError::Locked`] while a process
    /// writes it or copies something to the other name, [`StoreError::Exists`] when that name is taken,
    /// [`StoreError::NotAKnowledgeBase`] when databases of that name are another's,
    /// [`Error::Unfinished`](crate::Error::Unfinished) when the last commit is not finished, and as
    /// [`list`](Self::list).
    pub fn copy(&self, from: &RunName, to: &RunName) -> Result<(), StoreError> {
        let (source, to) = (run_database(from.as_str()), to.clone());
        self.connection.block_on(|server| async move {
            let lease = HeldLease::acquire(&server, &source).await?;
            let copied = copy(&server, (&source, &lease.record), &to).await;
            lease.end().await;
            copied
        })
    }
}

/// Reads the records of all runs.
async fn all(server: &Arc<Server>) -> Result<Vec<RunRecord>, StoreError> {
    let mut found = Vec::new();
    for database in server.database_names().await? {
        if database.ends_with(RUN_SUFFIX) {
            found.extend(read_record(server, &database).await?);
        }
    }
    Ok(found)
}

//! The runs of a server: listed, found, copied, deleted.

use std::sync::Arc;
use std::time::Duration;

use kato_model::{RunName, processor_id};
use kato_store::StoreError;
use mongodb::bson::{Document, RawDocumentBuf, doc};

use crate::builder::connect;
use crate::engine::Engine;
use crate::fault::{DUPLICATE_KEY, Fault};
use crate::layout::{
    DOCUMENTS, NODE_SUFFIX, PATTERNS, RUN_SUFFIX, SYMBOLS, TOTALS, VECTORS, prepare_node,
    prepare_run, run_database,
};
use crate::lease::is_alive;
use crate::record::{NodeEntry, RunRecord, read, records};
use crate::server::{Server, durable};

/// Documents copied at once.
const PAGE: i64 = 1000;

/// A run on a server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MongoRun {
    /// Its name.
    pub run: RunName,
    /// Its nodes from the bottom of the hierarchy up.
    pub nodes: Vec<String>,
    /// The databases of the nodes.
    pub databases: Vec<String>,
    /// What its creator said of it.
    pub configuration: serde_json::Value,
    /// The checkpoint of its last commit.
    pub checkpoint: serde_json::Value,
    /// Whether a process writes it now.
    pub in_use: bool,
}

/// Databases of nodes that no run of ours has, such as a KATO made: grouped by what stands before the last `_` of the node's id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveredRun {
    /// What the names begin with; empty when they have no `_`.
    pub run: String,
    /// Each node's name, and its database; in order of the names.
    pub nodes: Vec<(String, String)>,
}

/// All runs of a server.
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
    engine: Engine,
    server: Arc<Server>,
}

impl MongoRuns {
    /// Connects to a server. Credentials in the address show nowhere else.
    ///
    /// # Errors
    ///
    /// [`StoreError::Refused`] when the address cannot be read.
    pub fn connect(uri: &str) -> Result<Self, StoreError> {
        let (engine, server) = connect(uri, Duration::from_secs(60), 16)?;
        Ok(Self { engine, server })
    }

    fn ask<T: Send + 'static, F>(&self, conversation: impl FnOnce(Arc<Server>) -> F) -> T
    where
        F: Future<Output = T> + Send + 'static,
    {
        self.engine.run(conversation(Arc::clone(&self.server)))
    }

    /// All runs, by name.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unanswered`], [`StoreError::Refused`], and [`StoreError::Version`] when another version wrote one.
    pub fn list(&self) -> Result<Vec<MongoRun>, StoreError> {
        self.ask(|server| async move {
            let now = server.hello().await?.now;
            let mut runs = Vec::new();
            for record in all(&server).await? {
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
                    checkpoint: record.checkpoint(),
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

    /// Knowledge bases that belong to no run of ours: databases whose names end in `_kato`.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn discover(&self) -> Result<Vec<DiscoveredRun>, StoreError> {
        self.ask(|server| async move {
            let known = all(&server).await?;
            let ours = |database: &String| {
                let mut nodes = known.iter().flat_map(|record| &record.nodes);
                nodes.any(|node| node.database == *database)
            };
            let mut databases = server.database_names().await?;
            databases.retain(|name| name.ends_with(NODE_SUFFIX) && !ours(name));
            databases.sort_unstable();
            let mut found: Vec<DiscoveredRun> = Vec::new();
            for database in databases {
                let id = database.strip_suffix(NODE_SUFFIX).unwrap_or(&database);
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

    /// Deletes a run: the databases of its nodes, then its own. Whatever interrupts it, deleting again finishes it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no such run, [`StoreError::Locked`] while a process writes it, and as
    /// [`list`](Self::list).
    pub fn delete(&self, run: &RunName) -> Result<(), StoreError> {
        let database = run_database(run.as_str());
        self.ask(|server| async move {
            let record = unused(&server, &database).await?;
            for node in &record.nodes {
                drop_database(&server, &node.database).await?;
            }
            drop_database(&server, &database).await
        })
    }

    /// Copies a run under another name, with its checkpoint. The copy appears when it is complete; what an interrupted copy left
    /// is written over.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no such run, [`StoreError::Locked`] while a process writes it,
    /// [`StoreError::Exists`] when the other name is taken, [`StoreError::Unanswered`] when its last commit is not finished (open
    /// it for writing once), and as [`list`](Self::list).
    pub fn copy(&self, from: &RunName, to: &RunName) -> Result<(), StoreError> {
        let (source, target) = (run_database(from.as_str()), run_database(to.as_str()));
        let to = to.clone();
        self.ask(|server| async move {
            let mut record = unused(&server, &source).await?;
            if record.pending.is_some() {
                return Err(StoreError::Unanswered {
                    place: server.path(&source).display().to_string(),
                    action: "finish its last commit",
                    source: "no writer does: open it for writing once".into(),
                });
            }
            if read(&server, &target).await?.is_some() {
                return Err(StoreError::Exists {
                    path: server.path(&target),
                });
            }
            to.as_str().clone_into(&mut record.run);
            let nodes = std::mem::take(&mut record.nodes);
            for NodeEntry { name, database } in nodes {
                let copied = processor_id(&to.node_id(&name), "kato");
                prepare_node(&server, &copied, record.sharded).await?;
                for collection in [PATTERNS, SYMBOLS, TOTALS] {
                    copy_all(&server, (&database, &copied), collection).await?;
                }
                record.nodes.push(NodeEntry {
                    name,
                    database: copied,
                });
            }
            prepare_run(&server, &target).await?;
            for collection in [DOCUMENTS, VECTORS] {
                copy_all(&server, (&source, &target), collection).await?;
            }
            record.owner = None;
            let insert = || async {
                let records = records(&server, &target);
                match records.insert_one(&record).write_concern(durable()).await {
                    Ok(_) => Ok(()),
                    Err(error) => match Fault::from(error) {
                        fault if fault.code() == Some(DUPLICATE_KEY) => Ok(()),
                        fault => Err(fault),
                    },
                }
            };
            server.retry("copy a run", insert).await
        })
    }
}

/// The records of all runs.
async fn all(server: &Arc<Server>) -> Result<Vec<RunRecord>, StoreError> {
    let mut found = Vec::new();
    for database in server.database_names().await? {
        if database.ends_with(RUN_SUFFIX) {
            found.extend(read(server, &database).await?);
        }
    }
    Ok(found)
}

/// The record of a run that nobody writes.
async fn unused(server: &Arc<Server>, database: &str) -> Result<RunRecord, StoreError> {
    let path = || server.path(database);
    let record = read(server, database)
        .await?
        .ok_or_else(|| StoreError::Missing { path: path() })?;
    let now = server.hello().await?.now;
    if record
        .owner
        .as_ref()
        .is_some_and(|owner| is_alive(owner, now))
    {
        return Err(StoreError::Locked { path: path() });
    }
    Ok(record)
}

async fn drop_database(server: &Arc<Server>, name: &str) -> Result<(), StoreError> {
    let drop = || async { Ok(server.database(name).drop().await?) };
    server.retry("delete a run", drop).await
}

async fn copy_all(
    server: &Arc<Server>,
    (from, to): (&str, &str),
    collection: &str,
) -> Result<(), StoreError> {
    let old = server.collection(to, collection);
    let clear = || async { Ok(old.delete_many(doc! {}).await?) };
    server.retry("copy a run", clear).await?;
    let mut after = Document::new();
    loop {
        let filter = if after.is_empty() {
            doc! {}
        } else {
            doc! {"_id": {"$gt": after.get("_id")}}
        };
        let read = || {
            let sorted = Some((doc! {"_id": 1}, PAGE));
            server.find((from, collection), filter.clone(), None, sorted)
        };
        let page: Vec<RawDocumentBuf> = server.retry("copy a run", read).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        if let Ok(Some(id)) = last.get("_id") {
            after = doc! {"_id": mongodb::bson::Bson::try_from(id).unwrap_or_default()};
        }
        let write = || async {
            let insert = old.insert_many(&page).ordered(false).await;
            match insert {
                Ok(_) => Ok(()),
                // An attempt before was not answered, and did a part.
                Err(error) if is_duplicate(&error) => Ok(()),
                Err(error) => Err(Fault::from(error)),
            }
        };
        server.retry("copy a run", write).await?;
    }
}

fn is_duplicate(error: &mongodb::error::Error) -> bool {
    match &*error.kind {
        mongodb::error::ErrorKind::InsertMany(many) => many
            .write_errors
            .as_ref()
            .is_some_and(|errors| errors.iter().all(|error| error.code == DUPLICATE_KEY)),
        _ => false,
    }
}

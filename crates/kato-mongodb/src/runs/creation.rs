//! Creation of runs, and the checks before a run is opened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kato_store::StoreError;
use mongodb::bson::doc;

use crate::connection::{DUPLICATE_KEY, OperationError, Server, Sessions, durable};
use crate::error::Error;
use crate::guard::Guard;
use crate::layout::{PATTERNS, prepare_node, prepare_run};
use crate::record::{
    CheckpointParts, Lease, NodeEntry, RunRecord, is_alive, new_lease, read_record, records,
};

/// Returns the guard that the server can have, and sessions if there may be transactions.
pub(crate) async fn select_guard(
    server: &Arc<Server>,
    guard: Guard,
    in_flight: usize,
) -> Result<(Guard, Sessions), StoreError> {
    let has_transactions = server.hello().await?.transactions;
    // Whatever guard is asked for: a commit that a crash left goes on under its own, which may be
    // that of transactions.
    let sessions = match has_transactions {
        true => Sessions::open(server, in_flight).await?,
        false => Sessions::default(),
    };
    let guard = match guard {
        Guard::Auto if has_transactions => Guard::Transaction,
        Guard::Auto => Guard::Journal,
        guard => guard,
    };
    Ok((guard, sessions))
}

/// Creates a run: collections first, the record last, so that what is half done counts as nothing.
pub(crate) async fn create_run(
    server: &Arc<Server>,
    database: &str,
    mut record: RunRecord,
    is_new: bool,
    sessions: &Sessions,
) -> Result<(Lease, RunRecord), StoreError> {
    if read_record(server, database).await?.is_some() {
        return Err(StoreError::Exists {
            place: server.place_of(&[database]),
        });
    }
    // All nodes are checked before the first is changed.
    match is_new {
        true => {
            for node in &record.nodes {
                check_empty(server, &node.database).await?;
            }
        }
        false => check_taught(server, &record.nodes).await?,
    }
    for node in &record.nodes {
        prepare_node(server, &node.database, record.sharded).await?;
    }
    prepare_run(server, database).await?;
    let (lease, owner) = new_lease(server).await?;
    record.owner = Some(owner);
    record.sessions = sessions.ids().to_vec();
    insert_record(server, database, &record, &lease).await?;
    Ok((lease, record))
}

/// Inserts the record of a run that the lease's holder begins.
///
/// # Errors
///
/// [`StoreError::Exists`] when somebody was faster.
pub(crate) async fn insert_record(
    server: &Arc<Server>,
    database: &str,
    record: &RunRecord,
    lease: &Lease,
) -> Result<(), StoreError> {
    let mut kept = record.clone();
    kept.checkpoint_parts = CheckpointParts::of(&record.checkpoint);
    if let Some(parts) = kept.checkpoint_parts {
        let text = std::mem::take(&mut kept.checkpoint);
        parts.write(server, database, &text).await?;
    }
    let insert = || async {
        let records = records(server, database);
        match records.insert_one(&kept).write_concern(durable()).await {
            Ok(_) => Ok(true),
            Err(error) => match OperationError::from(error) {
                failure if failure.code() == Some(DUPLICATE_KEY) => Ok(false),
                failure => Err(failure),
            },
        }
    };
    if !server.retry("create a run", insert).await? {
        // The record may be ours, by an attempt that was not answered, or that of somebody who was
        // faster.
        let found = read_record(server, database)
            .await?
            .and_then(|found| found.owner);
        if found.is_none_or(|owner| owner.id != lease.id) {
            return Err(StoreError::Exists {
                place: server.place_of(&[database]),
            });
        }
    }
    Ok(())
}

/// Checks that a database holds no patterns.
pub(crate) async fn check_empty(server: &Arc<Server>, database: &str) -> Result<(), StoreError> {
    match holds_patterns(server, database).await? {
        true => Err(StoreError::NotAKnowledgeBase {
            place: server.place_of(&[database]),
        }),
        false => Ok(()),
    }
}

/// Checks that the databases of nodes that another program taught are there, and that one of them holds
/// patterns: a node may have learned none, as the upper ones of short texts.
pub(crate) async fn check_taught(
    server: &Arc<Server>,
    nodes: &[NodeEntry],
) -> Result<(), StoreError> {
    let missing = |node: &NodeEntry| StoreError::Missing {
        place: server.place_of(&[&node.database]),
    };
    let mut empty = Vec::new();
    for node in nodes {
        if !holds_patterns(server, &node.database).await? {
            empty.push(node);
        }
    }
    let Some(first) = empty.first() else {
        return Ok(());
    };
    if empty.len() == nodes.len() {
        return Err(missing(first));
    }
    let there = server.database_names().await?;
    let is_there = |node: &&NodeEntry| there.contains(&node.database);
    match empty.into_iter().find(|node| !is_there(node)) {
        Some(node) => Err(missing(node)),
        None => Ok(()),
    }
}

/// Returns whether a database holds patterns.
async fn holds_patterns(server: &Arc<Server>, database: &str) -> Result<bool, StoreError> {
    let patterns = server.collection(database, PATTERNS);
    let find = || async { Ok(patterns.find_one(doc! {}).await?) };
    Ok(server.retry("look for patterns", find).await?.is_some())
}

/// Returns the record, once nothing is pending; the error says whether somebody is at work on what is.
pub(crate) async fn wait_until_applied(
    server: &Arc<Server>,
    database: &str,
    patience: Duration,
) -> Result<RunRecord, StoreError> {
    let start = Instant::now();
    loop {
        let missing = || StoreError::Missing {
            place: server.place_of(&[database]),
        };
        let record = read_record(server, database).await?.ok_or_else(missing)?;
        if record.pending.is_none() {
            return Ok(record);
        }
        if start.elapsed() >= patience {
            let now = server.hello().await?.now;
            let owner = record.owner.as_ref();
            let place = server.place_of(&[database]);
            return Err(match owner.is_some_and(|owner| is_alive(owner, now)) {
                true => StoreError::Locked { place },
                false => Error::Unfinished.at(place),
            });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

//! The places of everything in a MongoDB: KATO's collections of a node, and ours of a run.

use std::sync::Arc;

use kato_store::StoreError;

use crate::fault::Fault;
use crate::server::Server;
use crate::{indexes, sharding};

/// KATO's collections, one set a node.
pub(crate) const PATTERNS: &str = "patterns_kb";
pub(crate) const SYMBOLS: &str = "symbols_kb";
pub(crate) const TOTALS: &str = "metadata";
pub(crate) const PREDICTIONS: &str = "predictions_kb";
pub(crate) const ACTIONS: &str = "associative_action_kb";

/// The end of the names of all databases of nodes.
pub(crate) const NODE_SUFFIX: &str = "_kato";
/// The end of the names of all databases of runs, which hold collections of our own.
pub(crate) const RUN_SUFFIX: &str = "_kato_rs";
/// The one record of a run: what is committed, and who writes.
pub(crate) const RUN: &str = "run";
/// Staged batches.
pub(crate) const JOURNAL: &str = "journal";
/// Notes or journal entries of the bulks of the last commit.
pub(crate) const APPLIED: &str = "applied";
/// Ids of documents by number of their sample.
pub(crate) const DOCUMENTS: &str = "documents";
/// Vectors by node and name.
pub(crate) const VECTORS: &str = "vectors";

/// Returns the database of a run.
pub(crate) fn run_database(run: &str) -> String {
    format!("{run}{RUN_SUFFIX}")
}

/// Makes the collections and indexes of a node as KATO does when it starts; harmless where they are
/// there.
pub(crate) async fn prepare_node(
    server: &Arc<Server>,
    database: &str,
    sharded: bool,
) -> Result<(), StoreError> {
    indexes::prepare(server, database, None).await?;
    // Made ahead of the first learn, because transactions of older servers create no collections.
    ensure_collection(server, database, TOTALS).await?;
    if sharded {
        sharding::shard(server, database).await?;
    }
    Ok(())
}

/// Makes the collections of a run.
pub(crate) async fn prepare_run(server: &Arc<Server>, database: &str) -> Result<(), StoreError> {
    for collection in [JOURNAL, APPLIED, DOCUMENTS, VECTORS] {
        ensure_collection(server, database, collection).await?;
    }
    Ok(())
}

/// Creates a collection, unless it is there.
async fn ensure_collection(
    server: &Arc<Server>,
    database: &str,
    collection: &str,
) -> Result<(), StoreError> {
    const EXISTS: i32 = 48;

    let create = || async {
        match server
            .database(database)
            .create_collection(collection)
            .await
        {
            Err(error) => match Fault::from(error) {
                fault if fault.code() == Some(EXISTS) => Ok(()),
                fault => Err(fault),
            },
            Ok(()) => Ok(()),
        }
    };
    server.retry("create a collection", create).await
}

/// Empties a node as KATO's clear-all does: drops everything and begins again.
pub(crate) async fn clear_node(
    server: &Arc<Server>,
    database: &str,
    sharded: bool,
) -> Result<(), StoreError> {
    for collection in [PATTERNS, SYMBOLS, TOTALS, PREDICTIONS, ACTIONS] {
        drop_collection(server, database, collection).await?;
    }
    prepare_node(server, database, sharded).await
}

/// Forgets documents and vectors of a run.
pub(crate) async fn clear_run(server: &Arc<Server>, database: &str) -> Result<(), StoreError> {
    for collection in [DOCUMENTS, VECTORS] {
        drop_collection(server, database, collection).await?;
    }
    prepare_run(server, database).await
}

/// Drops a collection.
async fn drop_collection(
    server: &Arc<Server>,
    database: &str,
    collection: &str,
) -> Result<(), StoreError> {
    let collection = server.collection(database, collection);
    let drop = || async { Ok(collection.drop().await?) };
    server.retry("drop a collection", drop).await
}

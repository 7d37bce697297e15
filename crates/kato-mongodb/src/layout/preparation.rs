//! The collections of a node and of a run: made, emptied, spread over shards.

use std::sync::Arc;

use kato_store::StoreError;

use super::node::{ACTIONS, PATTERNS, PREDICTIONS, SYMBOLS, TOTALS};
use super::{indexes, sharding};
use crate::connection::{OperationError, Server};
use crate::record::{APPLIED, DOCUMENTS, JOURNAL, VECTORS};

/// Makes the collections and indexes of a node as KATO does when it starts; harmless where they are
/// there.
pub(crate) async fn prepare_node(
    server: &Arc<Server>,
    database: &str,
    sharded: bool,
) -> Result<(), StoreError> {
    indexes::prepare_indexes(server, database, None).await?;
    // Made ahead of the first learn, because transactions of older servers create no collections.
    ensure_collection(server, database, TOTALS).await?;
    if sharded {
        sharding::shard(server, database).await?;
    }
    Ok(())
}

/// Makes the collections of a run that its commits write into, but for the record and large
/// checkpoints.
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
            Err(error) => match OperationError::from(error) {
                failure if failure.code() == Some(EXISTS) => Ok(()),
                failure => Err(failure),
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

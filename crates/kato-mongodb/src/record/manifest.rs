//! The value that a caller keeps in the record of a run.

use std::sync::Arc;

use kato_store::StoreError;
use mongodb::bson::doc;
use serde_json::Value;

use super::collections::RUN;
use super::run_record::{read_record, records};
use crate::connection::{Server, durable};

/// Reads the value; `None` when none was kept.
pub(crate) async fn read_manifest(
    server: &Arc<Server>,
    database: &str,
) -> Result<Option<Value>, StoreError> {
    match read_record(server, database).await? {
        Some(record) => Ok(record.manifest()),
        None => Err(missing(server, database)),
    }
}

/// Replaces the value, durably.
pub(crate) async fn write_manifest(
    server: &Arc<Server>,
    database: &str,
    manifest: String,
) -> Result<(), StoreError> {
    let write = || async {
        let records = records(server, database);
        let set = doc! {"$set": {"manifest": &manifest}};
        // No owner is asked for: the value is no part of a commit, and may be kept while a process
        // writes.
        let update = records.update_one(doc! {"_id": RUN}, set);
        Ok(update.write_concern(durable()).await?.matched_count == 1)
    };
    match server.retry("keep the manifest of a run", write).await? {
        true => Ok(()),
        false => Err(missing(server, database)),
    }
}

/// Returns the error that there is no run.
fn missing(server: &Server, database: &str) -> StoreError {
    StoreError::Missing {
        place: server.place_of(&[database]),
    }
}

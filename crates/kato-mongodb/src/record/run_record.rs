//! The record of a run: what is committed, what of it is still to be applied, and who writes.

use std::num::NonZeroUsize;
use std::sync::Arc;

use kato_model::AttributeLimits;
use kato_store::{Rescue, StoreError};
use mongodb::Collection;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{DateTime, Document, doc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::checkpoint_parts::CheckpointParts;
use super::collections::{RUN, run_database};
use crate::connection::Server;
use crate::guard::Guard;

/// The version of what is kept beside KATO's own collections.
pub(crate) const FORMAT: i64 = 1;

/// The one document of the collection `run`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    pub(crate) format: i64,
    pub(crate) run: String,
    /// From the bottom of the hierarchy up.
    pub(crate) nodes: Vec<NodeEntry>,
    /// JSON text, because the database's numbers are not those of JSON.
    pub(crate) configuration: String,
    pub(crate) persistence: i64,
    pub(crate) metadata_values: Option<i64>,
    /// JSON text; empty where it lies in parts. As it is read it is whole.
    pub(crate) checkpoint: String,
    /// The parts of a checkpoint that is too large for this document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checkpoint_parts: Option<CheckpointParts>,
    /// Number of the last commit.
    pub(crate) commit: i64,
    /// The last commit, as long as it is not applied.
    pub(crate) pending: Option<Pending>,
    pub(crate) owner: Option<Owner>,
    /// Sessions of the last writer, which may have left transactions open.
    #[serde(default)]
    pub(crate) sessions: Vec<Document>,
    pub(crate) sharded: bool,
    /// A value that a caller keeps with the run, as JSON text.
    #[serde(default)]
    pub(crate) manifest: Option<String>,
}

/// A node and its database.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NodeEntry {
    pub(crate) name: String,
    pub(crate) database: String,
}

/// A commit that is decided and not yet applied.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) number: i64,
    /// The token by which its writer recognises it.
    pub(crate) token: ObjectId,
    pub(crate) action: Action,
    pub(crate) staged: Vec<StagedRecord>,
    /// The guard that it began with, which a replay keeps.
    pub(crate) guard: Guard,
    /// Upserts in a bulk, because a replay has to cut the same bulks.
    pub(crate) chunk: i64,
}

/// The kind of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Learn,
    Forget,
    Clear,
}

/// A staged batch: its number of blobs of each kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StagedRecord {
    pub(crate) id: ObjectId,
    pub(crate) patterns: Vec<i64>,
    pub(crate) vectors: Vec<i64>,
    pub(crate) documents: i64,
}

/// The process that may write, and the end of its lease unless it is renewed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) id: ObjectId,
    pub(crate) host: String,
    pub(crate) pid: i64,
    /// The start of the process in seconds, because numbers of processes are used again.
    pub(crate) started: i64,
    /// The end of the lease by the server's clock.
    pub(crate) expires: DateTime,
}

impl RunRecord {
    /// Returns how much of a pattern's attributes the run keeps.
    pub(crate) fn limits(&self) -> AttributeLimits {
        let number = |value: i64| usize::try_from(value).ok().and_then(NonZeroUsize::new);
        let default = AttributeLimits::default();
        AttributeLimits {
            persistence: number(self.persistence).unwrap_or(default.persistence),
            metadata_values: self.metadata_values.and_then(number),
        }
    }

    /// Returns the checkpoint of the last commit.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] when it cannot be read: a `null` in its place would say that nothing
    /// was committed yet, and the corpus would be learned a second time.
    pub(crate) fn checkpoint(&self, server: &Server) -> Result<Value, StoreError> {
        let corrupt = |reason| StoreError::Corrupt {
            place: server.place_of(&[&run_database(&self.run), RUN]),
            reason,
            rescue: Rescue::Nothing,
        };
        if self.checkpoint_parts.is_some() && self.checkpoint.is_empty() {
            return Err(corrupt("a part of its checkpoint is missing".to_owned()));
        }
        serde_json::from_str(&self.checkpoint)
            .map_err(|error| corrupt(format!("its checkpoint is no JSON: {error}")))
    }

    /// Returns the value that a caller kept with the run.
    pub(crate) fn manifest(&self) -> Option<Value> {
        serde_json::from_str(self.manifest.as_deref()?).ok()
    }
}

/// Returns the collection of the record.
pub(crate) fn records(server: &Server, database: &str) -> Collection<RunRecord> {
    server.database(database).collection(RUN)
}

/// Reads the record, with its checkpoint whole; `None` when there is no run.
pub(crate) async fn read_record(
    server: &Arc<Server>,
    database: &str,
) -> Result<Option<RunRecord>, StoreError> {
    let mut found = find_record(server, database).await?;
    loop {
        let Some(record) = &mut found else {
            return Ok(None);
        };
        let Some(parts) = record.checkpoint_parts else {
            return Ok(found);
        };
        if let Some(text) = parts.read(server, database).await? {
            record.checkpoint = text;
            return Ok(found);
        }
        // Where a commit came between, the record names others. Otherwise a part is missing, which whoever
        // asks for the checkpoint is told.
        let again = find_record(server, database).await?;
        let named = again.as_ref().map(|record| record.checkpoint_parts);
        if named == Some(Some(parts)) {
            return Ok(again);
        }
        found = again;
    }
}

/// Reads the record as it lies there.
async fn find_record(
    server: &Arc<Server>,
    database: &str,
) -> Result<Option<RunRecord>, StoreError> {
    let records = records(server, database);
    let read = || async { Ok(records.find_one(doc! {"_id": RUN}).await?) };
    let record = server.retry("read the record of a run", read).await?;
    match record {
        Some(record) if record.format != FORMAT => Err(StoreError::Version {
            place: server.place_of(&[database]),
            found: record.format.try_into().unwrap_or_default(),
            supported: FORMAT.cast_unsigned(),
        }),
        record => Ok(record),
    }
}

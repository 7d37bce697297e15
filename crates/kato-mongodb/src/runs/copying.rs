//! Copies of runs: a note names the databases that are half copied, and the record comes last.

use std::sync::Arc;

use kato_model::RunName;
use kato_model::naming::processor_id;
use kato_store::{Rescue, StoreError};
use mongodb::Collection;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::error::ErrorKind;
use serde::{Deserialize, Serialize};

use super::creation::{check_empty, insert_record};
use super::held_lease::drop_databases;
use crate::connection::{DUPLICATE_KEY, OperationError, Server, durable};
use crate::error::Error;
use crate::layout::{PATTERNS, SYMBOLS, TOTALS, prepare_node, prepare_run};
use crate::record::{
    DOCUMENTS, Lease, NodeEntry, Owner, RUN, RunRecord, VECTORS, is_alive, new_lease, read_record,
    run_database,
};

/// Documents copied at once.
const PAGE: i64 = 1000;
/// The key of the note, which is kept beside the record that will be.
const NOTE: &str = "copying";

/// A note that a copy is being made, or was when its process died.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Copying {
    #[serde(rename = "_id")]
    id: String,
    owner: Owner,
    databases: Vec<String>,
}

impl Copying {
    /// Returns the collection of the note.
    fn collection(server: &Server, database: &str) -> Collection<Self> {
        server.database(database).collection(RUN)
    }

    /// Reads the note, if there is one.
    async fn note(server: &Arc<Server>, database: &str) -> Result<Option<Self>, StoreError> {
        let notes = Self::collection(server, database);
        let find = || async { Ok(notes.find_one(doc! {"_id": NOTE}).await?) };
        server.retry("look for an unfinished copy", find).await
    }

    /// Returns the databases that an interrupted copy left; `None` when there was none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Locked`] while the copy is being made.
    pub(crate) async fn leftover_databases(
        server: &Arc<Server>,
        database: &str,
    ) -> Result<Option<Vec<String>>, StoreError> {
        // The record is the last that a copy writes: where it is, the copy is whole, even if its
        // note is still there.
        if read_record(server, database).await?.is_some() {
            return Ok(None);
        }
        let Some(note) = Self::note(server, database).await? else {
            return Ok(None);
        };
        if is_alive(&note.owner, server.hello().await?.now) {
            return Err(StoreError::Locked {
                place: server.place_of(&[database]),
            });
        }
        Ok(Some(note.databases))
    }

    /// Returns the databases that a copy fills, or left half filled; none where no copy is noted.
    pub(crate) async fn noted_databases(
        server: &Arc<Server>,
        database: &str,
    ) -> Result<Vec<String>, StoreError> {
        let note = Self::note(server, database).await?;
        Ok(note.map(|note| note.databases).unwrap_or_default())
    }

    /// Notes that a copy is being made, behind clearing away what an interrupted one left.
    async fn begin(
        server: &Arc<Server>,
        database: &str,
        databases: Vec<String>,
        owner: Owner,
    ) -> Result<(), StoreError> {
        match Self::leftover_databases(server, database).await? {
            Some(left) => {
                // The run's own database goes last, as the note in it names the others.
                drop_databases(server, &left).await?;
                drop_databases(server, &[database.to_owned()]).await?;
            }
            None => {
                for database in &databases {
                    check_empty(server, database).await?;
                }
            }
        }
        let note = Self {
            id: NOTE.to_owned(),
            owner,
            databases,
        };
        let insert = || async {
            let notes = Self::collection(server, database);
            match notes.insert_one(&note).write_concern(durable()).await {
                Ok(_) => Ok(()),
                Err(error) => match OperationError::from(error) {
                    failure if failure.code() == Some(DUPLICATE_KEY) => Ok(()),
                    failure => Err(failure),
                },
            }
        };
        server.retry("copy a run", insert).await?;
        // The note may be ours, by an attempt that was not answered, or that of somebody who was
        // faster.
        let found = Self::note(server, database).await?;
        if found.is_some_and(|found| found.owner.id == note.owner.id) {
            return Ok(());
        }
        Err(StoreError::Locked {
            place: server.place_of(&[database]),
        })
    }

    /// Removes the note of a copy that is whole.
    async fn end(server: &Arc<Server>, database: &str) -> Result<(), StoreError> {
        let notes = Self::collection(server, database);
        let delete = || async { Ok(notes.delete_one(doc! {"_id": NOTE}).await?) };
        server.retry("copy a run", delete).await.map(drop)
    }
}

/// Copies a run whose lease the caller holds.
pub(crate) async fn copy(
    server: &Arc<Server>,
    (source, from): (&str, &RunRecord),
    to: &RunName,
) -> Result<(), StoreError> {
    if from.pending.is_some() {
        return Err(Error::Unfinished.at(server.place_of(&[source])));
    }
    let target = run_database(to.as_str());
    if read_record(server, &target).await?.is_some() {
        return Err(StoreError::Exists {
            place: server.place_of(&[&target]),
        });
    }
    let (lease, owner) = new_lease(server).await?;
    let copied = copy_as(server, (source, from), (&target, to), (&lease, owner)).await;
    // Also after an error: as long as this process holds the note's owner, nobody could clear away
    // what is left of the copy.
    lease.end(server, &target).await;
    copied
}

/// Copies the content, and writes the record when all of it is there.
async fn copy_as(
    server: &Arc<Server>,
    (source, from): (&str, &RunRecord),
    (target, to): (&str, &RunName),
    (lease, owner): (&Lease, Owner),
) -> Result<(), StoreError> {
    let node = |node: &NodeEntry| NodeEntry {
        name: node.name.clone(),
        database: processor_id(&to.node_id(&node.name), "kato"),
    };
    let record = RunRecord {
        run: to.as_str().to_owned(),
        nodes: from.nodes.iter().map(node).collect(),
        owner: Some(owner.clone()),
        // The sessions are those of the original's writer.
        sessions: Vec::new(),
        ..from.clone()
    };
    let databases = record.nodes.iter().map(|node| node.database.clone());
    Copying::begin(server, target, databases.collect(), owner).await?;
    for (old, new) in from.nodes.iter().zip(&record.nodes) {
        prepare_node(server, &new.database, record.sharded).await?;
        for collection in [PATTERNS, SYMBOLS, TOTALS] {
            copy_all(server, (&old.database, &new.database), collection).await?;
        }
    }
    prepare_run(server, target).await?;
    for collection in [DOCUMENTS, VECTORS] {
        copy_all(server, (source, target), collection).await?;
    }
    insert_record(server, target, &record, lease).await?;
    Copying::end(server, target).await
}

/// Copies the documents of a collection, page by page in the order of their `_id`.
async fn copy_all(
    server: &Arc<Server>,
    (from, to): (&str, &str),
    collection: &str,
) -> Result<(), StoreError> {
    let new = server.collection(to, collection);
    let mut after = Document::new();
    loop {
        let read = || {
            let sorted = Some((doc! {"_id": 1}, PAGE));
            server.find((from, collection), after.clone(), None, sorted)
        };
        let page: Vec<RawDocumentBuf> = server.retry("copy a run", read).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        // Without the place to go on from, the rest would be left out or the page copied for ever.
        let id = last.get("_id").ok().flatten();
        let Some(id) = id.and_then(|id| Bson::try_from(id).ok()) else {
            return Err(StoreError::Corrupt {
                place: server.place_of(&[from, collection]),
                reason: "a document has no `_id` that can be read".to_owned(),
                rescue: Rescue::Nothing,
            });
        };
        after = doc! {"_id": {"$gt": id}};
        // The copies keep their `_id`, so a page that is sent twice adds nothing.
        let write = || async {
            match new.insert_many(&page).ordered(false).await {
                Ok(_) => Ok(()),
                // An earlier attempt did all of it or a part, without an answer.
                Err(error) if is_duplicate(&error) => Ok(()),
                Err(error) => Err(OperationError::from(error)),
            }
        };
        server.retry("copy a run", write).await?;
    }
}

/// Returns whether documents that were there already are all that an insert failed on.
fn is_duplicate(error: &mongodb::error::Error) -> bool {
    let ErrorKind::InsertMany(many) = &*error.kind else {
        return false;
    };
    let errors = many.write_errors.as_ref();
    many.write_concern_error.is_none()
        && errors.is_some_and(|errors| errors.iter().all(|error| error.code == DUPLICATE_KEY))
}

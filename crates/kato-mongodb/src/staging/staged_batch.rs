//! Staged batches: written into the journal before a commit names them, read back when it is
//! applied.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kato_store::{Rescue, StoreError};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc};

use super::blobs::decode;
use crate::connection::{DUPLICATE_KEY, OperationError, Server};
use crate::layout::BsonWriter;
use crate::record::{JOURNAL, OpenRun, StagedRecord};

/// Bytes of blobs that a store keeps in memory; what exceeds them is read back.
const BYTES_IN_MEMORY: usize = 256 << 20;

/// The content of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BlobKind {
    /// `Vec<PatternDelta>` of a node.
    Patterns(usize),
    /// `Vec<(VectorName's text, elements)>` of a node.
    Vectors(usize),
    /// `Vec<(sample, id)>`.
    Documents,
}

impl BlobKind {
    /// Returns the part of a blob's key that names the kind.
    fn path(self) -> String {
        match self {
            Self::Patterns(node_idx) => format!("patterns/{node_idx}"),
            Self::Vectors(node_idx) => format!("vectors/{node_idx}"),
            Self::Documents => "documents".to_owned(),
        }
    }
}

/// The place where a run's batches are staged: its journal, and a bounded part of it in memory.
#[derive(Debug)]
pub(crate) struct StagingArea {
    run: Arc<OpenRun>,
    /// Bytes of staged blobs that are kept in memory.
    bytes_in_memory: AtomicUsize,
}

impl StagingArea {
    /// Creates the place for the batches of a run.
    pub(crate) fn new(run: Arc<OpenRun>) -> Self {
        Self {
            run,
            bytes_in_memory: AtomicUsize::new(0),
        }
    }

    /// Returns the run.
    pub(crate) fn run(&self) -> &OpenRun {
        &self.run
    }
}

/// A batch whose blobs are in the journal. Dropping it removes them again, unless a commit may name
/// them.
pub(crate) struct Staged {
    pub(crate) record: StagedRecord,
    /// The blobs that are in memory.
    blobs: HashMap<(BlobKind, usize), Vec<u8>>,
    bytes_in_memory: usize,
    area: Arc<StagingArea>,
    /// Whether a pattern has metadata or emotives, with which documents grow.
    pub(crate) has_attributes: bool,
    /// Whether a commit may name it.
    kept: AtomicBool,
}

impl StagedRecord {
    /// Returns how many blobs of a kind there are.
    pub(crate) fn blobs(&self, kind: BlobKind) -> usize {
        let count = match kind {
            BlobKind::Patterns(node_idx) => self.patterns.get(node_idx),
            BlobKind::Vectors(node_idx) => self.vectors.get(node_idx),
            BlobKind::Documents => Some(&self.documents),
        };
        // A count that cannot be is damage, which the blob tells that is asked for in vain.
        count.map_or(usize::MAX, |&count| {
            usize::try_from(count).unwrap_or(usize::MAX)
        })
    }
}

impl Staged {
    /// Creates a batch without blobs.
    pub(crate) fn new(area: &Arc<StagingArea>) -> Self {
        let n_nodes = area.run.nodes.len();
        Self {
            record: StagedRecord {
                id: ObjectId::new(),
                patterns: vec![0; n_nodes],
                vectors: vec![0; n_nodes],
                documents: 0,
            },
            blobs: HashMap::new(),
            bytes_in_memory: 0,
            area: Arc::clone(area),
            has_attributes: false,
            kept: AtomicBool::new(false),
        }
    }

    /// Returns whether it was staged in this place.
    pub(crate) fn is_in(&self, area: &Arc<StagingArea>) -> bool {
        Arc::ptr_eq(&self.area, area)
    }

    /// Writes a blob into the journal, if there is one.
    pub(crate) fn add_if(
        &mut self,
        kind: BlobKind,
        blob: Option<Vec<u8>>,
    ) -> Result<(), StoreError> {
        blob.map_or(Ok(()), |blob| self.add(kind, blob))
    }

    /// Writes a blob into the journal.
    pub(crate) fn add(&mut self, kind: BlobKind, blob: Vec<u8>) -> Result<(), StoreError> {
        let count = match kind {
            BlobKind::Patterns(node_idx) => &mut self.record.patterns[node_idx],
            BlobKind::Vectors(node_idx) => &mut self.record.vectors[node_idx],
            BlobKind::Documents => &mut self.record.documents,
        };
        *count += 1;
        let idx = self.record.blobs(kind) - 1;
        self.send(kind, idx, &blob)?;
        let sum = &self.area.bytes_in_memory;
        // Reserved before it is looked at, and given back if it is too much, because several
        // threads stage at once.
        if sum.fetch_add(blob.len(), Ordering::Relaxed) + blob.len() <= BYTES_IN_MEMORY {
            self.bytes_in_memory += blob.len();
            self.blobs.insert((kind, idx), blob);
        } else {
            sum.fetch_sub(blob.len(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes a blob to the server.
    fn send(&self, kind: BlobKind, idx: usize, blob: &[u8]) -> Result<(), StoreError> {
        let mut out = BsonWriter::new();
        out.text("insert", JOURNAL);
        out.array("documents", |out| {
            out.document_at(0, |out| {
                out.text("_id", &blob_id(self.record.id, kind, idx));
                out.binary("data", blob);
            });
        });
        // Safe against the loss of a server before any commit names it: one that is decided needs
        // all its blobs.
        out.document("writeConcern", |out| out.text("w", "majority"));
        let command = out.finish();
        let run = self.area.run();
        let database = run.database.clone();
        run.block_on(|server| async move {
            let insert = || async {
                match server.write(&database, command.clone(), None).await {
                    // An earlier attempt got through without an answer. Ids are never used again,
                    // so it is the same blob.
                    Err(failure) if failure.code() == Some(DUPLICATE_KEY) => Ok(()),
                    done => done.map(drop),
                }
            };
            server.retry("stage a batch", insert).await
        })
    }

    /// Returns whether there is anything to commit.
    pub(crate) fn has_content(&self) -> bool {
        let record = &self.record;
        record.documents > 0
            || record
                .patterns
                .iter()
                .chain(&record.vectors)
                .any(|&n| n > 0)
    }

    /// Returns the blobs in memory and the way to the others.
    pub(crate) fn source(mut self) -> BatchSource {
        BatchSource {
            record: self.record.clone(),
            blobs: std::mem::take(&mut self.blobs),
            staged: Some(self),
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let sum = &self.area.bytes_in_memory;
        sum.fetch_sub(self.bytes_in_memory, Ordering::Relaxed);
        if !self.kept.load(Ordering::Relaxed) {
            remove_blobs(self.area.run(), &[self.record.id]);
        }
    }
}

/// The blobs of a batch that is committed, or is about to be.
pub(crate) struct BatchSource {
    pub(crate) record: StagedRecord,
    blobs: HashMap<(BlobKind, usize), Vec<u8>>,
    /// Keeps the bytes in memory counted until the commit is applied; `None` where the batch is gone.
    staged: Option<Staged>,
}

impl BatchSource {
    /// Returns the source of a batch whose blobs are in the journal alone.
    pub(crate) fn remote(record: StagedRecord) -> Self {
        Self {
            record,
            blobs: HashMap::new(),
            staged: None,
        }
    }

    /// Returns whether a pattern has metadata or emotives, with which documents grow.
    pub(crate) fn has_attributes(&self) -> bool {
        let staged = self.staged.as_ref();
        staged.is_none_or(|staged| staged.has_attributes)
    }

    /// Sets whether the blobs are kept when the batch is dropped, as a commit may name them.
    pub(crate) fn keep(&self, is_kept: bool) {
        if let Some(staged) = &self.staged {
            staged.kept.store(is_kept, Ordering::Relaxed);
        }
    }

    /// Returns the content of a blob.
    pub(crate) fn read<T: for<'de> serde::Deserialize<'de>>(
        &self,
        run: &OpenRun,
        kind: BlobKind,
        idx: usize,
    ) -> Result<T, StoreError> {
        let id = blob_id(self.record.id, kind, idx);
        let corrupt = |reason: &str| StoreError::Corrupt {
            place: run.server().place_of(&[&run.database, JOURNAL, &id]),
            reason: reason.to_owned(),
            rescue: Rescue::Nothing,
        };
        let content = match self.blobs.get(&(kind, idx)) {
            Some(blob) => decode(blob),
            None => {
                let (database, id) = (run.database.clone(), id.clone());
                let blob = run.block_on(|server| fetch(server, database, id))?;
                let blob = blob.ok_or_else(|| corrupt("the blob of a commit is gone"))?;
                decode(&blob)
            }
        };
        content.ok_or_else(|| corrupt("it holds something else than a batch"))
    }
}

/// Reads a blob from the journal.
async fn fetch(
    server: Arc<Server>,
    database: String,
    id: String,
) -> Result<Option<Vec<u8>>, StoreError> {
    let collection = server.collection(&database, JOURNAL);
    let find = || async {
        let found = collection.find_one(doc! {"_id": &id}).await?;
        let data =
            found.map(|document| document.get_binary("data").map(|data| data.bytes.to_vec()));
        data.transpose()
            .map_err(|error| OperationError::Driver(error.into()))
    };
    server.retry("read a staged batch", find).await
}

/// Returns the key of a blob.
fn blob_id(staged: ObjectId, kind: BlobKind, idx: usize) -> String {
    format!("{staged}/{}/{idx}", kind.path())
}

/// Removes the blobs of batches that no commit names any more, in the background.
pub(crate) fn remove_blobs(run: &OpenRun, staged: &[ObjectId]) {
    let journal = run.server().collection(&run.database, JOURNAL);
    let filter = blobs_filter(staged);
    run.connection.spawn_to_completion(async move {
        let delete = journal.delete_many(filter).into_future();
        // What stays behind is removed by the next writer.
        let _ = tokio::time::timeout(Duration::from_secs(10), delete).await;
    });
}

/// Returns a query for all blobs of some batches.
fn blobs_filter(staged: &[ObjectId]) -> Document {
    let ranges = staged
        .iter()
        // `0` is the character after the slash, so the range ends where other ids begin.
        .map(|id| doc! {"_id": {"$gte": format!("{id}/"), "$lt": format!("{id}0")}});
    doc! {"$or": ranges.collect::<Vec<_>>()}
}

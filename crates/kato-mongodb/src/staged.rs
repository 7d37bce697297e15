//! Staged batches: written into the journal before a commit names them, read back when it is
//! applied.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kato_store::StoreError;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc};

use crate::fault::{DUPLICATE_KEY, Fault};
use crate::layout::JOURNAL;
use crate::pattern_delta::decode;
use crate::record::StagedRecord;
use crate::server::Server;
use crate::state::StoreState;
use crate::writer::Writer;

/// Bytes of blobs that a store keeps in memory; what exceeds them is read back.
const HELD_BYTES: usize = 256 << 20;

/// The content of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// `Vec<PatternDelta>` of a node.
    Patterns(usize),
    /// `Vec<(VectorName's text, elements)>` of a node.
    Vectors(usize),
    /// `Vec<(sample, id)>`.
    Documents,
}

impl Kind {
    /// Returns the part of a blob's key that names the kind.
    fn path(self) -> String {
        match self {
            Self::Patterns(node_idx) => format!("patterns/{node_idx}"),
            Self::Vectors(node_idx) => format!("vectors/{node_idx}"),
            Self::Documents => "documents".to_owned(),
        }
    }
}

/// A batch whose blobs are in the journal. Dropping it removes them again, unless a commit may name
/// them.
pub(crate) struct Staged {
    pub(crate) record: StagedRecord,
    /// The blobs that are in memory.
    blobs: HashMap<(Kind, usize), Vec<u8>>,
    held: usize,
    pub(crate) core: Arc<StoreState>,
    /// Whether a commit may name it.
    kept: AtomicBool,
}

impl Staged {
    /// Creates a batch without blobs.
    pub(crate) fn new(core: &Arc<StoreState>) -> Self {
        let n_nodes = core.nodes.len();
        Self {
            record: StagedRecord {
                id: ObjectId::new(),
                patterns: vec![0; n_nodes],
                vectors: vec![0; n_nodes],
                documents: 0,
            },
            blobs: HashMap::new(),
            held: 0,
            core: Arc::clone(core),
            kept: AtomicBool::new(false),
        }
    }

    /// Writes a blob into the journal, if there is one.
    pub(crate) fn add_if(&mut self, kind: Kind, blob: Option<Vec<u8>>) -> Result<(), StoreError> {
        blob.map_or(Ok(()), |blob| self.add(kind, blob))
    }

    /// Writes a blob into the journal.
    pub(crate) fn add(&mut self, kind: Kind, blob: Vec<u8>) -> Result<(), StoreError> {
        let count = match kind {
            Kind::Patterns(node_idx) => &mut self.record.patterns[node_idx],
            Kind::Vectors(node_idx) => &mut self.record.vectors[node_idx],
            Kind::Documents => &mut self.record.documents,
        };
        let idx = *count as usize;
        *count += 1;
        self.send(kind, idx, &blob)?;
        let held = &self.core.held;
        // Reserved before it is looked at, and given back if it is too much, because several
        // threads stage at once.
        if held.fetch_add(blob.len(), Ordering::Relaxed) + blob.len() <= HELD_BYTES {
            self.held += blob.len();
            self.blobs.insert((kind, idx), blob);
        } else {
            held.fetch_sub(blob.len(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes a blob to the server.
    fn send(&self, kind: Kind, idx: usize, blob: &[u8]) -> Result<(), StoreError> {
        let mut out = Writer::new();
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
        let database = self.core.database.clone();
        self.core.block_on(|server| async move {
            let insert = || async {
                match server.write(&database, command.clone(), None).await {
                    // An earlier attempt got through without an answer. Ids are never used again,
                    // so it is the same blob.
                    Err(fault) if fault.code() == Some(DUPLICATE_KEY) => Ok(()),
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

    /// Keeps the blobs from now on: a commit may name them, whatever the answer.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// Lets the blobs go with the batch, since no commit names it.
    pub(crate) fn abandon(&self) {
        self.kept.store(false, Ordering::Relaxed);
    }

    /// Returns the blobs in memory and the way to the others.
    pub(crate) fn source(mut self) -> Source {
        Source {
            record: self.record.clone(),
            blobs: std::mem::take(&mut self.blobs),
            _staged: Some(self),
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.core.held.fetch_sub(self.held, Ordering::Relaxed);
        if !self.kept.load(Ordering::Relaxed) {
            let staged = [self.record.id];
            self.core.spawn_blob_cleanup(blobs_filter(&staged));
        }
    }
}

/// The blobs of a committed batch.
pub(crate) struct Source {
    pub(crate) record: StagedRecord,
    blobs: HashMap<(Kind, usize), Vec<u8>>,
    /// Keeps the bytes in memory counted until the commit is applied.
    _staged: Option<Staged>,
}

impl Source {
    /// Returns the source of a batch whose blobs are in the journal alone.
    pub(crate) fn remote(record: StagedRecord) -> Self {
        Self {
            record,
            blobs: HashMap::new(),
            _staged: None,
        }
    }

    /// Returns the content of a blob.
    pub(crate) fn read<T: for<'de> serde::Deserialize<'de>>(
        &self,
        core: &StoreState,
        kind: Kind,
        idx: usize,
    ) -> Result<T, StoreError> {
        let id = blob_id(self.record.id, kind, idx);
        let corrupt = |reason: &str| StoreError::Corrupt {
            path: core.server.path(&core.database).join(JOURNAL).join(&id),
            reason: reason.to_owned(),
        };
        let content = match self.blobs.get(&(kind, idx)) {
            Some(blob) => decode(blob),
            None => {
                let (database, id) = (core.database.clone(), id.clone());
                let blob = core.block_on(|server| fetch(server, database, id))?;
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
            .map_err(|error| Fault::Driver(error.into()))
    };
    server.retry("read a staged batch", find).await
}

/// Returns the key of a blob.
fn blob_id(staged: ObjectId, kind: Kind, idx: usize) -> String {
    format!("{staged}/{}/{idx}", kind.path())
}

/// Returns a query for all blobs of some batches.
pub(crate) fn blobs_filter(staged: &[ObjectId]) -> Document {
    let ranges = staged
        .iter()
        // `0` is the character after the slash, so the range ends where other ids begin.
        .map(|id| doc! {"_id": {"$gte": format!("{id}/"), "$lt": format!("{id}0")}});
    doc! {"$or": ranges.collect::<Vec<_>>()}
}

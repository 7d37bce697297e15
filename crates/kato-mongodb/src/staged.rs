//! Batches in the journal: written before a commit names them, read when it is applied.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kato_store::StoreError;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc};

use crate::core::Core;
use crate::fault::{DUPLICATE_KEY, Fault};
use crate::layout::JOURNAL;
use crate::learned::decode;
use crate::record::StagedRecord;
use crate::server::Server;
use crate::writer::Writer;

/// Bytes of blobs that a store keeps at hand; beyond it reads them back.
const HELD_BYTES: usize = 256 << 20;

/// What the blobs of a staged batch hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// `Vec<Learned>` of a node.
    Patterns(usize),
    /// `Vec<(VectorName's text, elements)>` of a node.
    Vectors(usize),
    /// `Vec<(sample, id)>`.
    Documents,
}

impl Kind {
    fn path(self) -> String {
        match self {
            Self::Patterns(node_idx) => format!("patterns/{node_idx}"),
            Self::Vectors(node_idx) => format!("vectors/{node_idx}"),
            Self::Documents => "documents".to_owned(),
        }
    }
}

/// A batch whose blobs are in the journal. Dropping it takes them away again, unless a commit may name them.
pub(crate) struct Staged {
    pub(crate) record: StagedRecord,
    /// Blobs at hand.
    blobs: HashMap<(Kind, usize), Vec<u8>>,
    held: usize,
    pub(crate) core: Arc<Core>,
    /// Whether a commit may name it.
    kept: AtomicBool,
}

impl Staged {
    /// Without blobs.
    pub(crate) fn new(core: &Arc<Core>) -> Self {
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
        if held.fetch_add(blob.len(), Ordering::Relaxed) + blob.len() <= HELD_BYTES {
            self.held += blob.len();
            self.blobs.insert((kind, idx), blob);
        } else {
            held.fetch_sub(blob.len(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn send(&self, kind: Kind, idx: usize, blob: &[u8]) -> Result<(), StoreError> {
        let mut out = Writer::new();
        out.text("insert", JOURNAL);
        out.array("documents", |out| {
            out.document_at(0, |out| {
                out.text("_id", &blob_id(self.record.id, kind, idx));
                out.binary("data", blob);
            });
        });
        out.document("writeConcern", |out| out.text("w", "majority"));
        let command = out.finish();
        let database = self.core.database.clone();
        self.core.ask(|server| async move {
            let insert = || async {
                match server.write(&database, command.clone(), None).await {
                    // An attempt before was not answered, and yet done.
                    Err(fault) if fault.code() == Some(DUPLICATE_KEY) => Ok(()),
                    done => done.map(drop),
                }
            };
            server.retry("stage a batch", insert).await
        })
    }

    /// Whether there is anything to commit.
    pub(crate) fn has_content(&self) -> bool {
        let record = &self.record;
        record.documents > 0
            || record
                .patterns
                .iter()
                .chain(&record.vectors)
                .any(|&n| n > 0)
    }

    /// A commit may name it from now on, whatever the answer.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// No commit names it.
    pub(crate) fn abandon(&self) {
        self.kept.store(false, Ordering::Relaxed);
    }

    /// Blobs at hand and the way to the others.
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
            self.core.tidy(blobs_filter(&staged));
        }
    }
}

/// Where the blobs of a committed batch are.
pub(crate) struct Source {
    pub(crate) record: StagedRecord,
    blobs: HashMap<(Kind, usize), Vec<u8>>,
    /// Counts what is held.
    _staged: Option<Staged>,
}

impl Source {
    /// A batch that an earlier process staged.
    pub(crate) fn remote(record: StagedRecord) -> Self {
        Self {
            record,
            blobs: HashMap::new(),
            _staged: None,
        }
    }

    /// The content of a blob.
    pub(crate) fn read<T: for<'de> serde::Deserialize<'de>>(
        &self,
        core: &Core,
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
                let blob = core.ask(|server| fetch(server, database, id))?;
                let blob = blob.ok_or_else(|| corrupt("the blob of a commit is gone"))?;
                decode(&blob)
            }
        };
        content.ok_or_else(|| corrupt("it holds something else than a batch"))
    }
}

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

fn blob_id(staged: ObjectId, kind: Kind, idx: usize) -> String {
    format!("{staged}/{}/{idx}", kind.path())
}

/// All blobs of some batches.
pub(crate) fn blobs_filter(staged: &[ObjectId]) -> Document {
    let ranges = staged
        .iter()
        // The character after the slash ends the range.
        .map(|id| doc! {"_id": {"$gte": format!("{id}/"), "$lt": format!("{id}0")}});
    doc! {"$or": ranges.collect::<Vec<_>>()}
}

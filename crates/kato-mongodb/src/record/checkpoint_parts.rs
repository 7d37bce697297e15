//! A checkpoint that is too large for the record of a run: it lies beside it, in parts that the record names.

use kato_store::StoreError;
use mongodb::Collection;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Document, doc};
use serde::{Deserialize, Serialize};

use super::collections::CHECKPOINT;
use crate::connection::{Server, durable};

/// Bytes of a checkpoint that lies in the record, and of a part, at most: the record has other
/// fields, and may have 16 MiB with them.
const PART_BYTES: usize = 8 << 20;

/// The parts of a checkpoint. Those of a commit have ids of their own, so that whoever wrote them, nobody takes
/// them for another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckpointParts {
    id: ObjectId,
    count: i64,
}

impl CheckpointParts {
    /// Returns the parts that a checkpoint is to be kept in; `None` for one that the record has room for.
    pub(crate) fn of(text: &str) -> Option<Self> {
        (text.len() > PART_BYTES).then(|| Self {
            id: ObjectId::new(),
            count: text.len().div_ceil(PART_BYTES) as i64,
        })
    }

    fn ids(self) -> Vec<String> {
        let parts = 0..self.count;
        parts.map(|part| format!("{}/{part}", self.id)).collect()
    }

    /// Writes them, durably: the record names them only then.
    pub(crate) async fn write(
        self,
        server: &Server,
        database: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        let collection = parts(server, database);
        for (id, part) in self.ids().iter().zip(text.as_bytes().chunks(PART_BYTES)) {
            let write = || async {
                let text = Binary {
                    subtype: BinarySubtype::Generic,
                    bytes: part.to_vec(),
                };
                // Written over where an attempt before got through without an answer.
                let write =
                    collection.replace_one(doc! {"_id": id}, doc! {"_id": id, "text": text});
                Ok(write.upsert(true).write_concern(durable()).await?)
            };
            server.retry("keep a checkpoint", write).await?;
        }
        Ok(())
    }

    /// Reads them; `None` where not all are there.
    pub(crate) async fn read(
        self,
        server: &Server,
        database: &str,
    ) -> Result<Option<String>, StoreError> {
        let collection = parts(server, database);
        let mut text = Vec::new();
        for id in &self.ids() {
            let read = || async { Ok(collection.find_one(doc! {"_id": id}).await?) };
            let found = server.retry("read a checkpoint", read).await?;
            match found.as_ref().map(|part| part.get_binary_generic("text")) {
                Some(Ok(part)) => text.extend(part),
                _ => return Ok(None),
            }
        }
        Ok(String::from_utf8(text).ok())
    }

    /// Removes them, once no record names them.
    pub(crate) async fn remove(self, server: &Server, database: &str) {
        let wanted = doc! {"_id": {"$in": self.ids()}};
        // What a failure leaves here goes with the next opening.
        let _ = parts(server, database).delete_many(wanted).await;
    }

    /// Removes all parts but those that a record names, if it names any.
    pub(crate) async fn remove_others(
        named: Option<Self>,
        server: &Server,
        database: &str,
    ) -> Result<(), StoreError> {
        let collection = parts(server, database);
        let named = named.map(Self::ids).unwrap_or_default();
        let others = || async {
            let unwanted = doc! {"_id": {"$not": {"$in": &named}}};
            Ok(collection.delete_many(unwanted).await?)
        };
        let removed = server.retry("clear away old checkpoints", others).await;
        removed.map(drop)
    }
}

fn parts(server: &Server, database: &str) -> Collection<Document> {
    server.database(database).collection(CHECKPOINT)
}

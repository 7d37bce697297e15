//! Documents and vectors, which KATO's layout has no place for: upserts that may be done twice.

use std::sync::Arc;

use kato_store::StoreError;

use super::commands::{Command, Commands};
use crate::layout::{BsonWriter, document_key, vector_key, vector_prefix};
use crate::record::{DOCUMENTS, OpenRun, VECTORS};
use crate::staging::{BatchSource, BlobKind};

/// Upserts of one command, at most.
const CHUNK: usize = 500;

/// Applies the documents and vectors of a commit.
pub(crate) fn apply_documents_and_vectors(
    run: &OpenRun,
    sources: &[BatchSource],
) -> Result<(), StoreError> {
    for source in sources {
        for idx in 0..source.record.blobs(BlobKind::Documents) {
            let documents: Vec<(u64, String)> = source.read(run, BlobKind::Documents, idx)?;
            for chunk in documents.chunks(CHUNK) {
                // Of several ids of a sample the smallest counts, and `$min` may be repeated.
                let write = |(document_idx, id): &(u64, String), out: &mut BsonWriter| {
                    out.document("q", |out| out.integer("_id", document_key(*document_idx)));
                    out.document("u", |out| {
                        out.document("$min", |out| out.text("id", id));
                    });
                };
                upsert(run, commands(DOCUMENTS, chunk, write))?;
            }
        }
        for node_idx in 0..run.nodes.len() {
            for idx in 0..source.record.blobs(BlobKind::Vectors(node_idx)) {
                let kind = BlobKind::Vectors(node_idx);
                let vectors: Vec<(String, Vec<f64>)> = source.read(run, kind, idx)?;
                let write = |(name, vector): &(String, Vec<f64>), out: &mut BsonWriter| {
                    let id = format!("{}{name}", vector_prefix(node_idx));
                    out.document("q", |out| out.text("_id", &id));
                    out.document("u", |out| {
                        out.document("$min", |out| out.binary("vector", &vector_key(vector)));
                    });
                };
                for chunk in vectors.chunks(CHUNK) {
                    upsert(run, commands(VECTORS, chunk, write))?;
                }
            }
        }
    }
    Ok(())
}

/// Builds the commands that upsert items into a collection.
fn commands<T>(
    collection: &'static str,
    items: &[T],
    mut write: impl FnMut(&T, &mut BsonWriter),
) -> Vec<Command> {
    let mut commands = Commands::new(collection, true);
    for item in items {
        let mut out = BsonWriter::new();
        write(item, &mut out);
        out.boolean("upsert", true);
        commands.push(out);
    }
    commands.finish()
}

/// Sends commands of upserts, which may be done twice.
fn upsert(run: &OpenRun, commands: Vec<Command>) -> Result<(), StoreError> {
    let database = run.database.clone();
    run.block_on(|server: Arc<_>| async move {
        for command in commands {
            let write = || server.write(&database, command.body.clone(), None);
            server.retry("keep documents and vectors", write).await?;
        }
        Ok(())
    })
}

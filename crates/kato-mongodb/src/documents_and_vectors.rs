//! Documents and vectors, which KATO's layout has no place for: upserts that may be done twice.

use std::sync::Arc;

use kato_model::VectorName;
use kato_store::StoreError;
use mongodb::bson::RawDocumentBuf;

use crate::layout::{DOCUMENTS, VECTORS};
use crate::staged::{Kind, Source};
use crate::state::StoreState;
use crate::writer::Writer;

/// Upserts of one command.
const CHUNK: usize = 500;

/// Applies the documents and vectors of a commit.
pub(crate) fn apply(core: &StoreState, sources: &[Source]) -> Result<(), StoreError> {
    for source in sources {
        for idx in 0..source.record.documents as usize {
            let documents: Vec<(u64, String)> = source.read(core, Kind::Documents, idx)?;
            for chunk in documents.chunks(CHUNK) {
                // Of several ids of a sample the smallest counts, and `$min` may be repeated.
                let write = |(sample_idx, id): &(u64, String), out: &mut Writer| {
                    out.document("q", |out| out.integer("_id", sample_key(*sample_idx)));
                    out.document("u", |out| {
                        out.document("$min", |out| out.text("id", id));
                    });
                };
                upsert(core, command(DOCUMENTS, chunk, write))?;
            }
        }
        for node_idx in 0..core.nodes.len() {
            for idx in 0..source.record.vectors[node_idx] as usize {
                let kind = Kind::Vectors(node_idx);
                let vectors: Vec<(String, Vec<f64>)> = source.read(core, kind, idx)?;
                let write = |(name, vector): &(String, Vec<f64>), out: &mut Writer| {
                    let id = format!("{}{name}", vector_prefix(node_idx));
                    out.document("q", |out| out.text("_id", &id));
                    out.document("u", |out| {
                        out.document("$min", |out| out.binary("vector", &vector_key(vector)));
                    });
                };
                for chunk in vectors.chunks(CHUNK) {
                    upsert(core, command(VECTORS, chunk, write))?;
                }
            }
        }
    }
    Ok(())
}

/// Builds the command that upserts items into a collection.
fn command<T>(
    collection: &str,
    items: &[T],
    mut write: impl FnMut(&T, &mut Writer),
) -> RawDocumentBuf {
    let mut out = Writer::new();
    out.text("update", collection);
    out.array("updates", |out| {
        for (idx, item) in items.iter().enumerate() {
            out.document_at(idx, |out| {
                write(item, out);
                out.boolean("upsert", true);
            });
        }
    });
    out.boolean("ordered", false);
    out.document("writeConcern", |out| out.text("w", "majority"));
    out.finish()
}

/// Sends a command of upserts, which may be done twice.
fn upsert(core: &StoreState, command: RawDocumentBuf) -> Result<(), StoreError> {
    let database = core.database.clone();
    core.block_on(|server: Arc<_>| async move {
        let write = || server.write(&database, command.clone(), None);
        server.retry("keep documents and vectors", write).await
    })
    .map(drop)
}

/// Returns the key of a sample: its number, bit for bit as one of the database's integers.
pub(crate) fn sample_key(sample_idx: u64) -> i64 {
    // Keys are compared for equality only, so numbers from 2^63 on may be negative.
    sample_idx.cast_signed()
}

/// Returns what the keys of a node's vectors begin with.
pub(crate) fn vector_prefix(node_idx: usize) -> String {
    format!("{node_idx:05}/")
}

/// Returns a vector as bytes whose order is that of [`kato_model::smaller_vector`], so that the
/// server keeps the smallest: the number of elements, then each element so that bits order as
/// numbers do.
fn vector_key(vector: &[f64]) -> Vec<u8> {
    const SIGN: u64 = 1 << 63;

    let mut bytes = Vec::with_capacity(4 + vector.len() * 8);
    bytes.extend((vector.len() as u32).to_be_bytes());
    for element in vector {
        let bits = element.to_bits();
        // The order of `f64::total_cmp`: positive numbers go above all negative ones, and of these
        // the order is turned round. Big end first, because the server compares byte by byte.
        let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
        bytes.extend(ordered.to_be_bytes());
    }
    bytes
}

/// Returns the vector of a document; `None` when it holds none.
pub(crate) fn vector_of(document: &mongodb::bson::RawDocument) -> Option<(VectorName, Vec<f64>)> {
    const SIGN: u64 = 1 << 63;

    let (_, name) = document.get_str("_id").ok()?.split_once('/')?;
    let key = document.get_binary("vector").ok()?.bytes.get(4..)?;
    let (elements, []) = key.as_chunks::<8>() else {
        return None;
    };
    let element = |bytes: &[u8; 8]| {
        let ordered = u64::from_be_bytes(*bytes);
        f64::from_bits(if ordered & SIGN == 0 {
            !ordered
        } else {
            ordered ^ SIGN
        })
    };
    Some((name.parse().ok()?, elements.iter().map(element).collect()))
}

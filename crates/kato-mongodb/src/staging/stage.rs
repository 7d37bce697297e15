//! How a batch becomes blobs of the journal.

use std::sync::Arc;

use kato_model::batch::{SealedNodeView, SealedSymbol};
use kato_model::{AttributeLimits, Attributes, PatternName, SealedBatch, Symbol};
use kato_store::StoreError;

use super::blobs::{Blobs, encode};
use super::pattern_delta::{CompactSymbol, PatternDelta};
use super::staged_batch::{BlobKind, Staged, StagingArea};
use crate::error::Error;
use crate::layout::DOCUMENT_LIMIT;
use crate::record::OpenRun;

/// Documents or vectors of one blob.
const ENTRIES_IN_BLOB: usize = 1000;

/// Writes a batch into the journal, blob by blob.
pub(crate) fn stage(area: &Arc<StagingArea>, batch: &SealedBatch) -> Result<Staged, StoreError> {
    let run = area.run();
    let mut staged = Staged::new(area);
    for node_idx in 0..batch.n_nodes() {
        let node = batch.node(node_idx);
        for pattern in node.patterns() {
            check_emotives(pattern.name, pattern.attributes)?;
        }
        let mut blobs = Blobs::default();
        // The blobs come in name order, which the merge of a commit relies on.
        for delta in patterns_of(batch, node_idx, &run.limits) {
            check_size(run, &delta)?;
            staged.has_attributes |= delta.attributes.is_some();
            staged.add_if(BlobKind::Patterns(node_idx), blobs.push(delta)?)?;
        }
        staged.add_if(BlobKind::Patterns(node_idx), blobs.finish()?)?;
        let vectors: Vec<NamedVector<'_>> = node
            .vectors()
            .map(|(name, vector)| (name.to_string(), vector))
            .collect();
        for blob in cut_vectors(run, &vectors)? {
            staged.add(BlobKind::Vectors(node_idx), encode(&blob)?)?;
        }
    }
    for chunk in batch.documents().chunks(ENTRIES_IN_BLOB) {
        staged.add(BlobKind::Documents, encode(&chunk)?)?;
    }
    Ok(staged)
}

/// Returns the patterns that a node of a batch learned, in name order.
fn patterns_of<'a>(
    batch: &'a SealedBatch,
    node_idx: usize,
    limits: &'a AttributeLimits,
) -> impl Iterator<Item = PatternDelta> + 'a {
    let node: SealedNodeView<'a> = batch.node(node_idx);
    let literals: Vec<&str> = node.dictionary().collect();
    let below: Vec<PatternName> = match node_idx.checked_sub(1) {
        Some(below) => batch
            .node(below)
            .patterns()
            .map(|pattern| pattern.name)
            .collect(),
        None => Vec::new(),
    };
    node.patterns().map(move |pattern| {
        let symbols = pattern.symbols().map(|symbol| match symbol {
            SealedSymbol::Literal(rank) => {
                CompactSymbol::from(Symbol::from(literals[rank as usize]))
            }
            // Ranks are those of the node below, whose patterns come in name order as well.
            SealedSymbol::Child(rank) => CompactSymbol::Name(*below[rank as usize].as_bytes()),
        });
        let mut delta = PatternDelta {
            name: *pattern.name.as_bytes(),
            frequency: pattern.frequency,
            symbols: symbols.collect(),
            event_lengths: None,
            first_seen: pattern.first_seen,
            attributes: None,
        };
        if let Some(attributes) = pattern.attributes {
            delta.event_lengths.clone_from(&attributes.event_lengths);
            let mut kept = Attributes::default();
            let other = Attributes {
                extra_frequency: 0,
                event_lengths: None,
                ..attributes.clone()
            };
            // Batches may have been made without regard to the run's limits.
            kept.merge(other, limits);
            if kept != Attributes::default() {
                delta.attributes = Some(Box::new(kept));
            }
        }
        delta
    })
}

/// A vector with its name, as a blob has it.
type NamedVector<'a> = (String, &'a [f64]);

/// Cuts vectors into blobs; refuses one that is larger than a document may be.
fn cut_vectors<'v, 'b>(
    run: &OpenRun,
    mut vectors: &'v [NamedVector<'b>],
) -> Result<Vec<&'v [NamedVector<'b>]>, StoreError> {
    let bytes_of = |vector: &[f64]| size_of_val(vector) as u64;
    let mut blobs = Vec::new();
    while let Some((name, first)) = vectors.first() {
        if bytes_of(first) > DOCUMENT_LIMIT {
            let error = Error::Overgrown {
                document: format!("vector {name}"),
                bytes: bytes_of(first),
                limit: DOCUMENT_LIMIT,
            };
            return Err(error.at(run.place()));
        }
        let mut bytes = 0;
        let fits = vectors.iter().take(ENTRIES_IN_BLOB).take_while(|vector| {
            bytes += bytes_of(vector.1);
            bytes <= DOCUMENT_LIMIT
        });
        let (blob, others) = vectors.split_at(fits.count());
        blobs.push(blob);
        vectors = others;
    }
    Ok(blobs)
}

/// Refuses a pattern that alone is larger than a document may be, while nothing is committed: a commit
/// that is decided could never be finished.
fn check_size(run: &OpenRun, delta: &PatternDelta) -> Result<(), StoreError> {
    let bytes = delta.document_bytes();
    if bytes <= DOCUMENT_LIMIT {
        return Ok(());
    }
    let error = Error::TooLarge {
        name: delta.name(),
        bytes,
        limit: DOCUMENT_LIMIT,
    };
    Err(error.at(run.place()))
}

/// Refuses emotives that other stores could not take over.
fn check_emotives(name: PatternName, attributes: Option<&Attributes>) -> Result<(), StoreError> {
    let maps = attributes.into_iter().flat_map(|attributes| {
        let entries = attributes.emotives.entries().iter();
        entries
            .map(|entry| &entry.emotives)
            .chain([&attributes.affinity])
    });
    if maps
        .flat_map(|map| map.values())
        .all(|value| value.is_finite())
    {
        Ok(())
    } else {
        Err(StoreError::NotFinite { name })
    }
}

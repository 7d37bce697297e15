//! How large documents become, found out before a commit is decided: one that is decided can no longer
//! be refused.

use std::collections::BTreeSet;

use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};
use kato_model::AttributeLimits;
use kato_store::StoreError;
use mongodb::bson::doc;
use mongodb::options::ReadConcern;

use super::bulk::{Bulk, KEYS_AT_ONCE, compute, no_pattern};
use super::document_change::DocumentChange;
use super::merge::Merge;
use super::settings::CommitSettings;
use super::symbol_sums::SymbolSums;
use crate::connection::{OperationError, Server};
use crate::error::Error;
use crate::layout::DOCUMENT_LIMIT;
use crate::record::OpenRun;
use crate::staging::BatchSource;

/// Bytes up to which nobody need look at a document, or at what is added to it: two of them together
/// stay below the limit however they are written. Text that is kept as JSON takes up to seven times
/// its bytes: once as it is, and six for one where all of it is escaped.
const SMALL: u64 = DOCUMENT_LIMIT / 16;

/// Changes that are looked at together.
const CHANGES: usize = 4096;

/// Documents that are read whole at once: each may have 16 MiB.
const DOCUMENTS_AT_ONCE: usize = 8;

/// Refuses a commit of lessons with which a document would grow larger than one may be.
pub(super) fn check_sizes(
    run: &OpenRun,
    settings: &CommitSettings,
    sources: &[BatchSource],
) -> Result<(), StoreError> {
    // Without metadata and emotives only numbers change.
    if !sources.iter().any(BatchSource::has_attributes) {
        return Ok(());
    }
    for node_idx in 0..run.nodes.len() {
        let mut merge = Merge::new(run, sources, node_idx)?;
        let mut sums = SymbolSums::default();
        let mut changes = Vec::new();
        while let Some(delta) = merge.next()? {
            let Some(attributes) = &delta.attributes else {
                continue;
            };
            // A symbol gets every emotive of its patterns.
            if !attributes.affinity.is_empty() {
                sums.add(&delta)?;
            }
            changes.push(DocumentChange::Pattern(delta));
            if changes.len() == CHANGES {
                check(run, settings, node_idx, &mut changes)?;
            }
        }
        check(run, settings, node_idx, &mut changes)?;
        sums.finish(|symbol, sum| {
            changes.push(DocumentChange::Symbol(symbol, sum));
            match changes.len() {
                CHANGES => check(run, settings, node_idx, &mut changes),
                _ => Ok(()),
            }
        })?;
        check(run, settings, node_idx, &mut changes)?;
    }
    Ok(())
}

/// Checks what becomes of the documents of one collection, and empties the list.
fn check(
    run: &OpenRun,
    settings: &CommitSettings,
    node_idx: usize,
    changes: &mut Vec<DocumentChange>,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let bulk = Bulk {
        id: String::new(),
        database: run.nodes[node_idx].database.clone(),
        changes: std::mem::take(changes),
    };
    let (limits, at_once) = (run.limits, settings.max_in_flight);
    run.block_on(move |server| async move { check_bulk(&server, &bulk, &limits, at_once).await })
}

async fn check_bulk(
    server: &Server,
    bulk: &Bulk,
    limits: &AttributeLimits,
    at_once: usize,
) -> Result<(), StoreError> {
    let keys = bulk.keys(|_| true);
    let asked: Vec<_> = keys
        .chunks(KEYS_AT_ONCE)
        .map(|keys| large_among(server, bulk, keys.to_vec()))
        .collect();
    let found = iter(asked).buffer_unordered(at_once);
    let mut large: BTreeSet<String> = found.try_concat().await?.into_iter().collect();
    large.extend(bulk.keys(|change| change.bytes() > SMALL));
    let large: Vec<String> = large.into_iter().collect();
    for keys in large.chunks(DOCUMENTS_AT_ONCE) {
        let place = (bulk.database.as_str(), bulk.collection());
        let read = || server.find(place, bulk.filter(keys), None, None);
        let found = server.retry("look how large documents are", read).await?;
        let held = bulk.by_key(found);
        compute(|| {
            let is_meant = |change: &&DocumentChange| keys.contains(&change.key().into_owned());
            for change in bulk.changes.iter().filter(is_meant) {
                let found = held.get(&*change.key()).map(|found| &**found);
                let bytes = change.bytes_after(found, limits);
                let bytes = bytes.ok_or_else(|| no_pattern(server, bulk, change))?;
                if bytes > DOCUMENT_LIMIT {
                    let error = Error::Overgrown {
                        document: change.in_words(),
                        bytes,
                        limit: DOCUMENT_LIMIT,
                    };
                    return Err(error.at(server.place_of(&[&bulk.database, bulk.collection()])));
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns which of the keys have documents that are not small; all where the server cannot tell.
async fn large_among(
    server: &Server,
    bulk: &Bulk,
    keys: Vec<String>,
) -> Result<Vec<String>, StoreError> {
    let field = bulk.key_field();
    let pipeline = [
        doc! {"$match": bulk.filter(&keys)},
        doc! {"$match": {"$expr": {"$gt": [{"$bsonSize": "$$ROOT"}, SMALL as i64]}}},
        doc! {"$project": {field: 1}},
    ];
    let ask = || async {
        let collection = server.collection(&bulk.database, bulk.collection());
        let found = collection
            .aggregate(pipeline.clone())
            .read_concern(ReadConcern::local());
        let found = match found.await {
            Ok(cursor) => cursor.try_collect::<Vec<_>>().await,
            Err(error) => Err(error),
        };
        match found.map_err(OperationError::from) {
            Ok(found) => {
                let key = |document: &mongodb::bson::Document| {
                    document.get_str(field).ok().map(str::to_owned)
                };
                Ok(found.iter().filter_map(key).collect())
            }
            // Servers before 4.4 do not know `$bsonSize`.
            Err(error) if !error.is_transient() => Ok(keys.clone()),
            Err(error) => Err(error),
        }
    };
    server.retry("ask how large documents are", ask).await
}

//! A bulk with a journal: what its documents held and will hold is written down, and every update holds only for what was found.

use std::collections::HashMap;

use kato_store::StoreError;
use mongodb::bson::{Document, RawDocumentBuf, doc};

use crate::apply::{Bulk, Context, compute};
use crate::fault::{DUPLICATE_KEY, Fault};
use crate::figures::Counters;
use crate::item::Target;
use crate::layout::APPLIED;
use crate::learned::{decode, encode};
use crate::writer::Writer;

/// Keys looked up at once: some servers compare every document with every key.
const KEYS_AT_ONCE: usize = 100;

pub(super) async fn apply(context: &Context, bulk: &Bulk) -> Result<(), StoreError> {
    let server = &context.server;
    let known = if context.replay {
        server
            .retry("read the journal", || recorded(context, bulk))
            .await?
    } else {
        None
    };
    let is_replay = known.is_some();
    let targets = match known {
        Some(targets) => targets,
        None => {
            server
                .retry("write the journal", || record(context, bulk))
                .await?
        }
    };
    if !is_replay && once(context, bulk, &targets).await? {
        return Ok(());
    }
    // What an attempt that was not answered has done is seen by comparing.
    server
        .retry("apply a commit", || complete(context, bulk, &targets))
        .await
}

/// Sends the bulk; `false` when it is unknown what of it was done.
async fn once(context: &Context, bulk: &Bulk, targets: &[Target]) -> Result<bool, StoreError> {
    check_lease(context)?;
    let (n_items, command) = compute(|| {
        bulk.command(true, |idx, item, out| {
            item.write_target(&targets[idx], out);
            true
        })
    });
    let n_new = targets.iter().filter(|target| target.before.is_none());
    match context.server.write(&bulk.database, command, None).await {
        Ok(reply) => Ok(number(&reply, "n") == n_items && upserted(&reply) == n_new.count()),
        // Single writes that failed are met again when all are compared.
        Err(fault) if fault.is_transient() || matches!(fault, Fault::Write { .. }) => Ok(false),
        Err(fault) => Err(context.server.refused("apply a commit", fault)),
    }
}

fn number(reply: &Document, field: &str) -> usize {
    let number = reply
        .get(field)
        .and_then(|n| n.as_i64().or(n.as_i32().map(i64::from)));
    number.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

fn upserted(reply: &Document) -> usize {
    reply.get_array("upserted").map_or(0, Vec::len)
}

/// A writer without lease stops; what it sent before holds only for what it found.
fn check_lease(context: &Context) -> Result<(), StoreError> {
    if context.lease.is_certain() {
        Ok(())
    } else {
        Err(context.lease_lost())
    }
}

async fn recorded(context: &Context, bulk: &Bulk) -> Result<Option<Vec<Target>>, Fault> {
    let collection = context.server.collection(&context.run, APPLIED);
    let Some(document) = collection.find_one(doc! {"_id": &bulk.id}).await? else {
        return Ok(None);
    };
    let blob = document.get_binary("targets").ok();
    let targets: Option<Vec<Target>> = compute(|| blob.and_then(|blob| decode(blob.bytes)));
    match targets.filter(|targets| targets.len() == bulk.items.len()) {
        Some(targets) => Ok(Some(targets)),
        None => Err(Fault::Store(StoreError::Corrupt {
            path: context
                .server
                .path(&context.run)
                .join(APPLIED)
                .join(&bulk.id),
            reason: "it holds something else than a journal entry".to_owned(),
        })),
    }
}

/// Reads what the documents hold and writes down what they will hold.
async fn record(context: &Context, bulk: &Bulk) -> Result<Vec<Target>, Fault> {
    let held = held(context, bulk, true).await?;
    let (targets, command) = compute(|| {
        let items = bulk.items.iter();
        let targets: Vec<Target> = items.map(|item| context.target(item, &held)).collect();
        let blob = encode(&targets)?;
        let mut out = Writer::new();
        out.text("insert", APPLIED);
        out.array("documents", |out| {
            out.document_at(0, |out| {
                out.text("_id", &bulk.id);
                out.binary("targets", &blob);
            });
        });
        out.document("writeConcern", |out| {
            out.text("w", "majority");
            out.boolean("j", true);
        });
        Ok::<_, StoreError>((targets, out.finish()))
    })?;
    match context.server.write(&context.run, command, None).await {
        // An attempt that was not answered; nothing was applied since.
        Err(fault) if fault.code() == Some(DUPLICATE_KEY) => Ok(targets),
        written => written.map(|_| targets),
    }
}

/// The documents that the items are about: `whole` where they are merged with ours, else only numbers.
async fn held(
    context: &Context,
    bulk: &Bulk,
    whole: bool,
) -> Result<HashMap<String, RawDocumentBuf>, Fault> {
    let mut held = HashMap::new();
    for merging in [true, false] {
        let keys = bulk.keys(|item| item.needs_merging() == merging);
        let projection = doc! {"pattern_data": 0, "metadata": 0};
        let place = (bulk.database.as_str(), bulk.collection());
        for keys in keys.chunks(KEYS_AT_ONCE) {
            let projection = (!(whole && merging)).then(|| projection.clone());
            let found = context
                .server
                .find(place, bulk.filter(keys), projection, None);
            held.extend(bulk.by_key(found.await?));
        }
    }
    Ok(held)
}

/// Applies what is not applied yet, until nothing is left.
async fn complete(context: &Context, bulk: &Bulk, targets: &[Target]) -> Result<(), Fault> {
    const ROUNDS: usize = 3;

    for round in 0..=ROUNDS {
        let held = held(context, bulk, false).await?;
        let mut meddled = None;
        let (n_items, command) = compute(|| {
            bulk.command(true, |idx, item, out| {
                let target = &targets[idx];
                let now = held.get(&*item.key()).map(|found| item.counts_in(found));
                // Counts at their largest do not tell whether the rest is written: once more.
                let is_told = target.before != Some(target.after) || round > 0;
                if now == Some(target.after) && is_told {
                    return false;
                }
                if now != target.before || round == ROUNDS {
                    meddled.get_or_insert_with(|| item.key().into_owned());
                    return false;
                }
                item.write_target(target, out);
                true
            })
        });
        if let Some(key) = meddled {
            let place = context.server.path(&bulk.database).join(bulk.collection());
            return Err(Fault::Store(StoreError::Meddled {
                place: place.display().to_string(),
                reason: format!(
                    "the counts of {key:.60?} are neither those before nor those after"
                ),
            }));
        }
        if n_items == 0 {
            break;
        }
        check_lease(context)?;
        context.server.write(&bulk.database, command, None).await?;
    }
    Counters::add(&context.server.counters.replays, 1);
    Ok(())
}

//! Application of a bulk with a journal: what its documents held and will hold is written down, and
//! every update holds only for what was found.

use std::collections::HashMap;

use kato_store::{Rescue, StoreError};
use mongodb::bson::{Document, RawDocumentBuf, doc};

use super::bulk::{Bulk, BulkContext, KEYS_AT_ONCE, compute};
use super::document_change::Target;
use crate::connection::{Counters, DUPLICATE_KEY, OperationError};
use crate::error::Error;
use crate::layout::BsonWriter;
use crate::record::APPLIED;
use crate::staging::{decode, encode};

/// Bytes of one part of an entry, at most.
const PART_BYTES: usize = 8 << 20;

/// Applies a bulk so that doing it again, or an update that comes late, changes nothing.
pub(super) async fn apply_by_journal(context: &BulkContext, bulk: &Bulk) -> Result<(), StoreError> {
    let server = &context.server;
    // Only a replay can find an entry: ids of bulks begin with the number of their commit, and
    // bulks are sent only once the commit is decided.
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
    // Nothing of a new bulk can be there already, so its first attempt goes without comparing.
    if !is_replay && once(context, bulk, &targets).await? {
        return Ok(());
    }
    // What an unanswered attempt has done is found out by comparing.
    server
        .retry("apply a commit", || complete(context, bulk, &targets))
        .await
}

/// Sends the bulk once; returns `false` when it is unknown what of it was done.
async fn once(context: &BulkContext, bulk: &Bulk, targets: &[Target]) -> Result<bool, StoreError> {
    check_lease(context)?;
    let commands = compute(|| {
        bulk.commands(true, |idx, change, out| {
            change.write_target(&targets[idx], out);
            true
        })
    });
    let n_new = targets.iter().filter(|target| target.before.is_none());
    let mut n_upserted = 0;
    for command in commands {
        match context
            .server
            .write(&bulk.database, command.body, None)
            .await
        {
            // `n` counts the documents that matched or were inserted. An update whose condition does
            // not hold any more lowers it; a new document that was there already is counted, but not
            // as inserted.
            Ok(reply) if number(&reply, "n") == command.n_upserts => n_upserted += upserted(&reply),
            Ok(_) => return Ok(false),
            // Single writes that failed are seen again when all are compared.
            Err(failure)
                if failure.is_transient() || matches!(failure, OperationError::Write { .. }) =>
            {
                return Ok(false);
            }
            Err(failure) => return Err(context.server.refused("apply a commit", failure)),
        }
    }
    Ok(n_upserted == n_new.count())
}

/// Returns a count of a reply, in whichever integer type the server sent it.
fn number(reply: &Document, field: &str) -> usize {
    let number = reply
        .get(field)
        .and_then(|n| n.as_i64().or(n.as_i32().map(i64::from)));
    number.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// Returns the number of documents that an update inserted.
fn upserted(reply: &Document) -> usize {
    reply.get_array("upserted").map_or(0, Vec::len)
}

/// Fails unless the lease is certain to be held.
fn check_lease(context: &BulkContext) -> Result<(), StoreError> {
    // Without transactions no server rejects the updates of a former owner, so the writer stops by
    // itself. What it sent before is harmless: it holds only for what was found.
    if context.lease.is_certain() {
        Ok(())
    } else {
        Err(context.lease_lost())
    }
}

/// Returns the targets that an earlier attempt wrote down; `None` when it did not get that far.
async fn recorded(
    context: &BulkContext,
    bulk: &Bulk,
) -> Result<Option<Vec<Target>>, OperationError> {
    let collection = context.server.collection(&context.run, APPLIED);
    let Some(document) = collection.find_one(doc! {"_id": &bulk.id}).await? else {
        return Ok(None);
    };
    let mut blob = document
        .get_binary("targets")
        .map_or_else(|_| Vec::new(), |blob| blob.bytes.to_vec());
    let n_parts = document.get_i32("parts").unwrap_or(1);
    for part in 1..n_parts {
        let found = collection.find_one(doc! {"_id": part_id(bulk, part)});
        let found = found.await?;
        let more = found
            .as_deref()
            .and_then(|it| it.get_binary("targets").ok());
        blob.extend(more.map_or(&[][..], |more| more.bytes));
    }
    let targets: Option<Vec<Target>> = compute(|| decode(&blob));
    // A replay cuts the same bulks, and targets belong to changes by place, so another number is
    // damage.
    match targets.filter(|targets| targets.len() == bulk.changes.len()) {
        Some(targets) => Ok(Some(targets)),
        None => Err(OperationError::Store(StoreError::Corrupt {
            place: context.server.place_of(&[&context.run, APPLIED, &bulk.id]),
            reason: "it holds something else than a journal entry".to_owned(),
            rescue: Rescue::Nothing,
        })),
    }
}

/// Reads what the documents hold and writes down what they will hold.
async fn record(context: &BulkContext, bulk: &Bulk) -> Result<Vec<Target>, OperationError> {
    // No update of this bulk has been sent yet, so this is the state before it.
    let held = held(context, bulk, true).await?;
    let (targets, entries) = compute(|| {
        let targets = bulk
            .changes
            .iter()
            .map(|change| context.target(bulk, change, &held));
        let targets = targets.collect::<Result<Vec<Target>, StoreError>>()?;
        let blob = encode(&targets)?;
        Ok::<_, StoreError>((targets, entries(bulk, &blob)))
    })?;
    let (first, others) = entries;
    for other in others {
        context.server.write(&context.run, other, None).await?;
    }
    match context.server.write(&context.run, first, None).await {
        // An earlier attempt got through without an answer. Nothing was applied since, so it wrote
        // down these very targets.
        Err(failure) if failure.code() == Some(DUPLICATE_KEY) => Ok(targets),
        written => written.map(|_| targets),
    }
}

/// Builds the commands that write down the targets of a bulk: the last one, which makes the entry, and
/// those of its other parts, which come before it.
fn entries(bulk: &Bulk, blob: &[u8]) -> (RawDocumentBuf, Vec<RawDocumentBuf>) {
    // Documents that are merged are part of it, and together they may be larger than one may be.
    let mut parts = blob.chunks(PART_BYTES);
    let first = parts.next().unwrap_or_default();
    let n_parts = i64::try_from(parts.len() + 1).unwrap_or(i64::MAX);
    // On the disks of a majority before the first update is sent: without its entry, an update
    // could not be distinguished from somebody else's.
    let concern = |out: &mut BsonWriter| {
        out.document("writeConcern", |out| {
            out.text("w", "majority");
            out.boolean("j", true);
        });
    };
    let mut entry = BsonWriter::new();
    entry.text("insert", APPLIED);
    entry.array("documents", |out| {
        out.document_at(0, |out| {
            out.text("_id", &bulk.id);
            out.binary("targets", first);
            if n_parts > 1 {
                out.integer("parts", n_parts);
            }
        });
    });
    concern(&mut entry);
    let others = parts.zip(1..).map(|(part, number)| {
        let mut out = BsonWriter::new();
        out.text("update", APPLIED);
        out.array("updates", |out| {
            out.document_at(0, |out| {
                out.document("q", |out| out.text("_id", &part_id(bulk, number)));
                // Written over: an attempt that did not come to the entry may have left others.
                out.document("u", |out| out.binary("targets", part));
                out.boolean("upsert", true);
            });
        });
        concern(&mut out);
        out.finish()
    });
    let others = others.collect();
    (entry.finish(), others)
}

/// Returns the key of another part of a bulk's entry, which goes when the entry goes.
fn part_id(bulk: &Bulk, number: i32) -> String {
    format!("{}/{number}", bulk.id)
}

/// Returns the documents of the changes by key. Those that are merged are `whole` if asked for; of
/// all others only the counts and sums are read.
async fn held(
    context: &BulkContext,
    bulk: &Bulk,
    whole: bool,
) -> Result<HashMap<String, RawDocumentBuf>, OperationError> {
    let mut held = HashMap::new();
    for merging in [true, false] {
        let keys = bulk.keys(|change| change.needs_merging() == merging);
        // Content and metadata are most of a document and are not compared. `emotives` stay in,
        // because the sums of a symbol are computed from them.
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
async fn complete(
    context: &BulkContext,
    bulk: &Bulk,
    targets: &[Target],
) -> Result<(), OperationError> {
    const ROUNDS: usize = 3;

    // Every round reads again: what an unanswered update did, or one that came late, shows then. An
    // update that was answered and never shows counts as interference, so that the loop ends.
    for round in 0..=ROUNDS {
        let held = held(context, bulk, false).await?;
        let mut meddled = None;
        let commands = compute(|| {
            bulk.commands(true, |idx, change, out| {
                let target = &targets[idx];
                let now = held
                    .get(&*change.key())
                    .map(|found| change.counts_in(found));
                // A replay finds the symbols gone that an earlier attempt at a forget deleted last.
                if now.is_none() && context.subtract && change.is_deleted_at(target) {
                    return false;
                }
                // Counts that are the same before and after, such as saturated ones, do not say
                // whether the rest is written: it is written once more.
                let counts_are_conclusive = target.before != Some(target.after) || round > 0;
                if now == Some(target.after) && counts_are_conclusive {
                    return false;
                }
                if now != target.before || round == ROUNDS {
                    meddled.get_or_insert_with(|| change.key().into_owned());
                    return false;
                }
                change.write_target(target, out);
                true
            })
        });
        // Nothing of this round is sent: writing on would mix the commit with foreign changes.
        if let Some(key) = meddled {
            let place = context
                .server
                .place_of(&[&bulk.database, bulk.collection()]);
            return Err(Error::Meddled { key }.at(place).into());
        }
        if commands.is_empty() {
            break;
        }
        for command in commands {
            check_lease(context)?;
            let written = context.server.write(&bulk.database, command.body, None);
            written.await?;
        }
    }
    Counters::add(&context.server.counters.replays, 1);
    Ok(())
}

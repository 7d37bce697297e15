//! Applies one bulk of upserts exactly once: in a transaction, or with a journal of what was there before.

use std::collections::HashMap;
use std::sync::Arc;

use kato_model::AttributeLimits;
use kato_store::StoreError;
use mongodb::ClientSession;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, RawDocumentBuf, doc, rawdoc};
use mongodb::options::{ReadConcern, TransactionOptions};

use crate::Guard;
use crate::fault::{DUPLICATE_KEY, Fault};
use crate::figures::Counters;
use crate::item::{Change, Counts, Item, merged, write_merged};
use crate::layout::{APPLIED, RUN};
use crate::learned::{Learned, decode, encode};
use crate::lease::Lease;
use crate::server::{Server, durable};
use crate::writer::Writer;

/// What all bulks of a commit share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) server: Arc<Server>,
    /// The run's database.
    pub(crate) run: String,
    pub(crate) lease: Arc<Lease>,
    pub(crate) token: ObjectId,
    pub(crate) guard: Guard,
    pub(crate) limits: AttributeLimits,
    /// Whether counts are taken away.
    pub(crate) subtract: bool,
    /// Whether an earlier attempt may have applied some.
    pub(crate) replay: bool,
}

/// Upserts into one collection of one node, each of another document.
#[derive(Debug)]
pub(crate) struct Bulk {
    /// The same in every replay.
    pub(crate) id: String,
    pub(crate) database: String,
    pub(crate) items: Vec<Item>,
}

/// What the journal keeps of a bulk, in the order of its items.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Before {
    /// The numbers that the documents held; `None` for those to be set as a whole.
    counts: Vec<Option<Counts>>,
    /// Patterns to be set as a whole, as they will be.
    after: Vec<Learned>,
}

/// Applies a bulk, unless it is applied already.
pub(crate) async fn apply(context: Arc<Context>, bulk: Bulk) -> Result<(), StoreError> {
    match context.guard {
        Guard::Journal => with_journal(&context, &bulk).await?,
        Guard::Auto | Guard::Transaction => in_transaction(&context, &bulk).await?,
    }
    Counters::add(&context.server.counters.bulks, 1);
    Counters::add(&context.server.counters.upserts, bulk.items.len() as u64);
    Ok(())
}

impl Context {
    fn lease_lost(&self) -> StoreError {
        StoreError::LeaseLost {
            place: self.server.path(&self.run).display().to_string(),
        }
    }
}

impl Bulk {
    fn collection(&self) -> &'static str {
        self.items.first().map_or("", Item::collection)
    }

    fn keys(&self, wanted: impl Fn(&Item) -> bool) -> Vec<String> {
        let items = self.items.iter().filter(|item| wanted(item));
        items.map(|item| item.key().into_owned()).collect()
    }

    fn filter(&self, keys: &[String]) -> Document {
        let field = self.items.first().map_or("name", Item::key_field);
        doc! {field: {"$in": keys}}
    }

    /// Documents by their key.
    fn by_key(&self, documents: Vec<RawDocumentBuf>) -> HashMap<String, RawDocumentBuf> {
        let field = self.items.first().map_or("name", Item::key_field);
        let keyed = documents.into_iter().filter_map(|document| {
            let key = document.get_str(field).ok()?.to_owned();
            Some((key, document))
        });
        keyed.collect()
    }

    /// The command that writes; `upsert` writes one item and says whether it did.
    fn command(
        &self,
        durable: bool,
        mut upsert: impl FnMut(usize, &Item, &mut Writer) -> bool,
    ) -> Option<RawDocumentBuf> {
        let mut out = Writer::new();
        out.text("update", self.collection());
        let mut n_upserts = 0;
        out.array("updates", |out| {
            for (idx, item) in self.items.iter().enumerate() {
                let mut written = false;
                out.element_if(n_upserts, |out| {
                    written = upsert(idx, item, out);
                    written
                });
                n_upserts += usize::from(written);
            }
        });
        out.boolean("ordered", false);
        if durable {
            out.document("writeConcern", |out| out.text("w", "majority"));
        }
        (n_upserts > 0).then(|| out.finish())
    }
}

// In a transaction.

async fn in_transaction(context: &Context, bulk: &Bulk) -> Result<(), StoreError> {
    let server = &context.server;
    let mut careful = bulk.items.iter().any(Item::is_large);
    loop {
        let attempt = || async {
            let mut session = server.session().await?;
            match transaction(context, bulk, careful, &mut session).await {
                Ok(done) => Ok(done),
                Err(fault) => {
                    // The server ends it anyway when the session goes; this only frees its locks sooner.
                    let _ = session.abort_transaction().await;
                    Err(fault)
                }
            }
        };
        // A sum that no integer of the database holds: once more, with sums of our own.
        let outcome = server
            .retry("apply a commit", || async {
                match attempt().await {
                    Err(Fault::Write { code, .. }) if !careful && is_overflow(code) => Ok(None),
                    done => done.map(Some),
                }
            })
            .await?;
        match outcome {
            Some(true) => return Ok(()),
            Some(false) => {
                Counters::add(&server.counters.replays, 1);
                return Ok(());
            }
            None => careful = true,
        }
    }
}

fn is_overflow(code: i32) -> bool {
    const BAD_VALUE: i32 = 2;
    code == BAD_VALUE
}

/// Returns whether the bulk was still to be applied.
async fn transaction(
    context: &Context,
    bulk: &Bulk,
    careful: bool,
    session: &mut ClientSession,
) -> Result<bool, Fault> {
    let server = &context.server;
    let options = TransactionOptions::builder()
        .read_concern(ReadConcern::snapshot())
        .write_concern(durable())
        .build();
    session.start_transaction().with_options(options).await?;
    // Reads the record in the same snapshot: a writer that lost its lease, however long ago, applies nothing.
    let ours = doc! {"_id": RUN, "owner.id": context.lease.id, "pending.token": context.token};
    let records = server.collection(&context.run, RUN);
    if records
        .find_one(ours)
        .session(&mut *session)
        .await?
        .is_none()
    {
        return Err(context.lease_lost().into());
    }
    let marker = rawdoc! {"insert": APPLIED, "documents": [{"_id": bulk.id.as_str()}]};
    match server.write(&context.run, marker, Some(session)).await {
        Err(fault) if fault.code() == Some(DUPLICATE_KEY) => {
            session.abort_transaction().await?;
            return Ok(false);
        }
        written => written?,
    };
    let keys = bulk.keys(|item| careful || item.needs_merging());
    let held = if keys.is_empty() {
        HashMap::new()
    } else {
        let collection = server.collection(&bulk.database, bulk.collection());
        let mut cursor = collection
            .find(bulk.filter(&keys))
            .session(&mut *session)
            .await?;
        let mut documents = Vec::new();
        while let Some(document) = cursor.next(&mut *session).await {
            documents.push(document?);
        }
        bulk.by_key(documents)
    };
    let command = bulk.command(false, |_, item, out| {
        let found = held.get(&*item.key()).map(|found| &**found);
        match item {
            Item::Pattern(learned) if item.needs_merging() => {
                write_merged(&merged(found, learned, &context.limits), out);
            }
            _ if careful => {
                let before = found.map_or([0; 3], |found| item.counts_in(found));
                let sums = context.sums(before, item.counts());
                item.write_upsert(Change::Set(sums), out);
            }
            _ => item.write_upsert(context.change(), out),
        }
        true
    });
    if let Some(command) = command {
        server.write(&bulk.database, command, Some(session)).await?;
    }
    commit(session).await?;
    Ok(true)
}

/// Commits; asks again while the answer is unknown, which servers take for the same commit.
async fn commit(session: &mut ClientSession) -> Result<(), Fault> {
    const ATTEMPTS: usize = 3;

    let mut attempt = 1;
    loop {
        match session.commit_transaction().await {
            Err(error)
                if attempt < ATTEMPTS
                    && error.contains_label(mongodb::error::UNKNOWN_TRANSACTION_COMMIT_RESULT) =>
            {
                attempt += 1;
            }
            done => return Ok(done?),
        }
    }
}

impl Context {
    fn change(&self) -> Change {
        if self.subtract {
            Change::Subtract
        } else {
            Change::Add
        }
    }

    /// The numbers of a document once ours are added, or taken away.
    fn sums(&self, before: Counts, ours: Counts) -> Counts {
        let mut sums = before;
        for (sum, count) in sums.iter_mut().zip(ours) {
            *sum = if self.subtract {
                sum.saturating_sub(count)
            } else {
                sum.saturating_add(count)
            };
        }
        sums
    }
}

// With a journal.

async fn with_journal(context: &Context, bulk: &Bulk) -> Result<(), StoreError> {
    let server = &context.server;
    let known = if context.replay {
        server
            .retry("read the journal", || recorded(context, bulk))
            .await?
    } else {
        None
    };
    let is_new = known.is_none();
    let before = match known {
        Some(before) => before,
        None => {
            server
                .retry("write the journal", || record(context, bulk))
                .await?
        }
    };
    // What an attempt that was not answered has done is seen by comparing.
    let mut untouched = is_new && !bulk.items.iter().any(Item::is_large);
    loop {
        if !context.lease.is_certain() {
            return Err(context.lease_lost());
        }
        let done = if untouched {
            let command = bulk.command(true, |idx, item, out| {
                write_after(&before, idx, item, out, || context.change())
            });
            server.once(&bulk.database, command).await
        } else {
            server
                .retry("apply a commit", || replay(context, bulk, &before))
                .await
                .map(|()| true)
        };
        if done? {
            return Ok(());
        }
        untouched = false;
    }
}

/// Writes the upsert of an item by what was there before.
fn write_after(
    before: &Before,
    idx: usize,
    item: &Item,
    out: &mut Writer,
    change: impl FnOnce() -> Change,
) -> bool {
    match before.counts.get(idx).copied().flatten() {
        Some(_) => item.write_upsert(change(), out),
        None => {
            let n_earlier = before.counts[..idx].iter().filter(|c| c.is_none()).count();
            write_merged(&before.after[n_earlier], out);
        }
    }
    true
}

async fn recorded(context: &Context, bulk: &Bulk) -> Result<Option<Before>, Fault> {
    let collection = context.server.collection(&context.run, APPLIED);
    let found = collection.find_one(doc! {"_id": &bulk.id}).await?;
    let before = found.map(|document| {
        let blob = document.get_binary("before").ok();
        let before: Option<Before> = blob.and_then(|blob| decode(blob.bytes));
        before
            .filter(|before| before.counts.len() == bulk.items.len())
            .ok_or_else(|| {
                Fault::Store(StoreError::Corrupt {
                    path: context
                        .server
                        .path(&context.run)
                        .join(APPLIED)
                        .join(&bulk.id),
                    reason: "it holds something else than a journal entry".to_owned(),
                })
            })
    });
    before.transpose()
}

/// Reads what the documents hold and writes it down.
async fn record(context: &Context, bulk: &Bulk) -> Result<Before, Fault> {
    let held = held(context, bulk).await?;
    let mut before = Before {
        counts: Vec::with_capacity(bulk.items.len()),
        after: Vec::new(),
    };
    for item in &bulk.items {
        let found = held.get(&*item.key()).map(|found| &**found);
        match item {
            Item::Pattern(learned) if item.needs_merging() => {
                before.counts.push(None);
                before.after.push(merged(found, learned, &context.limits));
            }
            _ => {
                let counts = found.map_or([0; 3], |found| item.counts_in(found));
                before.counts.push(Some(counts));
            }
        }
    }
    let blob = encode(&before)?;
    let mut out = Writer::new();
    out.text("insert", APPLIED);
    out.array("documents", |out| {
        out.document_at(0, |out| {
            out.text("_id", &bulk.id);
            out.binary("before", &blob);
        });
    });
    out.document("writeConcern", |out| {
        out.text("w", "majority");
        out.boolean("j", true);
    });
    match context.server.write(&context.run, out.finish(), None).await {
        // An attempt that was not answered; nothing was applied since.
        Err(fault) if fault.code() == Some(DUPLICATE_KEY) => Ok(before),
        written => written.map(|_| before),
    }
}

/// The documents that the items are about: numbers only, where no more is needed.
async fn held(context: &Context, bulk: &Bulk) -> Result<HashMap<String, RawDocumentBuf>, Fault> {
    let mut held = HashMap::new();
    for whole in [true, false] {
        let keys = bulk.keys(|item| item.needs_merging() == whole);
        if keys.is_empty() {
            continue;
        }
        let projection = doc! {"pattern_data": 0, "emotives": 0, "metadata": 0};
        let documents = context
            .server
            .find(
                (&bulk.database, bulk.collection()),
                bulk.filter(&keys),
                (!whole).then_some(projection),
                None,
            )
            .await?;
        held.extend(bulk.by_key(documents));
    }
    Ok(held)
}

/// Applies what is not applied yet.
async fn replay(context: &Context, bulk: &Bulk, before: &Before) -> Result<(), Fault> {
    let held = held(context, bulk).await?;
    let mut meddled = None;
    let command = bulk.command(true, |idx, item, out| {
        let Some(counts) = before.counts[idx] else {
            return write_after(before, idx, item, out, || context.change());
        };
        let sums = context.sums(counts, item.counts());
        let now = held
            .get(&*item.key())
            .map_or([0; 3], |found| item.counts_in(found));
        if now == counts {
            item.write_upsert(Change::Set(sums), out);
            return true;
        }
        if now != sums {
            meddled.get_or_insert_with(|| item.key().into_owned());
        }
        false
    });
    if let Some(key) = meddled {
        let place = context.server.path(&bulk.database).join(bulk.collection());
        return Err(Fault::Store(StoreError::Meddled {
            place: place.display().to_string(),
            reason: format!("the counts of {key:.60?} are neither those before nor those after"),
        }));
    }
    if let Some(command) = command {
        context.server.write(&bulk.database, command, None).await?;
    } else {
        Counters::add(&context.server.counters.replays, 1);
    }
    Ok(())
}

//! Applies one bulk of upserts exactly once: in a transaction, or with a journal of what was there before.

mod journal;
mod transaction;

use std::collections::HashMap;
use std::sync::Arc;

use kato_model::AttributeLimits;
use kato_store::StoreError;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, RawDocumentBuf, doc};

use crate::Guard;
use crate::figures::Counters;
use crate::item::{Item, Target};
use crate::lease::Lease;
use crate::server::Server;
use crate::sessions::Sessions;
use crate::writer::Writer;

/// What all bulks of a commit share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) server: Arc<Server>,
    /// The run's database.
    pub(crate) run: String,
    pub(crate) lease: Arc<Lease>,
    pub(crate) sessions: Arc<Sessions>,
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

/// Applies a bulk, unless it is applied already.
pub(crate) async fn apply(context: Arc<Context>, bulk: Bulk) -> Result<(), StoreError> {
    match context.guard {
        Guard::Journal => journal::apply(&context, &bulk).await?,
        Guard::Auto | Guard::Transaction => transaction::apply(&context, &bulk).await?,
    }
    Counters::add(&context.server.counters.bulks, 1);
    Counters::add(&context.server.counters.upserts, bulk.items.len() as u64);
    Ok(())
}

/// Work that computes, on a thread that may: the others of the engine take over what waits for answers.
fn compute<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

impl Context {
    fn lease_lost(&self) -> StoreError {
        StoreError::LeaseLost {
            place: self.server.path(&self.run).display().to_string(),
        }
    }

    fn target(&self, item: &Item, held: &HashMap<String, RawDocumentBuf>) -> Target {
        let found = held.get(&*item.key()).map(|found| &**found);
        item.target(found, self.subtract, &self.limits)
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

    /// The command that writes; `upsert` writes one item and says whether it did. With it the number of items.
    fn command(
        &self,
        durable: bool,
        mut upsert: impl FnMut(usize, &Item, &mut Writer) -> bool,
    ) -> (usize, RawDocumentBuf) {
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
        (n_upserts, out.finish())
    }
}

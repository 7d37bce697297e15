//! A bulk of upserts, and what all bulks of a commit share.

use std::collections::HashMap;
use std::sync::Arc;

use kato_model::AttributeLimits;
use kato_store::{Rescue, StoreError};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, RawDocumentBuf, doc};

use super::commands::{Command, Commands};
use super::document_change::{DocumentChange, Target};
use crate::connection::{Server, Sessions};
use crate::error::Error;
use crate::guard::Guard;
use crate::layout::BsonWriter;
use crate::record::Lease;

/// Keys that are looked up at once: some servers compare every document with every key.
pub(super) const KEYS_AT_ONCE: usize = 100;

/// The state that all bulks of a commit share.
#[derive(Debug)]
pub(crate) struct BulkContext {
    pub(crate) server: Arc<Server>,
    /// The run's database.
    pub(crate) run: String,
    pub(crate) lease: Arc<Lease>,
    pub(crate) sessions: Arc<Sessions>,
    /// The commit's token, by which a transaction checks that the commit is still pending.
    pub(crate) token: ObjectId,
    pub(crate) guard: Guard,
    pub(crate) limits: AttributeLimits,
    /// Whether counts are subtracted, as when patterns are forgotten.
    pub(crate) subtract: bool,
    /// Whether an earlier attempt may have applied some of the bulks.
    pub(crate) replay: bool,
}

/// A bulk of upserts into one collection of one node, each of another document.
#[derive(Debug)]
pub(crate) struct Bulk {
    /// The key of its note or journal entry, the same in every replay.
    pub(crate) id: String,
    pub(crate) database: String,
    pub(crate) changes: Vec<DocumentChange>,
}

/// Runs work that computes, while the connection's other threads take over what waits for answers.
pub(super) fn compute<T>(work: impl FnOnce() -> T) -> T {
    // There are two worker threads. Encoding a few bulks on them would hold up all else that
    // runs there, the renewal of the lease included. Unlike `spawn_blocking`, this lets the work
    // borrow.
    tokio::task::block_in_place(work)
}

impl BulkContext {
    /// Returns the error of a writer whose lease was taken over.
    pub(super) fn lease_lost(&self) -> StoreError {
        Error::LeaseLost.at(self.server.place_of(&[&self.run]))
    }

    /// Returns the state to write for a change, given the documents that were read, by key.
    pub(super) fn target(
        &self,
        bulk: &Bulk,
        change: &DocumentChange,
        held: &HashMap<String, RawDocumentBuf>,
    ) -> Result<Target, StoreError> {
        let found = held.get(&*change.key()).map(|found| &**found);
        let target = change.target(found, self.subtract, &self.limits);
        target.ok_or_else(|| no_pattern(&self.server, bulk, change))
    }
}

/// Returns the error of a document that is no pattern.
pub(super) fn no_pattern(server: &Server, bulk: &Bulk, change: &DocumentChange) -> StoreError {
    StoreError::Corrupt {
        place: server.place_of(&[&bulk.database, bulk.collection(), &change.key()]),
        reason: "it is no pattern, and writing over it would lose what it holds".to_owned(),
        rescue: Rescue::Nothing,
    }
}

impl Bulk {
    /// Returns the collection that the bulk writes into.
    pub(super) fn collection(&self) -> &'static str {
        // The first change speaks for all: a bulk is sent off before changes of another kind
        // follow.
        self.changes.first().map_or("", DocumentChange::collection)
    }

    /// Returns the field that identifies a document in the collection.
    pub(super) fn key_field(&self) -> &'static str {
        self.changes
            .first()
            .map_or("name", DocumentChange::key_field)
    }

    /// Returns the keys of the changes that `wanted` picks.
    pub(super) fn keys(&self, wanted: impl Fn(&DocumentChange) -> bool) -> Vec<String> {
        let changes = self.changes.iter().filter(|change| wanted(change));
        changes.map(|change| change.key().into_owned()).collect()
    }

    /// Returns a query for the documents with these keys.
    pub(super) fn filter(&self, keys: &[String]) -> Document {
        doc! {self.key_field(): {"$in": keys}}
    }

    /// Indexes documents by their key.
    pub(super) fn by_key(&self, documents: Vec<RawDocumentBuf>) -> HashMap<String, RawDocumentBuf> {
        let field = self.key_field();
        let keyed = documents.into_iter().filter_map(|document| {
            let key = document.get_str(field).ok()?.to_owned();
            Some((key, document))
        });
        keyed.collect()
    }

    /// Builds the commands that write the bulk. `upsert` writes one change and returns whether it did.
    pub(super) fn commands(
        &self,
        durable: bool,
        mut upsert: impl FnMut(usize, &DocumentChange, &mut BsonWriter) -> bool,
    ) -> Vec<Command> {
        let mut commands = Commands::new(self.collection(), durable);
        for (idx, change) in self.changes.iter().enumerate() {
            let mut out = BsonWriter::new();
            if upsert(idx, change, &mut out) {
                commands.push(out);
            }
        }
        commands.finish()
    }
}

//! What all parts of an open store share, and how commits are applied.

use std::future::Future;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use kato_model::AttributeLimits;
use kato_store::StoreError;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, RawDocumentBuf, doc, serialize_to_bson};
use mongodb::error::Error;
use serde_json::Value;

use crate::Guard;
use crate::bulks::{self, bulk_id};
use crate::engine::Engine;
use crate::layout::{APPLIED, JOURNAL, RUN, clear_node, clear_run};
use crate::lease::Lease;
use crate::record::{Action, NodeEntry, Pending, RunRecord, read, records};
use crate::scan;
use crate::server::{Server, durable};
use crate::sessions::Sessions;
use crate::staged::{Source, blobs_filter};
use crate::{extras, staged};

/// An open store.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) engine: Engine,
    pub(crate) server: Arc<Server>,
    /// The run's database.
    pub(crate) database: String,
    pub(crate) nodes: Vec<NodeEntry>,
    pub(crate) limits: AttributeLimits,
    pub(crate) guard: Guard,
    pub(crate) max_in_flight: usize,
    pub(crate) chunk: usize,
    pub(crate) sharded: bool,
    /// `None` for readers.
    pub(crate) lease: Option<Arc<Lease>>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) live: RwLock<Live>,
    /// Scans that commits must not show in.
    pub(crate) scans: Mutex<Vec<Weak<scan::Source>>>,
    /// Bytes of staged blobs at hand.
    pub(crate) held: AtomicUsize,
}

/// What the last commit left.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) checkpoint: Value,
    pub(crate) commit: i64,
    /// Whether a commit may be decided that is not applied, or not known.
    pub(crate) unsettled: bool,
}

impl Core {
    /// Runs a conversation with the server while the calling thread waits.
    pub(crate) fn ask<T, F>(&self, conversation: impl FnOnce(Arc<Server>) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.engine.run(conversation(Arc::clone(&self.server)))
    }

    /// The lease of a writer.
    pub(crate) fn writer(&self) -> Result<&Arc<Lease>, StoreError> {
        self.lease.as_ref().ok_or_else(|| StoreError::ReadOnly {
            path: self.server.path(&self.database),
        })
    }

    /// Removes blobs that no commit names, some time.
    pub(crate) fn tidy(&self, filter: Document) {
        let journal = self.server.collection(&self.database, JOURNAL);
        self.engine.spawn_to_the_end(async move {
            let delete = journal.delete_many(filter).into_future();
            // What stays behind is removed by the next writer.
            let _ = tokio::time::timeout(std::time::Duration::from_secs(10), delete).await;
        });
    }

    /// Keeps commits away while something is read, after finishing one that could not be finished.
    pub(crate) fn readable(&self) -> Result<RwLockReadGuard<'_, Live>, StoreError> {
        loop {
            let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
            if !live.unsettled {
                return Ok(live);
            }
            drop(live);
            drop(self.writable()?);
        }
    }

    /// Keeps everybody else away, after finishing a commit that could not be finished.
    pub(crate) fn writable(&self) -> Result<RwLockWriteGuard<'_, Live>, StoreError> {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if live.unsettled {
            self.recover(&mut live)?;
        }
        Ok(live)
    }

    /// Finishes what the record says is pending, and takes over what it says is committed.
    pub(crate) fn recover(&self, live: &mut Live) -> Result<(), StoreError> {
        let lease = Arc::clone(self.writer()?);
        let database = self.database.clone();
        let record = self.ask(|server| async move { read(&server, &database).await })?;
        let Some(record) = record else {
            return Err(StoreError::Missing {
                path: self.server.path(&self.database),
            });
        };
        if record.owner.as_ref().map(|owner| owner.id) != Some(lease.id) {
            return Err(self.lease_lost());
        }
        (live.checkpoint, live.commit) = (record.checkpoint(), record.commit);
        if let Some(pending) = record.pending {
            self.read_scans_ahead()?;
            let remote = pending.staged.iter().cloned().map(Source::remote);
            let sources: Vec<Source> = remote.collect();
            self.carry_out(&pending, &sources, true)?;
        }
        live.unsettled = false;
        Ok(())
    }

    pub(crate) fn lease_lost(&self) -> StoreError {
        StoreError::LeaseLost {
            place: self.server.path(&self.database).display().to_string(),
        }
    }

    /// Lets the scans that are under way read what they will show.
    pub(crate) fn read_scans_ahead(&self) -> Result<(), StoreError> {
        let scans = std::mem::take(&mut *self.scans.lock().unwrap_or_else(PoisonError::into_inner));
        for scan in scans.iter().filter_map(Weak::upgrade) {
            scan.read_ahead(self)?;
        }
        Ok(())
    }

    /// Decides a commit: one update of the run's record. Then carries it out.
    pub(crate) fn commit(
        &self,
        live: &mut Live,
        action: Action,
        batches: Vec<staged::Staged>,
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        let lease = self.writer()?;
        // Batches without content need not be named.
        let (batches, _empty): (Vec<_>, Vec<_>) =
            batches.into_iter().partition(staged::Staged::has_content);
        let is_more = action == Action::Clear || !batches.is_empty();
        if is_more {
            self.read_scans_ahead()?;
        }
        let pending = Pending {
            number: live.commit + 1,
            token: ObjectId::new(),
            action,
            staged: batches.iter().map(|staged| staged.record.clone()).collect(),
            guard: self.guard,
            chunk: self.chunk as i64,
        };
        batches.iter().for_each(staged::Staged::keep);
        let decided = self.decide(lease.id, &pending, is_more, &checkpoint);
        match decided {
            Ok(()) => {}
            Err(error) => {
                if error.is_transient() {
                    // It may be decided: the next call asks.
                    live.unsettled = true;
                } else {
                    batches.iter().for_each(staged::Staged::abandon);
                }
                return Err(error);
            }
        }
        (live.checkpoint, live.commit) = (checkpoint, pending.number);
        if is_more {
            let sources: Vec<Source> = batches.into_iter().map(staged::Staged::source).collect();
            match self.carry_out(&pending, &sources, false) {
                Err(error) if error.is_transient() => {
                    // Decided and durable; whoever reads or writes next carries it out to the end.
                    tracing::warn!(%error, "a commit is decided and not yet applied");
                    live.unsettled = true;
                }
                Err(error) => {
                    live.unsettled = true;
                    return Err(error);
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    fn decide(
        &self,
        owner: ObjectId,
        pending: &Pending,
        is_more: bool,
        checkpoint: &Value,
    ) -> Result<(), StoreError> {
        let (number, token) = (pending.number, pending.token);
        let pending = serialize_to_bson(pending).map_err(|error| StoreError::Refused {
            place: self.server.place().to_owned(),
            action: "commit",
            source: Box::new(error),
        })?;
        let pending = if is_more { pending } else { doc! {}.into() };
        let mut set = doc! {
            "checkpoint": checkpoint.to_string(),
            "commit": number,
            // By which a commit whose answer was lost is known again.
            "token": token,
        };
        if is_more {
            set.insert("pending", pending);
        }
        let database = self.database.clone();
        let decided = self.ask(move |server| async move {
            let decide = || async {
                let records = records(&server, &database).clone_with_type::<Document>();
                let ours = doc! {"_id": RUN, "owner.id": owner, "commit": number - 1};
                let update = records.update_one(ours, doc! {"$set": set.clone()});
                let updated = update.write_concern(durable()).await?;
                if updated.matched_count == 1 {
                    return Ok(true);
                }
                let again = doc! {"_id": RUN, "owner.id": owner, "token": token};
                Ok(records.find_one(again).await?.is_some())
            };
            server.retry("commit", decide).await
        });
        if decided? {
            Ok(())
        } else {
            Err(self.lease_lost())
        }
    }

    /// Applies a commit that is decided, and says so in the record.
    fn carry_out(
        &self,
        pending: &Pending,
        sources: &[Source],
        replay: bool,
    ) -> Result<(), StoreError> {
        match pending.action {
            Action::Clear => {
                let (nodes, sharded) = (self.nodes.clone(), self.sharded);
                let database = self.database.clone();
                self.ask(move |server| async move {
                    for node in &nodes {
                        clear_node(&server, &node.database, sharded).await?;
                    }
                    clear_run(&server, &database).await
                })?;
            }
            Action::Learn | Action::Forget => {
                bulks::apply_all(self, pending, sources, replay)?;
                extras::apply(self, sources)?;
            }
        }
        self.finish(pending)
    }

    /// Deletes documents, which may be done twice.
    pub(crate) fn delete(
        &self,
        database: String,
        collection: &'static str,
        delete: Document,
    ) -> Result<(), StoreError> {
        self.ask(move |server| async move {
            let delete = || async {
                let command = doc! {
                    "delete": collection,
                    "deletes": [delete.clone()],
                    "writeConcern": {"w": "majority"},
                };
                let command = RawDocumentBuf::try_from(&command).map_err(Error::from)?;
                server.write(&database, command, None).await.map(drop)
            };
            server.retry("forget patterns", delete).await
        })
    }

    fn finish(&self, pending: &Pending) -> Result<(), StoreError> {
        let owner = self.writer()?.id;
        let (database, number) = (self.database.clone(), pending.number);
        let finished = self.ask(move |server| async move {
            let finish = || async {
                let records = records(&server, &database);
                let ours = doc! {"_id": RUN, "owner.id": owner, "commit": number};
                let update = records.update_one(ours, doc! {"$set": {"pending": null}});
                Ok(update.write_concern(durable()).await?.matched_count == 1)
            };
            server.retry("finish a commit", finish).await
        });
        if !finished? {
            return Err(self.lease_lost());
        }
        let ids: Vec<ObjectId> = pending.staged.iter().map(|staged| staged.id).collect();
        if !ids.is_empty() {
            self.tidy(blobs_filter(&ids));
            let applied = self.server.collection(&self.database, APPLIED);
            let older = doc! {"_id": {"$lt": bulk_id(number + 1, "")}};
            self.engine.spawn_to_the_end(async move {
                let _ = applied.delete_many(older).await;
            });
        }
        Ok(())
    }
}

/// What of a record a store needs, as it is when opened.
pub(crate) fn live_of(record: &RunRecord) -> Live {
    Live {
        checkpoint: record.checkpoint(),
        commit: record.commit,
        unsettled: record.pending.is_some(),
    }
}

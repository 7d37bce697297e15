//! The state that all parts of an open store share, and the steps of a commit.

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
use crate::{documents_and_vectors, staged};

/// The shared state of an open store.
#[derive(Debug)]
pub(crate) struct StoreState {
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
    /// The state as of the last commit. Whoever reads from the server holds the lock shared, a
    /// commit holds it alone.
    pub(crate) commit_state: RwLock<CommitState>,
    /// Scans that later commits must not show in.
    pub(crate) scans: Mutex<Vec<Weak<scan::Source>>>,
    /// Bytes of staged blobs that are kept in memory.
    pub(crate) held: AtomicUsize,
}

/// The state that the last commit left.
#[derive(Debug)]
pub(crate) struct CommitState {
    pub(crate) checkpoint: Value,
    pub(crate) commit: i64,
    /// Whether a commit may be decided that is not applied, or whose decision is unknown.
    pub(crate) needs_recovery: bool,
}

impl StoreState {
    /// Runs a conversation with the server while the calling thread waits.
    pub(crate) fn block_on<T, F>(&self, conversation: impl FnOnce(Arc<Server>) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.engine.run(conversation(Arc::clone(&self.server)))
    }

    /// Returns the lease of a writer; fails for a store that was opened for reading.
    pub(crate) fn writer(&self) -> Result<&Arc<Lease>, StoreError> {
        self.lease.as_ref().ok_or_else(|| StoreError::ReadOnly {
            path: self.server.path(&self.database),
        })
    }

    /// Removes blobs that no commit names, in the background.
    pub(crate) fn spawn_blob_cleanup(&self, filter: Document) {
        let journal = self.server.collection(&self.database, JOURNAL);
        self.engine.spawn_to_completion(async move {
            let delete = journal.delete_many(filter).into_future();
            // What stays behind is removed by the next writer.
            let _ = tokio::time::timeout(std::time::Duration::from_secs(10), delete).await;
        });
    }

    /// Locks commits out while something is read, after finishing one that could not be finished.
    pub(crate) fn lock_for_read(&self) -> Result<RwLockReadGuard<'_, CommitState>, StoreError> {
        loop {
            let commit_state = self
                .commit_state
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            if !commit_state.needs_recovery {
                return Ok(commit_state);
            }
            // The lock cannot be turned into that of a writer, and the next commit may fail in
            // between: look again.
            drop(commit_state);
            drop(self.lock_for_write()?);
        }
    }

    /// Locks everybody else out, after finishing a commit that could not be finished.
    pub(crate) fn lock_for_write(&self) -> Result<RwLockWriteGuard<'_, CommitState>, StoreError> {
        let mut commit_state = self
            .commit_state
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if commit_state.needs_recovery {
            self.recover(&mut commit_state)?;
        }
        Ok(commit_state)
    }

    /// Finishes what the record says is pending, and takes over what it says is committed.
    pub(crate) fn recover(&self, commit_state: &mut CommitState) -> Result<(), StoreError> {
        let lease = Arc::clone(self.writer()?);
        let database = self.database.clone();
        let record = self.block_on(|server| async move { read(&server, &database).await })?;
        let Some(record) = record else {
            return Err(StoreError::Missing {
                path: self.server.path(&self.database),
            });
        };
        // A new owner has finished the commit already, and may have committed more since.
        if record.owner.as_ref().map(|owner| owner.id) != Some(lease.id) {
            return Err(self.lease_lost());
        }
        (commit_state.checkpoint, commit_state.commit) =
            (record.checkpoint(&self.server)?, record.commit);
        if let Some(pending) = record.pending {
            self.read_scans_ahead()?;
            // The batches were dropped with the call that failed: their blobs are read from the
            // journal.
            let remote = pending.staged.iter().cloned().map(Source::remote);
            let sources: Vec<Source> = remote.collect();
            self.apply_commit(&pending, &sources, true)?;
        }
        commit_state.needs_recovery = false;
        Ok(())
    }

    /// Returns the error of a writer whose lease was taken over.
    pub(crate) fn lease_lost(&self) -> StoreError {
        StoreError::LeaseLost {
            place: self.server.path(&self.database).display().to_string(),
        }
    }

    /// Makes the scans that are under way read what they have still to show.
    pub(crate) fn read_scans_ahead(&self) -> Result<(), StoreError> {
        // Taken out, because a scan that has read ahead needs the server no more.
        let scans = std::mem::take(&mut *self.scans.lock().unwrap_or_else(PoisonError::into_inner));
        for scan in scans.iter().filter_map(Weak::upgrade) {
            scan.read_ahead(self)?;
        }
        Ok(())
    }

    /// Decides a commit with one update of the run's record, then carries it out.
    pub(crate) fn commit(
        &self,
        commit_state: &mut CommitState,
        action: Action,
        batches: Vec<staged::Staged>,
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        let lease = self.writer()?;
        // Batches without content need not be named.
        let (batches, _empty): (Vec<_>, Vec<_>) =
            batches.into_iter().partition(staged::Staged::has_content);
        let is_more = action == Action::Clear || !batches.is_empty();
        // Before the decision: a scan that cannot be saved fails the commit while the last one
        // still holds.
        if is_more {
            self.read_scans_ahead()?;
        }
        let pending = Pending {
            number: commit_state.commit + 1,
            token: ObjectId::new(),
            action,
            staged: batches.iter().map(|staged| staged.record.clone()).collect(),
            guard: self.guard,
            chunk: self.chunk as i64,
        };
        // From here on the record may name the blobs, whatever is answered, so dropping the batches
        // must not delete them.
        batches.iter().for_each(staged::Staged::keep);
        let decided = self.write_commit_record(lease.id, &pending, is_more, &checkpoint);
        match decided {
            Ok(()) => {}
            Err(error) => {
                if error.is_transient() {
                    // The update may have got through: the next call asks the record.
                    commit_state.needs_recovery = true;
                } else if !matches!(error, StoreError::LeaseLost { .. }) {
                    batches.iter().for_each(staged::Staged::abandon);
                }
                // With the lease gone, an attempt without an answer may have been the commit that
                // the new owner now applies from these blobs: they stay until the run is opened again.
                return Err(error);
            }
        }
        // Decided and durable: the checkpoint holds even if applying the commit takes more than
        // this call.
        (commit_state.checkpoint, commit_state.commit) = (checkpoint, pending.number);
        if is_more {
            let sources: Vec<Source> = batches.into_iter().map(staged::Staged::source).collect();
            match self.apply_commit(&pending, &sources, false) {
                Err(error) if error.is_transient() => {
                    // No reason to fail a commit that is decided: whoever reads or writes next
                    // applies the rest first.
                    tracing::warn!(%error, "a commit is decided and not yet applied");
                    commit_state.needs_recovery = true;
                }
                Err(error) => {
                    commit_state.needs_recovery = true;
                    return Err(error);
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Decides a commit: updates the record, if this writer still owns it and knows its last
    /// commit.
    fn write_commit_record(
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
        // With nothing to apply the checkpoint alone changes, and no commit is left pending.
        let pending = if is_more { pending } else { doc! {}.into() };
        let mut set = doc! {
            "checkpoint": checkpoint.to_string(),
            "commit": number,
            // By which a commit whose answer was lost is recognised.
            "token": token,
        };
        if is_more {
            set.insert("pending", pending);
        }
        let database = self.database.clone();
        let decided = self.block_on(move |server| async move {
            let write_record = || async {
                let records = records(&server, &database).clone_with_type::<Document>();
                // One document and one condition, so that owner, position and content change
                // together or not at all. A writer that was replaced meanwhile matches nothing.
                let ours = doc! {"_id": RUN, "owner.id": owner, "commit": number - 1};
                let update = records.update_one(ours, doc! {"$set": set.clone()});
                let updated = update.write_concern(durable()).await?;
                if updated.matched_count == 1 {
                    return Ok(true);
                }
                // An earlier attempt that got through has moved the number on; the token says that
                // it was ours.
                let again = doc! {"_id": RUN, "owner.id": owner, "token": token};
                Ok(records.find_one(again).await?.is_some())
            };
            server.retry("commit", write_record).await
        });
        if decided? {
            Ok(())
        } else {
            Err(self.lease_lost())
        }
    }

    /// Applies a commit that is decided, and notes in the record that it is applied.
    fn apply_commit(
        &self,
        pending: &Pending,
        sources: &[Source],
        replay: bool,
    ) -> Result<(), StoreError> {
        match pending.action {
            Action::Clear => {
                let (nodes, sharded) = (self.nodes.clone(), self.sharded);
                let database = self.database.clone();
                self.block_on(move |server| async move {
                    for node in &nodes {
                        clear_node(&server, &node.database, sharded).await?;
                    }
                    clear_run(&server, &database).await
                })?;
            }
            Action::Learn | Action::Forget => {
                // Bulks are counted exactly once by themselves; documents and vectors may be
                // written any number of times.
                bulks::apply_all(self, pending, sources, replay)?;
                documents_and_vectors::apply(self, sources)?;
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
        self.block_on(move |server| async move {
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

    /// Notes that a commit is applied, and clears away what it needed.
    fn finish(&self, pending: &Pending) -> Result<(), StoreError> {
        let owner = self.writer()?.id;
        let (database, number) = (self.database.clone(), pending.number);
        let finished = self.block_on(move |server| async move {
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
        // Only behind that note: until then a replay needs the blobs, and the notes of the bulks.
        // What a failure leaves here goes with the next commit or the next opening.
        let ids: Vec<ObjectId> = pending.staged.iter().map(|staged| staged.id).collect();
        if !ids.is_empty() {
            self.spawn_blob_cleanup(blobs_filter(&ids));
            let applied = self.server.collection(&self.database, APPLIED);
            let older = doc! {"_id": {"$lt": bulk_id(number + 1, "")}};
            self.engine.spawn_to_completion(async move {
                let _ = applied.delete_many(older).await;
            });
        }
        Ok(())
    }
}

/// Returns the part of a record that a store keeps up to date.
pub(crate) fn commit_state_of(
    record: &RunRecord,
    server: &Server,
) -> Result<CommitState, StoreError> {
    Ok(CommitState {
        checkpoint: record.checkpoint(server)?,
        commit: record.commit,
        needs_recovery: record.pending.is_some(),
    })
}

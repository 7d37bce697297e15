//! The log of commits of an open run: what the last one left, and the steps of the next.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use kato_store::StoreError;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc, serialize_to_bson};
use serde_json::Value;

use super::bulks::{apply_bulks, bulk_id};
use super::documents_and_vectors::apply_documents_and_vectors;
use super::settings::CommitSettings;
use super::sizes::check_sizes;
use crate::connection::{Server, durable};
use crate::error::Error;
use crate::layout::{clear_node, clear_run};
use crate::record::{
    APPLIED, Action, CheckpointParts, OpenRun, Pending, RUN, RunRecord, read_record, records,
};
use crate::staging::{BatchSource, Staged, remove_blobs};

/// A scan that is under way, and that later commits must not show in.
pub(crate) trait OpenScan: Debug + Send + Sync {
    /// Reads all that is left, because what follows changes it.
    fn read_ahead(&self) -> Result<(), StoreError>;
}

/// The commits of an open run, one after the other.
#[derive(Debug)]
pub(crate) struct CommitLog {
    run: Arc<OpenRun>,
    settings: CommitSettings,
    /// The state as of the last commit. Whoever reads from the server holds the lock shared, a
    /// commit holds it alone.
    state: RwLock<CommitState>,
    /// Scans that later commits must not show in.
    scans: Mutex<Vec<Weak<dyn OpenScan>>>,
}

/// The state that the last commit left.
#[derive(Debug)]
pub(crate) struct CommitState {
    pub(crate) checkpoint: Value,
    /// Where it lies if not in the record.
    parts: Option<CheckpointParts>,
    commit: i64,
    /// Whether a commit may be decided that is not applied, or whose decision is unknown.
    needs_recovery: bool,
}

impl CommitState {
    /// Reads the part of a record that a store keeps up to date.
    pub(crate) fn from_record(record: &RunRecord, server: &Server) -> Result<Self, StoreError> {
        Ok(Self {
            checkpoint: record.checkpoint(server)?,
            parts: record.checkpoint_parts,
            commit: record.commit,
            needs_recovery: record.pending.is_some(),
        })
    }

    /// Returns the state as a reader sees it, who finishes no commit.
    pub(crate) fn without_recovery(self) -> Self {
        Self {
            needs_recovery: false,
            ..self
        }
    }
}

impl CommitLog {
    /// Creates the log of a run, as its last commit left it.
    pub(crate) fn new(run: Arc<OpenRun>, settings: CommitSettings, state: CommitState) -> Self {
        Self {
            run,
            settings,
            state: RwLock::new(state),
            scans: Mutex::default(),
        }
    }

    /// Returns the run.
    pub(crate) fn run(&self) -> &Arc<OpenRun> {
        &self.run
    }

    /// Returns the settings.
    pub(crate) fn settings(&self) -> &CommitSettings {
        &self.settings
    }

    /// Returns the last checkpoint that is known.
    pub(crate) fn last_known_checkpoint(&self) -> Value {
        let state = self.state.read();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.checkpoint.clone()
    }

    /// Registers a scan. Later commits make it read ahead first.
    pub(crate) fn register(&self, scan: Weak<dyn OpenScan>) -> Result<(), StoreError> {
        // While no commit is on its way: those that follow know of it.
        let _lock = self.lock_for_read()?;
        let mut scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        scans.retain(|scan| scan.strong_count() > 0);
        scans.push(scan);
        Ok(())
    }

    /// Locks commits out while something is read, after finishing one that could not be finished.
    pub(crate) fn lock_for_read(&self) -> Result<RwLockReadGuard<'_, CommitState>, StoreError> {
        loop {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if !state.needs_recovery {
                return Ok(state);
            }
            // The lock cannot be turned into that of a writer, and the next commit may fail in
            // between: look again.
            drop(state);
            drop(self.lock_for_write()?);
        }
    }

    /// Locks everybody else out, after finishing a commit that could not be finished.
    pub(crate) fn lock_for_write(&self) -> Result<RwLockWriteGuard<'_, CommitState>, StoreError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.needs_recovery {
            self.recover(&mut state)?;
        }
        Ok(state)
    }

    /// Finishes what the record says is pending, and takes over what it says is committed.
    fn recover(&self, state: &mut CommitState) -> Result<(), StoreError> {
        let owner = self.run.writer()?.id;
        let database = self.run.database.clone();
        let read = self
            .run
            .block_on(|server| async move { read_record(&server, &database).await });
        let Some(record) = read? else {
            return Err(StoreError::Missing {
                place: self.run.place(),
            });
        };
        // A new owner has finished the commit already, and may have committed more since.
        if record.owner.as_ref().map(|owner| owner.id) != Some(owner) {
            return Err(self.run.lease_lost());
        }
        (state.checkpoint, state.commit) = (record.checkpoint(self.run.server())?, record.commit);
        state.parts = record.checkpoint_parts;
        if let Some(pending) = record.pending {
            self.read_scans_ahead()?;
            // The batches were dropped with the call that failed: their blobs are read from the
            // journal.
            let remote = pending.staged.iter().cloned().map(BatchSource::remote);
            let sources: Vec<BatchSource> = remote.collect();
            self.apply_commit(&pending, &sources, true)?;
        }
        state.needs_recovery = false;
        Ok(())
    }

    /// Makes the scans that are under way read what they have still to show.
    fn read_scans_ahead(&self) -> Result<(), StoreError> {
        // Taken out, because a scan that has read ahead needs the server no more.
        let scans = std::mem::take(&mut *self.scans.lock().unwrap_or_else(PoisonError::into_inner));
        for scan in scans.iter().filter_map(Weak::upgrade) {
            scan.read_ahead()?;
        }
        Ok(())
    }

    /// Decides a commit with one update of the run's record, then carries it out.
    pub(crate) fn commit(
        &self,
        state: &mut CommitState,
        action: Action,
        batches: Vec<Staged>,
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        let owner = self.run.writer()?.id;
        // Batches without content need not be named.
        let (batches, _empty): (Vec<_>, Vec<_>) =
            batches.into_iter().partition(Staged::has_content);
        let is_more = action == Action::Clear || !batches.is_empty();
        let sources: Vec<BatchSource> = batches.into_iter().map(Staged::source).collect();
        if action == Action::Learn {
            check_sizes(&self.run, &self.settings, &sources)?;
        }
        // Before the decision: a scan that cannot be saved fails the commit while the last one
        // still holds.
        if is_more {
            self.read_scans_ahead()?;
        }
        let pending = Pending {
            number: state.commit + 1,
            token: ObjectId::new(),
            action,
            staged: sources.iter().map(|source| source.record.clone()).collect(),
            guard: self.settings.guard,
            chunk: self.settings.chunk as i64,
        };
        let text = checkpoint.to_string();
        let parts = CheckpointParts::of(&text);
        if let Some(parts) = parts {
            self.write_parts(parts, text.clone())?;
        }
        // From here on the record may name the blobs, whatever is answered, so dropping the batches
        // must not delete them.
        sources.iter().for_each(|source| source.keep(true));
        let decided = self.write_commit_record(owner, &pending, is_more, (&text, parts));
        match decided {
            Ok(()) => {}
            Err(error) => {
                if error.is_transient() {
                    // The update may have got through: the next call asks the record.
                    state.needs_recovery = true;
                } else if !error.is_fenced() {
                    sources.iter().for_each(|source| source.keep(false));
                    self.remove_parts(parts);
                }
                // With the lease gone, an attempt without an answer may have been the commit that
                // the new owner now applies from these blobs: they stay until the run is opened
                // again.
                return Err(error);
            }
        }
        // Decided and durable: the checkpoint holds even if applying the commit takes more than
        // this call.
        (state.checkpoint, state.commit) = (checkpoint, pending.number);
        self.remove_parts(std::mem::replace(&mut state.parts, parts));
        if is_more {
            match self.apply_commit(&pending, &sources, false) {
                Err(error) if error.is_transient() => {
                    // No reason to fail a commit that is decided: whoever reads or writes next
                    // applies the rest first.
                    tracing::warn!(%error, "a commit is decided and not yet applied");
                    state.needs_recovery = true;
                }
                Err(error) => {
                    state.needs_recovery = true;
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
        (checkpoint, parts): (&str, Option<CheckpointParts>),
    ) -> Result<(), StoreError> {
        let (number, token) = (pending.number, pending.token);
        let refused = |error: mongodb::bson::error::Error| {
            self.run.server().error(Error::Refused {
                action: "commit",
                source: Box::new(error),
            })
        };
        let pending = serialize_to_bson(pending).map_err(refused)?;
        // A record that names parts has none of the text: who knows nothing of them finds damage, and not a
        // run that has learned nothing.
        let own = if parts.is_some() { "" } else { checkpoint };
        let parts = serialize_to_bson(&parts).map_err(refused)?;
        // With nothing to apply the checkpoint alone changes, and no commit is left pending.
        let pending = if is_more { pending } else { doc! {}.into() };
        let mut set = doc! {
            "checkpoint": own,
            "checkpoint_parts": parts,
            "commit": number,
            // By which a commit whose answer was lost is recognised.
            "token": token,
        };
        if is_more {
            set.insert("pending", pending);
        }
        let database = self.run.database.clone();
        let decided = self.run.block_on(move |server| async move {
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
            Err(self.run.lease_lost())
        }
    }

    /// Writes the parts of a checkpoint, which the record then names.
    fn write_parts(&self, parts: CheckpointParts, text: String) -> Result<(), StoreError> {
        let database = self.run.database.clone();
        self.run
            .block_on(move |server| async move { parts.write(&server, &database, &text).await })
    }

    /// Removes the parts of a checkpoint that no record names any more.
    fn remove_parts(&self, parts: Option<CheckpointParts>) {
        let Some(parts) = parts else { return };
        let (server, database) = (Arc::clone(self.run.server()), self.run.database.clone());
        self.run
            .connection
            .spawn_to_completion(async move { parts.remove(&server, &database).await });
    }

    /// Clears away checkpoints that the record does not name.
    pub(crate) fn clear_old_checkpoints(&self) -> Result<(), StoreError> {
        let state = self.lock_for_write()?;
        let (named, database) = (state.parts, self.run.database.clone());
        self.run.block_on(move |server| async move {
            CheckpointParts::remove_others(named, &server, &database).await
        })
    }

    /// Applies a commit that is decided, and notes in the record that it is applied.
    fn apply_commit(
        &self,
        pending: &Pending,
        sources: &[BatchSource],
        replay: bool,
    ) -> Result<(), StoreError> {
        match pending.action {
            Action::Clear => {
                let (nodes, sharded) = (self.run.node_databases(), self.run.sharded);
                let database = self.run.database.clone();
                self.run.block_on(move |server| async move {
                    for node in &nodes {
                        clear_node(&server, node, sharded).await?;
                    }
                    clear_run(&server, &database).await
                })?;
            }
            Action::Learn | Action::Forget => {
                // Bulks are counted exactly once by themselves; documents and vectors may be
                // written any number of times.
                apply_bulks(&self.run, &self.settings, pending, sources, replay)?;
                apply_documents_and_vectors(&self.run, sources)?;
            }
        }
        self.finish(pending)
    }

    /// Notes that a commit is applied, and clears away what it needed.
    fn finish(&self, pending: &Pending) -> Result<(), StoreError> {
        let owner = self.run.writer()?.id;
        let (database, number) = (self.run.database.clone(), pending.number);
        let finished = self.run.block_on(move |server| async move {
            let finish = || async {
                let records = records(&server, &database);
                let ours = doc! {"_id": RUN, "owner.id": owner, "commit": number};
                let update = records.update_one(ours, doc! {"$set": {"pending": null}});
                Ok(update.write_concern(durable()).await?.matched_count == 1)
            };
            server.retry("finish a commit", finish).await
        });
        if !finished? {
            return Err(self.run.lease_lost());
        }
        // Only behind that note: until then a replay needs the blobs, and the notes of the bulks.
        // What a failure leaves here goes with the next commit or the next opening.
        let ids: Vec<ObjectId> = pending.staged.iter().map(|staged| staged.id).collect();
        if !ids.is_empty() {
            remove_blobs(&self.run, &ids);
            let server = self.run.server();
            let applied = server.collection(&self.run.database, APPLIED);
            let older = doc! {"_id": {"$lt": bulk_id(number + 1, "")}};
            self.run.connection.spawn_to_completion(async move {
                let _ = applied.delete_many(older).await;
            });
        }
        Ok(())
    }
}

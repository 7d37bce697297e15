//! What all parts of an open store share, and how commits are applied.

use std::future::Future;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak, mpsc};

use kato_model::AttributeLimits;
use kato_store::StoreError;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc, serialize_to_bson};
use serde_json::Value;

use crate::Guard;
use crate::apply::{Bulk, Context, apply};
use crate::engine::Engine;
use crate::item::Item;
use crate::layout::{APPLIED, JOURNAL, PATTERNS, RUN, SYMBOLS, clear_node, clear_run};
use crate::lease::Lease;
use crate::merge::{Merge, SymbolSums};
use crate::record::{Action, NodeEntry, Pending, RunRecord, read, records};
use crate::scan;
use crate::server::{Server, durable};
use crate::staged::{Source, blobs_filter};
use crate::{extras, staged};

/// Bytes of one bulk, at most, unless a single upsert takes more.
const BULK_BYTES: u64 = 4 << 20;

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
            let sources = pending.staged.iter().cloned().map(Source::remote).collect();
            self.carry_out(&pending, sources, true)?;
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
            let sources = batches.into_iter().map(staged::Staged::source).collect();
            match self.carry_out(&pending, sources, false) {
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
        sources: Vec<Source>,
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
                let subtract = pending.action == Action::Forget;
                self.apply_all(pending, &sources, subtract, replay)?;
                extras::apply(self, &sources)?;
            }
        }
        self.finish(pending)
    }

    fn apply_all(
        &self,
        pending: &Pending,
        sources: &[Source],
        subtract: bool,
        replay: bool,
    ) -> Result<(), StoreError> {
        let context = Context {
            server: Arc::clone(&self.server),
            run: self.database.clone(),
            lease: Arc::clone(self.writer()?),
            token: pending.token,
            guard: self.guard,
            limits: self.limits,
            subtract,
            replay,
        };
        let mut bulks = Bulks::new(self, context, pending);
        let outcome = (0..self.nodes.len())
            .try_for_each(|node_idx| bulks.apply_node(sources, node_idx, subtract));
        bulks.wait(outcome)?;
        if subtract {
            let databases: Vec<_> = self
                .nodes
                .iter()
                .map(|node| node.database.clone())
                .collect();
            for database in databases {
                let gone = doc! {"q": {"pattern_member_frequency": {"$lte": 0}}, "limit": 0};
                self.delete(database, SYMBOLS, gone)?;
            }
        }
        Ok(())
    }

    /// Deletes documents, which may be done twice.
    fn delete(
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
                server.database(&database).run_command(command).await?;
                Ok(())
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

fn bulk_id(number: i64, rest: &str) -> String {
    format!("{number:019}/{rest}")
}

/// Bulks in flight, a bounded number at once.
struct Bulks<'a> {
    core: &'a Core,
    context: Arc<Context>,
    number: i64,
    chunk: usize,
    in_flight: usize,
    answers: mpsc::Receiver<Result<(), StoreError>>,
    sender: mpsc::Sender<Result<(), StoreError>>,
    items: Vec<Item>,
    bytes: u64,
    n_bulks: u64,
}

impl<'a> Bulks<'a> {
    fn new(core: &'a Core, context: Context, pending: &Pending) -> Self {
        let (sender, answers) = mpsc::channel();
        Self {
            core,
            context: Arc::new(context),
            number: pending.number,
            chunk: (pending.chunk.max(1)) as usize,
            in_flight: 0,
            answers,
            sender,
            items: Vec::new(),
            bytes: 0,
            n_bulks: 0,
        }
    }

    /// Patterns, then the symbols and totals that they count: every document in one bulk only.
    fn apply_node(
        &mut self,
        sources: &[Source],
        node_idx: usize,
        subtract: bool,
    ) -> Result<(), StoreError> {
        let core = self.core;
        let mut merge = Merge::new(core, sources, node_idx)?;
        let mut sums = SymbolSums::default();
        let mut doomed = Vec::new();
        while let Some(learned) = merge.next()? {
            sums.add(&learned)?;
            if subtract {
                doomed.push(learned.name().to_string());
                if doomed.len() == self.chunk {
                    self.forget(node_idx, &mut doomed)?;
                }
            } else {
                self.push(node_idx, Item::Pattern(learned))?;
            }
        }
        self.forget(node_idx, &mut doomed)?;
        self.flush(node_idx)?;
        let totals = sums.totals;
        sums.finish(|word, counts| self.push(node_idx, Item::Symbol(word, counts)))?;
        self.flush(node_idx)?;
        if totals.observations > 0 {
            self.push(node_idx, Item::Totals(totals))?;
        }
        self.flush(node_idx)
    }

    fn forget(&self, node_idx: usize, doomed: &mut Vec<String>) -> Result<(), StoreError> {
        let doomed = std::mem::take(doomed);
        if doomed.is_empty() {
            return Ok(());
        }
        let database = self.core.nodes[node_idx].database.clone();
        let named = doc! {"q": {"name": {"$in": doomed}}, "limit": 0};
        self.core.delete(database, PATTERNS, named)
    }

    fn push(&mut self, node_idx: usize, item: Item) -> Result<(), StoreError> {
        let bytes = item.bytes();
        if self.items.len() == self.chunk || self.bytes + bytes > BULK_BYTES {
            self.flush(node_idx)?;
        }
        self.bytes += bytes;
        self.items.push(item);
        Ok(())
    }

    /// Sends off what was pushed, once there is room.
    fn flush(&mut self, node_idx: usize) -> Result<(), StoreError> {
        if self.items.is_empty() {
            return Ok(());
        }
        if self.in_flight == self.core.max_in_flight {
            self.answer()?;
        }
        let bulk = Bulk {
            id: bulk_id(self.number, &format!("{:012}", self.n_bulks)),
            database: self.core.nodes[node_idx].database.clone(),
            items: std::mem::take(&mut self.items),
        };
        self.bytes = 0;
        self.n_bulks += 1;
        self.in_flight += 1;
        let (context, sender) = (Arc::clone(&self.context), self.sender.clone());
        self.core.engine.spawn(async move {
            // Whoever waits for answers waits for all.
            let _ = sender.send(apply(context, bulk).await);
        });
        Ok(())
    }

    fn answer(&mut self) -> Result<(), StoreError> {
        self.in_flight -= 1;
        self.answers
            .recv()
            .expect("a sender is at hand, and tasks answer")
    }

    /// Waits for all that is in flight, also after an error.
    fn wait(mut self, mut outcome: Result<(), StoreError>) -> Result<(), StoreError> {
        while self.in_flight > 0 {
            outcome = outcome.and(self.answer());
        }
        outcome
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

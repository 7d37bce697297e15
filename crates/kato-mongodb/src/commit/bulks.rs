//! The bulks of a commit: cut so that no document is in two of them, and sent with a bounded number
//! at once.

use std::sync::{Arc, mpsc};

use kato_store::StoreError;
use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::error::Error;

use super::apply::apply;
use super::bulk::{Bulk, BulkContext};
use super::document_change::DocumentChange;
use super::merge::Merge;
use super::settings::CommitSettings;
use super::symbol_sums::SymbolSums;
use crate::layout::{PATTERNS, SYMBOLS};
use crate::record::{Action, OpenRun, Pending};
use crate::staging::BatchSource;

/// Bytes of one bulk, at most, unless a single upsert takes more.
const BULK_BYTES: u64 = 4 << 20;

/// Applies the patterns, symbols and totals of a commit that learns or forgets.
pub(crate) fn apply_bulks(
    run: &OpenRun,
    settings: &CommitSettings,
    pending: &Pending,
    sources: &[BatchSource],
    replay: bool,
) -> Result<(), StoreError> {
    let subtract = pending.action == Action::Forget;
    let context = BulkContext {
        server: Arc::clone(run.server()),
        run: run.database.clone(),
        lease: Arc::clone(run.writer()?),
        sessions: Arc::clone(&settings.sessions),
        token: pending.token,
        guard: pending.guard,
        limits: run.limits,
        subtract,
        replay,
    };
    let mut bulks = Bulks::new(run, context, settings.max_in_flight, pending);
    let outcome =
        (0..run.nodes.len()).try_for_each(|node_idx| bulks.apply_node(sources, node_idx, subtract));
    bulks.wait(outcome)?;
    // Behind all bulks: one that is repeated compares with documents that have to be there still.
    if subtract {
        for database in run.node_databases() {
            let gone = doc! {"q": {"pattern_member_frequency": {"$lte": 0}}, "limit": 0};
            delete(run, database, SYMBOLS, gone)?;
        }
    }
    Ok(())
}

/// Deletes documents, which may be done twice.
fn delete(
    run: &OpenRun,
    database: String,
    collection: &'static str,
    delete: Document,
) -> Result<(), StoreError> {
    run.block_on(move |server| async move {
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

/// Returns the key of a bulk among those that are applied; keys are ordered by commit.
pub(crate) fn bulk_id(number: i64, rest: &str) -> String {
    // Nineteen digits hold every `i64`, so texts are ordered as their numbers are.
    format!("{number:019}/{rest}")
}

/// A bounded number of bulks in flight.
struct Bulks<'a> {
    run: &'a OpenRun,
    context: Arc<BulkContext>,
    /// The number of the commit.
    number: i64,
    chunk: usize,
    max_in_flight: usize,
    in_flight: usize,
    answers: mpsc::Receiver<Result<(), StoreError>>,
    sender: mpsc::Sender<Result<(), StoreError>>,
    changes: Vec<DocumentChange>,
    bytes: u64,
    n_bulks: u64,
}

impl<'a> Bulks<'a> {
    fn new(
        run: &'a OpenRun,
        context: BulkContext,
        max_in_flight: usize,
        pending: &Pending,
    ) -> Self {
        let (sender, answers) = mpsc::channel();
        Self {
            run,
            context: Arc::new(context),
            number: pending.number,
            // Taken from the commit and not from this store: a replay has to cut the same bulks.
            chunk: usize::try_from(pending.chunk).unwrap_or(1).max(1),
            max_in_flight,
            in_flight: 0,
            answers,
            sender,
            changes: Vec::new(),
            bytes: 0,
            n_bulks: 0,
        }
    }

    /// Applies a node's part: patterns, then the symbols and totals that they count. Every document
    /// is in one bulk only.
    fn apply_node(
        &mut self,
        sources: &[BatchSource],
        node_idx: usize,
        subtract: bool,
    ) -> Result<(), StoreError> {
        let mut merge = Merge::new(self.run, sources, node_idx)?;
        let mut sums = SymbolSums::default();
        let mut doomed = Vec::new();
        while let Some(delta) = merge.next()? {
            sums.add(&delta)?;
            // Deleting by name may be done twice, so patterns need no bulks. What they counted is
            // known from the staged copies, also once the documents are gone.
            if subtract {
                doomed.push(delta.name().to_string());
                if doomed.len() == self.chunk {
                    self.forget(node_idx, &mut doomed)?;
                }
            } else {
                self.push(node_idx, DocumentChange::Pattern(delta))?;
            }
        }
        self.forget(node_idx, &mut doomed)?;
        self.flush(node_idx)?;
        let totals = sums.totals;
        sums.finish(|symbol, counts| self.push(node_idx, DocumentChange::Symbol(symbol, counts)))?;
        self.flush(node_idx)?;
        if totals.learns > 0 {
            self.push(node_idx, DocumentChange::Totals(totals))?;
        }
        self.flush(node_idx)
    }

    /// Deletes patterns by name, and empties the list.
    fn forget(&self, node_idx: usize, doomed: &mut Vec<String>) -> Result<(), StoreError> {
        let doomed = std::mem::take(doomed);
        if doomed.is_empty() {
            return Ok(());
        }
        let database = self.run.nodes[node_idx].database.clone();
        let named = doc! {"q": {"name": {"$in": doomed}}, "limit": 0};
        delete(self.run, database, PATTERNS, named)
    }

    /// Adds a change, behind sending off what would become too large with it.
    fn push(&mut self, node_idx: usize, change: DocumentChange) -> Result<(), StoreError> {
        let bytes = change.bytes();
        // Cut by the changes alone, never by time or answers: a replay must come to the same bulks.
        if self.changes.len() == self.chunk || self.bytes + bytes > BULK_BYTES {
            self.flush(node_idx)?;
        }
        self.bytes += bytes;
        self.changes.push(change);
        Ok(())
    }

    /// Sends off what was pushed, once there is room.
    fn flush(&mut self, node_idx: usize) -> Result<(), StoreError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        if self.in_flight == self.max_in_flight {
            self.answer()?;
        }
        let bulk = Bulk {
            id: bulk_id(self.number, &format!("{:012}", self.n_bulks)),
            database: self.run.nodes[node_idx].database.clone(),
            changes: std::mem::take(&mut self.changes),
        };
        self.bytes = 0;
        self.n_bulks += 1;
        self.in_flight += 1;
        let (context, sender) = (Arc::clone(&self.context), self.sender.clone());
        self.run.connection.spawn(async move {
            // Whoever waits for answers waits for all.
            let _ = sender.send(apply(context, bulk).await);
        });
        Ok(())
    }

    /// Waits until one of the bulks in flight is done, and returns what came of it.
    fn answer(&mut self) -> Result<(), StoreError> {
        self.in_flight -= 1;
        // `self` keeps a sender, and every task sends before it ends.
        self.answers
            .recv()
            .expect("a sender is at hand, and tasks answer")
    }

    /// Waits for all that is in flight, also after an error.
    fn wait(mut self, mut outcome: Result<(), StoreError>) -> Result<(), StoreError> {
        // Bulks in flight go on whatever becomes of the others: returning earlier would let the
        // next attempt run beside them.
        while self.in_flight > 0 {
            outcome = outcome.and(self.answer());
        }
        outcome
    }
}

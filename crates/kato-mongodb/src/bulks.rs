//! The bulks of a commit: cut so that no document is in two of them, and sent, a bounded number at once.

use std::sync::{Arc, mpsc};

use kato_store::StoreError;
use mongodb::bson::doc;

use crate::apply::{Bulk, Context, apply};
use crate::core::Core;
use crate::item::Item;
use crate::layout::{PATTERNS, SYMBOLS};
use crate::merge::{Merge, SymbolSums};
use crate::record::{Action, Pending};
use crate::staged::Source;

/// Bytes of one bulk, at most, unless a single upsert takes more.
const BULK_BYTES: u64 = 4 << 20;

/// Applies the patterns, symbols and totals of a commit that learns or forgets.
pub(crate) fn apply_all(
    core: &Core,
    pending: &Pending,
    sources: &[Source],
    replay: bool,
) -> Result<(), StoreError> {
    let subtract = pending.action == Action::Forget;
    let context = Context {
        server: Arc::clone(&core.server),
        run: core.database.clone(),
        lease: Arc::clone(core.writer()?),
        sessions: Arc::clone(&core.sessions),
        token: pending.token,
        guard: pending.guard,
        limits: core.limits,
        subtract,
        replay,
    };
    let mut bulks = Bulks::new(core, context, pending);
    let outcome = (0..core.nodes.len())
        .try_for_each(|node_idx| bulks.apply_node(sources, node_idx, subtract));
    bulks.wait(outcome)?;
    if subtract {
        let databases: Vec<_> = core
            .nodes
            .iter()
            .map(|node| node.database.clone())
            .collect();
        for database in databases {
            let gone = doc! {"q": {"pattern_member_frequency": {"$lte": 0}}, "limit": 0};
            core.delete(database, SYMBOLS, gone)?;
        }
    }
    Ok(())
}

/// The key of a bulk among those that are applied; ordered by commit.
pub(crate) fn bulk_id(number: i64, rest: &str) -> String {
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

//! A run on a stock server, which knows no idempotency keys, learns a request chunk by chunk and
//! goes on when nobody listens.
//!
//! What is taught is counted on this side as well, in a store beside the run's state; what was sent
//! and is in no commit stands in a journal. When nobody knows what became of a request, nothing
//! more is sent to its node until the server is done with it, and then the patterns say what
//! arrived: see [`settle`] and [`arrival_search`].
//!
//! A server may lose what it was taught, or tear a learn call in two: see [`compare`] and [`torn`].

mod arrival_search;
mod choice;
mod compare;
mod journal;
mod lane;
mod request_sizer;
mod reteach;
mod settle;
mod symbols;
mod torn;

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kato_client::{KatoClient, KatoGeneration};
use kato_model::PatternName;
use kato_protocol::extension::BatchItem;
use kato_scheduler::{Checkpoint, TrainError};
use kato_store::contract::StagedBatch;
use kato_store::embedded::{DamagePolicy, EmbeddedOptions};
use kato_store::{EmbeddedStore, PatternStore, StoreError};
use serde_json::Value;
use tokio::sync::{Notify, OnceCell, RwLock};

pub(crate) use journal::Journal;

use self::arrival_search::Doubtful;
use self::compare::LastCheck;
use self::journal::WorkKey;
use self::request_sizer::RequestSizer;
use crate::RemoteError;
use crate::doubts::{Doubts, TornLearns};
use crate::error::{taught_before, teach};

/// A learn call with its pattern's name.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) name: PatternName,
    pub(crate) item: BatchItem,
}

impl Item {
    /// Returns the learn call as one that may come to be in doubt.
    fn call(&self) -> Doubtful {
        Doubtful {
            name: self.name,
            metadata: self.item.metadata.clone(),
        }
    }
}

/// Settings for a stock server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StockSettings {
    /// Silence after which a server is taken to be done.
    pub(crate) settle: Duration,
    /// Longest time for an answer.
    pub(crate) timeout: Duration,
    /// Time without a finished learn call after which the run ends.
    pub(crate) patience: Duration,
    /// Whether nodes may know patterns that this run has not taught.
    pub(crate) onto_taught: bool,
    /// Time between comparisons on the way.
    pub(crate) check_interval: Duration,
    /// Whether all patterns are compared in the end.
    pub(crate) compares_all: bool,
    /// What becomes of the run when a learn call is torn.
    pub(crate) torn_learns: TornLearns,
}

impl StockSettings {
    /// Returns how long something that is missing is asked for again: as long as a new pattern may
    /// be invisible, and where nothing is known at all, as long as a database may be away.
    pub(crate) fn patience_for(&self, is_any_known: bool) -> Duration {
        match is_any_known {
            true => self.settle,
            false => self.settle.max(self.patience),
        }
    }
}

/// A run on a stock server.
#[derive(Debug)]
pub(crate) struct Stock {
    settings: StockSettings,
    generation: KatoGeneration,
    store: EmbeddedStore,
    ledger: Mutex<Ledger>,
    levels: Vec<Level>,
    sizer: Mutex<RequestSizer>,
    /// Notified when a request has ended.
    ended: Notify,
    /// Set once it is known what a process before this one left behind.
    begun: OnceCell<()>,
    counts: DoubtCounts,
    /// Set when the run is to end: nothing more is sent then.
    is_interrupted: AtomicBool,
    /// Whether the user was warned that the server is slow.
    has_warned_slow: AtomicBool,
    /// What the user is to be told, oldest first.
    messages: Mutex<VecDeque<String>>,
    /// Whether the nodes are still to be taught what is in the store.
    reteaching: AtomicBool,
}

/// The commits and what was sent beyond them.
#[derive(Debug)]
struct Ledger {
    journal: Journal,
    /// Documents of the last commit.
    committed: u64,
}

/// One node.
#[derive(Debug)]
struct Level {
    /// The client that asks; it has no part in the teaching.
    client: KatoClient,
    /// A lock that is shared by those who teach, and held alone by whoever finds out what arrived.
    teaching_lock: RwLock<()>,
    /// Requests without an answer.
    unanswered: Mutex<Vec<UnansweredRequest>>,
    /// Learn calls that are known since this session began to have been carried out.
    finished: AtomicU64,
    /// Set when the node need not, or no longer, be asked whether it knows the first patterns.
    checked_new: OnceCell<()>,
    /// Set when it knows them, so that it is not taught.
    is_refused: AtomicBool,
    /// Held while the node is compared on the way.
    last_check: tokio::sync::Mutex<LastCheck>,
    /// The patterns that were taught last, oldest first.
    recent: Mutex<VecDeque<PatternName>>,
    /// Patterns that were missing after a lost answer and were not seen since.
    suspected: Mutex<HashSet<PatternName>>,
    /// Why the last request without an answer had none.
    last_failure: Mutex<Option<String>>,
}

/// A request without an answer.
#[derive(Debug, Clone)]
struct UnansweredRequest {
    key: WorkKey,
    /// The request's calls, by place in the work.
    places: Vec<usize>,
    session: String,
}

#[derive(Debug, Default)]
struct DoubtCounts {
    requests: AtomicU64,
    calls: AtomicU64,
    arrived: AtomicU64,
    missing: AtomicU64,
    watched: AtomicU64,
    moved: AtomicU64,
    compared: AtomicU64,
    checks: AtomicU64,
}

impl Stock {
    /// Opens what a run was taught, or makes it; `clients` has one client a node.
    pub(crate) fn open(
        dir: &Path,
        (mut journal, is_reteaching): (Journal, bool),
        (nodes, configuration): (&[String], &Value),
        (clients, generation): (Vec<KatoClient>, KatoGeneration),
        settings: StockSettings,
    ) -> Result<Self, RemoteError> {
        let store = match EmbeddedStore::exists(dir) {
            // What was sent since the commit before is asked about, as after a crash.
            true => match EmbeddedStore::open(dir) {
                Err(StoreError::Corrupt { .. }) => {
                    let going_back = EmbeddedOptions::default();
                    let going_back = going_back.with_damage_policy(DamagePolicy::GoBack);
                    EmbeddedStore::open_with(dir, going_back)
                }
                opened => opened,
            },
            false => EmbeddedStore::create(dir, nodes, configuration.clone()),
        };
        if !is_reteaching {
            // A crash may have come between the end of that and this.
            journal.forget_from(reteach::FIRST_WORK)?;
        }
        let recovery = store.as_ref().ok().and_then(EmbeddedStore::recovered);
        let messages = recovery.map(ToString::to_string).into_iter().collect();
        let level = |client| Level {
            client,
            teaching_lock: RwLock::new(()),
            unanswered: Mutex::default(),
            finished: AtomicU64::new(0),
            checked_new: OnceCell::new(),
            is_refused: AtomicBool::new(false),
            last_check: tokio::sync::Mutex::new(LastCheck::now()),
            recent: Mutex::default(),
            suspected: Mutex::default(),
            last_failure: Mutex::default(),
        };
        Ok(Self {
            settings,
            generation,
            store: store.map_err(TrainError::Store)?,
            ledger: Mutex::new(Ledger {
                journal,
                committed: 0,
            }),
            levels: clients.into_iter().map(level).collect(),
            sizer: Mutex::new(RequestSizer::new(settings.timeout)),
            ended: Notify::new(),
            begun: OnceCell::new(),
            counts: DoubtCounts::default(),
            is_interrupted: AtomicBool::new(false),
            has_warned_slow: AtomicBool::new(false),
            messages: Mutex::new(messages),
            reteaching: AtomicBool::new(is_reteaching),
        })
    }

    /// Returns whether a store of what was taught was begun and ended before its first commit.
    pub(crate) fn is_left_over(dir: &Path) -> Result<bool, RemoteError> {
        let store = EmbeddedStore::open_read_only(dir).map_err(TrainError::Store)?;
        Ok(store.checkpoint().is_null())
    }

    /// Returns whether a node was found to know patterns before anything was sent, of a run that has nothing
    /// committed: what another run taught and this one was to teach again may be there only once.
    pub(crate) fn was_refused(&self) -> bool {
        let is_refused = |level: &Level| level.is_refused.load(Ordering::Relaxed);
        let ledger = self.ledger();
        // What is sent is planned before.
        self.levels.iter().any(is_refused) && ledger.committed == 0 && ledger.journal.is_empty()
    }

    /// Ends the teaching: what is under way may be answered, and nothing more is sent.
    pub(crate) fn interrupt(&self) {
        // Relaxed: the flag stands for itself. Those who wait for their turn look at it now.
        self.is_interrupted.store(true, Ordering::Relaxed);
        self.ended.notify_waiters();
    }

    fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }

    /// Returns the run's state as of the last commit; `null` before the first.
    pub(crate) fn state(&self) -> Value {
        self.store.checkpoint()
    }

    /// Returns the store of what was taught.
    pub(crate) fn store(&self) -> &dyn PatternStore {
        &self.store
    }

    /// Finds out what a process before this one has left behind, before anything is sent. Once for
    /// all workers.
    pub(crate) async fn begin(
        &self,
        checkpoint: &Value,
        chunk_sizes: &[usize],
    ) -> Result<(), RemoteError> {
        // The first worker looks, and all others wait for it. After an error the next one looks
        // again.
        self.begun
            .get_or_try_init(|| async {
                let committed = documents_of(checkpoint)?;
                let is_new = {
                    let mut ledger = self.ledger();
                    ledger.committed = committed;
                    // What a process before this one sent makes the nodes know something, and is
                    // asked about below.
                    (committed == 0 || self.is_reteaching()) && ledger.journal.is_empty()
                };
                for (idx, level) in self.levels.iter().enumerate() {
                    if !is_new || self.settings.onto_taught {
                        // It is set already where this is tried again.
                        let _ = level.checked_new.set(());
                    } else {
                        level.check_blank().await?;
                    }
                    self.refuse_torn(idx)?;
                    if !is_new {
                        self.check_since(idx, Instant::now()).await?;
                    }
                    self.settle_left(idx).await?;
                    // A process before this one may have sent again what was missing, and ended
                    // before it asked for it.
                    let doubted = self.doubted(idx);
                    let known = self.known(idx, doubted)?.into_iter();
                    let known = known.filter_map(|(name, n)| (n > 0).then_some(name));
                    let known: Vec<PatternName> = known.collect();
                    self.suspect(idx, known.iter().copied());
                    self.confirm(idx, known).await?;
                }
                if self.is_reteaching() {
                    self.reteach(chunk_sizes).await?;
                }
                Ok(())
            })
            .await
            .copied()
    }

    /// Commits what was taught together with the run's state.
    pub(crate) fn commit(
        &self,
        staged: Vec<StagedBatch>,
        state: Value,
        checkpoint: &Value,
    ) -> Result<(), RemoteError> {
        // The ledger is locked over both, as a pattern's count moves from the journal to the store.
        // A crash in between does no harm: works before the commit's documents are not counted
        // again.
        let documents = documents_of(checkpoint)?;
        let mut ledger = self.ledger();
        self.store
            .commit(staged, state)
            .map_err(TrainError::Store)?;
        let before = std::mem::replace(&mut ledger.committed, documents);
        // A damaged commit goes back to the one before it, so the journal is kept as far back.
        ledger.journal.forget_before(before)
    }

    /// Returns how many learn calls are known since this session began to have been carried out, by
    /// level.
    pub(crate) fn finished(&self) -> Vec<u64> {
        let finished = |level: &Level| level.finished.load(Ordering::Relaxed);
        self.levels.iter().map(finished).collect()
    }

    /// Returns the requests that asked, by level.
    pub(crate) fn calls(&self) -> Vec<kato_client::calls::Calls> {
        self.levels
            .iter()
            .map(|level| level.client.calls())
            .collect()
    }

    /// Returns what came of requests without an answer.
    pub(crate) fn doubts(&self) -> Doubts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &self.counts;
        Doubts {
            requests: read(&counts.requests),
            calls: read(&counts.calls),
            arrived: read(&counts.arrived),
            missing: read(&counts.missing),
            watched: read(&counts.watched),
            moved: read(&counts.moved),
            compared: read(&counts.compared),
            checks: read(&counts.checks),
            torn: self.torn().len() as u64,
        }
    }

    /// Keeps a message for the user until it is asked for.
    fn tell(&self, message: String) {
        self.messages().push_back(message);
    }

    fn messages(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next message for the user: what has happened, or, once, that the server is slow.
    pub(crate) fn notice(&self) -> Option<String> {
        let message = self.messages().pop_front();
        message.or_else(|| self.notice_slowness())
    }

    /// Returns that the server is slow, once, when that is known.
    fn notice_slowness(&self) -> Option<String> {
        /// Learn calls that say how fast a server is.
        const ENOUGH: u64 = 200;
        /// A stock server on an ordinary machine takes up to 25 ms.
        const SLOW: Duration = Duration::from_millis(30);
        let sizer = self.sizer();
        let service = sizer.service().filter(|_| sizer.finished() >= ENOUGH)?;
        let is_slow = service > SLOW;
        if !is_slow || self.has_warned_slow.swap(true, Ordering::Relaxed) {
            return None;
        }
        let millis = service.as_millis();
        let rate = 1.0 / service.as_secs_f64();
        Some(format!(
            "the server takes {millis} ms a learn call, {rate:.0} a second, and more workers will not change that: look at the load of its \
             machine and databases, or train into --kb or a kato-rs server (kato serve), which learn the same thousands of times as fast"
        ))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sizer(&self) -> MutexGuard<'_, RequestSizer> {
        self.sizer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many learn calls of these patterns are known to have been carried out.
    fn known(
        &self,
        level: usize,
        names: impl IntoIterator<Item = PatternName>,
    ) -> Result<HashMap<PatternName, u64>, RemoteError> {
        // Both are read under one lock: a commit moves counts from one to the other.
        let ledger = self.ledger();
        let arrived = ledger.journal.arrived(level, ledger.committed);
        let is_in_store = !self.is_reteaching();
        names
            .into_iter()
            .map(|name| {
                let pattern = match is_in_store {
                    true => self.store.pattern(level, &name),
                    false => Ok(None),
                };
                let pattern = pattern.map_err(TrainError::Store)?;
                let committed = pattern.map_or(0, |pattern| pattern.frequency);
                Ok((name, committed + arrived.get(&name).copied().unwrap_or(0)))
            })
            .collect()
    }
}

impl Level {
    /// Refuses a node that was taught before, as far as its server knows: one of 2025-10 does not,
    /// and one of 3.10 that has lost its Redis may still have patterns.
    async fn check_blank(&self) -> Result<(), RemoteError> {
        let is_blank = self.client.is_blank().await;
        match is_blank.map_err(|error| teach(&self.client, error))? {
            Some(false) => Err(self.refused()),
            _ => Ok(()),
        }
    }

    /// Refuses to teach the node, which knows something.
    fn refused(&self) -> RemoteError {
        self.is_refused.store(true, Ordering::Relaxed);
        taught_before(&self.client)
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<PatternName>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last_failure(&self) -> MutexGuard<'_, Option<String>> {
        self.last_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn suspected(&self) -> MutexGuard<'_, HashSet<PatternName>> {
        self.suspected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn unanswered(&self) -> MutexGuard<'_, Vec<UnansweredRequest>> {
        self.unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number of documents up to a checkpoint.
fn documents_of(checkpoint: &Value) -> Result<u64, RemoteError> {
    let checkpoint = Checkpoint::from_json(checkpoint)?;
    Ok(checkpoint.map_or(0, |checkpoint| checkpoint.cursor.documents()))
}

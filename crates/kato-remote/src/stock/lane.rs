//! Teaching of one level of the documents that go together: request by request, each as large as a
//! second allows, until all of it has arrived.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use kato_client::{ClientError, LearnSession};
use kato_model::PatternName;
use kato_protocol::extension::BatchItem;
use kato_scheduler::activity::Activity;
use kato_scheduler::backend::RetiredPattern;
use tokio::sync::{RwLockReadGuard, RwLockWriteGuard};

use super::compare::remember;
use super::journal::WorkKey;
use super::request_sizer::RequestInFlight;
use super::settle::patterns;
use super::{Item, Level, Stock, UnansweredRequest};
use crate::RemoteError;
use crate::error::teach;

/// Patterns that are asked for before a node is taken to be new.
const NEW_QUESTIONS: usize = 8;

/// A place among the requests under way.
struct RequestSlot<'a> {
    stock: &'a Stock,
    begun: RequestInFlight,
    took: Option<Duration>,
}

impl Drop for RequestSlot<'_> {
    fn drop(&mut self) {
        self.stock.sizer().end(&self.begun, self.took);
        self.stock.ended.notify_waiters();
    }
}

/// A request under way. Unless its answer came, the node has to be settled before anything else is sent to it:
/// also if whoever sent it waits no longer, because another level of the same documents has failed.
struct OpenRequest<'a> {
    level: &'a Level,
    request: Option<UnansweredRequest>,
}

impl<'a> OpenRequest<'a> {
    fn new(level: &'a Level, key: WorkKey, places: &[usize], session: &str) -> Self {
        let request = UnansweredRequest {
            key,
            places: places.to_vec(),
            session: session.to_owned(),
        };
        Self {
            level,
            request: Some(request),
        }
    }

    /// Ends it: what became of it is known.
    fn end(mut self) {
        self.request = None;
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.level.unanswered().extend(self.request.take());
    }
}

/// What was planned of a work in a run onto nodes that were taught before. When the run ends with an answer to
/// every request, what has not arrived is taken back: nobody could ask about it later.
struct Plan<'a> {
    stock: &'a Stock,
    key: WorkKey,
}

impl Drop for Plan<'_> {
    fn drop(&mut self) {
        let unanswered = self.stock.levels[self.key.1].unanswered();
        let is_known = unanswered.iter().all(|request| request.key != self.key);
        drop(unanswered);
        if is_known && !self.stock.can_find_out() {
            // Where the journal cannot be written, the run cannot be resumed, which it says then.
            drop(self.stock.ledger().journal.take_back(self.key));
        }
    }
}

/// What became of a request.
enum Sent {
    /// Its learn calls are carried out.
    Learned,
    /// Nobody knows.
    Unanswered {
        /// Whether the server did answer, that it failed.
        has_failed: bool,
    },
    /// The run was interrupted before.
    Not,
}

/// A request to a node, as it is to be sent.
struct Request<'a> {
    key: WorkKey,
    /// The places of its items in the work.
    places: &'a [usize],
    batch: &'a [BatchItem],
    /// Whether it is one item that is learned by itself.
    alone: bool,
}

/// A lock that keeps a node from being settled while a request is under way.
enum Guard<'a> {
    #[expect(dead_code, reason = "held, not read")]
    Shared(RwLockReadGuard<'a, ()>),
    #[expect(dead_code, reason = "held, not read")]
    Alone(RwLockWriteGuard<'a, ()>),
}

impl Stock {
    /// Refuses nodes that know the first patterns of a work, before anything of it is sent to any of them:
    /// a run that is refused has taught nothing.
    pub(crate) async fn check_new(&self, levels: &[Vec<Item>]) -> Result<(), RemoteError> {
        let levels = self.levels.iter().zip(levels);
        let checks = levels
            .filter(|(_, items)| !items.is_empty())
            .map(|(level, items)| level.check_new(items));
        try_join_all(checks).await.map(drop)
    }

    /// Teaches all of a work's items that have not arrived yet; returns `false` when the run was
    /// interrupted before.
    pub(crate) async fn teach(
        &self,
        session: &mut LearnSession,
        key: WorkKey,
        items: &[Item],
        activity: &Activity,
    ) -> Result<bool, RemoteError> {
        // First of all: other documents under these keys would be taken for what was sent before.
        self.check_plan(key, items)?;
        let level = &self.levels[key.1];
        let _plan = Plan { stock: self, key };
        let mut last_finished = Instant::now();
        let mut n_finished = level.finished.load(Ordering::Relaxed);
        let mut has_failed = false;
        loop {
            let missing = self.missing(key, items.len());
            let Some(first) = missing.first() else {
                return Ok(true);
            };
            if self.is_interrupted() {
                return Ok(false);
            }
            level.check_new(items).await?;
            let node = level.client.node_id();
            let _teaching =
                activity.enter(format!("teaching {node}, {first} of {} done", items.len()));
            // A server that retires patterns does not say which of many was one, and would fail for ever.
            // The first one that is missing is what it failed at.
            let alone = has_failed && self.generation.can_retire();
            let (places, batch) = match alone {
                true => (vec![*first], vec![items[*first].item.clone()]),
                false => self.request(session, &missing, items),
            };
            let request = Request {
                key,
                places: &places,
                batch: &batch,
                alone,
            };
            has_failed = match self.send(session, items, &request).await? {
                Sent::Learned | Sent::Not => false,
                Sent::Unanswered { has_failed } => {
                    self.settle_level(key.1).await?;
                    has_failed
                }
            };
            self.check_in_between(key.1).await?;
            // The learn calls of other workers say as well that the node gets on.
            let before = std::mem::replace(&mut n_finished, level.finished.load(Ordering::Relaxed));
            if n_finished > before {
                last_finished = Instant::now();
            } else if last_finished.elapsed() > self.settings.patience.max(self.settings.timeout) {
                let seconds = last_finished.elapsed().as_secs();
                let last = level.last_failure().clone();
                let last =
                    last.map_or_else(String::new, |last| format!(" (the last time: {last})"));
                let reason = format!(
                    "it has finished no learn call for {seconds} s{last}: look at the server, raise --timeout, and resume"
                );
                return Err(teach(&level.client, reason));
            }
        }
    }

    /// Returns the next request: the places of items that are missing, and the items.
    fn request(
        &self,
        session: &LearnSession,
        missing: &[usize],
        items: &[Item],
    ) -> (Vec<usize>, Vec<BatchItem>) {
        let size = self.sizer().size();
        let places = missing.iter().copied().take(size);
        let batch: Vec<BatchItem> = places.map(|place| items[place].item.clone()).collect();
        // The session knows which neighbours its server can learn in one request.
        let n = session.request_len(&batch, size);
        let places = missing[..n].to_vec();
        (places, batch.into_iter().take(n).collect())
    }

    /// Returns a lock under which a batch is sent to a node.
    async fn keep_from_settling(
        &self,
        node_idx: usize,
        batch: &[BatchItem],
    ) -> Result<Guard<'_>, RemoteError> {
        let level = &self.levels[node_idx];
        // In the older generation observed metadata belongs to the node for a moment, and a pattern
        // that another session learns then would get it.
        let alone = !self.generation.keeps_sessions_apart()
            && batch.iter().any(|item| !item.metadata.is_empty());
        loop {
            let guard = match alone {
                true => Guard::Alone(level.teaching_lock.write().await),
                false => Guard::Shared(level.teaching_lock.read().await),
            };
            // Nothing is sent to a node that may still be at work on a request without an answer.
            if level.unanswered().is_empty() {
                return Ok(guard);
            }
            drop(guard);
            self.settle_level(node_idx).await?;
        }
    }

    /// Sends one request, unless the run is interrupted before its turn comes.
    async fn send(
        &self,
        session: &mut LearnSession,
        items: &[Item],
        request: &Request<'_>,
    ) -> Result<Sent, RemoteError> {
        let &Request {
            key,
            places,
            batch,
            alone,
        } = request;
        let level = &self.levels[key.1];
        // The slot comes before the lock: whoever waits for a slot must not keep the node from
        // being settled.
        let Some(mut slot) = self.acquire_slot(batch.len()).await else {
            return Ok(Sent::Not);
        };
        let guard = self.keep_from_settling(key.1, batch).await?;
        self.plan(key, items, places)?;
        let mut begun = Instant::now();
        loop {
            let id = match alone {
                true => session.id_alone().await,
                false => session.id(batch).await,
            };
            let id = id.map_err(|error| teach(&level.client, error))?;
            if session.take_lost_session() {
                self.check_since(key.1, begun).await?;
                begun = Instant::now();
            }
            // Before the request as well: after a crash the session has to be waited for.
            self.ledger().journal.use_session(key.1, &id)?;
            let open = OpenRequest::new(level, key, places, &id);
            let start = Instant::now();
            let learned = match batch {
                [item] if alone => session.learn_alone(&id, item).await,
                _ => session.learn(&id, batch).await,
            };
            match learned {
                Ok(()) => {
                    slot.took = Some(start.elapsed());
                    let arrived = places.iter().copied();
                    self.ledger().journal.arrive(key, arrived)?;
                    open.end();
                    let n = batch.len() as u64;
                    level.finished.fetch_add(n, Ordering::Relaxed);
                    drop(guard);
                    drop(slot);
                    let names = || places.iter().map(|place| items[*place].name);
                    remember(level, names());
                    self.confirm(key.1, names()).await?;
                    return Ok(Sent::Learned);
                }
                // The session was lost before the request came: nothing was learned. What was
                // learned before may be lost as well.
                Err(ClientError::SessionNotFound { .. }) => {
                    open.end();
                    self.ledger().journal.close_session(&id)?;
                    self.check_since(key.1, begun).await?;
                    begun = Instant::now();
                }
                Err(error) if !tells(&error, batch) => {
                    tracing::warn!(node = level.client.node_id(), %error, "asking what arrived");
                    *level.last_failure() = error.source().map(ToString::to_string);
                    let has_failed = is_failure(&error);
                    return Ok(Sent::Unanswered { has_failed });
                }
                Err(ClientError::Retired { pattern, .. }) => {
                    // Of several nobody said what became of those in front of it.
                    if batch.len() == 1 {
                        open.end();
                    }
                    let pattern = pattern.unwrap_or(items[places[0]].name);
                    let retired = RetiredPattern::new(level.client.node_id(), pattern);
                    return Err(RemoteError::Retired(retired));
                }
                Err(error) => return Err(teach(&level.client, error)),
            }
        }
    }

    /// Waits until a request of so many learn calls does not make the queue too long; returns
    /// `None` when the run is interrupted.
    async fn acquire_slot(&self, calls: usize) -> Option<RequestSlot<'_>> {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // Registered before looking: a request that ends between looking and waiting would go
            // unnoticed.
            ended.as_mut().enable();
            if self.is_interrupted() {
                return None;
            }
            if let Some(begun) = self.sizer().begin(calls) {
                return Some(RequestSlot {
                    stock: self,
                    begun,
                    took: None,
                });
            }
            ended.await;
        }
    }

    /// Writes down what may be sent from now on: these places, and some behind them, so that not
    /// every request waits for the disk.
    fn plan(&self, key: WorkKey, items: &[Item], places: &[usize]) -> Result<(), RemoteError> {
        let ahead = self.sizer().size();
        let mut ledger = self.ledger();
        let planned = ledger
            .journal
            .progress(key)
            .map_or(0, |progress| progress.calls.len());
        let last = places.last().map_or(0, |place| place + 1);
        if last <= planned {
            return Ok(());
        }
        let end = last.saturating_add(ahead).min(items.len());
        let calls: Vec<_> = items[planned..end].iter().map(Item::call).collect();
        ledger.journal.plan(key, &calls)
    }

    /// Returns the places of a work that have not arrived, as far as that is known.
    fn missing(&self, key: WorkKey, n_items: usize) -> Vec<usize> {
        let ledger = self.ledger();
        let progress = ledger.journal.progress(key);
        let has_arrived = |place: &usize| {
            progress
                .and_then(|progress| progress.arrived.get(*place))
                .is_some_and(|arrived| *arrived)
        };
        (0..n_items).filter(|place| !has_arrived(place)).collect()
    }

    /// Refuses documents of which other learn calls were planned before.
    fn check_plan(&self, key: WorkKey, items: &[Item]) -> Result<(), RemoteError> {
        let ledger = self.ledger();
        let Some(progress) = ledger.journal.progress(key) else {
            return Ok(());
        };
        let planned = progress.calls.iter().map(|call| call.name);
        let names = items.iter().map(|item| item.name);
        let is_same =
            progress.calls.len() <= items.len() && planned.eq(names.take(progress.calls.len()));
        match is_same {
            true => Ok(()),
            false => Err(teach(
                &self.levels[key.1].client,
                format!(
                    "the documents from number {} on are not those that were sent before: give the same corpus, or begin a new run",
                    key.0
                ),
            )),
        }
    }
}

/// Returns whether an error tells what became of each of the items: not if nobody knows, nor if one of several
/// is retired and the server does not say which.
fn tells(error: &ClientError, batch: &[BatchItem]) -> bool {
    match error {
        ClientError::OutcomeUnknown { .. } => false,
        ClientError::Retired { pattern, .. } => pattern.is_some() || batch.len() == 1,
        _ => true,
    }
}

/// Returns whether a server answered that it failed, so that it is there and may fail again.
fn is_failure(error: &ClientError) -> bool {
    match error {
        ClientError::OutcomeUnknown { source, .. } => {
            let status = source.as_ref().and_then(|source| source.status());
            status == Some(500)
        }
        ClientError::Retired { .. } => true,
        _ => false,
    }
}

impl Level {
    /// Refuses a node that knows the first patterns of whoever comes first. All others wait: what one of them had sent meanwhile would
    /// look like patterns of somebody else.
    async fn check_new(&self, items: &[Item]) -> Result<(), RemoteError> {
        let check = || async {
            let names: BTreeSet<PatternName> = items
                .iter()
                .map(|item| item.name)
                .take(NEW_QUESTIONS)
                .collect();
            let found = patterns(self, names.into_iter().collect()).await?;
            match found.iter().any(|(_, pattern)| pattern.is_some()) {
                true => Err(self.refused()),
                false => Ok(()),
            }
        };
        self.checked_new.get_or_try_init(check).await.copied()
    }
}

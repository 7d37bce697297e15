//! The way in which a write runs: under its session's lock, taught lessons under its node's gate,
//! all of it as one journal entry.

use std::sync::Arc;
use std::time::Duration;

use kato_engine::SessionConfig;
use kato_engine::node::Lesson;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Service, Shared, kept};
use crate::clock::Micros;
use crate::error::StorageFailure;
use crate::journal::{Entry, Journal, StoredAnswer};
use crate::keys::{Claim, Claimed, Digest, Kept};
use crate::options::Durability;
use crate::receipt::Acknowledgement;
use crate::session::{Body, LoadedSession, SessionEntry};
use crate::{Receipt, ServiceError};

/// Time for which keys of requests that matter to one session alone are known: longer than any
/// client repeats them. Every observation may bring one, so they must not pile up.
const SESSION_KEY_RETENTION: Duration = Duration::from_secs(15 * 60);

/// A request with an idempotency key.
#[derive(Clone, Copy)]
pub(super) struct IdempotentRequest<'a> {
    pub(super) key: &'a str,
    pub(super) digest: Digest,
    /// Whether the request may be repeated long after its session.
    pub(super) outlives_session: bool,
}

/// The outcome of an operation: its answer, and what it taught the node.
pub(super) type OperationOutcome<T> = (Result<T, ServiceError>, Vec<Lesson>);

/// The form in which an answer is kept for when its request is repeated.
pub(super) struct Form<'a, T> {
    pub(super) store: &'a dyn Fn(&T) -> StoredAnswer,
    pub(super) read: &'a dyn Fn(&StoredAnswer) -> Result<T, ServiceError>,
}

impl<T: Serialize + DeserializeOwned> Form<'_, T> {
    /// Returns the form that keeps all of an answer.
    pub(super) fn whole() -> Self {
        Self {
            store: &StoredAnswer::whole,
            read: &|answer| StoredAnswer::read(answer.bytes()),
        }
    }
}

/// The result of beginning a request: its key is claimed, or it was carried out before.
pub(super) enum BeginResult<T> {
    New(Option<Claimed>),
    Done(Receipt<T>),
}

impl Service {
    /// Runs an operation of a session whose answer is kept as a whole.
    pub(super) fn operate<T: Serialize + DeserializeOwned>(
        &self,
        id: &str,
        request: Option<IdempotentRequest<'_>>,
        can_teach: impl FnOnce(&SessionConfig) -> bool,
        act: impl FnOnce(&mut LoadedSession, &SessionEntry) -> OperationOutcome<T>,
    ) -> Result<Receipt<T>, ServiceError> {
        self.operate_as(id, request, &Form::whole(), can_teach, act)
    }

    /// Runs an operation of a session whose answer is kept in a form of its own.
    pub(super) fn operate_as<T>(
        &self,
        id: &str,
        request: Option<IdempotentRequest<'_>>,
        form: &Form<'_, T>,
        can_teach: impl FnOnce(&SessionConfig) -> bool,
        act: impl FnOnce(&mut LoadedSession, &SessionEntry) -> OperationOutcome<T>,
    ) -> Result<Receipt<T>, ServiceError> {
        let shared = &*self.shared;
        let _turn = shared.begin_write()?;
        let entry = shared.find_session(id)?;
        // The key before the session: a repetition that waits here for the first request holds up
        // no session.
        let claimed = match shared.begin(&entry, request, form)? {
            BeginResult::New(claimed) => claimed,
            BeginResult::Done(receipt) => return Ok(receipt),
        };
        let mut body = entry.lock();
        let loaded = entry.activate(&mut body, shared.source_for(&entry.node))?;
        let node = Arc::clone(&loaded.node);
        // Held until the entry is in the queue, so that lessons have one order in the node and in
        // the journal. Only by what may teach: a gate makes all sessions of a node wait for each
        // other.
        let mut gate = match can_teach(loaded.session.config()) {
            true => {
                shared.check_knowledge(&node)?;
                Some(node.gate())
            }
            false => None,
        };
        // From here on memory may have what the journal lacks: a panic or an error that returns
        // early drops this, and the node is loaded again. Without a journal there is nothing to load
        // it from.
        let guard = shared.journal.as_ref().map(|_| node.begin_operation());
        let (outcome, lessons) = act(loaded, &entry);
        if !lessons.is_empty() {
            node.measure();
            // Under the gate: heads hear of lessons in their order, and before they are
            // acknowledged.
            node.listeners().tell(&lessons);
        }
        if outcome.is_err() && gate.is_some() {
            // It may have taught something that is not among the lessons.
            node.listeners().lose();
        }
        let note = |error| shared.note(&node, entry.node.node_id(), error);
        let outcome = match outcome.map_err(note) {
            Err(error) if lessons.is_empty() => {
                if let Some(guard) = guard {
                    guard.done();
                }
                return Err(error);
            }
            // Behind something that it has taught, for a reason that cannot be kept: the node is loaded
            // again without the lessons, so that a repetition does not teach them twice.
            Err(error) if shared.journal.is_some() && kept::refusal(&error).is_none() => {
                let failure = node.fail(StorageFailure::new(error));
                return Err(failure.into_interrupted(entry.node.node_id()));
            }
            outcome => outcome,
        };
        let now = shared.now();
        shared.counters.learns.add(lessons.len() as u64);
        let mut written = Entry::default();
        if let Some(gate) = gate.as_mut().filter(|_| !lessons.is_empty())
            && shared.journal.is_some()
        {
            entry.node.record_once(&mut written);
            gate.record(entry.node.processor_id(), lessons, &mut written, now);
            // Knowledge must survive a power cut (`Durability::Disk`); a session's own state need
            // only survive a kill.
            written.sync = true;
        }
        let kept = match &outcome {
            Ok(answer) => {
                entry.update_charge(&body);
                // Before the state is recorded, of which the new end is a part.
                shared.renew(&entry, now);
                if let Some(journal) = &shared.journal {
                    entry.record_state(&body, journal, &mut written)?;
                }
                shared.keep(claimed, || (form.store)(answer), &mut written)
            }
            // As in the middle of a sequence: the session is as before, and what the node has learned
            // it keeps. With the key and the error, or a repetition would teach it again.
            Err(error) => kept::refusal(error)
                .and_then(|refusal| shared.keep(claimed, || refusal, &mut written)),
        };
        let pending = shared.append(written)?;
        if let Some(kept) = kept {
            kept.publish();
        }
        if let Some(guard) = guard {
            guard.done();
        }
        Ok(Receipt::of(outcome, pending))
    }
}

impl Shared {
    /// Returns the session, if it has not ended. One whose time is over is removed, unless an
    /// operation of it runs.
    pub(super) fn find_session(&self, id: &str) -> Result<Arc<SessionEntry>, ServiceError> {
        let not_found = || ServiceError::SessionNotFound {
            session_id: id.to_owned(),
        };
        let entry = self.sessions.get(id).ok_or_else(not_found)?;
        let now = self.now();
        if entry.has_expired(now) {
            self.expire(&entry);
            return Err(not_found());
        }
        entry.touch(now);
        Ok(entry)
    }

    /// Refuses what would take more memory for a session, or for all of them, than there is.
    pub(super) fn check_memory_for(&self, entry: &SessionEntry) -> Result<(), ServiceError> {
        self.check_session_memory(entry)?;
        self.check_memory()
    }

    /// Refuses what leaves a session as it is that takes more memory than one may: all of it would
    /// be written again, however little was asked for.
    pub(super) fn check_session_memory(&self, entry: &SessionEntry) -> Result<(), ServiceError> {
        let (found, limit) = (entry.bytes(), self.options.max_memory_of_session());
        if found < limit {
            return Ok(());
        }
        Err(ServiceError::SessionMemoryFull { found, limit })
    }

    /// Refuses what would take more memory for sessions than there is.
    pub(super) fn check_memory(&self) -> Result<(), ServiceError> {
        let limit = self.options.max_session_memory;
        if self.sessions.charges.bytes() < limit {
            return Ok(());
        }
        Err(ServiceError::MemoryFull { limit })
    }

    /// Removes a session whose time is over, unless an operation of it runs; returns whether it
    /// did.
    pub(super) fn expire(&self, entry: &SessionEntry) -> bool {
        let Some(mut body) = entry.try_lock() else {
            return false;
        };
        // Looked at again with the lock in hand: it may have ended, or been renewed.
        if body.config().is_none() || !entry.has_expired(self.now()) {
            return false;
        }
        self.end(entry, &mut body);
        self.counters.sessions_expired.add(1);
        true
    }

    /// Removes a session that was not used since a time, unless an operation of it runs; returns
    /// whether it did.
    pub(super) fn evict(&self, entry: &SessionEntry, used: Micros) -> bool {
        let Some(mut body) = entry.try_lock() else {
            return false;
        };
        // It may have been used between the look at all sessions and now.
        if body.config().is_none() || entry.used() > used {
            return false;
        }
        self.end(entry, &mut body);
        self.counters.sessions_evicted.add(1);
        true
    }

    /// Ends a session, in memory and in the journal.
    fn end(&self, entry: &SessionEntry, body: &mut Body) {
        let mut written = Entry::default();
        entry.end(body, &mut written);
        self.sessions.remove(&entry.id);
        // Should it fail, the session is there again after the next opening, for as long as it
        // lives.
        drop(self.append(written));
    }

    /// Claims the key of the request, or answers as the first time.
    pub(super) fn begin<T>(
        &self,
        entry: &SessionEntry,
        request: Option<IdempotentRequest<'_>>,
        form: &Form<'_, T>,
    ) -> Result<BeginResult<T>, ServiceError> {
        let Some(request) = request else {
            return Ok(BeginResult::New(None));
        };
        let scope = entry.node.processor_id();
        let retention = match request.outlives_session {
            true => self.options.key_retention,
            false => self.options.key_retention.min(SESSION_KEY_RETENTION),
        };
        let times = (self.now(), retention);
        let IdempotentRequest { key, digest, .. } = request;
        let journal = self.journal.as_ref();
        let outcome = match self.keys.claim(journal, scope, key, digest, times)? {
            Claim::New(claimed) => return Ok(BeginResult::New(Some(claimed))),
            Claim::Seen(StoredAnswer::Refused(bytes)) => Err(kept::read_refusal(&bytes)?),
            Claim::Seen(answer) => Ok((form.read)(&answer)?),
        };
        self.counters.replays.add(1);
        // The record of the first request may still be in the queue: this entry comes behind it, so
        // the answer is as durable as the first one.
        let barrier = Entry {
            sync: true,
            ..Entry::default()
        };
        let pending = self.append(barrier)?;
        Ok(BeginResult::Done(
            Receipt::of(outcome, pending).into_replayed(),
        ))
    }

    /// Adds the request's key and its answer to the entry; they are to be published when the entry
    /// is in the queue.
    pub(super) fn keep(
        &self,
        claimed: Option<Claimed>,
        answer: impl FnOnce() -> StoredAnswer,
        written: &mut Entry,
    ) -> Option<Kept> {
        let entry = self.journal.is_some().then_some(&mut *written);
        claimed.map(|claimed| claimed.keep(answer(), entry))
    }

    /// Renews a session, as a write does.
    pub(super) fn renew(&self, entry: &SessionEntry, now: Micros) {
        if self.options.auto_extend {
            entry.renew(now);
        }
    }

    /// Puts an entry into the journal's queue. Without a journal nothing has to become durable.
    pub(super) fn append(
        &self,
        mut entry: Entry,
    ) -> Result<Option<oneshot::Receiver<Acknowledgement>>, ServiceError> {
        entry.sync &= self.options.durability == Durability::Disk;
        let append = |journal: &Journal| journal.append(entry);
        self.journal.as_ref().map(append).transpose()
    }
}

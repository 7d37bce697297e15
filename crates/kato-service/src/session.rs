//! One session: its identity, its end and its memory, which is in memory or at rest in the journal.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use kato_engine::session::SessionState;
use kato_engine::{Session, SessionConfig};

use crate::ServiceError;
use crate::answer::SessionView;
use crate::charge::{Charge, Charges};
use crate::clock::Micros;
use crate::compact_json::CompactJson;
use crate::journal::{Entry, Journal, SessionHeader, StateRecord, Table};
use crate::node::{LoadedNode, NodeEntry, Source};

/// Bytes of a session without its names and its memory.
const OVERHEAD: usize = 1024;

/// A session, as the registry and running operations share it.
#[derive(Debug)]
pub(crate) struct SessionEntry {
    pub(crate) id: String,
    pub(crate) node_id: String,
    pub(crate) node: Arc<NodeEntry>,
    created: Micros,
    ttl_seconds: u64,
    metadata: CompactJson,
    expires: AtomicU64,
    /// When an operation used it last.
    used: AtomicU64,
    charge: Charge,
    /// Bytes of its memory when that was last looked at, or of its state in the journal before.
    remembered: AtomicUsize,
    body: Mutex<Body>,
}

/// The state that operations work on, one after the other.
#[derive(Debug)]
pub(crate) struct Body {
    /// Names of the settings that the session has of its own, and not from its node.
    pub(crate) own: BTreeSet<String>,
    phase: Phase,
}

/// The phases of a session's life.
#[derive(Debug)]
enum Phase {
    /// Not used since it was created, the service was opened or its node left memory: its memory is
    /// in the journal, or empty.
    Unloaded(Box<SessionConfig>),
    Loaded(Box<LoadedSession>),
    Ended,
}

/// A session in memory.
#[derive(Debug)]
pub(crate) struct LoadedSession {
    pub(crate) session: Session,
    pub(crate) node: Arc<LoadedNode>,
}

impl SessionEntry {
    /// Creates a session at rest, whose memory takes so many bytes in the journal.
    pub(crate) fn new(
        id: String,
        header: SessionHeader,
        (expires, used): (Micros, Micros),
        node: Arc<NodeEntry>,
        (charges, remembered): (&Charges, usize),
    ) -> Self {
        let metadata = CompactJson::new(&header.metadata);
        let names = OVERHEAD + 2 * header.node_id.len() + metadata.len();
        let charge = charges.charge(names + header.config.heap_bytes() + remembered);
        Self {
            id,
            node_id: header.node_id,
            node,
            created: header.created,
            ttl_seconds: header.ttl_seconds,
            metadata,
            charge,
            remembered: AtomicUsize::new(remembered),
            expires: AtomicU64::new(expires.0),
            used: AtomicU64::new(used.0),
            body: Mutex::new(Body {
                own: header.own,
                phase: Phase::Unloaded(Box::new(header.config)),
            }),
        }
    }

    pub(crate) const fn created(&self) -> Micros {
        self.created
    }

    pub(crate) const fn ttl_seconds(&self) -> u64 {
        self.ttl_seconds
    }

    /// Returns when an operation used it last.
    pub(crate) fn used(&self) -> Micros {
        Micros(self.used.load(Ordering::Relaxed))
    }

    /// Notes that the session and its node are used.
    pub(crate) fn touch(&self, now: Micros) {
        self.used.fetch_max(now.0, Ordering::Relaxed);
        self.node.touch(now);
    }

    /// Returns when the session ends.
    pub(crate) fn expires(&self) -> Micros {
        Micros(self.expires.load(Ordering::Acquire))
    }

    /// Returns whether the time of the session is over.
    pub(crate) fn has_expired(&self, now: Micros) -> bool {
        now >= self.expires()
    }

    /// Sets when the session ends.
    pub(crate) fn set_expiry(&self, expires: Micros) {
        self.expires.store(expires.0, Ordering::Release);
    }

    /// Renews the session as a write does: it lives for its own time from now on.
    pub(crate) fn renew(&self, now: Micros) {
        self.set_expiry(now.plus_seconds(self.ttl_seconds));
    }

    /// Returns the right to operate; waits for the operation that runs.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the right to operate, if no operation runs.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Body>> {
        match self.body.try_lock() {
            Ok(body) => Some(body),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(crate) fn not_found(&self) -> ServiceError {
        ServiceError::SessionNotFound {
            session_id: self.id.clone(),
        }
    }

    /// Returns the session as it is shown, with these settings.
    pub(crate) fn view(&self, config: SessionConfig, now: Micros) -> SessionView {
        let expires = self.expires();
        SessionView {
            session_id: self.id.clone(),
            node_id: self.node_id.clone(),
            created_at: self.created.into(),
            expires_at: expires.into(),
            ttl_seconds: self.ttl_seconds,
            remaining_seconds: expires.since(now).as_secs(),
            metadata: self.metadata.to_map(),
            config,
        }
    }

    /// Returns the bytes that the session takes, or will take when it comes into memory.
    pub(crate) fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Charges the session with what it takes now.
    pub(crate) fn update_charge(&self, body: &Body) {
        let remembered = match &body.phase {
            Phase::Loaded(loaded) => {
                let bytes = loaded.session.state().memory_bytes();
                self.remembered.store(bytes, Ordering::Relaxed);
                bytes
            }
            // It is in the journal, and any look at the session brings it back: were it free
            // meanwhile, others could take its place.
            Phase::Unloaded(_) => self.remembered.load(Ordering::Relaxed),
            Phase::Ended => 0,
        };
        let names = OVERHEAD + 2 * self.node_id.len() + self.metadata.len();
        let settings = body.config().map_or(0, SessionConfig::heap_bytes);
        self.charge.set(names + settings + remembered);
    }

    /// Adds the session's identity and settings to an entry.
    pub(crate) fn record_header(&self, body: &Body, entry: &mut Entry) {
        let Some(config) = body.config() else { return };
        let header = SessionHeader {
            node_id: self.node_id.clone(),
            created: self.created,
            ttl_seconds: self.ttl_seconds,
            metadata: self.metadata.to_map(),
            config: config.clone(),
            own: body.own.clone(),
        };
        entry.put(Table::Sessions, self.id.as_bytes(), header.to_bytes());
    }

    /// Adds the session's memory, and when it ends, to an entry.
    pub(crate) fn record_state(
        &self,
        body: &Body,
        journal: &Journal,
        entry: &mut Entry,
    ) -> Result<(), ServiceError> {
        let record = match &body.phase {
            Phase::Loaded(loaded) if loaded.node.failure().is_none() => {
                StateRecord::encode(self.expires(), Some(loaded.session.state()))
            }
            // Its memory is in the journal since it rests, and nothing in the queue can change it:
            // what is read here is the latest. That of a node that must be loaded again may have
            // what the journal lacks.
            Phase::Loaded(_) | Phase::Unloaded(_) => {
                if body.is_loaded() {
                    journal.append_and_wait(Entry::default())?;
                }
                let stored = journal.tables().get(Table::States, self.id.as_bytes())?;
                StateRecord::with_expiry(self.expires(), stored.as_deref())
            }
            Phase::Ended => return Ok(()),
        };
        entry.put(Table::States, self.id.as_bytes(), record);
        Ok(())
    }

    /// Ends the session; the entry removes what the journal has of it.
    pub(crate) fn end(&self, body: &mut Body, entry: &mut Entry) {
        body.phase = Phase::Ended;
        entry.remove(Table::Sessions, self.id.as_bytes());
        entry.remove(Table::States, self.id.as_bytes());
    }

    /// Puts the session to rest, so that its node may leave memory. Its memory must be in the
    /// journal, and not in the queue.
    pub(crate) fn deactivate(body: &mut Body) {
        if let Phase::Loaded(loaded) = &body.phase {
            body.phase = Phase::Unloaded(Box::new(loaded.session.config().clone()));
        }
    }

    /// Puts the session to rest as the journal has it, if its node must be loaded again.
    pub(crate) fn release_failed(body: &mut Body) {
        if matches!(&body.phase, Phase::Loaded(loaded) if loaded.node.failure().is_some()) {
            Self::deactivate(body);
        }
    }

    /// Returns the session in memory, brought there if it rests.
    pub(crate) fn activate<'a>(
        &self,
        body: &'a mut Body,
        source: Source<'_>,
    ) -> Result<&'a mut LoadedSession, ServiceError> {
        if source.disk.is_some_and(|disk| disk.journal.check().is_ok()) {
            Self::release_failed(body);
        }
        if let Phase::Unloaded(config) = &body.phase {
            let node = self.node.load(source)?;
            let state = match source.disk {
                Some(disk) => {
                    let stored = disk
                        .journal
                        .tables()
                        .get(Table::States, self.id.as_bytes())?;
                    stored
                        .map(|record| StateRecord::state(&record))
                        .transpose()?
                }
                None => None,
            };
            let state = state.unwrap_or_else(SessionState::default);
            let mut session = node.node().resume(SessionConfig::clone(config), state);
            // What the session teaches must reach the journal, and is taken out after each
            // operation.
            session.record_lessons(true);
            body.phase = Phase::Loaded(Box::new(LoadedSession { session, node }));
            // In memory it takes another number of bytes than in the journal.
            self.update_charge(body);
        }
        match &mut body.phase {
            Phase::Loaded(loaded) => Ok(loaded),
            Phase::Unloaded(_) | Phase::Ended => Err(self.not_found()),
        }
    }
}

impl Body {
    /// Returns whether the session is in memory.
    pub(crate) const fn is_loaded(&self) -> bool {
        matches!(self.phase, Phase::Loaded(_))
    }

    /// Returns the settings; `None` when the session has ended.
    pub(crate) const fn config(&self) -> Option<&SessionConfig> {
        match &self.phase {
            Phase::Unloaded(config) => Some(config),
            Phase::Loaded(loaded) => Some(loaded.session.config()),
            Phase::Ended => None,
        }
    }

    /// Returns the settings to be changed; `None` when the session has ended.
    pub(crate) const fn config_mut(&mut self) -> Option<&mut SessionConfig> {
        match &mut self.phase {
            Phase::Unloaded(config) => Some(config),
            Phase::Loaded(loaded) => Some(loaded.session.config_mut()),
            Phase::Ended => None,
        }
    }
}

//! Store of sessions, as Redis keeps them: by id, whole, whoever writes last.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::fair::FairLock;
use crate::journal::Journal;
use crate::session::{Session, now};

const FILE: &str = "sessions.jsonl";

/// Sessions of a server.
#[derive(Debug)]
pub(crate) struct Sessions {
    sessions: Mutex<HashMap<String, Session>>,
    /// Locks of the sessions in each process, which have nothing to do with the event loop.
    locks: Mutex<HashMap<(usize, String), Arc<FairLock>>>,
    journal: Journal,
    started: u64,
    made: AtomicU64,
}

/// Session as it was saved, or the fact that it was deleted.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    id: String,
    session: Option<Session>,
}

impl Sessions {
    /// Opens the sessions of a directory; there are none, and nothing is kept, if sessions do not
    /// outlive the process.
    pub(crate) fn open(dir: Option<&Path>) -> io::Result<Self> {
        let (journal, lines) = Journal::open::<Saved>(dir, FILE)?;
        let mut sessions = HashMap::new();
        for Saved { id, session } in lines {
            match session {
                Some(session) => drop(sessions.insert(id, session)),
                None => drop(sessions.remove(&id)),
            }
        }
        Ok(Self {
            sessions: Mutex::new(sessions),
            locks: Mutex::default(),
            journal,
            started: now(),
            made: AtomicU64::new(0),
        })
    }

    /// Returns an id that no other session has, of this start of the server or another.
    pub(crate) fn new_id(&self) -> String {
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        let (process, started) = (std::process::id(), self.started);
        format!("session-{process:08x}{started:012x}{made:012x}-{}", now())
    }

    /// Returns a copy of the session; `None` if there is none or its time is over.
    pub(crate) fn load(&self, id: &str) -> Option<Session> {
        let mut sessions = self.sessions();
        let session = sessions.get(id)?;
        if session.expires_at <= now() {
            sessions.remove(id);
            return None;
        }
        Some(session.clone())
    }

    /// Writes the session as a whole, over whatever was written since it was loaded. One that was
    /// deleted since then is back.
    pub(crate) fn save(&self, session: Session) {
        self.put(session.saved(now()));
    }

    /// Writes the session with the expiry that it has.
    pub(crate) fn put(&self, session: Session) {
        let mut sessions = self.sessions();
        let saved = Saved {
            id: session.id.clone(),
            session: Some(session),
        };
        // Under the lock of the sessions, so that the last line is the last write.
        self.journal.append(&saved);
        sessions.extend(saved.session.map(|session| (saved.id, session)));
    }

    /// Deletes the session. A request that works with it is not stopped.
    pub(crate) fn delete(&self, id: &str) {
        let mut sessions = self.sessions();
        self.journal.append(&Saved {
            id: id.to_owned(),
            session: None,
        });
        sessions.remove(id);
    }

    /// Returns how many sessions have not expired.
    pub(crate) fn count(&self) -> usize {
        let now = now();
        let sessions = self.sessions();
        let live = sessions.values().filter(|session| session.expires_at > now);
        live.count()
    }

    /// Loses the session that was saved least recently, or, by a number, another.
    pub(crate) fn evict(&self, number: u64) {
        let mut sessions = self.sessions();
        let mut ids: Vec<(u64, String)> = sessions
            .values()
            .map(|session| (session.expires_at, session.id.clone()))
            .collect();
        ids.sort();
        let oldest = usize::from(number.is_multiple_of(2));
        if let Some((_, id)) = ids.into_iter().nth(oldest) {
            sessions.remove(&id);
            self.journal.append(&Saved { id, session: None });
        }
    }

    /// Loses all sessions.
    pub(crate) fn forget(&self) {
        let mut sessions = self.sessions();
        for (id, _) in sessions.drain() {
            self.journal.append(&Saved { id, session: None });
        }
    }

    /// Returns the lock of a session in a process, which outlives the session.
    pub(crate) fn lock_of(&self, process: usize, id: &str) -> Arc<FairLock> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry((process, id.to_owned())).or_default())
    }

    /// Locks the sessions.
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

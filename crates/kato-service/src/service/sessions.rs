//! The life of sessions: created, looked up, configured, extended, deleted.

use std::sync::Arc;

use kato_engine::SessionConfig;
use kato_engine::config::SessionConfigChange;
use uuid::Uuid;

use super::Service;
use crate::answer::{ActiveSession, NewSession, SessionExistence, SessionPage, SessionView};
use crate::compact_json::{CompactJson, check_size};
use crate::journal::{Entry, SessionHeader};
use crate::session::SessionEntry;
use crate::{Receipt, ServiceError, genes};

impl Service {
    /// Creates a session. Where there are as many as allowed, it takes the place of the least
    /// recently used one, if that was not used within
    /// [`session_ttl`](crate::ServiceOptions::session_ttl).
    ///
    /// # Errors
    ///
    /// [`ServiceError::Config`], [`ServiceError::TooLarge`], [`ServiceError::TooManySessions`], [`ServiceError::MemoryFull`],
    /// [`ServiceError::TooManyNodes`], [`ServiceError::NodeMemoryFull`], [`ServiceError::Closed`],
    /// [`ServiceError::StorageFailed`].
    pub fn create_session(&self, new: NewSession) -> Result<Receipt<SessionView>, ServiceError> {
        let shared = &*self.shared;
        let _turn = shared.begin_write()?;
        let limit = shared.options.max_sessions;
        if shared.sessions.len() >= limit {
            self.make_room();
        }
        shared.check_memory()?;
        let kept = new.node_id.len() + CompactJson::new(&new.metadata).len();
        let most = shared.options.max_kept_bytes;
        check_size("bytes of a node id and metadata", kept, most)?;
        let now = shared.now();
        let node = shared
            .nodes
            .enter_within(&shared.options, &new.node_id, now)?;
        let mut config = shared.options.defaults.clone();
        // Held until the session is one of the node's: genes that are set side by side are either
        // read here, or set when the session can be found, and reach it like all others.
        let set = node.genes();
        let generation = shared.options.generation();
        genes::apply(&set.to_map(), &mut config, generation, |_| false);
        let given = new.config.unwrap_or_default();
        let given = match SessionConfigChange::at_creation(&given, generation) {
            Err(error) if generation.refuses_at_creation() => return Err(error.into()),
            // As in KATO, one setting that is out of range makes all of them count as not given,
            // and the session is created all the same.
            given => given.unwrap_or_default(),
        };
        let own = genes::shadowed(&given).collect();
        config.apply(given);
        check_settings(&config, most)?;
        // KATO takes a lifetime of 0 for none that is given.
        let ttl_seconds = new.ttl_seconds.filter(|&ttl| ttl > 0);
        let ttl_seconds = ttl_seconds.unwrap_or(shared.options.session_ttl);
        let header = SessionHeader {
            node_id: new.node_id,
            created: now,
            ttl_seconds: ttl_seconds.min(shared.options.max_session_ttl),
            metadata: new.metadata,
            config,
            own,
        };
        let expires = now.plus_seconds(header.ttl_seconds);
        let id = format!("session-{}-{}", Uuid::new_v4().simple(), now.0 / 1000);
        let entry = Arc::new(SessionEntry::new(
            id,
            header,
            (expires, now),
            Arc::clone(&node),
            (&shared.sessions.charges, 0),
        ));
        // Locked before others can find it, so that nothing of it is in the journal before its
        // creation.
        let body = entry.lock();
        shared.sessions.insert(Arc::clone(&entry), limit)?;
        drop(set);
        let mut written = Entry::default();
        if let Some(journal) = &shared.journal {
            entry.record_header(&body, &mut written);
            entry.record_state(&body, journal, &mut written)?;
        }
        let pending = shared.append(written)?;
        shared.counters.sessions_created.add(1);
        let config = body.config().cloned().unwrap_or_default();
        Ok(Receipt::new(entry.view(config, now), pending))
    }

    /// Returns a session as it is now.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SessionNotFound`].
    pub fn session(&self, id: &str) -> Result<SessionView, ServiceError> {
        let entry = self.shared.find_session(id)?;
        let config = entry.lock().config().cloned();
        let config = config.ok_or_else(|| entry.not_found())?;
        Ok(entry.view(config, self.shared.now()))
    }

    /// Returns whether a session is there and whether it has expired. Changes nothing.
    #[must_use]
    pub fn exists(&self, id: &str) -> SessionExistence {
        let now = self.shared.now();
        self.shared
            .sessions
            .get(id)
            .map_or_else(SessionExistence::default, |entry| {
                let expired = entry.has_expired(now);
                SessionExistence {
                    exists: !expired,
                    expired,
                }
            })
    }

    /// Returns the name of the knowledge base of a session, whether or not it has expired; `None`
    /// if there is no such session.
    #[must_use]
    pub fn processor_id_of_session(&self, id: &str) -> Option<String> {
        let entry = self.shared.sessions.get(id)?;
        Some(entry.node.processor_id().to_owned())
    }

    /// Returns whether a session can be used; one whose time is over is removed.
    #[must_use]
    pub fn check(&self, id: &str) -> bool {
        self.shared.find_session(id).is_ok()
    }

    /// Returns the bytes of memory that a session takes, about, also while it is in the journal
    /// alone; 0 if there is no such session. Waits for no operation of it.
    #[must_use]
    pub fn session_bytes(&self, id: &str) -> usize {
        let entry = self.shared.sessions.get(id);
        entry.map_or(0, |entry| entry.bytes())
    }

    /// Returns the number of sessions; those whose time was over at the last
    /// [`maintain`](Self::maintain) are not among them.
    #[must_use]
    pub fn n_sessions(&self) -> usize {
        self.shared.sessions.len()
    }

    /// Deletes a session. Waits for the operation of it that runs: afterwards nothing of it acts
    /// any more.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SessionNotFound`], [`ServiceError::Closed`],
    /// [`ServiceError::StorageFailed`].
    pub fn delete_session(&self, id: &str) -> Result<Receipt<()>, ServiceError> {
        let shared = &*self.shared;
        let _turn = shared.begin_write()?;
        let entry = shared.find_session(id)?;
        let mut body = entry.lock();
        // Another request may have ended it while this one waited for the lock.
        if body.config().is_none() {
            return Err(entry.not_found());
        }
        let mut written = Entry::default();
        entry.end(&mut body, &mut written);
        shared.sessions.remove(id);
        shared.counters.sessions_deleted.add(1);
        let pending = shared.append(written)?;
        Ok(Receipt::new((), pending))
    }

    /// Makes a session end in so many seconds from now,
    /// [`max_session_ttl`](crate::ServiceOptions::max_session_ttl) at most; 0 ends it. The next
    /// write renews it by its own lifetime again, unless
    /// [`auto_extend`](crate::ServiceOptions::auto_extend) is off. The receipt has the seconds that it
    /// came to.
    ///
    /// # Errors
    ///
    /// [`ServiceError::TtlNegative`], [`ServiceError::SessionMemoryFull`] for more than 0 seconds,
    /// and as [`delete_session`](Self::delete_session).
    pub fn extend_session(&self, id: &str, ttl_seconds: i64) -> Result<Receipt<u64>, ServiceError> {
        let seconds =
            u64::try_from(ttl_seconds).map_err(|_| ServiceError::TtlNegative { ttl_seconds })?;
        let shared = &*self.shared;
        let seconds = seconds.min(shared.options.max_session_ttl);
        let _turn = shared.begin_write()?;
        let entry = shared.find_session(id)?;
        let body = entry.lock();
        if body.config().is_none() {
            return Err(entry.not_found());
        }
        if seconds > 0 {
            shared.check_session_memory(&entry)?;
        }
        entry.set_expiry(shared.now().plus_seconds(seconds));
        let mut written = Entry::default();
        if let Some(journal) = &shared.journal {
            entry.record_state(&body, journal, &mut written)?;
        }
        let pending = shared.append(written)?;
        Ok(Receipt::new(seconds, pending))
    }

    /// Returns a page of the list of sessions, by id. Changes nothing, not even when they were used
    /// last.
    #[must_use]
    pub fn list_sessions(&self, page: &SessionPage) -> Vec<ActiveSession> {
        let shared = &self.shared;
        let now = shared.now();
        let of = page.node_id.as_deref().map(|id| self.processor_id(id));
        let is_wanted = |entry: &SessionEntry| {
            let is_of_node = |of: &String| entry.node.processor_id() == of;
            !entry.has_expired(now) && of.as_ref().is_none_or(is_of_node)
        };
        let found = shared.sessions.page(&page.after, page.limit, is_wanted);
        let listed = |entry: Arc<SessionEntry>| ActiveSession {
            session_id: entry.id.clone(),
            node_id: entry.node_id.clone(),
            created_at: entry.created().into(),
            last_used_at: entry.used().into(),
            expires_at: entry.expires().into(),
            ttl_seconds: entry.ttl_seconds(),
        };
        found.into_iter().map(listed).collect()
    }

    /// Returns all settings of a session.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SessionNotFound`].
    pub fn config(&self, id: &str) -> Result<SessionConfig, ServiceError> {
        let entry = self.shared.find_session(id)?;
        let config = entry.lock().config().cloned();
        config.ok_or_else(|| entry.not_found())
    }

    /// Changes settings of a session.
    ///
    /// # Errors
    ///
    /// [`ServiceError::TooLarge`], [`ServiceError::SessionMemoryFull`], and as
    /// [`delete_session`](Self::delete_session).
    pub fn update_config(
        &self,
        id: &str,
        change: SessionConfigChange,
    ) -> Result<Receipt<()>, ServiceError> {
        let shared = &*self.shared;
        let _turn = shared.begin_write()?;
        let entry = shared.find_session(id)?;
        let mut body = entry.lock();
        let config = body.config_mut().ok_or_else(|| entry.not_found())?;
        shared.check_session_memory(&entry)?;
        let own: Vec<_> = genes::shadowed(&change).collect();
        // Changed in a copy: a refusal leaves the settings as they were.
        let mut changed = config.clone();
        changed.apply(change);
        check_settings(&changed, shared.options.max_kept_bytes)?;
        *config = changed;
        body.own.extend(own);
        entry.update_charge(&body);
        shared.renew(&entry, shared.now());
        let mut written = Entry::default();
        if let Some(journal) = &shared.journal {
            entry.record_header(&body, &mut written);
            entry.record_state(&body, journal, &mut written)?;
        }
        let pending = shared.append(written)?;
        Ok(Receipt::new((), pending))
    }

    /// Removes sessions whose time is over, else the least recently used one, where that was not
    /// used for the lifetime that sessions have by default: whoever uses a session keeps it,
    /// however many others come.
    fn make_room(&self) {
        let shared = &self.shared;
        let now = shared.now();
        if shared.sessions.is_time_to_look(now) {
            // Sessions whose time is over go before any that still lives.
            if self.remove_expired() > 0 {
                return;
            }
            let lately = now.minus_seconds(shared.options.session_ttl);
            shared.sessions.look_for_unused(lately);
        }
        while let Some((entry, used)) = shared.sessions.next_unused() {
            if shared.evict(&entry, used) {
                return;
            }
        }
    }

    /// Removes sessions whose time is over; returns how many.
    pub(super) fn remove_expired(&self) -> usize {
        let shared = &self.shared;
        let expired = shared.sessions.expired(shared.now());
        let removed = expired.iter().filter(|entry| shared.expire(entry));
        removed.count()
    }
}

/// Refuses settings that are too large to be kept: names of filters may be anything.
fn check_settings(config: &SessionConfig, limit: usize) -> Result<(), ServiceError> {
    let text = serde_json::to_string(config).map_or(usize::MAX, |text| text.len());
    check_size("bytes of settings", text, limit)
}

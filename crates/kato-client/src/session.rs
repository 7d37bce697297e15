//! The life of a client's only session: created on first use, created anew and restored if the
//! server lost it.

mod doubt;
mod late_copy;
mod make;
mod operation;
mod write;

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use kato_protocol::session::Deleted;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

pub(crate) use operation::{Learn, Operation};

use self::make::CreateError;
use crate::call::Call;
use crate::calls::CallKind;
use crate::forecast::AutoLearn;
use crate::mirror::Mirror;
use crate::transport::{Meaning, Transport};
use crate::{ClientError, SessionOptions, checks};

/// Most sessions that are made for one operation before it is given up.
const MAX_SESSIONS: u32 = 5;

/// Lifetime of a session unless its options say otherwise.
const DEFAULT_TTL: Duration = Duration::from_secs(3600);

/// Longest time for a request that may as well fail, such as closing.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A session and everything that is needed to create it again.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) transport: Transport,
    pub(crate) options: SessionOptions,
    // Held across requests: operations of a session are carried out one after the other, and the
    // mirror always belongs to the last of them. An async lock, because it is held while waiting.
    pub(crate) state: Mutex<State>,
}

/// The changing part of a session.
#[derive(Debug)]
pub(crate) struct State {
    /// The session on the server; `None` before the first use and after a loss.
    pub(crate) id: Option<String>,
    /// Settings that the caller has asked for.
    wanted: Map<String, Value>,
    /// Settings in effect, as far as they are known.
    effective: Map<String, Value>,
    /// Whether a request that sets what is wanted now may still be under way to the session, where
    /// it could undo later changes.
    late_config: bool,
    pub(crate) mirror: Mirror,
    /// The operation whose outcome nobody knows.
    doubt: Option<String>,
    /// Whether there was a session before, so that a new one is a recovery.
    had_session: bool,
}

impl State {
    /// Returns the settings in effect that decide about learning.
    fn auto_learn(&self) -> AutoLearn {
        AutoLearn {
            max_pattern_length: self
                .effective
                .get("max_pattern_length")
                .and_then(Value::as_u64),
            rolling: self.effective.get("stm_mode").and_then(Value::as_str) == Some("ROLLING"),
        }
    }
}

impl Session {
    /// Creates a session that the server does not have yet.
    pub(crate) fn new(transport: Transport, options: SessionOptions) -> Arc<Self> {
        let state = State {
            id: None,
            wanted: options.config.clone(),
            effective: Map::new(),
            late_config: false,
            mirror: Mirror::default(),
            doubt: None,
            had_session: false,
        };
        Arc::new(Self {
            transport,
            options,
            state: Mutex::new(state),
        })
    }

    /// Creates a request about the session.
    pub(crate) fn call(&self, kind: CallKind, method: Method, id: &str, tail: &[&str]) -> Call {
        let path: Vec<&str> = ["sessions", id].iter().chain(tail).copied().collect();
        self.transport.call(kind, method, &path)
    }

    /// Returns the session's id; creates the session, with everything that it held, if there is
    /// none.
    pub(crate) async fn id(&self, state: &mut State) -> Result<String, ClientError> {
        // An operation that may have acted, or not, leaves a state that nobody knows; work on top
        // of it would be built on a guess.
        if let Some(what) = &state.doubt {
            return Err(ClientError::OutcomeUnknown {
                what: what.clone(),
                source: None,
            });
        }
        let max_attempts = self.transport.pool.backoff.policy().attempts;
        let mut made = 0;
        loop {
            if let Some(id) = &state.id {
                return Ok(id.clone());
            }
            if state.had_session {
                self.transport.counters.count_recovery();
                tracing::warn!(node_id = self.options.node_id, "making a new session");
            }
            made += 1;
            match self.make(state).await {
                Ok(id) => {
                    state.id = Some(id);
                    state.had_session = true;
                }
                Err(CreateError::Retryable(_)) if made < max_attempts.max(MAX_SESSIONS) => {}
                Err(CreateError::Retryable(error) | CreateError::Permanent(error)) => {
                    return Err(error);
                }
            }
        }
    }

    /// Asks something of the session that changes nothing there.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        kind: CallKind,
        method: Method,
        tail: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ClientError> {
        let make = |call: Call| Ok(query.iter().fold(call, |call, (k, v)| call.query(k, v)));
        self.ask(kind, method, tail, make).await
    }

    /// Asks something of the session that may be asked again; `make` completes the request.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        kind: CallKind,
        method: Method,
        tail: &[&str],
        make: impl Fn(Call) -> Result<Call, ClientError>,
    ) -> Result<T, ClientError> {
        let mut state = self.state.lock().await;
        let mut sessions = 1;
        loop {
            let id = self.id(&mut state).await?;
            let call = make(self.call(kind, method.clone(), &id, tail))?;
            match self.transport.repeat(call).await {
                Ok(value) => return Ok(value),
                Err(failure)
                    if failure.meaning == Meaning::SessionGone && sessions < MAX_SESSIONS =>
                {
                    state.id = None;
                    sessions += 1;
                }
                Err(failure) => return Err(failure.error),
            }
        }
    }

    /// Changes settings, now and in every session that is made later.
    pub(crate) async fn update_config(
        &self,
        changes: &Map<String, Value>,
    ) -> Result<(), ClientError> {
        checks::settings(changes, Some(self.transport.generation().await?))?;
        let mut state = self.state.lock().await;
        let mut sessions = 1;
        loop {
            let id = self.id(&mut state).await?;
            match self.configure(&id, changes).await {
                Ok(doubt) => {
                    // Only once the server has accepted them: a setting that it refuses must not
                    // spoil every later session.
                    state.wanted.extend(changes.clone());
                    state.effective.extend(changes.clone());
                    if doubt || state.late_config {
                        // What is still under way must undo neither this change nor a later one.
                        self.abandon(&mut state).await;
                    }
                    return Ok(());
                }
                Err(ClientError::SessionNotFound { .. }) if sessions < MAX_SESSIONS => {
                    state.id = None;
                    sessions += 1;
                }
                Err(error) => {
                    if !matches!(error.status(), Some(400..500)) {
                        // It may act later, although it is reported as failed.
                        self.abandon(&mut state).await;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Leaves the session behind: what is still under way for it acts on nothing that matters.
    async fn abandon(&self, state: &mut State) {
        // Forgotten before it is deleted, so that it is never used again even if the deletion
        // fails.
        if let Some(id) = state.id.take() {
            self.delete_best_effort(&id).await;
        }
    }

    /// Deletes a session, once and without insisting: one that stays expires.
    pub(crate) async fn delete_best_effort(&self, id: &str) {
        let call = self
            .call(CallKind::Session, Method::DELETE, id, &[])
            .timeout(CLOSE_TIMEOUT);
        if let Err(failure) = self.transport.once::<Deleted>(&call).await {
            tracing::debug!(error = %failure.error, "left a session to expire");
        }
    }

    /// Forgets the session, its short-term memory and any doubt.
    pub(crate) async fn start_over(&self) {
        let mut state = self.state.lock().await;
        self.abandon(&mut state).await;
        state.mirror.clear();
        state.doubt = None;
        state.had_session = false;
    }

    /// Returns the error of the operation that was left in doubt.
    pub(crate) async fn doubt(&self) -> Option<ClientError> {
        let what = self.state.lock().await.doubt.clone()?;
        Some(ClientError::OutcomeUnknown { what, source: None })
    }

    /// Extends an idle session. A busy one needs no help, and one that is gone is created anew when
    /// it is needed.
    pub(crate) async fn extend_if_idle(&self) {
        // Never waits for the lock: who holds it works with the session, and every write extends
        // it.
        let Ok(state) = self.state.try_lock() else {
            return;
        };
        let Some(id) = &state.id else {
            return;
        };
        let ttl = self.options.ttl.unwrap_or(DEFAULT_TTL).as_secs();
        let call = self
            .call(CallKind::Session, Method::POST, id, &["extend"])
            .query("ttl_seconds", &ttl.to_string())
            .timeout(CLOSE_TIMEOUT);
        if let Err(failure) = self.transport.once::<Value>(&call).await {
            tracing::debug!(error = %failure.error, "the session was not extended");
        }
    }
}

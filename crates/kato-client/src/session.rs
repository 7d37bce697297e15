//! The life of the one session of a client: made on first use, made anew and restored when the server lost it.

mod doubt;
mod operation;
mod write;

use std::sync::Arc;
use std::time::Duration;

use kato_protocol::{
    CreateSession, Deleted, Observation, Sequence, SequenceResult, SessionInfo, Stm,
};
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

pub(crate) use operation::{Learn, Operation};

use crate::call::Call;
use crate::forecast::AutoLearn;
use crate::mirror::Mirror;
use crate::transport::{Meaning, Transport};
use crate::{CallKind, ClientError, Generation, SessionOptions};

/// Sessions made for one operation, before it is given up.
const MAX_SESSIONS: u32 = 5;

/// Observations that are restored with one request.
const REPLAYED_AT_ONCE: usize = 250;

/// What a session lives for unless it says otherwise.
const DEFAULT_TTL: Duration = Duration::from_secs(3600);

/// Longest time for a request that may as well fail: closing.
const PARTING: Duration = Duration::from_secs(2);

/// A session and all that is needed to make it again.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) transport: Transport,
    pub(crate) options: SessionOptions,
    pub(crate) state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// The session on the server; `None` before the first use and after a loss.
    pub(crate) id: Option<String>,
    /// Settings that the caller wants.
    wanted: Map<String, Value>,
    /// Settings in effect, as far as they are known.
    effective: Map<String, Value>,
    pub(crate) mirror: Mirror,
    /// The operation whose outcome nobody knows.
    doubt: Option<String>,
    had_session: bool,
}

impl State {
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
    pub(crate) fn new(transport: Transport, options: SessionOptions) -> Arc<Self> {
        let state = State {
            id: None,
            wanted: options.config.clone(),
            effective: Map::new(),
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

    pub(crate) fn call(&self, kind: CallKind, method: Method, id: &str, tail: &[&str]) -> Call {
        let path: Vec<&str> = ["sessions", id].iter().chain(tail).copied().collect();
        self.transport.call(kind, method, &path)
    }

    /// The session's id; makes the session, with all that it held, if there is none.
    pub(crate) async fn id(&self, state: &mut State) -> Result<String, ClientError> {
        if let Some(what) = &state.doubt {
            return Err(ClientError::OutcomeUnknown {
                what: what.clone(),
                source: None,
            });
        }
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
                Err(ClientError::SessionNotFound { .. } | ClientError::OutcomeUnknown { .. })
                    if made < MAX_SESSIONS => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A new session in the mirrored state. Whatever fails on the way, the half-made session is only abandoned: it teaches the
    /// node nothing.
    async fn make(&self, state: &mut State) -> Result<String, ClientError> {
        let generation = self.transport.generation().await?;
        let info = self.create(&state.wanted).await?;
        let id = info.session_id;
        let mut unsaid = state.wanted.clone();
        unsaid.retain(|key, value| info.session_config.get(key) != Some(value));
        if !unsaid.is_empty() {
            // A server that does not like one setting drops all of them without a word, but tells when asked like this.
            self.configure(&id, &unsaid).await?;
        }
        state.effective = info.session_config;
        state.effective.extend(state.wanted.clone());
        if !state.mirror.is_empty() {
            self.restore(&id, state, generation).await?;
        } else if generation == Generation::V3_10 {
            state.mirror.time = 0;
        }
        Ok(id)
    }

    async fn create(&self, config: &Map<String, Value>) -> Result<SessionInfo, ClientError> {
        let request = CreateSession {
            node_id: self.options.node_id.clone(),
            metadata: self.options.metadata.clone(),
            ttl_seconds: self.options.ttl.map(|ttl| ttl.as_secs()),
            config: (!config.is_empty()).then(|| config.clone()),
        };
        let call = self
            .transport
            .call(CallKind::Session, Method::POST, &["sessions"])
            .json(&request)?;
        // Made twice, the first one is never used and expires.
        Ok(self.transport.repeat(call).await?)
    }

    async fn configure(&self, id: &str, config: &Map<String, Value>) -> Result<bool, ClientError> {
        let call = self
            .call(CallKind::Session, Method::POST, id, &["config"])
            .json(&json!({ "config": config }))?;
        let (_, doubt) = self.transport.repeat_noting_doubt::<Value>(call).await?;
        Ok(doubt)
    }

    async fn restore(
        &self,
        id: &str,
        state: &mut State,
        generation: Generation,
    ) -> Result<(), ClientError> {
        let limit = state.auto_learn().max_pattern_length.unwrap_or(0);
        // Only after the limit was lowered below what is remembered: else replaying never reaches it.
        let hold = limit > 0 && state.mirror.n_events() as u64 >= limit;
        if hold {
            let off = Map::from_iter([("max_pattern_length".to_owned(), json!(0))]);
            self.configure(id, &off).await?;
        }
        let observations = state.mirror.replay(generation == Generation::V3_10);
        for piece in observations.chunks(REPLAYED_AT_ONCE) {
            state.mirror.time = self.replay(id, piece).await?;
        }
        if hold {
            let on = Map::from_iter([("max_pattern_length".to_owned(), json!(limit))]);
            self.configure(id, &on).await?;
        }
        if state.mirror.n_events() > 0 {
            let found = self.read_stm(id).await?;
            if !state.mirror.agrees(&found) {
                return Err(ClientError::NotRestored {
                    session_id: id.to_owned(),
                });
            }
            state.mirror.set_stm(found);
        }
        Ok(())
    }

    /// Observes again; the session's time after it.
    async fn replay(&self, id: &str, observations: &[Observation]) -> Result<u64, ClientError> {
        let sequence = Sequence {
            observations: observations.iter().cloned().map(Into::into).collect(),
            ..Sequence::default()
        };
        let call = self
            .call(
                CallKind::ObserveSequence,
                Method::POST,
                id,
                &["observe-sequence"],
            )
            .json(&sequence)?;
        let mut attempt = 1;
        loop {
            let failure = match self.transport.once::<SequenceResult>(&call).await {
                Ok(answer) => return Ok(answer.value.results.last().map_or(0, |last| last.time)),
                Err(failure) => failure,
            };
            match failure.meaning {
                Meaning::NotDone if attempt < self.transport.pool.backoff.policy().attempts => {
                    self.transport.pause(attempt, &failure).await;
                    attempt += 1;
                }
                // Nothing was learned: the next session starts afresh.
                Meaning::Doubtful if failure.is_transient() => {
                    self.transport.pause(attempt, &failure).await;
                    return Err(ClientError::OutcomeUnknown {
                        what: "restoring the session".to_owned(),
                        source: Some(Box::new(failure.error)),
                    });
                }
                _ => return Err(failure.error),
            }
        }
    }

    pub(crate) async fn read_stm(&self, id: &str) -> Result<Vec<Vec<String>>, ClientError> {
        let call = self.call(CallKind::Stm, Method::GET, id, &["stm"]);
        let stm: Stm = self.transport.repeat(call).await?;
        Ok(stm.stm)
    }

    /// Asks something of the session that changes nothing there.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        kind: CallKind,
        method: Method,
        tail: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ClientError> {
        let mut state = self.state.lock().await;
        let mut sessions = 1;
        loop {
            let id = self.id(&mut state).await?;
            let mut call = self.call(kind, method.clone(), &id, tail);
            for (name, value) in query {
                call = call.query(name, value);
            }
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

    /// Settings from now on.
    pub(crate) async fn update_config(
        &self,
        changes: &Map<String, Value>,
    ) -> Result<(), ClientError> {
        let mut state = self.state.lock().await;
        let mut sessions = 1;
        loop {
            let id = self.id(&mut state).await?;
            match self.configure(&id, changes).await {
                Ok(doubt) => {
                    state.wanted.extend(changes.clone());
                    state.effective.extend(changes.clone());
                    if doubt {
                        // A late copy must not undo later changes.
                        self.abandon(&mut state).await;
                    }
                    return Ok(());
                }
                Err(ClientError::SessionNotFound { .. }) if sessions < MAX_SESSIONS => {
                    state.id = None;
                    sessions += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves the session behind: what is still under way for it acts on nothing that matters.
    async fn abandon(&self, state: &mut State) {
        if let Some(id) = state.id.take() {
            self.delete_in_passing(&id).await;
        }
    }

    pub(crate) async fn delete_in_passing(&self, id: &str) {
        let call = self
            .call(CallKind::Session, Method::DELETE, id, &[])
            .timeout(PARTING);
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

    /// The operation that was left in doubt.
    pub(crate) async fn doubt(&self) -> Option<ClientError> {
        let what = self.state.lock().await.doubt.clone()?;
        Some(ClientError::OutcomeUnknown { what, source: None })
    }

    /// Extends an idle session. A busy one needs no help, and one that is gone is made anew when it is needed.
    pub(crate) async fn touch(&self) {
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
            .timeout(PARTING);
        if let Err(failure) = self.transport.once::<Value>(&call).await {
            tracing::debug!(error = %failure.error, "the session was not extended");
        }
    }
}
